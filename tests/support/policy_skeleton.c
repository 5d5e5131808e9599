/*
 * policy_skeleton.c - a template for a new policy: every hook, when it is called,
 * and whether it is required.
 *
 * To write a policy, copy this file to src/policy/NAME.c, replace "skeleton",
 * drop the hooks that it does not need, and list its table in policy.c. What is
 * here is a first fit without splitting: it works, and it is tested.
 */
#include "support/policy_skeleton.h"

#include <string.h>

/* Places in p->param, in the order of the table below. */
enum { ALIGN, KEEP };

/*
 * Optional: the keys of NAME:key=value. They are parsed, range-checked, listed by
 * `fragsim list policies` and shown in results from this table alone.
 */
static const struct frag_param_spec skeleton_params[] = {
	{ .name = "align", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,
	  .power_of_two = true, .help = "segments are multiples of this" },
	{ .name = "keep", .type = FRAG_PARAM_BOOL, .fallback = 1,
	  .help = "keep what is freed; else give it back at once" },
	{ 0 },
};

/* Optional: state_size zeroed bytes for hints. Memory belongs to the heap. */
struct skeleton {
	struct frag_memory_stats stats;
};

/*
 * Optional, called once for each time that a user names the policy: refuses
 * values that are each in range but do not fit together. The message is its own.
 */
static int skeleton_check(const uint64_t *param, struct frag_error *err)
{
	if (param[KEEP] || param[ALIGN] < UINT64_C(1) << 40)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "policy skeleton: align is too large for keep=false");
}

/*
 * Optional: for an allocator whose users know a settings string of its own. Sets
 * parameters from it, or refuses it with a message.
 */
static int skeleton_settings(uint64_t *param, const char *text, size_t length,
			     struct frag_error *err)
{
	if (length != 4 || memcmp(text, "drop", 4) != 0)
		return frag_fail(err, FRAG_EUSAGE, "the only setting is \"drop\"");
	param[KEEP] = 0;
	return 0;
}

/*
 * Optional, called by the heap in the midst of a verb, whenever a block has become free
 * or a free one has changed: the number of its list, among those of its pool. Here all
 * are in list 0, as without it. `key` is called at the same moments, and orders each list
 * of a policy whose order is FRAG_ORDER_KEY; a policy with another has none.
 */
static uint32_t skeleton_which(const void *state, const uint64_t *param,
			       const struct frag_segment_view *s, const struct frag_block_view *b)
{
	(void)state;
	(void)param;
	(void)s;
	(void)b;
	return 0;
}

/*
 * Optional, called on each device before the first event: obtains what the
 * policy begins with. 0, -FRAG_EDEVMEM (an OOM at step 0), or a verb's code.
 */
static int skeleton_init(struct frag_policy *p)
{
	struct skeleton *s = p->state;

	s->stats.num_ooms = 0;
	return 0;
}

/*
 * Required, called for each alloc of more than 0 bytes: answers with one block
 * that has become allocated just now, in a segment of the request's pool.
 * -FRAG_EDEVMEM where there is no memory: then nothing may have been allocated.
 * Other codes come from the verbs and are passed up untouched.
 */
static int skeleton_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = frag_round_up_pow2(rq->bytes, p->param[ALIGN]);
	struct skeleton *s = p->state;
	uint32_t calls;
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = frag_heap_find(p->heap, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, list, need, true, out);
	frag_heap_calls(p->heap, &calls);
	s->stats.num_device_alloc += calls > 0 && !rc;
	s->stats.num_ooms += rc == -FRAG_EDEVMEM;
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes,
					frag_heap_look(p->heap, *out).bytes);
}

/*
 * Required, called for each free that need not wait, and for blocks that have
 * been waited for where there is no `ended`: b is allocated or pending, and must
 * not be either afterwards.
 */
static int skeleton_free(struct frag_policy *p, frag_block b)
{
	int rc = frag_heap_give(p->heap, b, &b);

	return rc || p->param[KEEP] ? rc : frag_heap_release(p->heap, b);
}

/*
 * Optional, called for each free that must wait, when b has become pending: for
 * policies that keep count of such blocks.
 */
static void skeleton_deferred(struct frag_policy *p, frag_block b)
{
	(void)p;
	(void)b;
}

/*
 * Optional, called for each pending block at the step that ends it: for policies
 * that notice it later than that. synced is the step of the sync that ended the
 * last stream, or FRAG_NEVER where there was only a `complete`.
 */
static int skeleton_ended(struct frag_policy *p, frag_block b, uint64_t synced)
{
	(void)synced;
	return skeleton_free(p, b);
}

/*
 * Optional, called for empty_cache, set_fraction, configure, and sync (after
 * its pending blocks have ended). handled = false leaves the default.
 */
static int skeleton_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	(void)p;
	*handled = n->kind == FRAG_NOTICE_CONFIGURE;
	return 0;
}

/* Optional, called at the end of a run: for an allocator that has its own statistics. */
static bool skeleton_stats(const struct frag_policy *p, struct frag_memory_stats *out)
{
	const struct skeleton *s = p->state;

	*out = s->stats;
	return true;
}

/*
 * Optional, called where a request has failed: on which list it was looked for, and
 * the least bytes of a block that serve it. For reports; it changes nothing.
 */
static struct frag_sought skeleton_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, 0), .bytes = rq->bytes,
	};
}

const struct frag_policy_ops policy_skeleton = {
	.name = "skeleton",
	.summary = "a template",
	.params = skeleton_params,
	.order = FRAG_ORDER_ADDRESS,
	.which = skeleton_which,
	.state_size = sizeof(struct skeleton),
	.check = skeleton_check,
	.settings = skeleton_settings,
	.init = skeleton_init,
	.alloc = skeleton_alloc,
	.free = skeleton_free,
	.deferred = skeleton_deferred,
	.ended = skeleton_ended,
	.notice = skeleton_notice,
	.stats = skeleton_stats,
	.seek = skeleton_seek,
};
