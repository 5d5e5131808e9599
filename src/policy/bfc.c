/*
 * bfc.c - TensorFlow's and XLA's allocator: best fit with coalescing (fragsim-policies(7), bfc).
 *
 * It reserves regions, each twice the last, as long as they fit its limit, and smaller ones
 * where the device refuses. It never releases them, unless its own garbage collection is on.
 */
#include "policy/heap_access.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"

enum { MEMORY_LIMIT, ALLOW_GROWTH, GARBAGE_COLLECTION, FRAGMENTATION_FRACTION };

#define UNIT UINT64_C(256)              /* blocks and regions are multiples of this */
#define FIRST_REGION (UINT64_C(2) << 20)
#define LARGEST_REST (UINT64_C(128) << 20)      /* that stays with a block, without a fraction */
#define REGION_MAX (UINT64_C(1) << 60)  /* no limit reaches that */

struct bfc {
	uint64_t region;        /* bytes that the next region is to have */
};

static const struct frag_param_spec bfc_params[] = {
	[MEMORY_LIMIT] = {
		.name = "memory_limit", .type = FRAG_PARAM_SIZE,
		.help = "bytes that it obtains at most; 0: the device's total" },
	[ALLOW_GROWTH] = {
		.name = "allow_growth", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "begin with 2 MiB and double; else the first region is the whole limit" },
	[GARBAGE_COLLECTION] = {
		.name = "garbage_collection", .type = FRAG_PARAM_BOOL,
		.help = "release unused regions before an OOM" },
	[FRAGMENTATION_FRACTION] = {
		.name = "fragmentation_fraction", .type = FRAG_PARAM_OWN,
		.expects = "a number from 0 to 1",
		.parse = frag_pytorch_parse_fraction, .print = frag_pytorch_print_real,
		.help = "split off a remainder of that part of the limit; 0: of 128 MiB" },
	{ 0 },
};

/*
 * Compares with the total separately for each decision, so that a run is valid for a range of
 * totals.
 */
static bool limit_reaches(struct frag_policy *p, uint64_t bytes)
{
	const uint64_t limit = p->param[MEMORY_LIMIT];

	return limit ? limit >= bytes : frag_heap_capacity_reaches(p->heap, bytes);
}

/* Returns the limit where a decision depends on its exact value. 0: there is no limit. */
static uint64_t limit_of(struct frag_policy *p)
{
	const uint64_t limit = p->param[MEMORY_LIMIT];

	if (limit)
		return limit;
	frag_heap_pin_capacity(p->heap);
	return frag_heap_capacity(p->heap);
}

/* Where there is no limit the first region cannot be all of it: then it grows. */
static int bfc_init(struct frag_policy *p)
{
	struct bfc *t = p->state;

	t->region = FIRST_REGION;
	if (!p->param[ALLOW_GROWTH] || !limit_reaches(p, FIRST_REGION))
		t->region = frag_round_up_pow2(limit_of(p), UNIT);
	if (!t->region)
		t->region = FIRST_REGION;
	return 0;
}

/*
 * Returns the next size after a refusal. TensorFlow multiplies in float, and its rounding
 * decides.
 */
static uint64_t less_than(uint64_t bytes)
{
	const float product = (float)bytes * 0.9f;
	const uint64_t next = frag_round_up_pow2((uint64_t)product, UNIT);

	return next < bytes ? next : bytes - UNIT;
}

/* A region of `bytes`, or after refusals the first smaller one that holds the need. */
static int bfc_obtain(struct frag_policy *p, frag_list list, uint64_t bytes, uint64_t need,
		      frag_block *out)
{
	int rc = frag_heap_grow(p->heap, list, bytes, out);

	if (rc == -FRAG_EDEVMEM && less_than(bytes) >= need)
		frag_heap_count_retry(p->heap);
	while (rc == -FRAG_EDEVMEM && (bytes = less_than(bytes)) >= need)
		rc = frag_heap_grow(p->heap, list, bytes, out);
	return rc;
}

