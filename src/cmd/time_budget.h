/*
 * time_budget.h - the option --time: a search ends when its time is up, and the command prints the
 * results that are proven by then.
 */
#ifndef CMD_TIME_BUDGET_H
#define CMD_TIME_BUDGET_H

#include <stdbool.h>

#include "fragsim/error.h"

/* Seconds of a search without --time. */
#define FRAG_TIME_USUAL 60

/* Seconds, with s, ms, m or min behind them. -FRAG_EUSAGE */
int frag_option_time(double *seconds, const char *value, struct frag_error *err);

/* A search begins: its time counts from now on. Called before its threads start. */
void frag_time_begin(double seconds);

/*
 * The `stop` of a search: true after a signal, and once its time is up. ctx is not used. Returns
 * the same as frag_interrupted() where no search has begun.
 */
bool frag_time_is_up(void *ctx);

/* True once half of the time has passed: the search prefers an upper bound to the exact answer. */
bool frag_time_is_short(void *ctx);

/* Did a search that returned rc end because its time was up, and not by a signal? */
bool frag_time_ended(int rc);

#endif
