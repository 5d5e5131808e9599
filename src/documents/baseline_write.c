/*
 * baseline_write.c - the baseline of many traces, and the line of a sweep, which is one trace of it. They
 * contain the metrics that a condition can name, and no marks.
 */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/result_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "input/json_scan.h"
#include "policy/choice.h"
#include "policy/param.h"

/* The policy: its keys are read from the text of the run, as one out of a file has no choice */

/* A value of "key=value,...": true, false and integers as such, all others as a string. */
static void put_text_value(struct frag_node_ref in, const char *key, const char *value,
				   size_t length)
{
	char text[FRAG_PARAM_TEXT];

	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0
	    || (*text && strspn(text, "0123456789") == length && (*text != '0' || length == 1)))
		frag_json_raw(in, key, text);
	else
		frag_json_text(in, key, text);
}

static void put_params_text(struct frag_node_ref in, const void *of)
{
	const char *const all = ((const struct frag_run *)of)->params;
	char key[FRAG_PARAM_TEXT];

	for (const char *p = all; *p;) {
		size_t n = strcspn(p, "="), length;
		const char *value = frag_params_find(all, p, n, &length);

		snprintf(key, sizeof(key), "%.*s", (int)n, p);
		put_text_value(in, key, value, length);
		p = value + length;
		p += *p == ',';
	}
}

const struct frag_field frag_policy_text_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(run, name) },
	{ "text", FRAG_TYPE_TEXT, FRAG_AT(run, policy), "as on the command line" },
	{ "params", FRAG_TYPE_MAP, FRAG_WHOLE, "every key with its value", .put = put_params_text,
	  .members = FRAG_PARAM_SCHEMA },
	{ 0 },
};

/* A run ------------------------------------------------------------------------ */

/* Windows of the course of a run. */
#define STRETCHES 16

static bool course_of(const void *of, uint32_t i, void *element)
{
	struct frag_timeline *c = element;

	(void)i;
	*c = ((const struct frag_run *)of)->timeline;
	while (c->count > STRETCHES)
		frag_timeline_widen(c, 2 * c->width);
	return true;
}

static bool first_oom(const void *of, uint32_t i, void *element)
{
	const struct frag_run *run = of;

	if (i || !run->result.oom_count)
		return false;
	*(struct frag_oom *)element = run->result.ooms[0];
	return true;
}

#define RUN(m) FRAG_AT(run, result.m)
static const struct frag_field stretch_fields[] = {
	{ "from", FRAG_TYPE_COUNT, FRAG_AT(stretch, from), "the first event" },
	{ "reserved", FRAG_TYPE_SUM, FRAG_AT(stretch, reserved), "its peak of reserved" },
	{ "allocated", FRAG_TYPE_SUM, FRAG_AT(stretch, allocated), "its peak of allocated" },
	{ 0 },
};

const struct frag_field frag_course_fields[] = {
	{ "width", FRAG_TYPE_COUNT, FRAG_AT(timeline, width), "events of the device in each"
	  " interval but the last: a power of two, or 0 without events" },
	{ "in_last", FRAG_TYPE_COUNT, FRAG_AT(timeline, in_last), "events in the last" },
	{ "stretches", FRAG_TYPE_LIST, FRAG_ARRAY_IN(timeline, stretch, count), "intervals: the"
	  " first event and the peaks", .items = FRAG_TYPE_VALUES, .fields = stretch_fields },
	{ 0 },
};

static const struct frag_field baseline_run_fields[] = {
	{ "policy", FRAG_TYPE_OBJECT, FRAG_WHOLE, .fields = frag_policy_text_fields },
	{ "device", FRAG_TYPE_OBJECT, FRAG_AT(run, result), .fields = frag_result_device_fields },
	FRAG_MEMBERS(FRAG_AT(run, result), frag_status_fields),
	FRAG_LOWER_BOUND_FIELD(RUN(lower_bound)),
	{ "peak", FRAG_TYPE_OBJECT, RUN(peak), "the largest of each metric except percentages",
	  .fields = frag_baseline_peak_fields },
	{ "last", FRAG_TYPE_OBJECT, RUN(last), "the metrics after the last event",
	  .fields = frag_baseline_metrics_fields },
	FRAG_MEMBERS(FRAG_AT(run, result), frag_distributions_fields),
	{ "counts", FRAG_TYPE_OBJECT, RUN(counts), .fields = frag_counts_fields },
	FRAG_MEMBERS(FRAG_AT(run, result), frag_modelled_field),
	{ "oom", FRAG_TYPE_LIST, FRAG_WHOLE, "the first", .each = first_oom, .fields = frag_first_oom_fields },
	{ "course", FRAG_TYPE_OBJECT, FRAG_WHOLE, "the run over its events, in a few intervals",
	  .each = course_of, .fields = frag_course_fields },
	{ 0 },
};

