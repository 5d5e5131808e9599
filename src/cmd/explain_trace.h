/* explain_trace.h - fragsim explain TRACE: why memory ran out in a run, and what to do. */
#ifndef CMD_EXPLAIN_TRACE_H
#define CMD_EXPLAIN_TRACE_H

#include "cmd/answer_page.h"

/* Options of a trace alone, from `base` on. */
enum { FRAG_EXPLAIN_AT, FRAG_EXPLAIN_TOP, FRAG_EXPLAIN_MOVES, FRAG_EXPLAIN_BLOCK_COST,
       FRAG_EXPLAIN_FOLDED, FRAG_EXPLAIN_OPTIONS };
#define FRAG_EXPLAIN_ROWS(base)                                                                \
	{ 0, "at", "WHEN", "oom, peak, worst, a step, or the name of a mark (oom)",              \
	  (base) + FRAG_EXPLAIN_AT },                                                              \
	{ 0, "top", "N", "rows of each table (5)", (base) + FRAG_EXPLAIN_TOP },                  \
	{ 0, "moves", "N", "go on after a move, up to so many (1)", (base) + FRAG_EXPLAIN_MOVES }, \
	{ 0, "block-cost", "SIZE", "what each block of a move counts beside its bytes (4MiB)",   \
	  (base) + FRAG_EXPLAIN_BLOCK_COST },                                                      \
	{ 0, "folded", "FILE", "write who holds the memory as folded stacks, for flame graphs",  \
	  (base) + FRAG_EXPLAIN_FOLDED }

struct frag_explain_trace {
	struct frag_run_options run;
	const char *at;                 /* NULL: oom */
	uint64_t top, moves, block_cost;
	const char *folded, *json;      /* paths; NULL: none */
	struct frag_answer_page redraw;      /* of the page, where run has --html */
};

void frag_explain_trace_init(struct frag_explain_trace *how);
void frag_explain_trace_fini(struct frag_explain_trace *how);

/* One of the rows above, less `base`, or an option of run. */
int frag_explain_trace_set(struct frag_explain_trace *how, int id, const char *value,
			   struct frag_error *err);

int frag_explain_trace(struct frag_explain_trace *how, const struct frag_cmd *cmd,
		       const char *path, struct frag_error *err);

#endif
