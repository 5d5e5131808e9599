/* grown.c - the trace of a program at a number that it was not recorded at, as it is written. */
#include "transform/grown.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json.h"

#define MEMBER "extrapolated"

static char *put(char *p, const char *text)
{
	const size_t length = strlen(text);

	memcpy(p, text, length);
	return p + length;
}

static char *put_recordings(char *p, const struct frag_recordings *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *path = frag_trace_info(r->of[i].trace)->path;

		p = put(p, i ? ",{\"path\":" : "{\"path\":");
		p = frag_put_json(p, path, strlen(path));
		p = put(p, ",\"at\":");
		p = frag_put_u64(p, r->of[i].number);
		*p++ = '}';
	}
	return p;
}

/* What stays on top where the rest goes down: it decides how the trace is simulated. */
static char *put_recorder(char *p, struct frag_node_ref meta)
{
	static const char *const kept[] = { "recorder", "alloc_conf" };
	struct frag_node_ref member;

	for (uint32_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		if (!frag_json_member(meta, kept[i], &member)
		    || frag_json_kind(member) != FRAG_JSON_STRING)
			continue;
		p = put(p, ",\"");
		p = put(p, kept[i]);
		p = put(p, "\":");
		p = frag_put_json(p, frag_json_string(member), strlen(frag_json_string(member)));
	}
	return p;
}

/* Has it a member of ours already? Then all of it becomes a member of the new one. */
static bool is_grown(struct frag_node_ref meta)
{
	struct frag_node_ref member;

	return meta.node && frag_json_member(meta, MEMBER, &member) > 0;
}

/* {"extrapolated":{"at":16,"recordings":[...]}, and what the first recording has */
static char *make_meta(const struct frag_recordings *r, uint32_t number, struct frag_text old)
{
	size_t room = 200 + (size_t)old.length * 7;
	struct frag_json doc = { .root = NULL };
	struct frag_node_ref root = { .node = NULL };
	char *meta, *p;

	for (uint32_t i = 0; i < r->count; i++)
		room += 6 * strlen(frag_trace_info(r->of[i].trace)->path) + 2 * FRAG_NUMBER_ROOM;
	meta = malloc(room);
	if (!meta)
		return NULL;
	if (old.text)
		root = frag_json_parse(&doc, old.text, old.length);
	if (old.text && !root.node) {
		frag_json_end(&doc);
		free(meta);
		return NULL;
	}
	p = put(meta, "{\"" MEMBER "\":{\"at\":");
	p = frag_put_u64(p, number);
	p = put(p, ",\"recordings\":[");
	p = put_recordings(p, r);
	*p++ = ']';
	if (is_grown(root)) {
		p = put(p, ",\"meta\":");
		p = (char *)memcpy(p, old.text, old.length) + old.length;
		*p++ = '}';
		p = put_recorder(p, root);
		*p++ = '}';
	} else if (root.node && frag_json_first(root).node) {
		/* its own brace gives way to a comma */
		p = put(p, "},");
		p = (char *)memcpy(p, old.text + 1, old.length - 1) + old.length - 1;
	} else {
		p = put(p, "}}");
	}
	*p = '\0';
	if (old.text)
		frag_json_end(&doc);
	return meta;
}

int frag_grown_begin(struct frag_sink *sink, const struct frag_recordings *r, uint32_t number,
		     struct frag_text meta, struct frag_error *err)
{
	struct frag_trace_info head = *frag_trace_info(r->of[0].trace);
	char *new = make_meta(r, number, meta);
	int rc;

	if (!new)
		return frag_fail_nomem(err);
	head.meta = (struct frag_text){ .text = new, .length = (uint32_t)strlen(new) };
	rc = sink->ops->begin(sink, &head, err);
	free(new);
	return rc;
}
