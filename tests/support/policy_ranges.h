/* policy_ranges.h - a policy that lives in expandable ranges. */
#pragma once

#include "fragsim/policy.h"

/*
 * Best fit in one range a pool, of 64 pages of 4 KiB: what is missing is mapped
 * in the lowest hole that has room, empty_cache and a refusal unmap every whole
 * page that is free, and a range without memory is released. For tests of the
 * heap under an engine: no policy of the program works so.
 */
extern const struct frag_policy_ops policy_ranges;

#define RANGES_PAGE UINT64_C(4096)
#define RANGES_PAGES 64
