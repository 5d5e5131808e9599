/*
 * read_result.c - runs out of a file: a result (SPEC 7), or a baseline.
 *
 * The text is first held to RFC 8259, by the scanner that traces go through;
 * then every member that a comparison uses has to be there, once, and of its
 * kind.
 */
#include "compare/read_result.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "compare/text_file.h"
#include "trace/scan.h"

/* Where in the document we are, for messages: a chain up to the root. */
struct at {
	const struct at *up;    /* NULL: the root */
	const char *key;        /* NULL: an element */
	uint32_t index;
	struct frag_node_ref node;
};

struct reader {
	const char *path;
	struct frag_error *err;
	int rc;                 /* the first failure; nothing is read after it */
};

/* "runs[0].peak.reserved" */
static int put_place(char *buf, size_t size, const struct at *at)
{
	int used;

	if (!at->up)
		return 0;
	used = put_place(buf, size, at->up);
	if ((size_t)used >= size)
		return used;
	if (at->key)
		return used + snprintf(buf + used, size - (size_t)used, "%s%.60s", used ? "." : "",
				       at->key);
	return used + snprintf(buf + used, size - (size_t)used, "[%u]", at->index);
}

static void bad(struct reader *r, const struct at *at, const char *wanted)
{
	char place[400] = "";

	if (r->rc)
		return;
	put_place(place, sizeof(place), at);
	r->rc = frag_fail(r->err, FRAG_ETRACE, "%s: %s: %s", r->path, *place ? place : "the whole",
			  wanted);
}

static void no_memory(struct reader *r)
{
	if (!r->rc)
		r->rc = frag_fail_nomem(r->err);
}

/* The member, of the kind that is wanted. Its node is NULL after a failure. */
static struct at take(struct reader *r, const struct at *in, const char *key,
		      enum frag_json_kind kind, const char *wanted)
{
	struct at at = { .up = in, .key = key };
	uint32_t count;

	if (r->rc || !in->node.node)
		return at;
	count = frag_json_member(in->node, key, &at.node);
	if (count == 0)
		bad(r, &at, "this member is missing");
	else if (count > 1)
		bad(r, &at, "this member stands there twice");
	else if (frag_json_kind(at.node) != kind)
		bad(r, &at, wanted);
	if (r->rc)
		at.node.node = NULL;
	return at;
}

static struct at take_object(struct reader *r, const struct at *in, const char *key)
{
	return take(r, in, key, FRAG_JSON_OBJECT, "an object is wanted");
}

static bool has(struct reader *r, const struct at *in, const char *key)
{
	struct frag_node_ref ignored;

	return !r->rc && frag_json_member(in->node, key, &ignored) > 0;
}

static bool is_null(struct reader *r, const struct at *in, const char *key)
{
	struct frag_node_ref node;

	return !r->rc && frag_json_member(in->node, key, &node) == 1
	       && frag_json_kind(node) == FRAG_JSON_NULL;
}

static char *take_text(struct reader *r, const struct at *in, const char *key)
{
	struct at at = take(r, in, key, FRAG_JSON_STRING, "a string is wanted");
	char *copy = r->rc ? NULL : strdup(frag_json_string(at.node));

	if (!r->rc && !copy)
		no_memory(r);
	return copy;
}

static uint64_t as_count(struct reader *r, const struct at *at)
{
	double value = r->rc ? 0 : frag_json_number(at->node);

	if (value >= 0 && value < (double)FRAG_SIZE_LIMIT && value == floor(value))
		return (uint64_t)value;
	bad(r, at, "an integer from 0 and below 2^53 is wanted");
	return 0;
}

static uint64_t take_count(struct reader *r, const struct at *in, const char *key)
{
	struct at at = take(r, in, key, FRAG_JSON_NUMBER,
			    "an integer from 0 and below 2^53 is wanted");

	return as_count(r, &at);
}

