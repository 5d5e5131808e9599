/* pending_uses.h - the pending blocks of a moment: how many, and a row for each stream that they wait for. */
#pragma once

#include "compaction/memory_state.h"
#include "explain/explanation.h"
#include "explain/pending_waits.h"

/*
 * Fills in what is pending in the memory state, and its uses and waits. The caller releases the
 * moment, also where this fails. False: out of memory.
 */
bool frag_pending_uses_fill(struct frag_explained *m, const struct frag_memory_state *memory,
			    const struct frag_tape *tape, const struct frag_lifetimes *lifetimes,
			    const struct frag_waits *waits);
