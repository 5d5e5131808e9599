/* measured.h - what a replay measured, as text and as JSON. */
#ifndef REPORT_MEASURED_H
#define REPORT_MEASURED_H

#include <stdio.h>

#include "base/json.h"
#include "fragsim/metrics.h"

/* Nothing where the run was a simulation. */
void frag_report_measured(const struct frag_result *run, FILE *f);

/* A member: what each kind of call took, by size. */
void frag_json_calls(struct frag_node_ref in, const struct frag_driver_costs *c);

/* Members of a RUN: prediction, driver, probes. */
void frag_json_measured(struct frag_node_ref run, const struct frag_result *r);

#endif
