/* document_head.h - how every JSON document of fragsim begins. */
#pragma once

#include "documents/json_rows.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"
#include "fragsim/trace.h"
#include "metrics/metric.h"

/* The document's root, with its format and the version of that. */
struct frag_node_ref frag_document_begin(struct frag_json *doc, const char *format);

/* What wrote it: a member `tool`. */
void frag_document_tool(struct frag_node_ref root);

/* A trace's content as 16 digits: a member of this name. */
void frag_document_content(struct frag_node_ref in, const char *key, uint64_t content);

/* A policy with its text and every key: a member `policy`. */
void frag_document_policy(struct frag_node_ref in, const struct frag_choice *choice);

/* What the policy's rules were compared with: a member `evidence`. */
void frag_document_evidence(struct frag_node_ref in, const struct frag_choice *choice);

extern const struct frag_json_row frag_device_rows[];    /* of a struct frag_device_figures */
#define FRAG_NO_ORDINAL UINT32_MAX

/* What it was simulated on: a member `device`, with its number where there is one. */
void frag_document_device(struct frag_node_ref in, const struct frag_device_figures *device,
			  uint32_t ordinal, uint64_t total);

/* How the log of a recording compares with its simulation: a member `recorded_log`. */
void frag_document_log(struct frag_node_ref in, const struct frag_log_check *log);

/*
 * What was read: a member of this name, and its scope as a member `scope` after it; or an element
 * where the name is NULL, whose scope frag_document_scopes() has. Returns it.
 */
struct frag_node_ref frag_document_trace(struct frag_node_ref in, const char *key,
					 const struct frag_trace_info *trace);

/* The scopes of the traces as a member `scope`: a list, unless it is one trace. */
void frag_document_scopes(struct frag_node_ref in, const struct frag_trace_info *const *traces,
			  uint32_t count);

/* A string for each line of frag_frames_json(): an array `frames`. */
void frag_json_frames(struct frag_node_ref in, const char *frames);

/* A member `calls` of a result and of a profile: the time of each kind of driver call, by size. */
void frag_json_calls(struct frag_node_ref in, const struct frag_driver_costs *c);

/* Members of objects that a result and a baseline have, written and read. */
extern const struct frag_json_row frag_result_device_rows[];
extern const struct frag_json_row frag_small_rows[];    /* of it, where there are some */
extern const struct frag_json_row frag_distribution_rows[];
extern const struct frag_json_row frag_runs_rows[];     /* of a trace, behind its path */
extern const struct frag_json_row frag_counts_rows[], frag_modelled_rows[];
extern const struct frag_json_row frag_compaction_rows[], frag_planned_rows[];
