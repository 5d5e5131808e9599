/* policies.h - the tables that policy.c lists, and what several of them share. */
#ifndef POLICY_POLICIES_H
#define POLICY_POLICIES_H

#include <string.h>

#include "fragsim/policy.h"

extern const struct frag_policy_ops frag_policy_bestfit;
extern const struct frag_policy_ops frag_policy_buddy;
extern const struct frag_policy_ops frag_policy_direct;
extern const struct frag_policy_ops frag_policy_firstfit;
extern const struct frag_policy_ops frag_policy_nextfit;
extern const struct frag_policy_ops frag_policy_pytorch;
extern const struct frag_policy_ops frag_policy_sizeclass;
extern const struct frag_policy_ops frag_policy_worstfit;

/* The policy of the plug-in in this file; loaded once, and for good. -FRAG_EPOLICY, -FRAG_ENOMEM */
int frag_plugin_load(const struct frag_policy_ops **out, const char *path, struct frag_error *err);

/* The least multiple of m that is >= x. */
static inline uint64_t frag_round_up(uint64_t x, uint64_t m)
{
	uint64_t rest = x % m;

	return rest ? x + (m - rest) : x;
}

static inline uint64_t frag_round_up_pow2(uint64_t x, uint64_t power)
{
	return (x + power - 1) & ~(power - 1);
}

/* The length of the first of several settings; commas in brackets are a value's own. */
static inline size_t frag_setting_length(const char *text)
{
	size_t n = strcspn(text, ",[");

	if (text[n] == '[') {
		n += strcspn(text + n, "]");
		n += strcspn(text + n, ",");
	}
	return n;
}

/* The initial pool of SPEC 6.1, in the list of trace pool 0: nothing where bytes is 0. */
int frag_policy_begin_with(struct frag_policy *p, uint64_t bytes);

#endif
