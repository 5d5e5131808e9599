/* manifest.c - what a sweep simulates: made of traces that are read once for it, written, read. */
#include "sweep/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "documents/document_head.h"
#include "documents/json_members.h"
#include "fragsim/version.h"
#include "input/json_scan.h"

#define MANIFEST "manifest.json"
#define KEEP_MAX ((uint64_t)1 << 30)    /* bytes of traces in memory for the runs */

/* Allocates zeroed entries. -FRAG_EUSAGE: the runs are too many */
static int manifest_init(struct frag_manifest *m, uint32_t traces, uint32_t policies,
			 uint32_t totals, struct frag_error *err)
{
	const uint64_t pairs = (uint64_t)policies * totals;

	*m = (struct frag_manifest){
		.trace = calloc((size_t)traces + 1, sizeof(*m->trace)),
		.policy = calloc((size_t)policies + 1, sizeof(*m->policy)),
		.total = calloc((size_t)totals + 1, sizeof(*m->total)),
		.trace_count = traces, .policy_count = policies, .total_count = totals,
	};
	if (!m->trace || !m->policy || !m->total)
		return frag_fail_nomem(err);
	if (pairs > FRAG_SWEEP_RUNS_MAX || pairs * traces > FRAG_SWEEP_RUNS_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%" PRIu32 " traces, %" PRIu32 " policies and %"
				 PRIu32 " capacities are more than %" PRIu32 " runs: several sweeps"
				 " are required", traces, policies, totals, FRAG_SWEEP_RUNS_MAX);
	m->runs = (uint32_t)(pairs * traces);
	return 0;
}

void frag_manifest_fini(struct frag_manifest *m)
{
	for (uint32_t i = 0; m->trace && i < m->trace_count; i++)
		free(m->trace[i].path);
	for (uint32_t i = 0; m->policy && i < m->policy_count; i++)
		free(m->policy[i]);
	free(m->trace);
	free(m->policy);
	free(m->total);
	*m = (struct frag_manifest){ .runs = 0 };
}

static const struct frag_field count_fields[] = {
	{ "events", FRAG_TYPE_COUNT, FRAG_AT(manifest_trace, events) },
	{ "allocs", FRAG_TYPE_COUNT, FRAG_AT(manifest_trace, allocs) },
	{ "frees", FRAG_TYPE_COUNT, FRAG_AT(manifest_trace, frees) },
	{ 0 },
}, trace_fields[] = {
	{ "path", FRAG_TYPE_TEXT, FRAG_AT(manifest_trace, path), "as it was given" },
	{ "content", FRAG_TYPE_CONTENT, FRAG_AT(manifest_trace, content), "identifies the decoded events" },
	FRAG_MEMBERS(FRAG_WHOLE, count_fields),
	{ 0 },
}, manifest_fields[] = {
	{ "runs", FRAG_TYPE_COUNT, FRAG_AT(manifest, runs), "traces times policies times capacities",
	  .least = 1 },
	{ "traces", FRAG_TYPE_LIST, FRAG_ARRAY(manifest, trace, trace_count), .fields = trace_fields },
	{ "policies", FRAG_TYPE_LIST, FRAG_ARRAY(manifest, policy, policy_count),
	  "each with the keys that are not at their defaults", .items = FRAG_TYPE_TEXT },
	{ "device_bytes", FRAG_TYPE_LIST, FRAG_ARRAY(manifest, total, total_count), "capacities of every"
	  " device, 0: no limit; null: what the trace has", .items = FRAG_TYPE_BYTES,
	  .absence = FRAG_UNLESS_MAX },
	{ 0 },
};

const struct frag_document_type frag_manifest_document = {
	.format = "fragsim-sweep", .version = 1, .fields = manifest_fields,
	.what = "What fragsim sweep simulates, see fragsim-sweep(1): of P policies and D capacities run k is"
		" trace k / (P * D), policy k / D mod P, capacity k mod D.",
};

int frag_manifest_write(void *manifest, struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc = frag_document_of(&frag_manifest_document, manifest);

	return frag_json_write(&doc, out, err);
}

