/* buddy.c - binary buddies: powers of two, halved and joined again (fragsim-policies(7), buddy). */
#include <inttypes.h>

#include "policy/heap_access.h"
#include "policy/policies.h"

enum { MIN, SEGMENT, POOL };

static const struct frag_param_spec buddy_params[] = {
	{ .name = "min", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,
	  .power_of_two = true, .help = "the smallest block" },
	{ .name = "segment", .type = FRAG_PARAM_SIZE, .fallback = 2 << 20, .min = 1,
	  .power_of_two = true, .help = "the smallest segment" },
	{ .name = "pool", .type = FRAG_PARAM_SIZE, .fallback = 0, .power_of_two = true,
	  .help = "bytes obtained before the first event and never released" },
	{ 0 },
};

static int buddy_check(const uint64_t *param, struct frag_error *err)
{
	if (param[MIN] <= param[SEGMENT])
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "policy buddy: min=%" PRIu64
			 " is larger than segment=%" PRIu64, param[MIN], param[SEGMENT]);
}

static int buddy_init(struct frag_policy *p)
{
	return frag_policy_begin_with(p, p->param[POOL]);
}

static uint64_t next_power(uint64_t bytes, uint64_t min)
{
	return bytes <= min ? min : UINT64_C(1) << (64 - __builtin_clzll(bytes - 1));
}

static int buddy_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = next_power(rq->bytes, p->param[MIN]);
	uint64_t bytes;
	frag_list list;
	int rc = frag_heap_list_unchecked(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = frag_heap_find_unchecked(p->heap, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(
			p, list, need > p->param[SEGMENT] ? need : p->param[SEGMENT], true, out);
	rc = rc ? rc : frag_heap_detach_free_unchecked(p->heap, *out);
	if (rc)
		return rc;
	for (bytes = frag_heap_look_unchecked(p->heap, *out).bytes; bytes > need && !rc; bytes /= 2)
		rc = frag_heap_split_unchecked(p->heap, *out, bytes / 2);
	return rc ? rc : frag_heap_assign_unchecked(p->heap, *out, rq->bytes);
}

static uint64_t buddy_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)granularity;
	return next_power(bytes, param[MIN]);
}

static struct frag_sought buddy_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, 0),
		.bytes = next_power(rq->bytes, p->param[MIN]),
	};
}

static int buddy_free(struct frag_policy *p, frag_block b)
{
	struct frag_block_view it, other;
	frag_block n;
	int rc = frag_heap_detach_live_unchecked(p->heap, b);

	while (!rc) {
		it = frag_heap_look_unchecked(p->heap, b);
		/*
		 * a block's buddy, if whole, is the adjacent block on the side that the bit
		 * gives
		 */
		n = it.offset & it.bytes ? it.prev : it.next;

		if (n == FRAG_NO_BLOCK)
			break;
		other = frag_heap_look_unchecked(p->heap, n);
		if (other.state != FRAG_FREE || other.bytes != it.bytes)
			break;
		rc = frag_heap_merge_unchecked(p->heap, &b, n);
	}
	return rc ? rc : frag_heap_insert_unchecked(p->heap, b);
}

const struct frag_policy_ops frag_policy_buddy = {
	.name = "buddy",
	.summary = "powers of two, split into halves and joined with their buddies",
	.params = buddy_params,
	.order = FRAG_ORDER_SIZE,
	.check = buddy_check,
	.init = buddy_init,
	.alloc = buddy_alloc,
	.free = buddy_free,
	.seek = buddy_seek,
	.round = buddy_round,
};
