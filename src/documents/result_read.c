/*
 * result_read.c - runs out of a file: a result (fragsim-result(5)), or a baseline.
 *
 * Every member that a comparison uses must be there, once, and of its kind.
 */
#include "documents/documents.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/parse.h"
#include "base/atomic_file.h"
#include "documents/document_head.h"
#include "documents/json_members.h"
#include "documents/result_fields.h"
#include "input/input.h"
#include "trace/scope.h"

/* Of a policy's parameters, as text: each is searched for among those of the other run. */
#define PARAMS_MAX 16384

/* The edition that an object of metrics is of: that of the newest one that it has. */
static uint32_t edition_of(struct frag_members *r, const struct frag_at *at)
{
	uint32_t edition = 1;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->since > edition && frag_has(r, at, k->name))
			edition = k->since;
	return edition;
}

/*
 * A metric that is newer than the object is not known. One that no device without a
 * capacity has, or no pool of the driver's own, is null there.
 */
static void read_metrics(struct frag_members *r, const struct frag_at *at,
			 const struct frag_field *fields, struct frag_metrics *m)
{
	const uint32_t edition = edition_of(r, at);

	m->opaque = frag_is_null(r, at, "largest_free");
	m->limited = !frag_is_null(r, at, "device_free");
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->since > edition)
			m->unread |= frag_metric_bit(k);
	frag_take_fields(r, at, fields, m);
}

/* newer: than the first edition, so that the file may lack it. */
static void read_distribution(struct frag_members *r, const struct frag_at *run, const char *key,
			      struct frag_distribution *d, uint64_t steps, bool newer)
{
	struct frag_at at;

	if (newer && !frag_has(r, run, key))
		return;
	at = frag_take_object(r, run, key);
	if (r->rc)
		return;
	d->steps = frag_is_null(r, &at, "min") ? 0 : steps;
	frag_take_fields(r, &at, frag_distribution_fields, d);
}

static void result_read_read_device(struct frag_members *r, const struct frag_at *run,
				    struct frag_run *to)
{
	struct frag_at at = frag_take_object(r, run, "device");

	if (r->rc)
		return;
	frag_take_fields(r, &at, frag_ordinal_field, &to->result);
	/* the run owns its name */
	if (!frag_is_null(r, &at, "name"))
		to->device_name = frag_take_text(r, &at, "name");
	to->result.device_name = to->device_name;
	frag_take_fields(r, &at, frag_device_sizes_fields, &to->result);
}

static void result_read_put_param(struct frag_members *r, const struct frag_at *param, FILE *f)
{
	switch (frag_json_kind(param->node)) {
	case FRAG_JSON_BOOL:
		fputs(frag_json_is_true(param->node) ? "true" : "false", f);
		break;
	case FRAG_JSON_STRING:
		fputs(frag_json_string(param->node), f);
		break;
	case FRAG_JSON_NUMBER:
		frag_fprintf(f, "%.17g", frag_json_number(param->node));
		break;
	case FRAG_JSON_NULL:
	case FRAG_JSON_ARRAY:
	case FRAG_JSON_OBJECT:
		frag_bad(r, param, "a number, a boolean or a string is required");
	}
}

/*
 * Keys and values become the text `key=value,...`, in which a simulated run keeps
 * them too, so that both compare alike.
 */
static void result_read_read_policy(struct frag_members *r, const struct frag_at *run,
				    struct frag_run *to)
{
	struct frag_at at = frag_take_object(r, run, "policy");
	struct frag_at params = frag_take_object(r, &at, "params");
	struct frag_memory m;

	frag_take_fields(r, &at, frag_policy_text_fields, to);
	if (r->rc)
		return;
	if (!frag_memory_open(&m)) {
		frag_bad_memory(r);
		return;
	}
	for (struct frag_node_ref n = frag_json_first(params.node); n.node;
	     n = frag_json_next(n)) {
		struct frag_at param = { .up = &params, .key = frag_json_key(n), .node = n };

		fprintf(m.f, "%s%s=", frag_json_first(params.node).node == n.node ? "" : ",",
			param.key);
		result_read_put_param(r, &param, m.f);
	}
	if (!frag_memory_close(&m))
		frag_bad_memory(r);
	else if (m.size > PARAMS_MAX)
		frag_bad(r, &params, "more than 16 KiB of keys and values");
	to->params = m.text;
}