/* After the last of it is filled in. -FRAG_EUSAGE where a path is no text */
static int manifest_number(struct frag_manifest *m, struct frag_error *err)
{
	struct frag_memory memory;
	struct frag_json doc;
	int rc;

	for (uint32_t i = 0; i < m->trace_count; i++)
		if (!frag_utf8_is((const unsigned char *)m->trace[i].path,
				  strlen(m->trace[i].path)))
			return frag_fail(err, FRAG_EUSAGE, "%s: a manifest is text, and this name is"
					 " no UTF-8", m->trace[i].path);
	if (!frag_memory_open(&memory))
		return frag_fail_nomem(err);
	doc = frag_document_of(&frag_manifest_document, m);
	rc = frag_json_print(&doc, memory.f, err);
	frag_json_end(&doc);
	if (!frag_memory_close(&memory) && !rc)
		rc = frag_fail_nomem(err);
	if (!rc)
		m->id = frag_hash_content(memory.text, memory.size, 0);
	free(memory.text);
	return rc;
}

static void read_content(struct frag_members *r, const struct frag_at *at, uint64_t *content)
{
	const struct frag_at member = { .up = at, .key = "content" };
	char *text = frag_take_text(r, at, member.key);

	if (text && (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16))
		frag_bad(r, &member, "16 hexadecimal digits are required");
	else if (text)
		*content = strtoull(text, NULL, 16);
	free(text);
}

static void manifest_read_trace(struct frag_members *r, const struct frag_at *at,
				struct frag_manifest_trace *to)
{
	frag_want_object(r, at);
	to->path = frag_take_text(r, at, "path");
	read_content(r, at, &to->content);
	frag_take_fields(r, at, count_fields, to);
}

static void manifest_read_policy(struct frag_members *r, const struct frag_at *at, char **to)
{
	if (frag_json_kind(at->node) != FRAG_JSON_STRING)
		frag_bad(r, at, "a string is required");
	else if (!(*to = strdup(frag_json_string(at->node))))
		frag_bad_memory(r);
}

static void read_total(struct frag_members *r, const struct frag_at *at, uint64_t *to)
{
	*to = UINT64_MAX;
	if (frag_json_kind(at->node) == FRAG_JSON_NULL)
		return;
	if (frag_json_kind(at->node) != FRAG_JSON_NUMBER)
		frag_bad(r, at, "an integer or null is required");
	else
		*to = frag_as_sum(r, at);
}

/* An array that is not empty, and its length. */
static struct frag_at manifest_take_list(struct frag_members *r, const struct frag_at *root,
					 const char *key, uint32_t *length)
{
	const struct frag_at list = frag_take_array(r, root, key);

	*length = frag_length_of(r, &list);
	if (!*length)
		frag_bad(r, &list, "at least one is required");
	return list;
}

/* Reads lists of the lengths that the manifest was allocated for. */
static void read_lists(struct frag_members *r, struct frag_manifest *m,
		       const struct frag_at *traces, const struct frag_at *policies,
		       const struct frag_at *totals)
{
	struct frag_at trace = { .up = NULL }, policy = trace, total = trace;

	while (frag_next_element(r, traces, &trace))
		manifest_read_trace(r, &trace, &m->trace[trace.index]);
	while (frag_next_element(r, policies, &policy))
		manifest_read_policy(r, &policy, &m->policy[policy.index]);
	while (frag_next_element(r, totals, &total))
		read_total(r, &total, &m->total[total.index]);
}

/* Another version may simulate otherwise: its runs and ours are never put together. */
static void check_version(struct frag_members *r, const struct frag_at *root)
{
	const struct frag_at tool = frag_take_object(r, root, "tool");
	char *version = frag_take_text(r, &tool, "version");

	if (version && strcmp(version, FRAG_VERSION) != 0)
		r->rc = frag_fail(r->err, FRAG_ETRACE,
				  "%s: this sweep was begun by fragsim %.40s, and"
				  " this is " FRAG_VERSION ": continue with that version, or begin in"
				  " another folder",
				  r->path, version);
	free(version);
}

