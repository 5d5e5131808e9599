/* document_head.c - the members that documents have in common. */
#include "documents/document_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "documents/documents.h"
#include "fragsim/version.h"
#include "metrics/driver_latency.h"
#include "policy/choice.h"
#include "policy/evidence.h"
#include "policy/param.h"
#include "trace/scope.h"

void frag_document_tool(struct frag_node_ref root)
{
	struct frag_node_ref tool = frag_json_object(root, "tool");

	frag_json_text(tool, "name", "fragsim");
	frag_json_text(tool, "version", FRAG_VERSION);
}

void frag_document_content(struct frag_node_ref in, const char *key, uint64_t content)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, content);
	frag_json_text(in, key, text);
}

void frag_document_hex(struct frag_node_ref in, const char *key, const char *bytes)
{
	const size_t length = strlen(bytes);
	char *hex = malloc(2 * length + 1);

	for (size_t i = 0; hex && i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
	in.doc->failed |= !hex;
	frag_json_text(in, key, hex);
	free(hex);
}

bool frag_param_is_json(const struct frag_param_spec *spec, uint64_t value,
			char text[FRAG_PARAM_TEXT])
{
	const char *words = value ? "true" : "false";

	switch (spec->type) {
	case FRAG_PARAM_BOOL:
		break;
	case FRAG_PARAM_FILE:
		words = value ? frag_param_file(value)->path : "";
		break;
	case FRAG_PARAM_NAME:
		words = value ? frag_param_name(value) : "";
		break;
	case FRAG_PARAM_OWN:
		spec->print(value, text, FRAG_PARAM_TEXT);
		/* a version is no number: 2.10 is not 2.1 */
		return !spec->no_setting && text[strspn(text, "0123456789.e+-")] == '\0';
	case FRAG_PARAM_SIZE:
	case FRAG_PARAM_COUNT:
		snprintf(text, FRAG_PARAM_TEXT, "%" PRIu64, value);
		return true;
	}
	snprintf(text, FRAG_PARAM_TEXT, "%s", words);
	return spec->type == FRAG_PARAM_BOOL;
}

static void put_params(struct frag_node_ref in, const void *of)
{
	const struct frag_choice *choice = of;
	const struct frag_param_spec *spec = choice->ops->params;

	char text[FRAG_PARAM_TEXT];

	for (uint32_t i = 0; spec && spec[i].name; i++) {
		if (frag_param_is_omitted(choice, i))
			continue;
		if (frag_param_is_json(&spec[i], choice->param[i], text))
			frag_json_raw(in, spec[i].name, text);
		else
			frag_json_text(in, spec[i].name, text);
	}
}

static struct frag_cell_value policy_name_of(const void *choice)
{
	return FRAG_TEXT_OF(((const struct frag_choice *)choice)->ops->name);
}

const struct frag_field frag_policy_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_WHOLE, .get = policy_name_of },
	{ "text", FRAG_TYPE_TEXT, FRAG_AT(choice, text), "as on the command line" },
	{ "params", FRAG_TYPE_MAP, FRAG_WHOLE, "every key with its value", .put = put_params,
	  .members = FRAG_PARAM_SCHEMA },
	{ 0 },
};

const struct frag_field frag_figures_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(device_figures, name), .nullable = true },
	{ "total_bytes", FRAG_TYPE_BYTES, FRAG_AT(device_figures, total), "0: no limit" },
	{ "context_bytes", FRAG_TYPE_BYTES, FRAG_AT(device_figures, context) },
	{ "other_bytes", FRAG_TYPE_BYTES, FRAG_AT(device_figures, other), "of other processes" },
	{ "granularity_bytes", FRAG_TYPE_BYTES, FRAG_AT(device_figures, granularity), .least = 1 },
	{ 0 },
};

const struct frag_field frag_device_fields[] = {
	{ "ordinal", FRAG_TYPE_COUNT, FRAG_AT(device_view, ordinal) },
	FRAG_MEMBERS(FRAG_AT(device_view, figures), frag_figures_fields),
	{ 0 },
};

static struct frag_cell_value recorded_oom_of(const void *of)
{
	const struct frag_trace_info *trace = of;

	return FRAG_OF(trace->scope.ends == FRAG_ENDS_OOM ? trace : NULL);
}

static struct frag_cell_value log_of(const void *of)
{
	const struct frag_trace_info *trace = of;

	return FRAG_OF(trace->log.decisions ? &trace->log : NULL);
}

static struct frag_cell_value agrees_of(const void *of)
{
	return (struct frag_cell_value){ .there = true, .b = !((const struct frag_log_check *)of)->differences };
}

