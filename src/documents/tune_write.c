/* tune_write.c - what fragsim tune found, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "documents/document_head.h"
#include "documents/documents.h"

#define NONE UINT64_MAX
#define ENV "PYTORCH_ALLOC_CONF="

char *frag_tune_env(const struct frag_tune *t)
{
	const char *text;
	char *env;

	if (t->best.choice == UINT32_MAX || t->best.choice == 0
	    || !t->sources[0].choices[t->best.choice].ops->settings)
		return NULL;
	text = t->texts[t->best.choice];
	env = malloc(sizeof(ENV) + strlen(text));
	if (env) {
		memcpy(env, ENV, sizeof(ENV));
		memcpy(env + strlen(ENV), text, strlen(text) + 1);
	}
	return env;
}

static void put_bytes(struct frag_node_ref in, const char *key, uint64_t bytes)
{
	frag_json_u64_or_null(in, key, bytes != NONE, bytes);
}

/* null where there is none. */
static void put_point(struct frag_node_ref in, const char *key, const struct frag_tune *t,
		      const struct frag_point *p)
{
	const struct frag_attempt *at = &p->at;
	const struct frag_choice *choice;
	struct frag_node_ref o, oom;

	if (p->choice == UINT32_MAX) {
		frag_json_null(in, key);
		return;
	}
	choice = &t->sources[0].choices[p->choice];
	o = frag_json_object(in, key);
	frag_document_policy(o, choice);
	frag_json_text(o, "alloc_conf", choice->ops->settings ? t->texts[p->choice] : NULL);
	frag_json_text(o, "status", frag_run_status_name(!p->tried ? FRAG_RUN_INTERRUPTED
							 : at->survives ? FRAG_RUN_OK
							 : FRAG_RUN_OOM));
	if (at->survives || !p->tried) {
		frag_json_null(o, "oom");
	} else {
		oom = frag_json_object(o, "oom");
		frag_json_u64(oom, "trace", p->oom_trace);
		frag_json_u64(oom, "step", at->oom_step);
	}
	frag_json_u64(o, "calls", at->calls);
	frag_json_u64(o, "refused", at->refused);
	frag_json_u64(o, "retries", at->retries);
	frag_json_u64_or_null(o, "driver_ns", t->model != NULL, at->driver_ns);
	put_bytes(o, "smallest", p->smallest);
	put_bytes(o, "safe", p->safe);
}

static void put_test(struct frag_node_ref list, const struct frag_tune *t, uint32_t i,
		     const struct frag_trace_info *trace)
{
	const struct frag_tune_test *test = &t->tests[i];
	struct frag_node_ref o = frag_json_object(list, NULL), own;

	frag_document_trace(o, "trace", trace);
	frag_json_bool(o, "survives", test->survives);
	put_bytes(o, "smallest", test->smallest);
	if (test->own_smallest == NONE) {
		frag_json_null(o, "own_best");
		return;
	}
	own = frag_json_object(o, "own_best");
	frag_json_text(own, "alloc_conf", t->texts[test->own]);
	put_bytes(own, "smallest", test->own_smallest);
}

static void put_all(struct frag_node_ref root, const struct frag_tune_answer *a)
{
	const struct frag_tune *t = a->tune;
	char *env = frag_tune_env(t);
	struct frag_node_ref list;

	frag_document_tool(root);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < t->source_count; i++)
		frag_document_trace(list, NULL, a->traces[i]);
	list = frag_json_array(root, "tests");
	/* an interruption may have come before one was tried */
	for (uint32_t i = 0; i < t->test_count; i++)
		if (t->tests[i].tried || !a->interrupted)
			put_test(list, t, i, a->traces[t->source_count + i]);
	if (t->total)
		frag_document_device(root, &t->sources[0].devices[0], FRAG_NO_ORDINAL, t->total);
	else
		frag_json_null(root, "device");
	if (t->total)
		frag_json_fixed4(root, "headroom", t->no_headroom ? 0 : t->headroom);
	else
		frag_json_null(root, "headroom");
	frag_json_text(root, "grid", a->grid);
	frag_json_u64(root, "floor", t->floor);
	frag_json_u64(root, "runs", t->runs);
	list = frag_json_array(root, "points");
	for (uint32_t i = 0; i < t->choice_count; i++)
		put_point(list, NULL, t, &t->points[i]);
	put_point(root, "best", t, &t->best);
	put_point(root, "best_without_expandable", t, &t->without);
	put_point(root, "default", t, &t->points[0]);
	frag_json_text(root, "env", env);
	free(env);
}

int frag_tune_json(const struct frag_tune_answer *answer, FILE *f, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-tune");
	int rc;

	put_all(root, answer);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
