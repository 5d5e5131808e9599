/* exit_conditions.h - the exit status that finished runs ask for. */
#ifndef CMD_EXIT_CONDITIONS_H
#define CMD_EXIT_CONDITIONS_H

#include "cmd/run_options.h"
#include "answers/report.h"

/*
 * *status becomes 3 where a run had an OOM, and 1 where a condition holds; each
 * such condition is a line on standard error.
 */
int frag_exit_status_of_runs(const struct frag_run_options *options,
			     const struct frag_report_run *runs, uint32_t count, int *status,
			     struct frag_error *err);

/* Conditions on a few figures of a command's own. */
struct frag_conditions {
	struct frag_condition *of;
	uint32_t count, capacity;
};

/* paths: what they may be about, ended by NULL. -FRAG_EUSAGE, -FRAG_ENOMEM */
int frag_conditions_add(struct frag_conditions *conditions, const char *text,
			const char *const *paths, struct frag_error *err);
/* The same of a row: at is the conditions, words the paths. */
frag_set_option frag_conditions_set;
void frag_conditions_fini(struct frag_conditions *conditions);

/* The value of a path; INFINITY: there is none, however large. */
typedef double frag_value_at(const void *ctx, const char *path);

/* *status becomes 1 where one holds, and each such is a line on standard error that who begins. */
void frag_conditions_judge(const struct frag_conditions *conditions, frag_value_at *value,
			   const void *ctx, const char *who, int *status);

#endif
