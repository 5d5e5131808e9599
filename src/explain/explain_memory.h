/* explain_memory.h - explains a memory state by segments, blocking blocks, tags and pools. */
#pragma once

#include "compaction/memory_state.h"
#include "explain/explanation.h"

/*
 * Fills in segments, holders and pools of a memory state after step m->step, what is pending, and
 * for whom it waits; folded: holders by stack too. device: as the tape counts it. Release it
 * also where this fails. -FRAG_ENOMEM
 */
int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *memory,
			uint32_t device, const struct frag_tape *tape, bool folded,
			struct frag_error *err);
void frag_explain_memory_fini(struct frag_explained *m);        /* that alone; zeroed is fine */
