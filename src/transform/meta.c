/* meta.c - the "meta" of a trace that was made of others. */
#include "transform/meta.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/json.h"

/* False: out of memory. */
static bool write_json(FILE *f, const char *text)
{
	const size_t length = strlen(text);
	char *json = malloc(length * 6 + 3);

	if (!json)
		return false;
	*frag_put_json(json, text, length) = '\0';
	fputs(json, f);
	free(json);
	return true;
}

/* Copies the members that decide the simulation to the top level; the others are nested. */
static bool write_recorder(FILE *f, struct frag_node_ref meta)
{
	static const char *const kept[] = { "recorder", "pytorch", "alloc_conf" };
	struct frag_node_ref member;

	for (uint32_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		if (!frag_json_member(meta, kept[i], &member)
		    || frag_json_kind(member) != FRAG_JSON_STRING)
			continue;
		fprintf(f, ",\"%s\":", kept[i]);
		if (!write_json(f, frag_json_string(member)))
			return false;
	}
	return true;
}

/* root: what `old` says, NULL where there is none. */
static bool write_meta(FILE *f, const char *member, const char *body, struct frag_text old,
		       struct frag_node_ref root)
{
	struct frag_node_ref same;
	bool good = true;

	fprintf(f, "{\"%s\":{%s", member, body);
	if (root.node && frag_json_member(root, member, &same) > 0) {
		fputs(",\"meta\":", f);
		fwrite(old.text, 1, old.length, f);
		fputc('}', f);
		good = write_recorder(f, root);
		fputc('}', f);
	} else if (root.node && frag_json_first(root).node) {
		/* its own brace gives way to a comma */
		fputs("},", f);
		fwrite(old.text + 1, 1, old.length - 1, f);
	} else {
		fputs("}}", f);
	}
	return good;
}

char *frag_meta_with(const char *member, const char *body, struct frag_text old)
{
	struct frag_json doc = { .root = NULL };
	struct frag_node_ref root = { .node = NULL };
	struct frag_memory meta;
	bool good = frag_memory_open(&meta);

	if (!good)
		return NULL;
	if (old.text) {
		root = frag_json_parse(&doc, old.text, old.length);
		good = root.node != NULL;
	}
	good = good && write_meta(meta.f, member, body, old, root);
	if (old.text)
		frag_json_end(&doc);
	if (frag_memory_close(&meta) && good)
		return meta.text;
	free(meta.text);
	return NULL;
}

int frag_grown_begin(struct frag_sink *sink, const struct frag_recordings *r, uint32_t number,
		     struct frag_text meta, struct frag_error *err)
{
	struct frag_trace_info head = *frag_trace_info(r->of[0].trace);
	struct frag_memory body;
	bool good = frag_memory_open(&body);
	char *new = NULL;
	int rc;

	if (!good)
		return frag_fail_nomem(err);
	fprintf(body.f, "\"at\":%" PRIu32 ",\"recordings\":[", number);
	for (uint32_t i = 0; i < r->count && good; i++) {
		fputs(i ? ",{\"path\":" : "{\"path\":", body.f);
		good = write_json(body.f, frag_trace_info(r->of[i].trace)->path);
		fprintf(body.f, ",\"at\":%" PRIu32 "}", r->of[i].number);
	}
	fputc(']', body.f);
	if (frag_memory_close(&body) && good)
		new = frag_meta_with("extrapolated", body.text, meta);
	free(body.text);
	if (!new)
		return frag_fail_nomem(err);
	head.meta = (struct frag_text){ .text = new, .length = (uint32_t)strlen(new) };
	rc = sink->ops->begin(sink, &head, err);
	free(new);
	return rc;
}