/* A trace ---------------------------------------------------------------------- */

/* Is the name of the file no text? Then it is written as bytes, too. */
static bool is_no_text(const void *runs, const struct frag_field *field)
{
	const char *path = ((const struct frag_runs *)runs)->path;

	(void)field;
	return !frag_utf8_is((const unsigned char *)path, strlen(path));
}

static struct frag_cell_value part_of(const void *of)
{
	const struct frag_runs *runs = of;

	return FRAG_OF(frag_runs_are_part(runs) ? &runs->scope : NULL);
}

const struct frag_field frag_content_fields[] = {
	{ "content", FRAG_TYPE_TEXT, FRAG_AT(runs, content), "identifies the decoded events" },
	{ "events", FRAG_TYPE_COUNT, FRAG_AT(runs, events) },
	{ "allocs", FRAG_TYPE_COUNT, FRAG_AT(runs, allocs) },
	{ "frees", FRAG_TYPE_COUNT, FRAG_AT(runs, frees) },
	{ "complete", FRAG_TYPE_FLAG, FRAG_AT(runs, complete), "the trace was read to its end" },
	{ 0 },
};

static const struct frag_field runs_fields[] = {
	{ "path", FRAG_TYPE_TEXT, FRAG_AT(runs, path) },
	{ "path_bytes", FRAG_TYPE_HEX, FRAG_AT(runs, path), "the path, where it is no UTF-8: two digits a"
	  " byte", .known = is_no_text, .optional = true },
	FRAG_MEMBERS(FRAG_WHOLE, frag_content_fields),
	{ "scope", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of a recording that is a part of its program's run",
	  .get = part_of, .fields = frag_scope_fields, .optional = true },
	{ "runs", FRAG_TYPE_LIST, FRAG_ARRAY(runs, run, count), .fields = baseline_run_fields, .least = 1 },
	{ 0 },
};

/* The baseline ----------------------------------------------------------------- */

static struct frag_cell_value given_of(const void *of)
{
	const struct frag_given *given = &((const struct frag_run_set *)of)->given;

#define X(name) given->has_##name ||
	return FRAG_OF(FRAG_GIVEN(X) false ? given : NULL);
#undef X
}

#define X(name)                                                                                 \
	{ #name "_bytes", FRAG_TYPE_BYTES, FRAG_AT(given, name), FRAG_THERE_IF(given, has_##name), \
	  .optional = true },
const struct frag_field frag_given_fields[] = { FRAG_GIVEN(X) { 0 } };
#undef X

static const struct frag_field baseline_fields[] = {
	{ "given", FRAG_TYPE_OBJECT, FRAG_WHOLE, "sizes of all devices that options gave, and that hold again",
	  .get = given_of, .fields = frag_given_fields, .optional = true },
	{ "traces", FRAG_TYPE_LIST, FRAG_ARRAY(run_set, trace, count), .fields = runs_fields, .least = 1 },
	{ 0 },
};

const struct frag_document_type frag_baseline_document = {
	.format = "fragsim-baseline", .version = 2, .fields = baseline_fields,
	.what = "What fragsim diff --update-baseline writes, see fragsim-diff(1): for each trace the metrics"
		" of each run, by the names that a result has.",
};

/* A change of one metric changes one line of the file. */
int frag_baseline_write(const struct frag_run_set *set, FILE *f, struct frag_error *err)
{
	struct frag_json doc = frag_document_of(&frag_baseline_document, set);
	const int rc = frag_json_print_lines(&doc, 5, "events", f, err);

	frag_json_end(&doc);
	return rc;
}

/* A line of a sweep ------------------------------------------------------------ */

struct frag_line_view {
	uint64_t run, manifest, total;
	const char *policy;
	const struct frag_runs *runs;
	uint64_t check;                 /* 0, before it is known */
};

