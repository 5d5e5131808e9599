/* judge.h - the exit status that finished runs ask for. */
#ifndef CMD_JUDGE_H
#define CMD_JUDGE_H

#include "cmd/run_options.h"
#include "report/report.h"

/*
 * *status becomes 3 where a run had an OOM, and 1 where a condition holds; each
 * such condition is a line on standard error.
 */
int frag_judge_runs(const struct frag_run_options *options, const struct frag_report_run *runs,
		    uint32_t count, int *status, struct frag_error *err);

#endif
