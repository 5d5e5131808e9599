/* policy_skeleton.h - a template for a new policy. */
#ifndef SUPPORT_POLICY_SKELETON_H
#define SUPPORT_POLICY_SKELETON_H

#include "fragsim/policy.h"

extern const struct frag_policy_ops policy_skeleton;

#endif
