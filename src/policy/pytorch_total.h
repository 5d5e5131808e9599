/*
 * pytorch_total.h - what PyTorch's allocator takes from the device's total: how much it may
 * reserve, from where on it collects, how long a range is.
 *
 * Each is a figure that rises with the total, and every decision asks whether it reaches so
 * many bytes. So each answer is one of the total (frag_heap_total_reaches), and a run knows
 * for which totals it is the same.
 */
#ifndef POLICY_PYTORCH_TOTAL_H
#define POLICY_PYTORCH_TOTAL_H

#include "fragsim/policy.h"

/* May so many bytes be reserved? By the fraction now in force. */
bool frag_pytorch_may_reserve(const struct frag_policy *p, uint64_t bytes);

/* How many bytes may be reserved, for the hook of that name. */
uint64_t frag_pytorch_limit(const struct frag_policy *p);

/* The same by the fraction of the settings, whatever set_fraction said since. */
bool frag_pytorch_may_at_first(const struct frag_policy *p, uint64_t bytes);

/* Are so many reserved bytes within what the garbage collection lets be? */
bool frag_pytorch_may_keep(const struct frag_policy *p, uint64_t bytes);

/* Does the collection work at all? Only where there is a limit. */
bool frag_pytorch_collects(const struct frag_policy *p);

/* Address space that a new range reserves; and whether that reaches so many bytes. */
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
