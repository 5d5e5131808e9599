/* unexplained_sizes.c - whose sizes the recordings do not explain. */
#include "search/unexplained_sizes.h"

#include <stdlib.h>
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

static void take(struct frag_extrapolation *x, struct tags *tags)
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

int frag_find_unexplained_sizes(struct frag_extrapolation *x, struct frag_error *err)
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
		take(x, &tags);
	free(tags.odd);
	free(any);
	free(here);
	free(sizes);
	return good ? 0 : frag_fail_nomem(err);
}
