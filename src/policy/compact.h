/* compact.h - which policy it is that moves blocks, for whoever shows that or cannot follow it. */
#ifndef POLICY_COMPACT_H
#define POLICY_COMPACT_H

#include "fragsim/policy.h"

bool frag_compact_is(const struct frag_policy_ops *ops);

#endif