/* Reads the members of a manifest: its policies, capacities and traces. */
static void read_manifest(struct frag_members *r, const struct frag_at *root,
			  struct frag_manifest *m)
{
	static const char *const formats[] = { "fragsim-sweep", NULL };
	struct frag_at traces, policies, totals;
	uint64_t runs;
	uint32_t n[3];

	frag_take_format(r, root, formats, "the manifest of a sweep is required");
	if (!r->rc)
		check_version(r, root);
	runs = frag_take_count(r, root, "runs");
	traces = manifest_take_list(r, root, "traces", &n[0]);
	policies = manifest_take_list(r, root, "policies", &n[1]);
	totals = manifest_take_list(r, root, "device_bytes", &n[2]);
	if (!r->rc)
		r->rc = manifest_init(m, n[0], n[1], n[2], r->err);
	if (!r->rc)
		read_lists(r, m, &traces, &policies, &totals);
	if (!r->rc && runs != m->runs)
		frag_bad(r, &(struct frag_at){ .up = root, .key = "runs" },
			 "as many as traces, policies and device_bytes make are required");
}

/* Reads and checks the file; a fault in it is -FRAG_ETRACE. */
int frag_manifest_read(struct frag_manifest *m, const char *path, struct frag_error *err)
{
	struct frag_members r;
	struct frag_json doc;
	struct frag_at root;
	int rc = frag_require_regular_file(path, err);

	if (rc)
		return rc;
	root = frag_members_open(&r, &doc, path, "manifest of a sweep", err);
	if (!r.rc)
		read_manifest(&r, &root, m);
	frag_json_end(&doc);
	if (!r.rc)
		r.rc = manifest_number(m, err);
	/* what would be wrong usage of who makes one is bad input here */
	if (r.rc == -FRAG_EUSAGE)
		r.rc = frag_fail(err, FRAG_ETRACE,
				 "%s: no manifest that fragsim makes: too many runs, or"
				 " a name that is no text",
				 r.path);
	return r.rc;
}

char *frag_sweep_path(const char *folder, const char *name)
{
	const size_t size = strlen(folder) + strlen(name) + 2;
	char *path = malloc(size);

	if (path)
		snprintf(path, size, "%s/%s", folder, name);
	return path;
}

int frag_source_open(struct frag_sweep_plan *p, uint32_t trace, struct frag_error *err)
{
	struct frag_source *s = &p->sources[trace];
	struct frag_trace_options options = {
		.sized = true, .log = p->log,
		.configured = frag_configured_next, .configured_ctx = &s->configured,
	};
	int rc;

	/* every run has its own capacity */
	for (uint32_t i = 0; i < p->manifest.total_count; i++)
		options.sized &= p->manifest.total[i] != UINT64_MAX;
	if (!frag_configured_init(&s->configured, p->choices, p->choice_count))
		return frag_fail_nomem(err);
	rc = frag_trace_open(&s->trace, p->manifest.trace[trace].path, &options, err);
	if (rc && frag_read_check(&p->read, err))
		rc = -FRAG_EINTERRUPTED;
	if (!rc && p->opened)
		rc = p->opened(s->trace, &p->log, err);
	return rc ? rc : frag_tape_new(&s->tape, s->trace, &p->read, err);
}

void frag_source_close(struct frag_source *s)
{
	frag_tape_del(s->tape);
	frag_trace_close(s->trace);
	frag_configured_fini(&s->configured);
	*s = (struct frag_source){ .trace = NULL };
}

/* Reads one trace; its worker reads it again if all traces together need too much memory. */
static int manifest_add_trace(struct frag_sweep_plan *p, uint32_t i, const char *path,
			      uint64_t *kept, struct frag_error *err)
{
	struct frag_manifest_trace *to = &p->manifest.trace[i];
	struct frag_source *source = &p->sources[i];
	const struct frag_trace_info *info;
	int rc;

	to->path = strdup(path);
	if (!to->path)
		return frag_fail_nomem(err);
	rc = frag_source_open(p, i, err);
	if (rc)
		return rc;
	info = frag_tape_info(source->tape);
	to->content = info->content;
	to->events = info->events;
	to->allocs = info->allocs;
	to->frees = info->frees;
	*kept += frag_tape_bytes(source->tape);
	if (*kept > KEEP_MAX) {
		*kept -= frag_tape_bytes(source->tape);
		frag_source_close(source);
	}
	return 0;
}

