/* find_move.h - the cheapest move of live blocks after which a failed request succeeds. */
#pragma once

#include "compaction/move_candidates.h"
#include "explain/run_until_oom.h"

/* A move that was tried; its arrays, and what they point to, are the caller's. */
struct frag_move {
	uint64_t bytes;
	uint32_t blocks;
	char **ids;             /* as JSON, in the order in which they were put back */
	char **tags;            /* likewise; NULL: without one */
	uint64_t *sizes;        /* bytes of each */
	uint32_t *from;         /* ordinals of the segments that they left, rising */
	uint32_t from_count;
	uint64_t reaches;       /* step of the next out-of-memory; UINT64_MAX: the end */
	uint64_t step;          /* at which it is made */
};

/*
 * At a halt: finds the first candidate for which all requests succeed, each in a copy of the
 * run: its blocks are freed, the request is allocated, the blocks are allocated again. That copy
 * replaces the run, after the request. *found: there is one; *tried grows with each.
 */
int frag_until_oom_move(struct frag_run_until_oom *run, const struct frag_memory_state *memory,
			const struct frag_move_candidates *candidates, struct frag_move *move,
			bool *found, uint32_t *tried, struct frag_error *err);
