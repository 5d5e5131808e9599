/* extrapolation.c - a program at numbers that it was not recorded at. */
#include "search/extrapolation.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/parse.h"
#include "events/tape_resize.h"
#include "search/max_fitting.h"
#include <string.h>
#include "base/array_grow.h"

struct tags {
	struct frag_odd *odd;           /* by the tape's number of the tag, 0: none */
	uint32_t count, capacity;
};

/* Which sizes are not explained at a number; returns of how many allocs. */
static uint64_t add_number(const struct frag_recordings *r, uint32_t number, uint64_t *sizes,
			   bool *here, bool *any)
{
	uint64_t allocs = 0;

	frag_recordings_sizes(r, number, sizes, here);
	for (uint32_t i = 0; i < r->size_count; i++) {
		allocs += here[i] ? r->sizes[i].allocs : 0;
		any[i] = any[i] || here[i];
	}
	return allocs;
}

static bool count_alloc(struct tags *tags, const struct frag_event *ev,
			const struct frag_symbols *symbols, const struct frag_sizes *sizes)
{
	struct frag_odd *odd;

	if (!frag_grow(&tags->odd, &tags->capacity, (uint64_t)ev->tag + 1, sizeof(*tags->odd)))
		return false;
	for (; tags->count <= ev->tag; tags->count++)
		tags->odd[tags->count] = (struct frag_odd){ .allocs = 0 };
	odd = &tags->odd[ev->tag];
	if (odd->allocs++ == 0) {
		odd->step = ev->step;
		odd->sizes = sizes;
		if (ev->tag)
			odd->tag = frag_symbols_tag(symbols, ev->tag);
	}
	return true;
}

/* The tags of those allocs, from the tape. False: memory is short. */
static bool count_tags(const struct frag_extrapolation *x, const bool *any, struct tags *tags)
{
	const struct frag_recordings *r = x->recordings;
	const struct frag_symbols *symbols = frag_tape_symbols(x->tape);
	struct frag_tape_reader *reader = frag_tape_reader_new(x->tape);
	struct frag_batch batch = { .count = reader != NULL };
	bool good = reader != NULL;
	uint32_t alloc = 0;

	while (good && batch.count) {
		frag_tape_next(reader, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count && good; i++) {
			uint32_t which;

			if (batch.events[i].op != FRAG_OP_ALLOC)
				continue;
			which = r->which[alloc++];
			if (any[which])
				good = count_alloc(tags, &batch.events[i], symbols,
						   &r->sizes[which]);
		}
	}
	frag_tape_reader_del(reader);
	return good;
}