#define LINE(m) FRAG_AT(line_view, m)
static const struct frag_field line_head_fields[] = {
	{ "run", FRAG_TYPE_COUNT, LINE(run), "of the manifest" },
	{ "manifest", FRAG_TYPE_CONTENT, LINE(manifest), "identifies the manifest that the run is of" },
	{ 0 },
}, line_body_fields[] = {
	{ "policy", FRAG_TYPE_TEXT, LINE(policy) },
	{ "device_bytes", FRAG_TYPE_BYTES, LINE(total), "the capacity of every device; null: what the trace has",
	  .absence = FRAG_UNLESS_MAX },
	FRAG_MEMBERS(FRAG_POINTER(line_view, runs), runs_fields),
	{ "check", FRAG_TYPE_CONTENT, LINE(check), "a hash of the line up to the comma before this member" },
	{ 0 },
}, line_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE, line_head_fields), FRAG_MEMBERS(FRAG_WHOLE, line_body_fields), { 0 },
};

const struct frag_document_type frag_run_line_document = {
	.format = "fragsim-sweep-run", .fields = line_fields,
	.what = "A line of the files that fragsim sweep writes, see fragsim-sweep(1): a run of its manifest, on"
		" each of the trace's devices, by the names that a result has.",
};

#define MANIFEST ", \"manifest\": \""
#define CHECK ", \"check\": \""
#define DIGITS 16
#define TAIL (sizeof(CHECK) - 1 + DIGITS + sizeof("\"}") - 1)

/* The digits of the hash, behind all that it is of. */
static void put_check(char *line, size_t size)
{
	char *const check = line + size - 1 - TAIL;
	char digits[DIGITS + 1];

	snprintf(digits, sizeof(digits), "%016" PRIx64, frag_hash_content(line, (size_t)(check - line), 0));
	memcpy(check + sizeof(CHECK) - 1, digits, DIGITS);
}

int frag_run_line_write(const struct frag_runs *runs, uint32_t run, uint64_t manifest,
			const char *policy, uint64_t total, char **text, size_t *length,
			struct frag_error *err)
{
	const struct frag_line_view view = { run, manifest, total, policy, runs, 0 };
	struct frag_json doc;
	struct frag_node_ref root = frag_json_begin(&doc);
	struct frag_memory line;
	bool good;

	*text = NULL;
	frag_put_fields(root, line_head_fields, &view);
	frag_document_tool(root);
	frag_put_fields(root, line_body_fields, &view);
	good = frag_memory_open(&line);
	if (good) {
		good = frag_json_print_lines(&doc, 0, "", line.f, err) == 0;
		good &= frag_memory_close(&line);
	}
	frag_json_end(&doc);
	if (!good) {
		free(line.text);
		return frag_fail_nomem(err);
	}
	put_check(line.text, line.size);
	*text = line.text;
	*length = line.size;
	return 0;
}

/* Exactly 16 digits. */
static bool take_digits(const char *p, uint64_t *value)
{
	*value = strtoull(p, NULL, 16);
	return strspn(p, "0123456789abcdef") == DIGITS;
}

bool frag_run_line_parse(struct frag_run_line *line, const char *text, size_t length)
{
	const size_t begin = sizeof(FRAG_RUN_LINE_BEGIN) - 1;
	const size_t least = begin + 1 + sizeof(MANIFEST) - 1 + DIGITS + 1 + TAIL;
	const char *tail = text + length - TAIL, *p = text + begin, *digits = p;
	uint64_t run = 0;

	if (length < least || memcmp(text, FRAG_RUN_LINE_BEGIN, begin) != 0
	    || memcmp(tail, CHECK, sizeof(CHECK) - 1) != 0
	    || memcmp(text + length - 2, "\"}", 2) != 0)
		return false;
	for (; p < digits + 8 && *p >= '0' && *p <= '9'; p++)
		run = run * 10 + (uint64_t)(*p - '0');
	if (p == digits || (size_t)(tail - p) < sizeof(MANIFEST) + DIGITS
	    || memcmp(p, MANIFEST, sizeof(MANIFEST) - 1) != 0)
		return false;
	line->run = (uint32_t)run;
	return take_digits(p + sizeof(MANIFEST) - 1, &line->manifest)
	       && take_digits(tail + sizeof(CHECK) - 1, &line->check)
	       && frag_hash_content(text, (size_t)(tail - text), 0) == line->check;
}
