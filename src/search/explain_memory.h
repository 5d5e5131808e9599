/*
 * explain_memory.h - explains a memory state: blocking blocks, tags, pools, and the main cause.
 */
#ifndef SEARCH_EXPLAIN_MEMORY_H
#define SEARCH_EXPLAIN_MEMORY_H

#include "compaction/memory_state.h"
#include "events/tape.h"
#include "search/explanation.h"

/*
 * Fills in segments, holders and pools of a memory state after step m->step, what is pending, and
 * for whom it waits; folded: holders by stack too. device: as the tape counts it. The caller must
 * release it, also on failure. -FRAG_ENOMEM
 */
int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *memory,
			uint32_t device, const struct frag_tape *tape, bool folded,
			struct frag_error *err);
void frag_explain_memory_fini(struct frag_explained *m);

/*
 * To be called after the moves are found: names the main cause of non-releasable memory, in the
 * segments that the first move leaves, else in all. Only segments of more than 2 MiB that are at
 * least a quarter free count, by the class of most of their live bytes: long-lived blocks that
 * were allocated in a segment reserved for others, or short-lived blocks.
 */
void frag_explain_main_cause(struct frag_explained *m);

#endif
