/* run_diagnosis.h - what the report and the result of a run say beyond its figures. */
#ifndef CMD_RUN_DIAGNOSIS_H
#define CMD_RUN_DIAGNOSIS_H

#include "cmd/session.h"
#include "search/diagnose_run.h"

struct frag_answers {
	struct frag_tape_writer *writer;        /* while the trace is read */
	struct frag_tape *tape;                 /* NULL: the trace is too long to be kept */
	struct frag_diagnosis *answer;             /* one a run */
	uint32_t count;
	struct frag_trials trials;
};

/*
 * Where there is a page, or a report or a result object and nobody said --quiet: the trace's events are
 * kept, if they are not too many. -FRAG_ENOMEM
 */
int frag_answers_begin(struct frag_answers *answers, const struct frag_session *s,
		       const struct frag_trace *trace, struct frag_error *err);

/*
 * Looks for the answers to all runs, whose simulations are over and are retired, and gives them
 * to the session's report and result. -FRAG_ENOMEM, -FRAG_EINTERRUPTED
 */
int frag_answers_find(struct frag_answers *answers, struct frag_session *s,
		      const struct frag_sim_options *options, struct frag_error *err);

void frag_answers_fini(struct frag_answers *answers);   /* one that is zeroed is fine */

#endif
