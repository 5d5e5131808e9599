/* optimizer_steps.h - the optimizer steps of a program, by the names of its marks. */
#pragma once

#include "fragsim/trace.h"

/* From the mark that begins one up to the next mark. */
struct frag_optimizer_step {
	uint64_t from, to;      /* steps of the trace; to: UINT64_MAX where no mark follows */
};

struct frag_optimizer_steps {
	struct frag_optimizer_step *of;
	uint32_t count, capacity;
};

/* The next mark of the trace. False: out of memory; free() `of` also then. */
bool frag_optimizer_note(struct frag_optimizer_steps *s, const struct frag_event *mark);

/* Is a block that is allocated at this step allocated in an optimizer step? */
bool frag_optimizer_covers(const struct frag_optimizer_steps *s, uint64_t birth);
