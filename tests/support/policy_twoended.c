/*
 * policy_twoended.c - small requests from below, large ones from above, for tests of both ends.
 *
 * Small requests take the lower end of the lowest free block, large ones the upper end of
 * the highest, so that what lives shortly and what lives long stay apart. It shows besides
 * what a key that names a file is good for: the file lists sizes that are large whatever
 * `large` says, one in each line.
 */
#include <stdlib.h>
#include <string.h>

#include "fragsim/policy.h"

/* As places in p->param. */
enum { ALIGN, LARGE, SEGMENT, LIST };

/* Numbers in decimal, each ended by a line feed, become an array of them. */
static int load_sizes(const struct frag_file *file, void **bytes, uint64_t *length,
		      struct frag_error *err)
{
	const char *p = file->bytes, *end = p + file->length;
	uint64_t *sizes = malloc(file->length * sizeof(*sizes) + 1), count = 0;

	*bytes = sizes;
	if (!sizes)
		return frag_fail_nomem(err);
	for (; p < end; p++) {
		uint64_t size = 0;

		for (; p < end && *p >= '0' && *p <= '9' && size < UINT64_C(1) << 53; p++)
			size = size * 10 + (uint64_t)(*p - '0');
		if (p == end || *p != '\n' || !size)
			return frag_fail(err, FRAG_ETRACE, "line %lu is no size in bytes",
					 (unsigned long)count + 1);
		sizes[count++] = size;
	}
	*length = count * sizeof(*sizes);
	return 0;
}

static const struct frag_param_spec twoended_params[] = {
	{ .name = "align", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,
	  .power_of_two = true, .help = "blocks are multiples of this" },
	{ .name = "large", .type = FRAG_PARAM_SIZE, .fallback = 64 << 10, .min = 1,
	  .help = "requests from this on are large" },
	{ .name = "segment", .type = FRAG_PARAM_SIZE, .fallback = 2 << 20, .min = 1,
	  .help = "segments are multiples of this" },
	{ .name = "list", .type = FRAG_PARAM_FILE, .load = load_sizes,
	  .help = "sizes that are large besides" },
	{ 0 },
};

static bool is_large(const struct frag_policy *p, uint64_t bytes)
{
	const struct frag_file *list = frag_param_file(p->param[LIST]);
	const uint64_t *sizes = list ? list->bytes : NULL;

	for (uint64_t i = 0; list && i < list->length / sizeof(*sizes); i++)
		if (sizes[i] == bytes)
			return true;
	return bytes >= p->param[LARGE];
}

static int twoended_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = frag_round_up_pow2(rq->bytes, p->param[ALIGN]);
	const bool large = is_large(p, rq->bytes);
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = large ? frag_heap_find_last(p->heap, list, need)
		     : frag_heap_find(p->heap, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, list, frag_round_up(need, p->param[SEGMENT]), true, out);
	if (rc)
		return rc;
	return large ? frag_heap_take_upper(p->heap, out, rq->bytes, need)
		     : frag_heap_take(p->heap, out, rq->bytes, need);
}

static int twoended_free(struct frag_policy *p, frag_block b)
{
	return frag_heap_give(p->heap, b, NULL);
}

extern const struct frag_policy_ops policy_twoended;
const struct frag_policy_ops policy_twoended = {
	.name = "twoended",
	.summary = "small requests from below, large ones from above",
	.params = twoended_params,
	.order = FRAG_ORDER_ADDRESS,
	.alloc = twoended_alloc,
	.free = twoended_free,
};
