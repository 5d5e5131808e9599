/*
 * small_pool.h - small requests that a policy serves apart from all others.
 *
 * From segments of their own, all of FRAG_SMALL_SEGMENT bytes: a small request takes a free block
 * of them wherever one is large enough, and else one segment more; and nothing else of what the
 * policy decides looks into them. They go back only where the device refuses something: then all
 * that are unused do, and that counts as a retry. Two requests of half a segment fill one.
 */
#ifndef POLICY_SMALL_POOL_H
#define POLICY_SMALL_POOL_H

#include "fragsim/policy.h"

#define FRAG_SMALL_SEGMENT (UINT64_C(2) << 20)

/* Does it? Then *rule says which are small, and two of the same rule serve them alike. */
bool frag_small_rule(const struct frag_choice *choice, uint64_t *rule);
bool frag_is_small(uint64_t rule, uint64_t bytes);

#endif