static double take_percent(struct reader *r, const struct at *in, const char *key)
{
	struct at at = take(r, in, key, FRAG_JSON_NUMBER, "a number from 0 to 100 is wanted");
	double value = r->rc ? 0 : frag_json_number(at.node);

	if (value < 0 || value > 100)
		bad(r, &at, "a number from 0 to 100 is wanted");
	return value;
}

static int64_t take_signed(struct reader *r, const struct at *in, const char *key)
{
	struct at at = take(r, in, key, FRAG_JSON_NUMBER, "an integer or null is wanted");
	double value = r->rc ? 0 : frag_json_number(at.node);

	if (fabs(value) < (double)FRAG_SIZE_LIMIT && value == floor(value))
		return (int64_t)value;
	bad(r, &at, "an integer or null is wanted");
	return 0;
}

static void read_metrics(struct reader *r, const struct at *at, struct frag_metrics *m,
			 bool percents)
{
#define X(name) m->name = take_count(r, at, #name);
	FRAG_METRICS_BEFORE_DEVICE(X)
	X(process_used)
	FRAG_METRICS_COUNT(X)
#undef X
	if (percents) {
#define X(name) m->name = take_percent(r, at, #name);
		FRAG_METRICS_PERCENT(X)
#undef X
	}
	m->limited = !is_null(r, at, "device_free");
	if (m->limited)
		m->device_free = take_signed(r, at, "device_free");
}

static void read_distribution(struct reader *r, const struct at *run, const char *key,
			      struct frag_distribution *d, uint64_t steps)
{
	struct at at = take_object(r, run, key);

	if (r->rc)
		return;
	d->severe_steps = take_count(r, &at, "severe_steps");
	d->weighted = !is_null(r, &at, "time_weighted_mean");
	if (d->weighted)
		d->time_weighted_mean = take_percent(r, &at, "time_weighted_mean");
	if (is_null(r, &at, "min"))
		return;
	d->steps = steps;
#define X(name) d->name = take_percent(r, &at, #name);
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last)
#undef X
}

static void read_device(struct reader *r, const struct at *run, struct frag_run *to)
{
	struct at at = take_object(r, run, "device");
	uint64_t ordinal;

	if (r->rc)
		return;
	ordinal = take_count(r, &at, "ordinal");
	if (ordinal > UINT32_MAX)
		bad(r, &at, "an ordinal below 2^32 is wanted");
	to->result.device = (uint32_t)ordinal;
	if (!is_null(r, &at, "name"))
		to->device_name = take_text(r, &at, "name");
	to->result.device_name = to->device_name;
	to->result.total = take_count(r, &at, "total_bytes");
	to->result.context = take_count(r, &at, "context_bytes");
	to->result.other = take_count(r, &at, "other_bytes");
	to->result.granularity = take_count(r, &at, "granularity_bytes");
	if (!has(r, &at, "small_most_bytes"))
		return;
	to->result.small_most = take_count(r, &at, "small_most_bytes");
	to->result.small_granularity = take_count(r, &at, "small_granularity_bytes");
}

static void put_param(struct reader *r, const struct at *param, FILE *f)
{
	switch (frag_json_kind(param->node)) {
	case FRAG_JSON_BOOL:
		fputs(frag_json_is_true(param->node) ? "true" : "false", f);
		break;
	case FRAG_JSON_STRING:
		fputs(frag_json_string(param->node), f);
		break;
	case FRAG_JSON_NUMBER:
		fprintf(f, "%.17g", frag_json_number(param->node));
		break;
	case FRAG_JSON_NULL:
	case FRAG_JSON_ARRAY:
	case FRAG_JSON_OBJECT:
		bad(r, param, "a number, a boolean or a string is wanted");
	}
}

