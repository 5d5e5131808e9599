/* header.c - the header of a trace: members of the trace and of its devices. */
#include "trace/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/parse.h"
#include "trace/record_scan.h"

void frag_header_fini(struct frag_header *h)
{
	for (uint32_t i = 0; i < h->device_count; i++)
		free(h->devices[i].name);
	free(h->devices);
	free(h->meta);
	*h = (struct frag_header){ .members = 0 };
}

/* Suggests the correct spelling of a size. */
static const char *mistyped_size(struct frag_document *d, const char *at, const char *name)
{
	char advice[FRAG_SCAN_ADVICE_ROOM];
	size_t used;

	frag_document_mistyped(d, at, name, "a size from 0 to 2^53-1");
	if (d->wrong_at != at)
		return NULL;
	used = strlen(d->wrong);
	snprintf(d->wrong + used, sizeof(d->wrong) - used, "%s",
		 frag_scan_size_advice(&d->scan, at, advice));
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

static const char *const figure_names[FIGURES + 1] = {
	"name", "total_bytes", "context_bytes", "other_bytes", "granularity_bytes",
};

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

static const char *scan_meta(struct frag_header *h, struct frag_document *d, const char *p)
{
	struct frag_text text = { .text = p };

	if (*p != '{')
		return frag_document_mistyped(d, p, "meta", "an object");
	p = frag_scan_skip(&d->scan, p, 2);
	if (!p)
		return NULL;
	text.length = (uint32_t)(p - text.text);
	h->meta = header_copy_text(text);
	h->meta_length = text.length;
	d->nomem = !h->meta;
	return d->nomem ? NULL : p;
}

/*
 * Reads only the bracket of `events`: the source reads the events, window by window.
 */
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
		return scan_meta(h, d, p);
	case FRAG_HEADER_EVENTS:
		return *p == '[' ? p + 1 : frag_document_mistyped(d, p, "events", "an array");
	default:
		return frag_scan_skip(&d->scan, p, 2);
	}
}

/* enum frag_header_member, or 0 */
static uint32_t member_of(struct frag_text name)
{
	static const char *const names[] = {
		"format", "version", "device", "devices", "meta", "events", "op", NULL,
	};
	const uint32_t i = frag_text_among(name, names);

	return names[i] ? 1U << i : 0;
}

/*
 * This changes no header, so it may be asked again when more of the object is in
 * the window: a source learns whether the object is a header or an event before it
 * keeps anything.
 */
const char *frag_header_look(struct frag_scan *s, const char *p, uint32_t *members)
{
	bool end = false;

	*members = 0;
	p = frag_scan_space(s, p);
	if (p && *p == '}')
		return p + 1;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		uint32_t member = value ? member_of(name) : 0;

		*members |= member;
		if (value && member == FRAG_HEADER_EVENTS && *value == '[')
			return value + 1;
		value = value ? frag_scan_skip(s, value, 2) : NULL;
		p = frag_scan_next(s, value, '}', &end);
	}
	return p;
}

/*
 * Scans up to the events, or to the end of the object. A member of the trace
 * counts once; `op` is none of them, as unknown members are allowed.
 */
const char *frag_header_scan(struct frag_header *h, struct frag_document *d, const char *p)
{
	struct frag_scan *s = &d->scan;
	bool end = false;

	p = frag_scan_space(s, p);
	if (p && *p == '}')
		return p + 1;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		uint32_t member = value ? member_of(name) : 0;

		if (h->members & member & ~(uint32_t)FRAG_HEADER_OP)
			return repeated(d, p, name);
		h->members |= member;
		if ((h->members & FRAG_HEADER_DEVICE) && (h->members & FRAG_HEADER_DEVICES))
			return frag_document_wrong(
				d, p, "both \"device\" and \"devices\" are given");
		if (value)
			value = header_scan_member(h, d, value, member);
		if (!value || member == FRAG_HEADER_EVENTS)
			return value;
		p = frag_scan_next(s, value, '}', &end);
	}
	return p;
}

bool frag_header_complete(struct frag_header *h)
{
	if (h->device_count)
		return true;
	if (!FRAG_GROW(h->devices, h->device_capacity, 0))
		return false;
	h->devices[h->device_count++] = (struct frag_device_figures){
		.granularity = FRAG_GRANULARITY,
	};
	return true;
}