static struct frag_cell_value differs_from_of(const void *of)
{
	const struct frag_log_check *log = of;

	return (struct frag_cell_value){ .there = log->differences != 0, .u = log->first };
}

static struct frag_cell_value changed_at_of(const void *of)
{
	const struct frag_log_check *log = of;

	return (struct frag_cell_value){ .there = log->changed_to != NULL, .u = log->changed_at };
}

const char *frag_evidence_of(const void *choice, char *buf)
{
	return frag_evidence_text(choice, NULL, buf);
}

const char *frag_conf_of(const void *of, char *buf)
{
	const struct frag_choice *choice = of;

	return choice->ops->settings ? frag_conf_text(choice, buf, FRAG_CONF_ROOM) : NULL;
}

static const struct frag_field recorded_oom_fields[] = {
	{ "step", FRAG_TYPE_COUNT, FRAG_AT(trace_info, oom_step), "its event" },
	{ "size", FRAG_TYPE_BYTES, FRAG_AT(trace_info, oom_bytes), "the bytes that it requested" },
	{ 0 },
}, log_fields[] = {
	{ "agrees", FRAG_TYPE_FLAG, FRAG_WHOLE, .get = agrees_of },
	{ "decisions", FRAG_TYPE_COUNT, FRAG_AT(log_check, decisions),
	  "addresses and segments that were compared" },
	{ "differences", FRAG_TYPE_COUNT, FRAG_AT(log_check, differences), "among them" },
	{ "differs_from", FRAG_TYPE_COUNT, FRAG_WHOLE, "the event of the first; null: there is none",
	  .get = differs_from_of, .nullable = true },
	{ "settings_changed_at", FRAG_TYPE_COUNT, FRAG_WHOLE,
	  "the event at which the program changed its settings, as the log shows",
	  .get = changed_at_of, .nullable = true },
	{ "settings_changed_to", FRAG_TYPE_TEXT, FRAG_AT(log_check, changed_to), .nullable = true },
	{ 0 },
};

static struct frag_cell_value before_of(const void *scope)
{
	return FRAG_OF(frag_scope_knows_before(scope) ? scope : NULL);
}

static struct frag_cell_value grows_of(const void *of)
{
	const struct frag_scope *scope = of;

	return (struct frag_cell_value){ .there = scope->grows != FRAG_GROWS_UNKNOWN,
					 .b = scope->grows == FRAG_GROWS_YES };
}

static const struct frag_field before_fields[] = {
	{ "active", FRAG_TYPE_BYTES, FRAG_AT(scope, before_active) },
	{ "reserved", FRAG_TYPE_BYTES, FRAG_AT(scope, before_reserved) },
	{ 0 },
};

const struct frag_field frag_scope_fields[] = {
	{ "begins", FRAG_TYPE_WORD, FRAG_AT(scope, begins), "start: nothing was reserved before the"
	  " first event; late: there were segments; state: no allocation is recorded",
	  .words = frag_begins_words },
	{ "ends", FRAG_TYPE_WORD, FRAG_AT(scope, ends), "oom: the last request failed; cut: the"
	  " recording lacks events; end: all else", .words = frag_ends_words },
	{ "before", FRAG_TYPE_OBJECT, FRAG_WHOLE, "at the first event; null: nothing, or unknown",
	  .get = before_of, .fields = before_fields, .nullable = true },
	{ "lost", FRAG_TYPE_COUNT, FRAG_AT(scope, lost), "events that the recording lacks, at least; null:"
	  " unknown, or none", .absence = FRAG_UNLESS_ZERO, .least = 1 },
	{ "grows", FRAG_TYPE_FLAG, FRAG_WHOLE, "whether memory still grows at the end; null: that is"
	  " unknown", .get = grows_of, .nullable = true },
	{ 0 },
};

const struct frag_field frag_trace_scope_fields[] = {
	FRAG_MEMBERS(FRAG_AT(trace_info, scope), frag_scope_fields), { 0 },
};

const struct frag_field frag_log_field[] = {
	{ "recorded_log", FRAG_TYPE_OBJECT, FRAG_WHOLE,
	  "how the recording compares with its simulation", .get = log_of, .fields = log_fields,
	  .optional = true },
	{ 0 },
};

