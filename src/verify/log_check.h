/* log_check.h - compares the run of a recording with its log, and finds a change of settings. */
#pragma once

#include "verify/release.h"

/*
 * Before the first record of the trace is read: simulates a snapshot under the rules and settings
 * that it was recorded under, and stores the comparison with its log in the trace's info. Where the
 * two differ from one event on, and the log as a whole agrees with a change of settings at an event,
 * the trace gets a `configure` there. A trace without a log, or one that was checked, stays unchanged.
 * -FRAG_ENOMEM
 */
int frag_check_log(struct frag_trace *trace, struct frag_error *err);

/*
 * The same, and a warning where they differ: for commands whose output has no place for that.
 * -FRAG_ENOMEM
 */
int frag_check_log_warn(struct frag_trace *trace, const struct frag_log *log,
			struct frag_error *err);
