/*
 * rmm_pool.c - the pool_memory_resource of RAPIDS RMM (fragsim-policies(7), rmm).
 *
 * Each stream has its own free blocks: a freed block returns to the stream that it was allocated
 * on. A stream without a block that is large enough takes one of another stream, then takes over
 * the blocks of the other streams in turn, and only then reserves more. So adjacent blocks of
 * two streams do not merge until one takes over.
 *
 * A stream's blocks are in a list of the heap. Where two lists become one, the shorter one is
 * moved, and the streams swap lists if that was the one that stays: so `which` of a list does
 * not identify its stream. A stream is identified by its home, the list that was first made for
 * it. Of a home, user is the list that its blocks are in now, and the home of the stream that
 * came next in its pool; of an allocated block, the home of its stream; of a free one, `which`
 * of its list.
 */
#include <inttypes.h>

#include "policy/heap_access.h"
#include "policy/policies.h"

enum { INITIAL, MAXIMUM };

#define UNIT 256
#define STREAM_0 (UINT32_MAX - 1)       /* which of the default stream, where initial is */
#define FIRST UINT32_MAX                /* which of the list that stores the first home of a pool */

static const struct frag_param_spec rmm_params[] = {
	[INITIAL] = { .name = "initial", .type = FRAG_PARAM_SIZE, .fallback = 0,
	  .help = "bytes obtained before the first event; a multiple of 256" },
	[MAXIMUM] = { .name = "maximum", .type = FRAG_PARAM_SIZE, .fallback = 0,
	  .help = "bytes obtained at most; a multiple of 256, 0: no limit" },
	{ 0 },
};

static int rmm_check(const uint64_t *param, struct frag_error *err)
{
	for (uint32_t i = INITIAL; i <= MAXIMUM; i++)
		if (param[i] % UNIT)
			return frag_fail(err, FRAG_EUSAGE, "policy rmm: %s=%" PRIu64
					 " is no multiple of %d", rmm_params[i].name, param[i],
					 UNIT);
	if (param[MAXIMUM] && param[INITIAL] > param[MAXIMUM])
		return frag_fail(err, FRAG_EUSAGE, "policy rmm: initial=%" PRIu64
				 " is larger than maximum=%" PRIu64, param[INITIAL],
				 param[MAXIMUM]);
	return 0;
}

/* A pool releases memory only to stay below its maximum. */
static enum frag_releases rmm_releases(const uint64_t *param)
{
	return param[MAXIMUM] ? FRAG_RELEASES_GC : FRAG_RELEASES_NEVER;
}

static uint32_t rmm_which(const void *state, const uint64_t *param,
			  const struct frag_segment_view *s, const struct frag_block_view *b)
{
	(void)state;
	(void)param;
	(void)s;
	return b->user;
}

/* The two numbers in the user of a home; of a home that is new, both are none. */
struct home {
	frag_list blocks, next;
};

static struct home look_home(const struct frag_heap *h, frag_list home)
{
	const uint64_t user = frag_heap_look_list_unchecked(h, home).user;

	return (struct home){ .blocks = (uint32_t)user - 1, .next = (uint32_t)(user >> 32) - 1 };
}

static void set_home(struct frag_heap *h, frag_list home, struct home to)
{
	frag_heap_set_list_user(h, home, (uint64_t)(to.next + 1) << 32 | (uint32_t)(to.blocks + 1));
}

/* Appends a new home to its pool: FIRST stores the last home instead of blocks. */
static int enter_home(struct frag_heap *h, uint32_t pool, frag_list home)
{
	struct home first, last;
	frag_list at;
	int rc = frag_heap_list_unchecked(h, pool, FIRST, &at);

	if (rc)
		return rc;
	first = look_home(h, at);
	if (first.next == FRAG_NO_LIST) {
		first.next = home;
	} else {
		last = look_home(h, first.blocks);
		last.next = home;
		set_home(h, first.blocks, last);
	}
	first.blocks = home;
	set_home(h, at, first);
	set_home(h, home, (struct home){ .blocks = home, .next = FRAG_NO_LIST });
	return 0;
}

static int home_of(struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out)
{
	const int rc = frag_heap_list_unchecked(h, pool, which, out);

	if (rc || look_home(h, *out).blocks != FRAG_NO_LIST)
		return rc;
	return enter_home(h, pool, *out);
}

