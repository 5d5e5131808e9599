/* taped.h - a trace in memory, with the policies and devices to simulate it again and again. */
#ifndef CMD_TAPED_H
#define CMD_TAPED_H

#include "cmd/run_options.h"
#include "policy/configured.h"

struct frag_taped {
	struct frag_trace *trace;
	struct frag_configured configured;
	struct frag_tape *tape;
	struct frag_devices devices;    /* as the options have them; capacities are left out */
	struct frag_choice *choices;    /* those of the options, or the usual ones of this trace */
	uint32_t choice_count;
};

/*
 * Which policies to take where the options have none: up to FRAG_USUAL_MAX are filled in, as
 * this trace has them.
 */
#define FRAG_USUAL_MAX 4
typedef int frag_usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		       const struct frag_trace *trace, const struct frag_log *log,
		       struct frag_error *err);

/*
 * Reads traces to their ends, with progress and warnings on standard error. A `configure` must
 * be fit for all of the policies. What is there after a failure must be closed too.
 */
int frag_taped_read(struct frag_taped *traces, const char *const *paths, uint32_t count,
		    const struct frag_run_options *o, frag_usual *usual, struct frag_error *err);
void frag_taped_close(struct frag_taped *traces, uint32_t count);       /* zeroed ones are fine */

#endif