/* Only the first is kept: a comparison asks where a run first failed. */
static void read_first_oom(struct frag_members *r, const struct frag_at *run,
			   struct frag_result *to)
{
	struct frag_at list = frag_take_array(r, run, "oom"), at = { .up = NULL };

	if (!frag_next_element(r, &list, &at))
		return;
	frag_want_object(r, &at);
	to->ooms = calloc(1, sizeof(*to->ooms));
	if (!to->ooms) {
		frag_bad_memory(r);
		return;
	}
	to->oom_count = 1;
	frag_take_fields(r, &at, frag_first_oom_fields, to->ooms);
}

/*
 * A mark counts before it is whole: one that fails in the middle is released with
 * the run.
 */
static void result_read_read_marks(struct frag_members *r, const struct frag_at *run,
				   struct frag_result *to)
{
	struct frag_at list = frag_take_array(r, run, "marks"), at = { .up = NULL };
	uint32_t count = frag_length_of(r, &list);

	if (!count)
		return;
	to->marks = calloc(count, sizeof(*to->marks));
	if (!to->marks)
		frag_bad_memory(r);
	while (frag_next_element(r, &list, &at)) {
		struct frag_mark *mark = &to->marks[to->mark_count];

		frag_want_object(r, &at);
		frag_take_fields(r, &at, frag_mark_fields, mark);
		read_metrics(r, &at, frag_metrics_fields, &mark->metrics);
		to->mark_count++;
	}
}

/* [from, reserved, allocated] */
static void read_stretch(struct frag_members *r, const struct frag_at *at, struct frag_stretch *to)
{
	uint64_t *const values[] = { &to->from, &to->reserved, &to->allocated };
	struct frag_at value = { .up = NULL };
	uint32_t i = 0;

	if (frag_json_kind(at->node) == FRAG_JSON_ARRAY)
		while (i < 3 && frag_next_element(r, at, &value)
		       && frag_json_kind(value.node) == FRAG_JSON_NUMBER)
			*values[i++] = frag_as_sum(r, &value);
	if (i < 3)
		frag_bad(r, at, "an array of three integers is required");
}

/*
 * Checked for what frag_timeline_widen() relies on: it doubles a width until it is
 * that of another timeline.
 */
static void read_timeline(struct frag_members *r, const struct frag_at *run,
			  struct frag_timeline *to)
{
	struct frag_at at = frag_take_object(r, run, "course"), stretch = { .up = NULL };
	struct frag_at list = frag_take_array(r, &at, "stretches");

	frag_take_fields(r, &at, frag_course_fields, to);
	if (frag_length_of(r, &list) > FRAG_TIMELINE_MAX)
		frag_bad(r, &list, "more than 64 windows");
	if (!r->rc && (to->width & (to->width - 1) || (!to->width && frag_length_of(r, &list))))
		frag_bad(r, &at, "a width that is a power of two is required");
	while (frag_next_element(r, &list, &stretch))
		read_stretch(r, &stretch, &to->stretch[to->count++]);
}

/*
 * Percentages are rounded like those of a simulated run, so that a run equals
 * itself read back.
 */
static void read_run(struct frag_members *r, const struct frag_at *at, struct frag_run *to)
{
	struct frag_result *res = &to->result;
	struct frag_at peak, last, counts;

	frag_want_object(r, at);
	result_read_read_policy(r, at, to);
	result_read_read_device(r, at, to);
	frag_take_fields(r, at, frag_status_fields, res);
	res->lower_bound = frag_take_sum(r, at, "lower_bound");
	peak = frag_take_object(r, at, "peak");
	read_metrics(r, &peak, frag_peak_fields, &res->peak);
	last = frag_take_object(r, at, "last");
	read_metrics(r, &last, frag_metrics_fields, &res->last);
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->unit == FRAG_METRIC_PERCENT)
			read_distribution(r, at, k->name, frag_metric_distribution(res, k),
					  res->steps ? res->steps : 1, k->since > 1);
	counts = frag_take_object(r, at, "counts");
	frag_take_fields(r, &counts, frag_counts_fields, &res->counts);
	frag_take_fields(r, at, frag_modelled_field, res);
	frag_take_fields(r, at, frag_placed_fields, res);
	read_first_oom(r, at, res);
	/* a result has marks, a baseline timelines */
	if (!frag_has(r, at, "course"))
		result_read_read_marks(r, at, res);
	else
		read_timeline(r, at, &to->timeline);
	if (!r->rc)
		frag_run_round(to);
}

