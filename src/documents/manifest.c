/* manifest.c - what a sweep simulates, written and read. */
#include "documents/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "base/atomic_file.h"
#include "documents/document_head.h"
#include "fragsim/version.h"
#include "input/json_scan.h"

int frag_manifest_init(struct frag_manifest *m, uint32_t traces, uint32_t policies,
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

static const struct frag_json_row count_rows[] = {
	ROW(manifest_trace, events), ROW(manifest_trace, allocs), ROW(manifest_trace, frees),
	ROW_END,
};

static void manifest_put_trace(struct frag_node_ref in, const struct frag_manifest_trace *trace)
{
	struct frag_node_ref o = frag_json_object(in, NULL);

	frag_json_text(o, "path", trace->path);
	frag_document_content(o, "content", trace->content);
	frag_json_rows(o, count_rows, trace);
}

int frag_manifest_print(const struct frag_manifest *m, FILE *f, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-sweep"), list;
	int rc;

	frag_document_tool(root);
	frag_json_u64(root, "runs", m->runs);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < m->trace_count; i++)
		manifest_put_trace(list, &m->trace[i]);
	list = frag_json_array(root, "policies");
	for (uint32_t i = 0; i < m->policy_count; i++)
		frag_json_text(list, NULL, m->policy[i]);
	list = frag_json_array(root, "device_bytes");
	for (uint32_t i = 0; i < m->total_count; i++)
		frag_json_u64_or_null(list, NULL, m->total[i] != UINT64_MAX, m->total[i]);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}

int frag_manifest_number(struct frag_manifest *m, struct frag_error *err)
{
	struct frag_memory memory;
	int rc;

	for (uint32_t i = 0; i < m->trace_count; i++)
		if (!frag_utf8_is((const unsigned char *)m->trace[i].path,
				  strlen(m->trace[i].path)))
			return frag_fail(err, FRAG_EUSAGE,
					 "%s: a manifest is text, and this name is"
					 " no UTF-8",
					 m->trace[i].path);
	if (!frag_memory_open(&memory))
		return frag_fail_nomem(err);
	rc = frag_manifest_print(m, memory.f, err);
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
	frag_take_rows(r, at, count_rows, to);
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
		r->rc = frag_manifest_init(m, n[0], n[1], n[2], r->err);
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
		r.rc = frag_manifest_number(m, err);
	/* what would be wrong usage of who makes one is bad input here */
	if (r.rc == -FRAG_EUSAGE)
		r.rc = frag_fail(err, FRAG_ETRACE,
				 "%s: no manifest that fragsim makes: too many runs, or"
				 " a name that is no text",
				 r.path);
	return r.rc;
}
