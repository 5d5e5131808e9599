/* replay_timings_text.h - what a replay measured, as text. */
#ifndef ANSWERS_REPLAY_TIMINGS_TEXT_H
#define ANSWERS_REPLAY_TIMINGS_TEXT_H

#include <stdio.h>

#include "fragsim/metrics.h"

/* Nothing where the run was a simulation. */
void frag_report_measured(const struct frag_result *run, FILE *f);

#endif
