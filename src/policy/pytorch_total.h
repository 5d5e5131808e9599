/*
 * pytorch_total.h - the values that PyTorch's allocator derives from the device's total: its
 * limit, the threshold of its garbage collection, the length of an expandable segment.
 *
 * Each value rises with the total, and every decision compares it with a number of bytes. So
 * each result depends on one comparison of the total (frag_heap_total_reaches), and a run is the
 * same for a known range of totals.
 */
#ifndef POLICY_PYTORCH_TOTAL_H
#define POLICY_PYTORCH_TOTAL_H

#include "fragsim/policy.h"

/* May `bytes` be reserved under the fraction now in force? */
bool frag_pytorch_may_reserve(const struct frag_policy *p, uint64_t bytes);

/* How many bytes may be reserved, for the hook of that name. */
uint64_t frag_pytorch_limit(const struct frag_policy *p);

/* The same by the fraction of the settings, whatever set_fraction said since. */
bool frag_pytorch_may_at_first(const struct frag_policy *p, uint64_t bytes);

/* Are `bytes` reserved bytes below the threshold of the garbage collection? */
bool frag_pytorch_may_keep(const struct frag_policy *p, uint64_t bytes);

/* Does the collection work at all? Only where there is a limit. */
bool frag_pytorch_collects(const struct frag_policy *p);

/* Address space that a new expandable segment reserves; and whether that reaches `bytes`. */
uint64_t frag_pytorch_range_bytes(const struct frag_policy *p, uint64_t page);
bool frag_pytorch_range_reaches(const struct frag_policy *p, uint64_t page, uint64_t bytes);

/* For the hook range_bytes: one that was as long as the total said is so again. */
uint64_t frag_pytorch_range_resized(const struct frag_policy *p, uint64_t page, uint64_t bytes,
				    uint64_t end, uint64_t was);

/* Is b the unmapped end of a range that was made so long as the total said? */
bool frag_pytorch_is_end(const struct frag_policy *p, frag_block b);

/* b was mapped. Where no address is left after it, a longer range would have had some. */
void frag_pytorch_note_mapped(const struct frag_policy *p, frag_block b);

/* Nothing above holds for another total from here on. */
void frag_pytorch_pin_total(const struct frag_policy *p);

#endif
