/* replay_timings_text.h - what a replay measured, as text. */
#ifndef REPORT_REPLAY_TIMINGS_TEXT_H
#define REPORT_REPLAY_TIMINGS_TEXT_H

#include <stdio.h>

#include "fragsim/metrics.h"

/* Nothing where the run was a simulation. */
void frag_report_measured(const struct frag_result *run, FILE *f);

#endif
