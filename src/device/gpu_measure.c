/*
 * gpu_measure.c - what a GPU does not report, and a few requests find out.
 *
 * Reserves segments for a moment, and compares free memory before and meanwhile. Another
 * process may allocate or release memory just then, so implausible values are ignored.
 */
#include "device/gpu_state.h"

#include <inttypes.h>

#include "device/cuda.h"

#define LOANS_MAX 3
#define MIN_GRANULARITY 512

struct loan {
	uint32_t piece[LOANS_MAX];
	uint32_t count;         /* less than requested: the GPU refused */
	uint64_t at[LOANS_MAX];
	uint64_t taken;         /* by all of them */
};

/*
 * A refusal for lack of memory is an answer, noted in *refused; only another failure is an
 * error.
 */
static int borrow_one(struct frag_gpu *g, uint64_t bytes, struct loan *loan, bool *refused,
		      struct frag_error *err)
{
	uint32_t i = frag_gpu_new_piece(g);
	uint64_t at;
	int e;

	if (i == FRAG_NO_PIECE)
		return frag_fail_nomem(err);
	e = frag_cuda.alloc(bytes, &at);
	if (!e) {
		g->pieces[i].at = loan->at[loan->count] = at;
		g->pieces[i].bytes = bytes;
		loan->piece[loan->count++] = i;
		return 0;
	}
	frag_gpu_drop_piece(g, i);
	*refused = e == FRAG_CUDA_NO_MEMORY;
	if (!*refused)
		return frag_gpu_failed(g, e, err, "cudaMalloc of %" PRIu64 " bytes", bytes);
	frag_cuda.clear();
	return 0;
}

/* A failure in between leaves the values found so far. */
static int gpu_measure_give_back(struct frag_gpu *g, uint64_t bytes, const struct loan *loan,
				 struct frag_error *err)
{
	for (uint32_t i = 0; i < loan->count; i++) {
		int e = frag_cuda.free(loan->at[i]);

		if (e)
			return frag_gpu_failed(g, e, err, "cudaFree of %" PRIu64 " bytes", bytes);
		frag_gpu_drop_piece(g, loan->piece[i]);
	}
	return 0;
}

/* Several segments at once, and back again. */
static int borrow(struct frag_gpu *g, uint64_t bytes, uint32_t wanted, struct loan *loan,
		  struct frag_error *err)
{
	uint64_t before, after;
	bool refused = false;
	int rc = frag_gpu_free_bytes(g, &before, err);

	*loan = (struct loan){ .count = 0 };
	while (!rc && !refused && loan->count < wanted)
		rc = borrow_one(g, bytes, loan, &refused, err);
	rc = rc ? rc : frag_gpu_free_bytes(g, &after, err);
	if (rc)
		return rc;
	loan->taken = before > after ? before - after : 0;
	return gpu_measure_give_back(g, bytes, loan, err);
}

static bool is_power(uint64_t n)
{
	return n && (n & (n - 1)) == 0;
}

/* Measures the memory used by a segment of one byte more than a round size. */
static int measure_granularity(struct frag_gpu *g, struct frag_error *err)
{
	struct loan loan;
	int rc = borrow(g, FRAG_USUAL_GRANULARITY + 1, 1, &loan, err);
	uint64_t over = loan.taken > FRAG_USUAL_GRANULARITY ? loan.taken - FRAG_USUAL_GRANULARITY
							    : 0;

	if (!rc && loan.count && is_power(over) && over >= MIN_GRANULARITY
	    && over <= FRAG_USUAL_GRANULARITY)
		g->figures.granularity = over;
	return rc;
}

/* The distance of adjacent addresses; three of them, because two may be in two pages. */
static uint64_t min_distance(const struct loan *loan)
{
	uint64_t min = UINT64_MAX;

	for (uint32_t i = 1; i < loan->count; i++) {
		const uint64_t a = loan->at[i - 1], b = loan->at[i];
		const uint64_t distance = a > b ? a - b : b - a;

		min = distance < min ? distance : min;
	}
	return min;
}

/*
 * Do small requests share a page? Then three of them use one page at most, and their addresses
 * show the rounding. Two of half a page still share one.
 */
static int measure_small(struct frag_gpu *g, struct frag_error *err)
{
	struct frag_gpu_figures *f = &g->figures;
	struct loan loan;
	int rc = borrow(g, 1, 3, &loan, err);
	uint64_t granularity = min_distance(&loan), max;

	if (rc || loan.count < 3 || loan.taken > f->granularity || !is_power(granularity)
	    || granularity > f->granularity / 4)
		return rc;
	for (max = granularity; 2 * max <= f->granularity / 2; max *= 2) {
		rc = borrow(g, 2 * max, 2, &loan, err);
		if (rc)
			return rc;
		if (loan.count < 2 || loan.taken > f->granularity)
			break;
	}
	f->small_max = max;
	f->small_granularity = granularity;
	return 0;
}

int frag_gpu_measure(struct frag_gpu *g, uint64_t max, struct frag_error *err)
{
	int rc = 0;

	g->figures.granularity = FRAG_USUAL_GRANULARITY;
	if (max >= 2 * FRAG_USUAL_GRANULARITY)
		rc = measure_granularity(g, err);
	if (!rc && max >= 3 * g->figures.granularity)
		rc = measure_small(g, err);
	return rc;
}

/* Does the GPU grant a segment of this many bytes? */
static int gpu_measure_try_one(struct frag_gpu *g, uint64_t bytes, bool *good,
			       struct frag_error *err)
{
	struct loan loan = { .count = 0 };
	bool refused;
	int rc = borrow_one(g, bytes, &loan, &refused, err);

	*good = loan.count > 0;
	return rc ? rc : gpu_measure_give_back(g, bytes, &loan, err);
}

/*
 * A binary search in units of the granularity, between the largest size that was granted and
 * the smallest that was refused.
 */
int frag_gpu_probe(struct frag_gpu *g, uint64_t max, uint64_t *largest, struct frag_error *err)
{
	const uint64_t unit = g->figures.granularity;
	uint64_t given = 0, refused = max / unit + 1, at = max / unit;
	int rc = frag_gpu_use(g, err);

	/* all of it first: on most GPUs that is the end */
	while (!rc && given + 1 < refused) {
		bool good;

		rc = gpu_measure_try_one(g, at * unit, &good, err);
		if (good)
			given = at;
		else
			refused = at;
		at = given + (refused - given) / 2;
	}
	*largest = given * unit;
	return rc;
}
