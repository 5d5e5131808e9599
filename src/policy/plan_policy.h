/* plan_policy.h - how a run under the policy plan came along with its plan, for whoever shows that. */
#ifndef POLICY_PLAN_POLICY_H
#define POLICY_PLAN_POLICY_H

#include "fragsim/policy.h"

/* Requests, of which each is counted once. */
struct frag_followed {
	uint64_t hits;          /* that went where the plan says */
	uint64_t too_large, other_pool, not_free;       /* that could not */
	uint64_t beyond;        /* for which the plan had no buffer any more */
	uint64_t before;        /* before the first mark that the key period names */
};

/* NULL: it is another policy, or has no plan. */
const struct frag_followed *frag_plan_followed(const struct frag_policy *p);

#endif
