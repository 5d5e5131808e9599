/* sweep_trace.h - a trace of a sweep in memory, with the policies that it is for. */
#ifndef SWEEP_SWEEP_TRACE_H
#define SWEEP_SWEEP_TRACE_H

#include <stdbool.h>

#include "fragsim/trace.h"
#include "policy/configure_events.h"

struct frag_source_reading {
	const struct frag_choice *choices;      /* a configure must be fit for all of them */
	uint32_t choice_count;
	bool sized;                             /* every run has a capacity of its own */
	struct frag_log log;
	bool (*stop)(void *ctx);                /* optional */
	void (*progress)(void *ctx, const struct frag_trace_info *info);        /* optional */
	void *ctx;
};

struct frag_source {
	struct frag_trace *trace;
	struct frag_tape *tape;         /* NULL: it is not in memory */
	struct frag_configured configured;
};

/* Reads it to its end; what is there after a failure must be closed too. */
int frag_source_open(struct frag_source *s, const char *path,
		     const struct frag_source_reading *reading, struct frag_error *err);
void frag_source_close(struct frag_source *s);          /* a zeroed one is fine */

#endif
