/*
 * small_pool.h - small requests that a policy handles separately from all others.
 *
 * Small requests have their own segments of FRAG_SMALL_SEGMENT bytes: a small request takes a
 * free block of any of them that is large enough, and else reserves one segment more; no other
 * decision of the policy depends on these segments. They are released only after a refusal of
 * the device: then all unused ones are, and that counts as a retry. Two requests of half a
 * segment fill one.
 */
#pragma once

#include "policy/pytorch_settings.h"

#define FRAG_SMALL_SEGMENT (UINT64_C(2) << 20)

/*
 * Does the policy do so? Then *rule defines the small sizes, and two policies with the same rule
 * handle them alike.
 */
bool frag_small_rule(const struct frag_choice *choice, uint64_t *rule);

static inline bool frag_is_small(uint64_t rule, uint64_t bytes)
{
	return bytes <= FRAG_SMALL_SEGMENT
	       && frag_pytorch_round(bytes, rule) <= FRAG_SMALL_SEGMENT / 2;
}