static void read_policy(struct reader *r, const struct at *run, struct frag_run *to)
{
	struct at at = take_object(r, run, "policy");
	struct at params = take_object(r, &at, "params");
	struct frag_memory m;

	to->policy = take_text(r, &at, "text");
	to->name = take_text(r, &at, "name");
	if (r->rc)
		return;
	if (!frag_memory_open(&m)) {
		no_memory(r);
		return;
	}
	for (struct frag_node_ref n = frag_json_first(params.node); n.node;
	     n = frag_json_next(n)) {
		struct at param = { .up = &params, .key = frag_json_key(n), .node = n };

		fprintf(m.f, "%s%s=", frag_json_first(params.node).node == n.node ? "" : ",",
			param.key);
		put_param(r, &param, m.f);
	}
	if (!frag_memory_close(&m))
		no_memory(r);
	to->params = m.text;
}

static void read_status(struct reader *r, const struct at *run, struct frag_result *to)
{
	struct at at = take(r, run, "status", FRAG_JSON_STRING, "ok, oom or interrupted is wanted");

	for (int i = FRAG_RUN_OK; i <= FRAG_RUN_INTERRUPTED && !r->rc; i++) {
		to->status = (enum frag_run_status)i;
		if (strcmp(frag_json_string(at.node), frag_run_status_name(to->status)) == 0)
			return;
	}
	bad(r, &at, "ok, oom or interrupted is wanted");
}

static struct at element(const struct at *list, struct frag_node_ref node, uint32_t index)
{
	return (struct at){ .up = list, .index = index, .node = node };
}

static uint32_t length_of(struct reader *r, const struct at *list)
{
	uint32_t n = 0;

	if (r->rc)
		return 0;
	for (struct frag_node_ref e = frag_json_first(list->node); e.node; e = frag_json_next(e))
		n++;
	return n;
}

static void want_object(struct reader *r, const struct at *at)
{
	if (!r->rc && frag_json_kind(at->node) != FRAG_JSON_OBJECT)
		bad(r, at, "an object is wanted");
}

static void read_first_oom(struct reader *r, const struct at *run, struct frag_result *to)
{
	struct at list = take(r, run, "oom", FRAG_JSON_ARRAY, "an array is wanted"), at, cause;

	if (!length_of(r, &list))
		return;
	at = element(&list, frag_json_first(list.node), 0);
	want_object(r, &at);
	to->ooms = calloc(1, sizeof(*to->ooms));
	if (!to->ooms) {
		no_memory(r);
		return;
	}
	to->oom_count = 1;
	to->ooms->step = take_count(r, &at, "step");
	to->ooms->size = take_count(r, &at, "size");
	cause = take(r, &at, "cause", FRAG_JSON_STRING, "a string is wanted");
	to->ooms->fragmentation = !r->rc
				  && strcmp(frag_json_string(cause.node), "fragmentation") == 0;
}

/* A mark's name as JSON with its quotes. */
static char *take_json_text(struct reader *r, const struct at *in, const char *key)
{
	char *text = take_text(r, in, key), *json;

	if (!text)
		return NULL;
	json = malloc(strlen(text) * 6 + 3);
	if (json)
		*frag_put_json(json, text, strlen(text)) = '\0';
	else
		no_memory(r);
	free(text);
	return json;
}

static void read_marks(struct reader *r, const struct at *run, struct frag_result *to)
{
	struct at list = take(r, run, "marks", FRAG_JSON_ARRAY, "an array is wanted");
	uint32_t count = length_of(r, &list);

	if (!count)
		return;
	to->marks = calloc(count, sizeof(*to->marks));
	if (!to->marks) {
		no_memory(r);
		return;
	}
	for (struct frag_node_ref n = frag_json_first(list.node); n.node && !r->rc;
	     n = frag_json_next(n)) {
		struct at at = element(&list, n, to->mark_count);
		struct frag_mark *mark = &to->marks[to->mark_count];

		want_object(r, &at);
		mark->name = take_json_text(r, &at, "name");
		mark->step = take_count(r, &at, "step");
		read_metrics(r, &at, &mark->metrics, true);
		to->mark_count++;
	}
}