/* The first home of the pool; every home is in the list of some stream that came before. */
static frag_list first_home(const struct frag_heap *h, uint32_t pool)
{
	const frag_list at = frag_heap_find_list(h, pool, FIRST);

	return at == FRAG_NO_LIST ? FRAG_NO_LIST : look_home(h, at).next;
}

/* Merges a detached block with the adjacent free blocks that are in the block's future list. */
static int settle(struct frag_heap *h, frag_block b, uint32_t which)
{
	const struct frag_block_view k = frag_heap_look_unchecked(h, b);
	const frag_block sides[2] = { k.prev, k.next };
	int rc = 0;

	frag_heap_set_user_unchecked(h, b, which);
	for (int i = 0; i < 2 && !rc; i++) {
		struct frag_block_view side;

		if (sides[i] == FRAG_NO_BLOCK)
			continue;
		side = frag_heap_look_unchecked(h, sides[i]);
		if (side.state == FRAG_FREE && side.user == which)
			rc = frag_heap_merge_unchecked(h, &b, sides[i]);
	}
	return rc ? rc : frag_heap_insert_unchecked(h, b);
}

static int rmm_free(struct frag_policy *p, frag_block b)
{
	struct frag_heap *h = p->heap;
	const struct home home = look_home(h, frag_heap_look_unchecked(h, b).user);
	const int rc = frag_heap_detach_live_unchecked(h, b);

	return rc ? rc : settle(h, b, frag_heap_look_list_unchecked(h, home.blocks).which);
}

/* The free blocks of one stream become another's. */
static int take_over(struct frag_heap *h, frag_list home, frag_list other)
{
	struct home mine = look_home(h, home), theirs = look_home(h, other);
	frag_list to = mine.blocks, from = theirs.blocks;
	frag_block b;
	int rc = 0;

	if (frag_heap_look_list_unchecked(h, from).count
	    > frag_heap_look_list_unchecked(h, to).count) {
		mine.blocks = theirs.blocks;
		theirs.blocks = to;
		set_home(h, home, mine);
		set_home(h, other, theirs);
		from = theirs.blocks;
		to = mine.blocks;
	}
	while (!rc && (b = frag_heap_find_unchecked(h, from, 0)) != FRAG_NO_BLOCK) {
		rc = frag_heap_detach_free_unchecked(h, b);
		rc = rc ? rc : settle(h, b, frag_heap_look_list_unchecked(h, to).which);
	}
	return rc;
}

/*
 * Finds a block of another stream, in the order of the streams' creation: first in their present
 * lists; then it takes them over, one after the other, until a block is large enough.
 */
static int find_elsewhere(struct frag_heap *h, uint32_t pool, frag_list home, uint64_t need,
			  frag_block *out)
{
	const frag_list first = first_home(h, pool);
	frag_list at;
	int rc;

	for (at = first; at != FRAG_NO_LIST; at = look_home(h, at).next) {
		const frag_list blocks = look_home(h, at).blocks;

		if (frag_heap_look_list_unchecked(h, blocks).largest < need)
			continue;
		*out = frag_heap_find_unchecked(h, blocks, need);
		return 0;
	}
	for (at = first; at != FRAG_NO_LIST; at = look_home(h, at).next) {
		if (at == home
		    || frag_heap_look_list_unchecked(h, look_home(h, at).blocks).count == 0)
			continue;
		rc = take_over(h, home, at);
		if (rc)
			return rc;
		*out = frag_heap_find_unchecked(h, look_home(h, home).blocks, need);
		if (*out != FRAG_NO_BLOCK)
			return 0;
	}
	return 0;
}

/* The unused segment that came first, if all of it is one block. */
static frag_block first_whole(const struct frag_heap *h)
{
	uint32_t least = UINT32_MAX;
	frag_block found = FRAG_NO_BLOCK;
	frag_segment s;

	for (uint32_t i = 0; (s = frag_heap_find_idle(h, i)) != FRAG_NO_SEGMENT; i++) {
		const struct frag_segment_view it = frag_heap_look_segment_unchecked(h, s);

		if (it.ordinal >= least || frag_heap_look_unchecked(h, it.first).bytes != it.bytes)
			continue;
		least = it.ordinal;
		found = it.first;
	}
	return found;
}

