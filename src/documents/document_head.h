/* document_head.h - how every JSON document of fragsim begins. */
#pragma once

#include "documents/fields.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"
#include "fragsim/trace.h"
#include "metrics/metric.h"
#include "scope/claim.h"

/* What wrote it: a member `tool`. */
void frag_document_tool(struct frag_node_ref root);

/* A trace's content as 16 digits: a member of this name. */
void frag_document_content(struct frag_node_ref in, const char *key, uint64_t content);

/* The bytes of a text, two hexadecimal digits each. */
void frag_document_hex(struct frag_node_ref in, const char *key, const char *bytes);

/* Objects of several documents: of a struct frag_trace_info, a frag_scope, a frag_choice. */
extern const struct frag_field frag_trace_fields[], frag_scope_fields[], frag_policy_fields[];
/* Of a struct frag_trace_info the member `recorded_log`. */
extern const struct frag_field frag_log_field[];

/* A device with its ordinal: an object of frag_device_fields, or without it of frag_figures_fields. */
struct frag_device_view {
	uint32_t ordinal;
	struct frag_device_figures figures;
};
extern const struct frag_field frag_device_fields[], frag_figures_fields[];

/* The schema of a policy's parameter. */
#define FRAG_PARAM_SCHEMA "{\"type\": [\"number\", \"boolean\", \"string\"]}"

/* The member `evidence`, of a struct frag_choice at this place. */
#define FRAG_EVIDENCE_FIELD(at)                                                                 \
	{ "evidence", FRAG_TYPE_TEXT, at, "with which allocators the rules were compared",      \
	  .text = frag_evidence_of }
const char *frag_evidence_of(const void *choice, char *buf);

/*
 * A parameter's value as text: is it JSON, a number, true or false? Else it is a text in a separate
 * format.
 */
bool frag_param_is_json(const struct frag_param_spec *spec, uint64_t value,
			char text[FRAG_PARAM_TEXT]);

/* The members `policy` and `alloc_conf`, of the struct frag_choice at a pointer of a struct. */
#define FRAG_CHOICE_FIELDS(type, choice)                                                        \
	{ "policy", FRAG_TYPE_OBJECT, FRAG_POINTER(type, choice), .fields = frag_policy_fields },  \
	FRAG_CONF_FIELD(FRAG_WHOLE_VIA(type, choice))
/* The second alone: `at` is the place of a struct frag_choice. */
#define FRAG_CONF_FIELD(at)                                                                     \
	{ "alloc_conf", FRAG_TYPE_TEXT, at, "the settings as PyTorch takes them, without defaults;" \
	  " null: a policy without any", .text = frag_conf_of, .nullable = true }
const char *frag_conf_of(const void *choice, char *buf);

/* The members `traces` and `scope`, of an array of pointers to struct frag_trace_info. */
#define FRAG_TRACES_FIELDS(type, m, n)                                                          \
	{ "traces", FRAG_TYPE_LIST, FRAG_ARRAY(type, m, n), .pointers = true,                   \
	  .fields = frag_trace_fields },                                                        \
	{ "scope", FRAG_TYPE_LIST, FRAG_ARRAY(type, m, n), "which part of its program's run each" \
	  " recording contains", .pointers = true, .one_alone = true,                           \
	  .fields = frag_trace_scope_fields }
extern const struct frag_field frag_trace_scope_fields[];

/* The member `scope` of an object with one trace; `at` is the place of its struct. */
#define FRAG_SCOPE_FIELD(at)                                                                    \
	{ "scope", FRAG_TYPE_OBJECT, at, "which part of its program's run the recording contains", \
	  .fields = frag_scope_fields }

/* By enum frag_part, ended by NULL. */
extern const char *const frag_bound_words[];

/* The members `bound` and `at_least` of a struct frag_claim; at(m) is the place of its member m. */
#define FRAG_CLAIM_FIELDS(at)                                                                   \
	{ "bound", FRAG_TYPE_WORD, at(part), "exact: at_least is the program's smallest device;"  \
	  " at_least: the recording is a part of its program", .words = frag_bound_words },      \
	{ "at_least", FRAG_TYPE_CAPACITY, at(at_least), "of the device that the program needs;"   \
	  " null: no device is enough", .absence = FRAG_UNLESS_MAX }

/* A string for each line of frag_frames_json(): an array. */
void frag_json_frames(struct frag_node_ref in, const char *key, const char *frames);

/* The member `calls` of a result and of a profile, of a struct frag_driver_costs. */
#define FRAG_CALLS_FIELD(at) { "", FRAG_TYPE_MEMBERS, at, .fields = frag_calls_fields }
extern const struct frag_field frag_calls_fields[];
