/*
 * pending_waits.h - what the pending blocks of a moment wait for.
 *
 * A stream that was recorded for a block is waited for from its free on, until the next sync of
 * it; so of each stream the last sync is enough.
 */
#pragma once

#include "compaction/memory_state.h"
#include "events/tape.h"

/* A pending block, and one thing that it waits for. */
struct frag_wait {
	uint32_t block;         /* index into the memory state's */
	uint32_t stream;        /* dense; FRAG_ALL: its `complete`, whatever stream that is of */
};

/* By block, then by stream. */
struct frag_waits {
	struct frag_wait *of;
	uint32_t count, capacity;
};

/*
 * Finds the waits in a memory state after step `until`, in zeroed waits. Reads the tape up to there
 * if a block is pending. The caller frees `of`, also where this fails. False: out of
 * memory.
 */
bool frag_waits_find(struct frag_waits *waits, const struct frag_memory_state *memory,
		     uint32_t device, const struct frag_tape *tape, uint64_t until);