/* A manifest names no input that could not be opened again. */
static int check_paths(char *const *paths, uint32_t count, struct frag_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(paths[i], "-") == 0)
			return frag_fail(err, FRAG_EUSAGE, "standard input cannot be a trace of a"
					 " sweep, which reads it again");
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(paths[k], paths[i]) == 0)
				return frag_fail(err, FRAG_EUSAGE, "%s: specified more than once",
						 paths[i]);
	}
	return 0;
}

/* Names the policies by all of their keys, where these are not too long. */
static int name_policies(struct frag_sweep_plan *p, struct frag_error *err)
{
	const uint32_t count = p->choice_count;
	struct frag_choice *choices = p->choices;
	struct frag_manifest *m = &p->manifest;
	char text[sizeof(choices->text)];
	uint32_t kept = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = 0;

		if (!frag_choice_keys(&choices[i], text, sizeof(text)))
			memcpy(text, choices[i].text, sizeof(text));
		while (!rc && k < kept && strcmp(m->policy[k], text) != 0)
			k++;
		if (rc || k < kept) {
			frag_choice_fini(&choices[i]);
			continue;
		}
		choices[kept] = choices[i];
		m->policy[kept] = strdup(text);
		rc = m->policy[kept++] ? 0 : frag_fail_nomem(err);
	}
	m->runs = m->runs / count * kept;
	m->policy_count = p->choice_count = kept;
	return rc;
}

static int read_plan(struct frag_sweep_plan *p, struct frag_error *err)
{
	int rc;

	p->path = frag_sweep_path(p->folder, MANIFEST);
	rc = p->path ? frag_manifest_read(&p->manifest, p->path, err) : frag_fail_nomem(err);
	p->sources = calloc((size_t)p->manifest.trace_count + 1, sizeof(*p->sources));
	return rc || p->sources ? rc : frag_fail_nomem(err);
}

int frag_sweep_plan_make(struct frag_sweep_plan *p, char *const *paths, uint32_t path_count,
			 const uint64_t *totals, uint32_t total_count, struct frag_error *err)
{
	uint64_t kept = 0;
	int rc;

	if (!path_count)
		return read_plan(p, err);
	rc = check_paths(paths, path_count, err);
	rc = rc ? rc : manifest_init(&p->manifest, path_count, p->choice_count,
				     total_count ? total_count : 1, err);
	rc = rc ? rc : name_policies(p, err);
	if (rc)
		return rc;
	p->manifest.total[0] = UINT64_MAX;
	if (total_count)
		memcpy(p->manifest.total, totals, total_count * sizeof(*totals));
	p->path = frag_sweep_path(p->folder, MANIFEST);
	p->sources = calloc((size_t)path_count + 1, sizeof(*p->sources));
	rc = p->path && p->sources ? 0 : frag_fail_nomem(err);
	for (uint32_t i = 0; i < path_count && !rc; i++)
		rc = manifest_add_trace(p, i, paths[i], &kept, err);
	p->log.warn = NULL;
	return rc ? rc : manifest_number(&p->manifest, err);
}

int frag_sweep_plan_check(const struct frag_sweep_plan *p, struct frag_error *err)
{
	struct frag_manifest there = { .runs = 0 };
	int rc = frag_manifest_read(&there, p->path, err);

	if (!rc && there.id != p->manifest.id)
		rc = frag_fail(err, FRAG_EUSAGE, "%s: it is of another sweep, with other traces,"
			       " policies or capacities: use another folder", p->path);
	frag_manifest_fini(&there);
	return rc;
}

void frag_sweep_plan_fini(struct frag_sweep_plan *p)
{
	for (uint32_t i = 0; p->sources && i < p->manifest.trace_count; i++)
		frag_source_close(&p->sources[i]);
	free(p->sources);
	free(p->path);
	frag_manifest_fini(&p->manifest);
}
