/* pytorch_small.c - what of PyTorch's allocator is apart: its small lists. */
#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"
#include "policy/small_pool.h"

#define BY_AGE 13               /* the first version that takes the older of equal blocks */

_Static_assert(FRAG_SMALL_SEGMENT == SMALL_SEGMENT, "it is this policy's");

/*
 * Pages of a range can go back while others of it are in use, so ranges are not apart. Of all
 * other settings only the rounding matters to a small request: what limits splitting is larger than
 * its segments, and what collects garbage looks at large lists only. Where equal blocks do not go by
 * the age of their segments, nothing is told apart.
 */
bool frag_small_rule(const struct frag_choice *choice, uint64_t *rule)
{
	const uint64_t max_split = choice->param[MAX_SPLIT_MB];

	if (choice->ops != &frag_policy_pytorch || choice->param[EXPANDABLE_SEGMENTS]
	    || choice->param[VERSION] < BY_AGE
	    || (max_split && max_split * MIB <= SMALL_SEGMENT))
		return false;
	*rule = choice->param[ROUNDUP];
	return true;
}

bool frag_is_small(uint64_t rule, uint64_t bytes)
{
	return bytes <= FRAG_SMALL_SEGMENT && frag_pytorch_round(bytes, rule) <= SMALL_SEGMENT / 2;
}