/* A size that was doubled for this request is not doubled again for the next. */
static int bfc_extend(struct frag_policy *p, frag_list list, uint64_t need, frag_block *out)
{
	const uint64_t held = frag_heap_totals(p->heap)->reserved;
	struct bfc *t = p->state;
	uint64_t bytes;
	bool doubled = false;
	int rc;

	if (!limit_reaches(p, held + need)) {
		frag_heap_note_tried(p->heap, need);
		return -FRAG_EDEVMEM;
	}
	for (; t->region < need; doubled = true)
		t->region *= 2;
	bytes = t->region;
	if (!limit_reaches(p, held + bytes))
		bytes = (limit_of(p) - held) / UNIT * UNIT;
	rc = bfc_obtain(p, list, bytes, need, out);
	if (!rc && !doubled && t->region < REGION_MAX)
		t->region *= 2;
	return rc;
}

/* Releases all unused regions, if the new region then fits the limit; sets *collected if so. */
static int bfc_collect(struct frag_policy *p, uint64_t need, bool *collected)
{
	const struct frag_totals *now = frag_heap_totals(p->heap);

	*collected = p->param[GARBAGE_COLLECTION] && now->releasable
		     && limit_reaches(p, now->reserved - now->releasable + need);
	if (!*collected)
		return 0;
	frag_heap_count_retry(p->heap);
	return frag_heap_release_idle(p->heap);
}

static int new_region(struct frag_policy *p, frag_list list, uint64_t need, frag_block *out)
{
	bool again;
	int rc = bfc_extend(p, list, need, out);

	if (rc != -FRAG_EDEVMEM)
		return rc;
	rc = bfc_collect(p, need, &again);
	if (rc)
		return rc;
	return again ? bfc_extend(p, list, need, out) : -FRAG_EDEVMEM;
}

/* Is a remainder of this size split off, for a block of any size? */
static bool splits_rest(struct frag_policy *p, uint64_t rest)
{
	const double fraction = frag_pytorch_real(p->param[FRAGMENTATION_FRACTION]);
	uint64_t limit;

	if (!(fraction > 0))
		return rest >= LARGEST_REST;
	limit = limit_of(p);
	return limit && rest >= (uint64_t)(fraction * (double)limit);
}

static int bfc_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = frag_round_up_pow2(rq->bytes, UNIT);
	uint64_t found;
	frag_list list;
	int rc = frag_heap_list_unchecked(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = frag_heap_find_unchecked(p->heap, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = new_region(p, list, need, out);
	if (rc)
		return rc;
	found = frag_heap_look_unchecked(p->heap, *out).bytes;
	if (found < 2 * need && found > need && !splits_rest(p, found - need))
		need = found;
	return frag_heap_take_unchecked(p->heap, out, rq->bytes, need);
}

/* A program has no way to ask TensorFlow's pool for memory back. */
static enum frag_releases bfc_releases(const uint64_t *param)
{
	return param[GARBAGE_COLLECTION] ? FRAG_RELEASES_GC : FRAG_RELEASES_NEVER;
}

static uint64_t bfc_limit(const struct frag_policy *p)
{
	const uint64_t limit = p->param[MEMORY_LIMIT];

	return limit ? limit : UINT64_MAX;
}

static uint64_t bfc_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)param;
	(void)granularity;
	return frag_round_up_pow2(bytes, UNIT);
}

static struct frag_sought bfc_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, 0),
		.bytes = frag_round_up_pow2(rq->bytes, UNIT),
	};
}

const struct frag_policy_ops frag_policy_bfc = {
	.name = "bfc",
	.summary = "TensorFlow's and XLA's BFC allocator: best fit in regions that double",
	.params = bfc_params,
	.order = FRAG_ORDER_SIZE,
	.state_size = sizeof(struct bfc),
	.releases = bfc_releases,
	.init = bfc_init,
	.alloc = bfc_alloc,
	.free = frag_policy_give,
	.limit = bfc_limit,
	.limit_key = "memory_limit",
	.seek = bfc_seek,
	.round = bfc_round,
};