static void read_counts(struct reader *r, const struct at *run, struct frag_counts *to)
{
	struct at at = take_object(r, run, "counts");

#define X(name) to->name = take_count(r, &at, #name);
	FRAG_COUNTS(X)
#undef X
}

/* [from, reserved, allocated] */
static void read_stretch(struct reader *r, const struct at *at, struct frag_stretch *to)
{
	uint64_t *const values[] = { &to->from, &to->reserved, &to->allocated };
	uint32_t i = 0;

	if (frag_json_kind(at->node) == FRAG_JSON_ARRAY) {
		for (struct frag_node_ref n = frag_json_first(at->node); n.node && i < 3;
		     n = frag_json_next(n), i++) {
			struct at value = element(at, n, i);

			if (frag_json_kind(n) != FRAG_JSON_NUMBER)
				break;
			*values[i] = as_count(r, &value);
		}
	}
	if (i < 3)
		bad(r, at, "an array of three integers is wanted");
}

static void read_course(struct reader *r, const struct at *run, struct frag_course *to)
{
	struct at at = take_object(r, run, "course"), list;

	list = take(r, &at, "stretches", FRAG_JSON_ARRAY, "an array is wanted");
	to->width = take_count(r, &at, "width");
	to->in_last = take_count(r, &at, "in_last");
	if (length_of(r, &list) > FRAG_COURSE_MOST)
		bad(r, &list, "at most 64 stretches are wanted");
	/* widening doubles it until it is as wide as another */
	if (!r->rc && (to->width & (to->width - 1) || (!to->width && length_of(r, &list))))
		bad(r, &at, "a width that is a power of two is wanted");
	if (r->rc)
		return;
	for (struct frag_node_ref n = frag_json_first(list.node); n.node && !r->rc;
	     n = frag_json_next(n)) {
		struct at stretch = element(&list, n, to->count);

		read_stretch(r, &stretch, &to->stretch[to->count]);
		to->count++;
	}
}

static void read_run(struct reader *r, const struct at *at, struct frag_run *to)
{
	struct frag_result *res = &to->result;
	struct at peak, last;

	want_object(r, at);
	read_policy(r, at, to);
	read_device(r, at, to);
	read_status(r, at, res);
	res->steps = take_count(r, at, "steps");
	res->lower_bound = take_count(r, at, "lower_bound");
	peak = take_object(r, at, "peak");
	read_metrics(r, &peak, &res->peak, false);
	last = take_object(r, at, "last");
	read_metrics(r, &last, &res->last, true);
#define X(name) read_distribution(r, at, #name, &res->name, res->steps ? res->steps : 1);
	FRAG_METRICS_PERCENT(X)
#undef X
	read_counts(r, at, &res->counts);
	read_first_oom(r, at, res);
	/* a result has marks, a baseline courses */
	if (!has(r, at, "course"))
		read_marks(r, at, res);
	else
		read_course(r, at, &to->course);
	if (!r->rc)
		frag_run_round(to);
}

/* `at` says what the trace is, `with` has its runs: in a result they stand apart. */
static void read_runs(struct reader *r, const struct at *at, const struct at *with,
		      struct frag_run_set *set)
{
	struct frag_runs *runs = frag_run_set_add(set);
	struct at list, complete;
	uint32_t index = 0;

	if (!runs) {
		no_memory(r);
		return;
	}
	runs->path = take_text(r, at, "path");
	runs->content = take_text(r, at, "content");
	runs->events = take_count(r, at, "events");
	runs->allocs = take_count(r, at, "allocs");
	runs->frees = take_count(r, at, "frees");
	complete = take(r, at, "complete", FRAG_JSON_BOOL, "a boolean is wanted");
	runs->complete = !r->rc && frag_json_is_true(complete.node);
	list = take(r, with, "runs", FRAG_JSON_ARRAY, "an array is wanted");
	if (r->rc)
		return;
	for (struct frag_node_ref n = frag_json_first(list.node); n.node && !r->rc;
	     n = frag_json_next(n), index++) {
		struct at run_at = element(&list, n, index);
		struct frag_run *run = frag_runs_add(runs);

		if (run)
			read_run(r, &run_at, run);
		else
			no_memory(r);
	}
	if (!runs->count)
		bad(r, &list, "at least one run is wanted");
}

