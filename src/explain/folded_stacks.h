/* folded_stacks.h - the live blocks of a moment by stack, as rows of folded stacks. */
#pragma once

#include "compaction/memory_state.h"
#include "explain/explanation.h"

/*
 * Fills in m->folded, which is empty: the most bytes first. The caller releases the moment, also
 * where this fails. False: out of memory.
 */
bool frag_fold_stacks(struct frag_explained *m, const struct frag_memory_state *memory,
		      const struct frag_symbols *symbols);
