/* meta.c - the "meta" of a trace that was made of others. */
#include "transform/meta.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json.h"

static char *meta_put(char *p, const char *text, size_t length)
{
	memcpy(p, text, length);
	return p + length;
}

static char *meta_put_text(char *p, const char *text)
{
	return meta_put(p, text, strlen(text));
}

/* Copies the members that decide the simulation to the top level; the others are nested. */
static char *put_recorder(char *p, struct frag_node_ref meta)
{
	static const char *const kept[] = { "recorder", "pytorch", "alloc_conf" };
	struct frag_node_ref member;

	for (uint32_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		if (!frag_json_member(meta, kept[i], &member)
		    || frag_json_kind(member) != FRAG_JSON_STRING)
			continue;
		p = meta_put_text(p, ",\"");
		p = meta_put_text(p, kept[i]);
		p = meta_put_text(p, "\":");
		p = frag_put_json(p, frag_json_string(member), strlen(frag_json_string(member)));
	}
	return p;
}

/* root: what `old` says, NULL where there is none. */
static void write_meta(char *p, const char *member, const char *body, struct frag_text old,
		       struct frag_node_ref root)
{
	struct frag_node_ref same;

	p = meta_put_text(p, "{\"");
	p = meta_put_text(p, member);
	p = meta_put_text(p, "\":{");
	p = meta_put_text(p, body);
	if (root.node && frag_json_member(root, member, &same) > 0) {
		p = meta_put_text(p, ",\"meta\":");
		p = meta_put(p, old.text, old.length);
		*p++ = '}';
		p = put_recorder(p, root);
		*p++ = '}';
	} else if (root.node && frag_json_first(root).node) {
		/* its own brace gives way to a comma */
		p = meta_put_text(p, "},");
		p = meta_put(p, old.text + 1, old.length - 1);
	} else {
		p = meta_put_text(p, "}}");
	}
	*p = '\0';
}

char *frag_meta_with(const char *member, const char *body, struct frag_text old)
{
	struct frag_json doc = { .root = NULL };
	struct frag_node_ref root = { .node = NULL };
	char *meta = malloc(200 + strlen(member) + strlen(body) + (size_t)old.length * 7);

	if (meta && old.text) {
		root = frag_json_parse(&doc, old.text, old.length);
		if (!root.node) {
			free(meta);
			meta = NULL;
		}
	}
	if (meta)
		write_meta(meta, member, body, old, root);
	if (old.text)
		frag_json_end(&doc);
	return meta;
}

static char *extrapolated_header_put(char *p, const char *text)
{
	const size_t length = strlen(text);

	memcpy(p, text, length);
	return p + length;
}

static char *put_recordings(char *p, const struct frag_recordings *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *path = frag_trace_info(r->of[i].trace)->path;

		p = extrapolated_header_put(p, i ? ",{\"path\":" : "{\"path\":");
		p = frag_put_json(p, path, strlen(path));
		p = extrapolated_header_put(p, ",\"at\":");
		p = frag_put_u64(p, r->of[i].number);
		*p++ = '}';
	}
	return p;
}

/* "at":16,"recordings":[...] */
static char *make_body(const struct frag_recordings *r, uint32_t number)
{
	size_t room = 100;
	char *body, *p;

	for (uint32_t i = 0; i < r->count; i++)
		room += 6 * strlen(frag_trace_info(r->of[i].trace)->path) + 2 * FRAG_NUMBER_ROOM;
	body = malloc(room);
	if (!body)
		return NULL;
	p = extrapolated_header_put(body, "\"at\":");
	p = frag_put_u64(p, number);
	p = extrapolated_header_put(p, ",\"recordings\":[");
	p = put_recordings(p, r);
	*p++ = ']';
	*p = '\0';
	return body;
}

int frag_grown_begin(struct frag_sink *sink, const struct frag_recordings *r, uint32_t number,
		     struct frag_text meta, struct frag_error *err)
{
	struct frag_trace_info head = *frag_trace_info(r->of[0].trace);
	char *body = make_body(r, number);
	char *new = body ? frag_meta_with("extrapolated", body, meta) : NULL;
	int rc;

	free(body);
	if (!new)
		return frag_fail_nomem(err);
	head.meta = (struct frag_text){ .text = new, .length = (uint32_t)strlen(new) };
	rc = sink->ops->begin(sink, &head, err);
	free(new);
	return rc;
}
