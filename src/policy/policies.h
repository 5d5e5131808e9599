/*
 * policies.h - the tables that policy.c lists, and declarations that several files of this
 * module share.
 *
 * The order of the files, each using those before it: obtain, the policies, param (keys),
 * policy (the list of all, and what a table must have), plugin, choice (a name and its keys).
 */
#ifndef POLICY_POLICIES_H
#define POLICY_POLICIES_H

#include <string.h>

#include "fragsim/policy.h"

extern const struct frag_policy_ops frag_policy_bestfit;
extern const struct frag_policy_ops frag_policy_bfc;
extern const struct frag_policy_ops frag_policy_buddy;
extern const struct frag_policy_ops frag_policy_compact;
extern const struct frag_policy_ops frag_policy_cupy;
extern const struct frag_policy_ops frag_policy_direct;
extern const struct frag_policy_ops frag_policy_firstfit;
extern const struct frag_policy_ops frag_policy_nextfit;
extern const struct frag_policy_ops frag_policy_plan;
extern const struct frag_policy_ops frag_policy_pytorch;
extern const struct frag_policy_ops frag_policy_rmm;
extern const struct frag_policy_ops frag_policy_sizeclass;
extern const struct frag_policy_ops frag_policy_tlsf;
extern const struct frag_policy_ops frag_policy_worstfit;

/*
 * The policy that the first `name` characters say: one of ours, or a plug-in's path. -FRAG_EUSAGE
 */
int frag_policy_named(const struct frag_policy_ops **out, const char *text, size_t name,
		      struct frag_error *err);

/*
 * Loads the policy of the plug-in in this file, once and permanently. -FRAG_EPOLICY,
 * -FRAG_ENOMEM
 */
int frag_plugin_load(const struct frag_policy_ops **out, const char *path, struct frag_error *err);

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

/* Which policy it is that moves blocks, for whoever shows that or cannot follow it. */
bool frag_compact_is(const struct frag_policy_ops *ops);

/* How a run under the policy plan came along with its plan, for whoever shows that. */
/* Numbers of requests; each request is counted once. */
struct frag_followed {
	uint64_t hits;          /* that went where the plan says */
	uint64_t too_large, other_pool, not_free;       /* that could not */
	uint64_t beyond;        /* for which the plan had no buffer any more */
	uint64_t before;        /* before the first mark that the key period names */
};

/* NULL: it is another policy, or has no plan. */
const struct frag_followed *frag_plan_followed(const struct frag_policy *p);

#endif
