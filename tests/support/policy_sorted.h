/* policy_sorted.h - policies for tests: one that sorts free blocks, one that uses both ends. */
#pragma once

#include "fragsim/policy.h"

/* Keys: align, steps, segment. */
extern const struct frag_policy_ops policy_twolevel;

/* Keys: align, large, segment, list (a file of sizes). */
extern const struct frag_policy_ops policy_twoended;