/* -1: it is no hexadecimal digit. */
static int result_read_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The path's bytes, where they are no text and so no string of JSON could hold them. */
static void read_path_bytes(struct frag_members *r, const struct frag_at *at,
			    struct frag_runs *runs)
{
	char *hex = frag_take_text(r, at, "path_bytes"), *to = hex;

	if (!hex)
		return;
	for (const char *p = hex; result_read_digit(p[0]) >= 0 && result_read_digit(p[1]) >= 0;
	     p += 2)
		*to++ = (char)(result_read_digit(p[0]) << 4 | result_read_digit(p[1]));
	if (to == hex || hex[2 * (to - hex)] || memchr(hex, '\0', (size_t)(to - hex)))
		frag_bad(r, &(struct frag_at){ .up = at, .key = "path_bytes" },
			 "bytes, each two hexadecimal digits, are required");
	*to = '\0';
	free(runs->path);
	runs->path = hex;
}

/* Older files have none, and baselines only those of parts. */
static void read_scope(struct frag_members *r, const struct frag_at *with, struct frag_runs *runs)
{
	struct frag_at at;

	if (!frag_has(r, with, "scope"))
		return;
	at = frag_take_object(r, with, "scope");
	if (!r->rc)
		r->rc = frag_scope_read(&runs->scope, at.node, r->path, "\"scope\"", r->err);
}

/* `at` describes the trace, `with` has its runs: a result keeps them in two objects. */
static void read_runs(struct frag_members *r, const struct frag_at *at, const struct frag_at *with,
		      struct frag_run_set *set)
{
	struct frag_runs *runs = frag_run_set_add(set);
	struct frag_at list, run_at = { .up = NULL };

	if (!runs) {
		frag_bad_memory(r);
		return;
	}
	runs->path = frag_take_text(r, at, "path");
	if (frag_has(r, at, "path_bytes"))
		read_path_bytes(r, at, runs);
	frag_take_fields(r, at, frag_content_fields, runs);
	read_scope(r, with, runs);
	list = frag_take_array(r, with, "runs");
	while (frag_next_element(r, &list, &run_at)) {
		struct frag_run *run = frag_runs_add(runs);

		if (!run) {
			frag_bad_memory(r);
			return;
		}
		read_run(r, &run_at, run);
		set->unread |= run->result.peak.unread | run->result.last.unread;
	}
	if (!runs->count)
		frag_bad(r, &list, "at least one run is required");
}

/* Members that are there only where an option was given. */
static void read_given(struct frag_members *r, const struct frag_at *root, struct frag_given *to)
{
	struct frag_at at;

	if (!frag_has(r, root, "given"))
		return;
	at = frag_take_object(r, root, "given");
	if (r->rc)
		return;
	frag_take_fields(r, &at, frag_given_fields, to);
	if (to->has_granularity && !to->granularity)
		frag_bad(r, &(struct frag_at){ .up = &at, .key = "granularity_bytes" },
			 "at least 1 is required");
}

/*
 * Reads one run set from either format: a baseline has many traces and the device sizes that
 * options gave, a result has one trace.
 */
static void result_read_read_document(struct frag_members *r, const struct frag_at *root,
				      struct frag_run_set *set)
{
	enum { RESULT, BASELINE };
	static const char *const formats[] = {
		[RESULT] = "fragsim-result", [BASELINE] = "fragsim-baseline", NULL,
	};
	const uint32_t format = frag_take_format(r, root, formats, "a result of fragsim run --json"
						 " or a baseline is required; a trace is compared"
						 " under --policy NAME");
	struct frag_at tool, list, trace = { .up = NULL };

	if (r->rc)
		return;
	tool = frag_take_object(r, root, "tool");
	set->version = frag_take_text(r, &tool, "version");
	if (format == BASELINE) {
		read_given(r, root, &set->given);
		list = frag_take_array(r, root, "traces");
		while (frag_next_element(r, &list, &trace)) {
			frag_want_object(r, &trace);
			read_runs(r, &trace, &trace, set);
		}
		return;
	}
	trace = frag_take_object(r, root, "trace");
	read_runs(r, &trace, root, set);
}

