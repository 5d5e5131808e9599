/* extrapolation.c - a program at numbers that it was not recorded at. */
#include "search/extrapolation.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/parse.h"
#include "events/tape_resize.h"
#include "search/unexplained_sizes.h"
#include "search/max_fitting.h"

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

static void show_progress(void *ctx, uint32_t done, uint32_t count)
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
		.sources = x->sources, .source_count = x->at_count,
		.choice_count = x->choice_count, .bounds.runs = x->runs, .room_total = x->total,
		.unlimited = true, .apart = true, .model = x->model, .threads = x->threads,
		.stop = is_stopped, .progress = x->progress ? show_progress : NULL, .ctx = x,
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
