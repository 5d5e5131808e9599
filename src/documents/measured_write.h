/* measured_write.h - what a replay measured, as members of a result and of a profile. */
#ifndef DOCUMENTS_MEASURED_WRITE_H
#define DOCUMENTS_MEASURED_WRITE_H

#include "base/json.h"
#include "fragsim/metrics.h"

/* A member: what each kind of call took, by size. */
void frag_json_calls(struct frag_node_ref in, const struct frag_driver_costs *c);

/* Members of a RUN: prediction, driver, probes. */
void frag_json_measured(struct frag_node_ref run, const struct frag_result *r);

#endif