/* Lines of one trace follow each other: the runs of the last one join those before. */
static bool join_last(struct frag_run_set *set)
{
	struct frag_runs *last = &set->trace[set->count - 1], *to = last - 1;

	if (set->count < 2 || strcmp(to->path, last->path) != 0
	    || strcmp(to->content, last->content) != 0)
		return true;
	if (!frag_grow(&to->run, &to->capacity, (uint64_t)to->count + last->count,
		       sizeof(*to->run)))
		return false;
	memcpy(to->run + to->count, last->run, last->count * sizeof(*last->run));
	to->count += last->count;
	free(last->run);
	free(last->path);
	free(last->content);
	memset(last, 0, sizeof(*last));
	set->count--;
	return true;
}

/* The tool's version is that of the first line: all are of one manifest. */
static void read_line(struct frag_members *r, char *text, size_t length, struct frag_run_set *set)
{
	struct frag_run_line known;
	struct frag_json doc = { .root = NULL };
	struct frag_at root = { .up = NULL }, tool;

	if (!frag_run_line_parse(&known, text, length)) {
		frag_bad(r, &root, "a run of fragsim sweep is required, and this line is damaged");
		return;
	}
	root = frag_members_parse(r, &doc, text, length, "run of fragsim sweep");
	if (!r->rc && !set->version) {
		tool = frag_take_object(r, &root, "tool");
		set->version = frag_take_text(r, &tool, "version");
	}
	if (!r->rc)
		read_runs(r, &root, &root, set);
	frag_json_end(&doc);
	if (!r->rc && !join_last(set))
		frag_bad_memory(r);
}

/* Reads the merged runs of a sweep. A zero ends each line, as the scanner requires. */
static void result_read_read_lines(struct frag_members *r, char *text, size_t length,
				   struct frag_run_set *set)
{
	char place[PATH_MAX + 16];
	const char *path = r->path;

	for (uint32_t line = 1; length && !r->rc; line++) {
		char *end = memchr(text, '\n', length);
		const size_t n = end ? (size_t)(end - text) : length;

		snprintf(place, sizeof(place), "%s:%" PRIu32, path, line);
		r->path = place;
		text[n] = '\0';
		read_line(r, text, n, set);
		length -= n + (end != NULL);
		text += n + (end != NULL);
	}
	r->path = path;
}

/* The first bytes tell lines of a sweep from a document, which names its format. */
int frag_read_runs(struct frag_run_set *set, const char *path, struct frag_error *err)
{
	struct frag_members r = { .path = frag_input_name(path), .err = err };
	struct frag_json doc = { .root = NULL };
	struct frag_at root;
	size_t length = 0;
	char *text = NULL;

	r.rc = frag_text_file(&text, &length, path, err);
	if (!r.rc && !(set->path = strdup(path)))
		frag_bad_memory(&r);
	/* the text ends with a NUL */
	if (!r.rc && strncmp(text, FRAG_RUN_LINE_BEGIN, strlen(FRAG_RUN_LINE_BEGIN)) == 0) {
		result_read_read_lines(&r, text, length, set);
	} else if (!r.rc) {
		root = frag_members_parse(&r, &doc, text, length,
					  "result (a trace is compared under --policy NAME)");
		if (!r.rc)
			result_read_read_document(&r, &root, set);
		frag_json_end(&doc);
	}
	free(text);
	return r.rc;
}

#define HEAD_MAX 4096           /* bytes */

bool frag_may_have_runs(const char *path)
{
	static const char *const formats[] = {
		"\"fragsim-result\"", "\"fragsim-baseline\"", "\"manifest\": ",
	};
	struct frag_error unused;
	struct frag_input in;
	struct stat about;
	bool found = false;

	if (strcmp(path, "-") == 0
	    || (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)))
		return true;
	if (frag_input_open(&in, path, &unused))
		return false;
	frag_input_fill(&in, 0, &unused);
	/* the window ends with a NUL */
	for (size_t i = 0; in.end && i < sizeof(formats) / sizeof(formats[0]); i++) {
		const char *at = strstr(in.buf, formats[i]);

		found |= at && at - in.buf < HEAD_MAX;
	}
	frag_input_close(&in);
	return found;
}
