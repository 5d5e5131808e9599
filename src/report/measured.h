/* measured.h - what a replay measured, as text. */
#ifndef REPORT_MEASURED_H
#define REPORT_MEASURED_H

#include <stdio.h>

#include "fragsim/metrics.h"

/* Nothing where the run was a simulation. */
void frag_report_measured(const struct frag_result *run, FILE *f);

#endif