/* By how much the pool would grow for `need`; 0: its maximum does not allow it. */
static uint64_t growth(const struct frag_policy *p, uint64_t need)
{
	const uint64_t held = frag_heap_totals(p->heap)->reserved, most = p->param[MAXIMUM];
	uint64_t left;

	if (!most)
		return need > held ? need : held;
	/* a half that is no multiple of 256 can have let it past its maximum */
	left = held < most ? frag_round_up_pow2(most - held, UNIT) : 0;
	if (need > left)
		return 0;
	return need > left / 2 ? need : left / 2;
}

/* Releases unused segments, the first one first, until `need` bytes fit. */
static int reclaim(struct frag_policy *p, uint64_t need)
{
	const uint64_t most = p->param[MAXIMUM];
	const struct frag_totals *now = frag_heap_totals(p->heap);
	frag_block b;
	int rc = 0;

	while (!rc && need <= most && now->reserved <= most && most - now->reserved < need) {
		b = first_whole(p->heap);
		if (b == FRAG_NO_BLOCK)
			break;
		rc = frag_heap_release(p->heap, b);
	}
	return rc;
}

/*
 * A new segment of `bytes`, all of it in the list of the stream. Where the device refuses: half as
 * much, and again, but never less than `need`.
 */
static int rmm_obtain(struct frag_policy *p, frag_list home, uint64_t bytes, uint64_t need,
		      frag_block *out)
{
	const frag_list list = look_home(p->heap, home).blocks;
	int rc;

	while ((rc = frag_heap_grow(p->heap, list, bytes, out)) == -FRAG_EDEVMEM && bytes > need) {
		frag_heap_count_retry(p->heap);
		bytes = bytes / 2 > need ? bytes / 2 : need;
	}
	rc = rc ? rc : frag_heap_detach_free_unchecked(p->heap, *out);
	if (rc)
		return rc;
	frag_heap_set_user_unchecked(p->heap, *out,
				     frag_heap_look_list_unchecked(p->heap, list).which);
	return frag_heap_insert_unchecked(p->heap, *out);
}

static int expand(struct frag_policy *p, frag_list home, uint64_t need, frag_block *out)
{
	uint64_t bytes = growth(p, need);
	int rc = 0;

	if (!bytes) {
		rc = reclaim(p, need);
		bytes = growth(p, need);
	}
	if (rc)
		return rc;
	if (!bytes) {
		frag_heap_note_tried(p->heap, need);
		return -FRAG_EDEVMEM;
	}
	return rmm_obtain(p, home, bytes, need, out);
}

static int rmm_init(struct frag_policy *p)
{
	frag_list home;
	frag_block b;
	int rc;

	if (!p->param[INITIAL])
		return 0;
	rc = home_of(p->heap, 0, STREAM_0, &home);
	return rc ? rc : rmm_obtain(p, home, p->param[INITIAL], p->param[INITIAL], &b);
}

static int rmm_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	const uint64_t need = frag_round_up_pow2(rq->bytes, UNIT);
	frag_list home;
	/* the default stream is the same whether the trace names it or not */
	const uint32_t which = rq->stream_order ? rq->stream : STREAM_0;
	int rc = home_of(p->heap, rq->pool, which, &home);

	if (rc)
		return rc;
	*out = frag_heap_find_unchecked(p->heap, look_home(p->heap, home).blocks, need);
	if (*out == FRAG_NO_BLOCK)
		rc = find_elsewhere(p->heap, rq->pool, home, need, out);
	if (!rc && *out == FRAG_NO_BLOCK)
		rc = expand(p, home, need, out);
	rc = rc ? rc : frag_heap_take_unchecked(p->heap, out, rq->bytes, need);
	if (!rc)
		frag_heap_set_user_unchecked(p->heap, *out, home);
	return rc;
}

static uint64_t rmm_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)param;
	(void)granularity;
	return frag_round_up_pow2(bytes, UNIT);
}

const struct frag_policy_ops frag_policy_rmm = {
	.name = "rmm",
	.summary = "the pool of RAPIDS RMM: best fit in segments that double and are never released",
	.params = rmm_params,
	.order = FRAG_ORDER_SIZE,
	.which = rmm_which,
	.check = rmm_check,
	.releases = rmm_releases,
	.init = rmm_init,
	.alloc = rmm_alloc,
	.free = rmm_free,
	.round = rmm_round,
};
