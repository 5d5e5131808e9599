/* header_scan.c - the header of a trace, decoded: members of the trace and of its devices. */
#include "trace/header_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parse.h"
#include "trace/record_scan.h"

void frag_header_fini(struct frag_header *h)
{
	for (uint32_t i = 0; i < h->device_count; i++)
		free(h->devices[i].name);
	free(h->devices);
	free(h->meta);
	free(h->beginning);
	*h = (struct frag_header){ .members = 0 };
}

/* Suggests the correct spelling of a size. */
static const char *mistyped_size(struct frag_document *d, const char *at, const char *name)
{
	char advice[FRAG_SCAN_ADVICE_ROOM];

	frag_document_mistyped(d, at, name, "a size from 0 to 2^53-1");
	if (d->wrong_at == at)
		strncat(d->wrong, frag_scan_size_advice(&d->scan, at, advice),
			sizeof(d->wrong) - strlen(d->wrong) - 1);
	return NULL;
}

static const char *repeated(struct frag_document *d, const char *at, struct frag_text name)
{
	return frag_document_wrong(d, at, "member \"%.*s\" is specified more than once",
				   (int)name.length, name.text);
}

static char *header_copy_text(struct frag_text t)
{
	char *copy = malloc((size_t)t.length + 1);

	if (copy) {
		memcpy(copy, t.text, t.length);
		copy[t.length] = '\0';
	}
	return copy;
}

enum { NAME, TOTAL, CONTEXT, OTHER, GRANULARITY, FIGURES };

#define MEMBER(name, ...) #name,
static const char *const figure_names[FIGURES + 1] = { FRAG_DEVICE_MEMBERS(MEMBER) };
#undef MEMBER

/*
 * The granularity has a default and divides sizes, so 0 can only come from the
 * trace and is refused.
 */
static const char *scan_figure(struct frag_document *d, const char *p, uint32_t which,
			       struct frag_device_figures *f)
{
	uint64_t *const sizes[FIGURES] = {
		NULL, &f->total, &f->context, &f->other, &f->granularity,
	};
	struct frag_text name;
	const char *q;

	FRAG_ASSERT(which < FIGURES);
	if (which == NAME) {
		q = *p == '"' ? frag_scan_string(&d->scan, p + 1, &name) : NULL;
		if (!q)
			return frag_document_mistyped(d, p, "name", "a string");
		f->name = header_copy_text(name);
		d->nomem = !f->name;
		return f->name ? q : NULL;
	}
	q = frag_scan_size(&d->scan, p, sizes[which]);
	if (!q)
		return mistyped_size(d, p, figure_names[which]);
	if (f->granularity == 0)
		return frag_document_mistyped(d, p, figure_names[which],
					      "a size from 1 to 2^53-1");
	return q;
}

/*
 * Values may come in any order, and unknown members are skipped. A member that occurs twice is
 * refused, because neither value could be trusted.
 */
static const char *scan_device(struct frag_header *h, struct frag_document *d, const char *p,
			       uint32_t depth)
{
	struct frag_scan *s = &d->scan;
	struct frag_device_figures *f;
	uint32_t seen = 0;
	bool end;

	if (*p != '{')
		return frag_document_mistyped(d, p, "device", "an object");
	if (h->device_count == FRAG_DEVICES_MAX)
		return frag_document_wrong(d, p, "more than 1024 devices");
	d->nomem = !FRAG_GROW(h->devices, h->device_capacity, h->device_count);
	if (d->nomem)
		return NULL;
	f = &h->devices[h->device_count++];
	*f = (struct frag_device_figures){ .granularity = FRAG_GRANULARITY };
	p = frag_scan_space(s, p + 1);
	end = p && *p == '}';
	if (end)
		return p + 1;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		uint32_t which = value ? frag_text_among(name, figure_names) : 0;

		if (value && which < FIGURES && seen & 1U << which)
			return repeated(d, p, name);
		seen |= 1U << which;
		if (value)
			value = which < FIGURES ? scan_figure(d, value, which, f)
						: frag_scan_skip(s, value, depth + 1);
		p = frag_scan_next(s, value, '}', &end);
	}
	return p;
}

