/* policy_skeleton.h - a template for a new policy. */
#pragma once

#include "fragsim/policy.h"

extern const struct frag_policy_ops policy_skeleton;