const struct frag_field frag_trace_fields[] = {
	{ "path", FRAG_TYPE_TEXT, FRAG_AT(trace_info, path), "as it was given" },
	{ "content", FRAG_TYPE_CONTENT, FRAG_AT(trace_info, content),
	  "identifies the decoded events, in whichever form or compression they came" },
	{ "events", FRAG_TYPE_COUNT, FRAG_AT(trace_info, events) },
	{ "allocs", FRAG_TYPE_COUNT, FRAG_AT(trace_info, allocs) },
	{ "frees", FRAG_TYPE_COUNT, FRAG_AT(trace_info, frees) },
	{ "complete", FRAG_TYPE_FLAG, FRAG_AT(trace_info, whole),
	  "false where the trace was not read to its end" },
	{ "ends_at_oom", FRAG_TYPE_OBJECT, FRAG_WHOLE,
	  "the failed request with which the recording ends", .get = recorded_oom_of,
	  .fields = recorded_oom_fields, .optional = true },
	FRAG_MEMBERS(FRAG_WHOLE, frag_log_field),
	{ 0 },
};

const char *const frag_bound_words[] = {
	[FRAG_PART_WHOLE] = "exact", [FRAG_PART_OOM] = "at_least", [FRAG_PART_CUT] = "at_least",
	[FRAG_PART_LATE] = "at_least", [FRAG_PART_STATE] = "at_least", NULL,
};

/* The lines of `frames` are JSON strings without their quotes. */
void frag_json_frames(struct frag_node_ref in, const char *key, const char *frames)
{
	struct frag_node_ref list = frag_json_array(in, key);
	const char *end;

	for (; (end = strchr(frames, '\n')) != NULL; frames = end + 1) {
		const size_t length = (size_t)(end - frames);
		char *json = malloc(length + 3);

		if (!json) {
			in.doc->failed = true;
			return;
		}
		json[0] = json[length + 1] = '"';
		memcpy(json + 1, frames, length);
		json[length + 2] = '\0';
		frag_json_raw(list, NULL, json);
		free(json);
	}
}

/* Calls of one kind and size. */
struct frag_calls_view {
	const char *call;
	uint64_t up_to;
	const struct frag_latency *latency;
	uint64_t p50, p95, p99;
};

/* The i-th kind and size that has calls. */
static bool driver_calls_at(const void *of, uint32_t i, void *element)
{
	const struct frag_driver_costs *c = of;
	struct frag_calls_view *to = element;

	for (uint32_t k = 0; k < FRAG_GPU_KINDS * FRAG_SIZE_CLASSES; k++) {
		const uint32_t kind = k / FRAG_SIZE_CLASSES, size = k % FRAG_SIZE_CLASSES;
		const struct frag_latency *l = &c->calls[kind][size];

		if (!l->count || i--)
			continue;
		*to = (struct frag_calls_view){
			frag_gpu_kind_name((enum frag_gpu_kind)kind),
			size < FRAG_SIZE_CLASSES - 1 ? frag_size_class_max(size) : UINT64_MAX, l,
			frag_latency_rank(l, 50), frag_latency_rank(l, 95), frag_latency_rank(l, 99),
		};
		return true;
	}
	return false;
}

#define LATENCY(m) FRAG_VIA(calls_view, latency, latency, m)
static const struct frag_field call_fields[] = {
	{ "call", FRAG_TYPE_WORD, FRAG_AT(calls_view, call), .words = frag_gpu_kind_names },
	{ "up_to_bytes", FRAG_TYPE_BYTES, FRAG_AT(calls_view, up_to),
	  "1 MiB, or a doubling of it up to 1 TiB; null: what is larger", .absence = FRAG_UNLESS_MAX,
	  .least = 1048576 },
	{ "count", FRAG_TYPE_COUNT, LATENCY(count), .least = 1 },
	{ "refused", FRAG_TYPE_COUNT, LATENCY(refused), "of them, for lack of memory" },
	{ "total_ns", FRAG_TYPE_COUNT, LATENCY(total_ns) },
	{ "min_ns", FRAG_TYPE_COUNT, LATENCY(min_ns) },
	{ "p50_ns", FRAG_TYPE_COUNT, FRAG_AT(calls_view, p50) },
	{ "p95_ns", FRAG_TYPE_COUNT, FRAG_AT(calls_view, p95) },
	{ "p99_ns", FRAG_TYPE_COUNT, FRAG_AT(calls_view, p99) },
	{ "max_ns", FRAG_TYPE_COUNT, LATENCY(max_ns) },
	{ 0 },
};

const struct frag_field frag_calls_fields[] = {
	{ "calls", FRAG_TYPE_LIST, FRAG_WHOLE, "of the driver, by kind and size", .each = driver_calls_at,
	  .fields = call_fields },
	{ 0 },
};
