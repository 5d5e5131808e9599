/* document.c - a large JSON document, part by part through the window. */
#include "input/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/c_locale.h"

int frag_document_init(struct frag_document *d, struct frag_input *in, struct frag_error *err)
{
	*d = (struct frag_document){ .in = *in, .scratch_size = in->capacity };
	d->scratch = malloc(d->scratch_size);
	if (d->scratch)
		return 0;
	frag_document_fini(d);
	return frag_fail_nomem(err);
}

void frag_document_fini(struct frag_document *d)
{
	frag_input_close(&d->in);
	free(d->scratch);
	d->scratch = NULL;
}

static int document_bad_at(struct frag_document *d, const char *at, const char *text,
			   struct frag_error *err)
{
	char where[512];

	frag_input_where(&d->in, (size_t)(at - d->in.buf), false, where, sizeof(where));
	return frag_fail(err, FRAG_ETRACE, "%s: %s", where, text);
}

/* Moves the window on to d->at; the scratch follows in size. */
static int document_fill(struct frag_document *d, struct frag_error *err)
{
	int rc = frag_input_fill(&d->in, d->at, err);

	d->at = 0;
	if (rc >= 0 && d->scratch_size < d->in.capacity) {
		free(d->scratch);
		d->scratch_size = d->in.capacity;
		d->scratch = malloc(d->scratch_size);
		if (!d->scratch)
			return frag_fail_nomem(err);
	}
	return rc;
}

static void document_aim(struct frag_document *d)
{
	d->scan = (struct frag_scan){ .end = d->in.buf + d->in.end, .scratch = d->scratch };
}

/* Why a part was not scanned; 0 where there is more input now. */
static int document_go_on(struct frag_document *d, struct frag_error *err)
{
	int rc;

	if (d->nomem)
		return frag_fail_nomem(err);
	if (d->wrong_at)
		return document_bad_at(d, d->wrong_at, d->wrong, err);
	if (d->scan.fail == FRAG_SCAN_BAD)
		return document_bad_at(d, d->scan.fail_at, d->scan.fail_text, err);
	rc = d->in.eof ? 0 : document_fill(d, err);
	if (rc)
		return rc < 0 ? rc : 0;
	return document_bad_at(d, d->in.buf + d->in.end, "truncated: the input ends here", err);
}

/*
 * A scan that reaches the end of the window returns NULL; the window then moves or grows, and
 * the part is scanned again from its start.
 */
int frag_document_part(struct frag_document *d,
		       const char *(*scan)(void *ctx, struct frag_scan *s, const char *p),
		       void *ctx, struct frag_error *err)
{
	FRAG_ASSERT(d->at <= d->in.end);
	for (;;) {
		const char *p;
		int rc;

		document_aim(d);
		p = scan(ctx, &d->scan, d->in.buf + d->at);
		if (p) {
			d->at = (size_t)(p - d->in.buf);
			return 0;
		}
		rc = document_go_on(d, err);
		if (rc)
			return rc;
	}
}

int frag_document_end(struct frag_document *d, struct frag_error *err)
{
	for (;;) {
		const char *p;
		int rc;

		document_aim(d);
		p = frag_scan_space(&d->scan, d->in.buf + d->at);
		d->at = (size_t)(p - d->in.buf);
		if (d->at < d->in.end)
			return document_bad_at(d, p, "bytes after the end of the document", err);
		rc = d->in.eof ? 0 : document_fill(d, err);
		if (rc <= 0)
			return rc;
	}
}

const char *frag_document_wrong(struct frag_document *d, const char *at, const char *format, ...)
{
	va_list args;

	d->wrong_at = at;
	va_start(args, format);
	frag_vsnprintf(d->wrong, sizeof(d->wrong), format, args);
	va_end(args);
	return NULL;
}

const char *frag_scan_name(struct frag_scan *s, const char *p, struct frag_text *name)
{
	if (*p != '"')
		return frag_scan_bad(s, p, "a member's name is expected here");
	p = frag_scan_string(s, p + 1, name);
	p = p ? frag_scan_space(s, p) : NULL;
	if (p && *p != ':')
		return frag_scan_bad(s, p, "a colon is expected here");
	return p ? frag_scan_space(s, p + 1) : NULL;
}

const char *frag_scan_next(struct frag_scan *s, const char *p, char bracket, bool *end)
{
	p = p ? frag_scan_space(s, p) : NULL;
	if (!p)
		return NULL;
	*end = *p == bracket;
	if (*end)
		return p + 1;
	if (*p != ',')
		return frag_scan_bad(s, p, bracket == '}' ? "a comma or } is expected here"
							  : "a comma or ] is expected here");
	return frag_scan_space(s, p + 1);
}