static void read_traces(struct reader *r, const struct at *root, struct frag_run_set *set)
{
	struct at list = take(r, root, "traces", FRAG_JSON_ARRAY, "an array is wanted");
	uint32_t index = 0;

	if (r->rc)
		return;
	for (struct frag_node_ref n = frag_json_first(list.node); n.node && !r->rc;
	     n = frag_json_next(n), index++) {
		struct at at = element(&list, n, index);

		want_object(r, &at);
		read_runs(r, &at, &at, set);
	}
}

static void read_document(struct reader *r, const struct at *root, struct frag_run_set *set)
{
	struct at format, tool, trace;
	bool baseline;

	if (frag_json_kind(root->node) != FRAG_JSON_OBJECT) {
		bad(r, root, "an object is wanted: a result of `fragsim run --json`, or a baseline");
		return;
	}
	format = take(r, root, "format", FRAG_JSON_STRING, "a string is wanted");
	if (r->rc)
		return;
	baseline = strcmp(frag_json_string(format.node), "fragsim-baseline") == 0;
	if (!baseline && strcmp(frag_json_string(format.node), "fragsim-result") != 0)
		bad(r, &format, "fragsim-result or fragsim-baseline is wanted (a trace is"
		    " compared under --policy NAME)");
	if (take_count(r, root, "version") != 1)
		bad(r, &(struct at){ .up = root, .key = "version" }, "this fragsim reads version 1");
	tool = take_object(r, root, "tool");
	set->version = take_text(r, &tool, "version");
	if (baseline) {
		read_traces(r, root, set);
		return;
	}
	trace = take_object(r, root, "trace");
	read_runs(r, &trace, root, set);
}

/* Is it one JSON text, as RFC 8259 has it? Else says where not. */
static int check_text(const char *path, char *text, size_t length, struct frag_error *err)
{
	struct frag_scan scan = { .end = text + length, .scratch = malloc(length + 1) };
	const char *p = text;
	size_t line = 1, column = 1;

	if (!scan.scratch)
		return frag_fail_nomem(err);
	p = frag_scan_space(&scan, p);
	p = p ? frag_scan_skip(&scan, p, 1) : NULL;
	p = p ? frag_scan_space(&scan, p) : NULL;
	free(scan.scratch);
	if (p == scan.end)
		return 0;
	if (p) {
		scan.fail_at = p;
		scan.fail_text = "something follows the end";
	} else if (scan.fail == FRAG_SCAN_MORE) {
		scan.fail_text = length ? "it ends in the middle" : "there is nothing in it";
	}
	for (p = text; p < scan.fail_at; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return frag_fail(err, FRAG_ETRACE, "%s:%zu:%zu: no result, because no JSON: %s (a trace is"
			 " compared under --policy NAME)", path, line, column, scan.fail_text);
}

int frag_read_runs(struct frag_run_set *set, const char *path, struct frag_error *err)
{
	struct reader r = { .path = strcmp(path, "-") == 0 ? "standard input" : path, .err = err };
	struct at root = { .up = NULL };
	struct frag_json doc = { .root = NULL };
	size_t length = 0;
	char *text = NULL;

	r.rc = frag_text_file(&text, &length, path, err);
	if (!r.rc)
		r.rc = check_text(r.path, text, length, err);
	if (!r.rc) {
		root.node = frag_json_parse(&doc, text, length);
		if (!root.node.node)
			no_memory(&r);
	}
	free(text);
	if (!r.rc && !(set->path = strdup(path)))
		no_memory(&r);
	if (!r.rc)
		read_document(&r, &root, set);
	frag_json_end(&doc);
	return r.rc;
}