static const char *scan_devices(struct frag_header *h, struct frag_document *d, const char *p)
{
	bool end = false;

	if (*p != '[')
		return frag_document_mistyped(d, p, "devices", "an array of devices");
	p = frag_scan_space(&d->scan, p + 1);
	if (p && *p == ']')
		return frag_document_wrong(
			d, p, "member \"devices\" is empty; there is at least one device");
	while (p && !end)
		p = frag_scan_next(&d->scan, scan_device(h, d, p, 3), ']', &end);
	return p;
}

static const char *scan_format(struct frag_document *d, const char *p)
{
	struct frag_text text;
	const char *q = *p == '"' ? frag_scan_string(&d->scan, p + 1, &text) : NULL;

	return q && frag_text_equals(text, "fragsim-trace")
		       ? q : frag_document_mistyped(d, p, "format", "\"fragsim-trace\"");
}

static const char *scan_version(struct frag_document *d, const char *p)
{
	uint64_t version;
	const char *q = frag_scan_integer(p, &version);

	return q && version == 1 ? q : frag_document_mistyped(d, p, "version", "1");
}

/* An object, whose text is kept. */
static const char *scan_object(char **out, uint32_t *length, const char *name,
			       struct frag_document *d, const char *p)
{
	struct frag_text text = { .text = p };

	if (*p != '{')
		return frag_document_mistyped(d, p, name, "an object");
	p = frag_scan_skip(&d->scan, p, 2);
	if (!p)
		return NULL;
	text.length = (uint32_t)(p - text.text);
	*out = header_copy_text(text);
	*length = text.length;
	d->nomem = !*out;
	return d->nomem ? NULL : p;
}

/* Reads only the bracket of `events`: the source reads the events, window by window. */
static const char *header_scan_member(struct frag_header *h, struct frag_document *d, const char *p,
				      uint32_t member)
{
	switch (member) {
	case FRAG_HEADER_FORMAT:
		return scan_format(d, p);
	case FRAG_HEADER_VERSION:
		return scan_version(d, p);
	case FRAG_HEADER_DEVICE:
		return scan_device(h, d, p, 2);
	case FRAG_HEADER_DEVICES:
		return scan_devices(h, d, p);
	case FRAG_HEADER_META:
		return scan_object(&h->meta, &h->meta_length, "meta", d, p);
	case FRAG_HEADER_BEGINNING:
		return scan_object(&h->beginning, &h->beginning_length, "beginning", d, p);
	case FRAG_HEADER_EVENTS:
		return *p == '[' ? p + 1 : frag_document_mistyped(d, p, "events", "an array");
	default:
		return frag_scan_skip(&d->scan, p, 2);
	}
}

/*
 * Notes that the header has this member, whose name is at p. Except unknown members and `op`, each
 * may occur once, and one of device and devices. Returns p, or NULL.
 */
static const char *header_note_member(struct frag_header *h, struct frag_document *d, const char *p,
				      struct frag_text name, uint32_t member)
{
	if (h->members & member & ~(uint32_t)FRAG_HEADER_OP)
		return repeated(d, p, name);
	h->members |= member;
	if ((h->members & FRAG_HEADER_DEVICE) && (h->members & FRAG_HEADER_DEVICES))
		return frag_document_wrong(d, p, "both \"device\" and \"devices\" are given");
	return p;
}

const char *frag_header_scan(struct frag_header *h, struct frag_document *d, const char *p)
{
	static const char *const names[] = {
		"format", "version", "device", "devices", "meta", "events", "op", "beginning",
		NULL,
	};
	struct frag_scan *s = &d->scan;
	bool end = false;

	p = frag_scan_space(s, p);
	if (p && *p == '}')
		return p + 1;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		const uint32_t i = value ? frag_text_among(name, names) : 0;
		const uint32_t member = value && names[i] ? 1U << i : 0;    /* frag_header_member */
		const bool stored = value && (!h->names_only
					      || (member == FRAG_HEADER_EVENTS && *value == '['));

		if (h->names_only)
			h->members |= member;
		else if (value && !header_note_member(h, d, p, name, member))
			return NULL;
		if (value)
			value = stored ? header_scan_member(h, d, value, member)
				       : frag_scan_skip(s, value, 2);
		if (!value || (stored && member == FRAG_HEADER_EVENTS))
			return value;
		p = frag_scan_next(s, value, '}', &end);
	}
	return p;
}
