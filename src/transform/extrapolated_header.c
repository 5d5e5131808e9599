/* extrapolated_header.c - the trace of a program at a number that it was not recorded at, as it is written. */
#include "transform/extrapolated_header.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "transform/meta.h"

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