static int by_allocs(const void *a, const void *b)
{
	const struct frag_odd *x = a, *y = b;

	if (x->allocs != y->allocs)
		return x->allocs > y->allocs ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

static void extrapolation_take(struct frag_extrapolation *x, struct tags *tags)
{
	uint32_t shown;

	if (tags->count)
		qsort(tags->odd, tags->count, sizeof(*tags->odd), by_allocs);
	while (x->odd_tags < tags->count && tags->odd[x->odd_tags].allocs)
		x->odd_allocs += tags->odd[x->odd_tags++].allocs;
	shown = x->odd_tags < FRAG_ODD_MAX ? x->odd_tags : FRAG_ODD_MAX;
	if (shown)
		memcpy(x->odd, tags->odd, shown * sizeof(*x->odd));
}

/* Fills in unexplained, odd, odd_allocs and odd_tags. -FRAG_ENOMEM */
static int frag_find_unexplained_sizes(struct frag_extrapolation *x, struct frag_error *err)
{
	const size_t count = (size_t)x->recordings->size_count + 1;
	uint64_t *sizes = calloc(count, sizeof(*sizes));
	bool *here = calloc(count, sizeof(*here)), *any = calloc(count, sizeof(*any));
	struct tags tags = { .count = 0 };
	bool good = sizes && here && any;

	for (uint32_t i = 0; i < x->at_count && good; i++)
		x->unexplained[i] = add_number(x->recordings, x->at[i], sizes, here, any);
	for (uint32_t i = 0; i < x->choice_count && x->reaches && good; i++)
		if (x->reaches[i].largest != FRAG_NO_NUMBER)
			add_number(x->recordings, x->reaches[i].largest, sizes, here, any);
	good = good && count_tags(x, any, &tags);
	if (good)
		extrapolation_take(x, &tags);
	free(tags.odd);
	free(any);
	free(here);
	free(sizes);
	return good ? 0 : frag_fail_nomem(err);
}

/* The recordings' sizes at a number. *out stays NULL where one is too large. */
int frag_extrapolation_tape(const struct frag_extrapolation *x, uint32_t number,
			    struct frag_tape **out, struct frag_error *err)
{
	const struct frag_recordings *r = x->recordings;
	uint64_t *sizes = malloc(((size_t)r->size_count + 1) * sizeof(*sizes));
	bool good = true;

	*out = NULL;
	if (!sizes)
		return frag_fail_nomem(err);
	if (frag_recordings_sizes(r, number, sizes, NULL)) {
		*out = frag_tape_resized(x->tape, r->which, sizes);
		good = *out != NULL;
	}
	free(sizes);
	return good ? 0 : frag_fail_nomem(err);
}

static int make_tapes(struct frag_extrapolation *x, struct frag_error *err)
{
	for (uint32_t i = 0; i < x->at_count; i++) {
		int rc = frag_extrapolation_tape(x, x->at[i], &x->tapes[i], err);

		if (rc)
			return rc;
		if (!x->tapes[i])
			return frag_fail(err, FRAG_EUSAGE, "at %" PRIu32 " an alloc would have 2^53"
					 " bytes or more", x->at[i]);
		x->sources[i] = (struct frag_fit_source){
			.tape = x->tapes[i], .choices = x->choices, .devices = x->devices,
		};
	}
	return 0;
}

static void extrapolation_show_progress(void *ctx, uint32_t done, uint32_t count)
{
	const struct frag_extrapolation *x = ctx;

	x->progress(x->ctx, done, count);
}

static bool is_stopped(void *ctx)
{
	const struct frag_extrapolation *x = ctx;

	return x->stop && x->stop(x->ctx);
}

static int fit_all(struct frag_extrapolation *x, struct frag_error *err)
{
	int rc;

	x->tapes = calloc((size_t)x->at_count + 1, sizeof(*x->tapes));
	x->sources = calloc((size_t)x->at_count + 1, sizeof(*x->sources));
	x->unexplained = calloc((size_t)x->at_count + 1, sizeof(*x->unexplained));
	rc = x->tapes && x->sources && x->unexplained ? make_tapes(x, err) : frag_fail_nomem(err);
	if (rc || !x->at_count)
		return rc;
	x->fits = (struct frag_fits){
		.sources = x->sources,
		.source_count = x->at_count,
		.choice_count = x->choice_count,
		.bounds = { .runs = x->runs, .hurry = x->hurry, .ctx = x->ctx },
		.room_total = x->total,
		.unlimited = true,
		.apart = true,
		.model = x->model,
		.threads = x->threads,
		.stop = is_stopped,
		.progress = x->progress ? extrapolation_show_progress : NULL,
		.ctx = x,
	};
	return frag_fits_run(&x->fits, err);
}

int frag_extrapolation_run(struct frag_extrapolation *x, struct frag_error *err)
{
	int rc = fit_all(x, err), odd;

	if (!rc && x->largest)
		rc = frag_find_max_fitting(x, err);
	if (rc && rc != -FRAG_EINTERRUPTED)
		return rc;
	odd = frag_find_unexplained_sizes(x, err);
	return odd ? odd : rc;
}

void frag_extrapolation_fini(struct frag_extrapolation *x)
{
	frag_fits_fini(&x->fits);
	for (uint32_t i = 0; i < x->choice_count && x->reaches; i++)
		free(x->reaches[i].map);
	free(x->reaches);
	for (uint32_t i = 0; i < x->at_count && x->tapes; i++)
		frag_tape_del(x->tapes[i]);
	free(x->tapes);
	free(x->sources);
	free(x->unexplained);
}
