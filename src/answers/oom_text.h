/* oom_text.h - an out-of-memory, and who holds memory, for a person. */
#ifndef ANSWERS_OOM_TEXT_H
#define ANSWERS_OOM_TEXT_H

#include "answers/report.h"

#define FRAG_OOM_ADVICE_ROOM 512
/* What was in the way of the request, and how memory was; in buf, which is returned. */
const char *frag_oom_advice(const struct frag_oom *oom, char buf[FRAG_OOM_ADVICE_ROOM]);

#define FRAG_HOLDER_ROOM 256
/* "2.27 GiB in 25 blocks of TAG"; the long form has the step of the oldest, too. */
const char *frag_holder_text(const struct frag_tag_usage *holder, bool long_form,
			     char buf[FRAG_HOLDER_ROOM]);

#define FRAG_HOLE_ROOM 256
/* What the blocks of a hole do: "keep segment 137, 32.00 MiB, ..." */
const char *frag_hole_text(const struct frag_hole *hole, char buf[FRAG_HOLE_ROOM]);

/* Rows: who holds most, with the stacks where there are some. */
void frag_print_holders(const struct frag_report *r, const struct frag_tag_usage *holders,
			uint32_t count, FILE *f);

/* One out-of-memory of a run: PyTorch's words, and who held memory. */
void frag_print_oom(const struct frag_report *r, const struct frag_result *run,
		    const struct frag_oom *oom, FILE *f);

#endif
