/*
 * pytorch_stats.h - the statistics that PyTorch's allocator keeps of itself, as
 * torch.cuda.memory_stats() shows them.
 */
#ifndef POLICY_PYTORCH_STATS_H
#define POLICY_PYTORCH_STATS_H

#include "fragsim/policy.h"

/* A request served: the free block found, and what of it was taken. */
struct frag_stat_alloc {
	uint64_t requested, found, taken; /* bytes */
	bool large, range, oversize;
	bool split;             /* the block found was part of a segment */
	bool apart;             /* what is left of it is on both sides */
};

/* A block freed. */
struct frag_stat_free {
	bool large, range, oversize;
	bool split;             /* the free block that resulted is part of a segment */
	uint32_t merged;        /* free neighbours that it took up */
};

void frag_stats_alloc(struct frag_memory_stats *stats, const struct frag_stat_alloc *a);

/* The program has freed it ... */
void frag_stats_freed(struct frag_memory_stats *stats, const struct frag_stat_free *f,
		      uint64_t bytes);

/* ... and nothing uses it any more; it is part of a free block of `now` bytes. */
void frag_stats_ended(struct frag_memory_stats *stats, const struct frag_stat_free *f,
		      uint64_t requested, uint64_t bytes, uint64_t now);

void frag_stats_call(struct frag_memory_stats *stats, const struct frag_call *call, bool large,
		     bool oversize);

#endif
