/* header.c - the header of a trace: members of the trace and of its devices. */
#include "trace/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "input/document.h"
#include "trace/record_scan.h"

void frag_header_fini(struct frag_header *h)
{
	for (uint32_t i = 0; i < h->device_count; i++)
		free(h->devices[i].name);
	free(h->devices);
	free(h->meta);
	*h = (struct frag_header){ .members = 0 };
}

static const char *header_wrong(struct frag_header *h, const char *at, const char *text)
{
	h->wrong_at = at;
	snprintf(h->wrong, sizeof(h->wrong), "%s", text);
	return NULL;
}

/* A member whose value is not what it should be. */
static const char *header_mistyped(struct frag_header *h, struct frag_scan *s, const char *at,
				   const char *name, const char *wanted)
{
	char value[64];

	if (s->fail != FRAG_SCAN_FINE)
		return NULL;
	if (at == s->end)       /* the value is yet to come */
		return frag_scan_bad(s, at, "");
	h->wrong_at = at;
	snprintf(h->wrong, sizeof(h->wrong), "member \"%s\": %s is required, not %s", name, wanted,
		 frag_excerpt(s, at, value));
	return NULL;
}

/* Adds the closest known name as a suggestion. */
static const char *mistyped_size(struct frag_header *h, struct frag_scan *s, const char *at,
				 const char *name, const char *wanted)
{
	char advice[FRAG_SCAN_ADVICE_ROOM];
	size_t used;

	header_mistyped(h, s, at, name, wanted);
	if (h->wrong_at != at)
		return NULL;
	used = strlen(h->wrong);
	snprintf(h->wrong + used, sizeof(h->wrong) - used, "%s",
		 frag_scan_size_advice(s, at, advice));
	return NULL;
}

static const char *repeated(struct frag_header *h, const char *at, struct frag_text name)
{
	h->wrong_at = at;
	snprintf(h->wrong, sizeof(h->wrong), "member \"%.*s\" is specified more than once", (int)name.length,
		 name.text);
	return NULL;
}

static bool header_is(struct frag_text t, const char *word)
{
	return strlen(word) == t.length && memcmp(word, t.text, t.length) == 0;
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

static const char *const figure_names[FIGURES] = {
	"name", "total_bytes", "context_bytes", "other_bytes", "granularity_bytes",
};

/*
 * The granularity has a default and divides sizes, so 0 can only come from the
 * trace and is refused.
 */
static const char *scan_figure(struct frag_header *h, struct frag_scan *s, const char *p,
			       uint32_t which, struct frag_device_figures *f)
{
	uint64_t *const sizes[FIGURES] = {
		NULL, &f->total, &f->context, &f->other, &f->granularity,
	};
	struct frag_text name;
	const char *q;

	FRAG_ASSERT(which < FIGURES);
	if (which == NAME) {
		q = *p == '"' ? frag_scan_string(s, p + 1, &name) : NULL;
		if (!q)
			return header_mistyped(h, s, p, "name", "a string");
		f->name = header_copy_text(name);
		h->nomem = !f->name;
		return f->name ? q : NULL;
	}
	q = frag_scan_size(s, p, sizes[which]);
	if (!q)
		return mistyped_size(h, s, p, figure_names[which], "a size from 0 to 2^53-1");
	if (f->granularity == 0)
		return header_mistyped(h, s, p, figure_names[which], "a size from 1 to 2^53-1");
	return q;
}

/*
 * Values may come in any order, and unknown members are skipped. A member that occurs twice is
 * refused, because neither value could be trusted.
 */
static const char *scan_device(struct frag_header *h, struct frag_scan *s, const char *p,
			       uint32_t depth)
{
	struct frag_device_figures *f;
	uint32_t seen = 0;
	bool end;

	if (*p != '{')
		return header_mistyped(h, s, p, "device", "an object");
	if (h->device_count == FRAG_DEVICES_MAX)
		return header_wrong(h, p, "more than 1024 devices");
	h->nomem = !frag_grow(&h->devices, &h->device_capacity, (uint64_t)h->device_count + 1,
			      sizeof(*h->devices));
	if (h->nomem)
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
		uint32_t which = 0;

		while (value && which < FIGURES && !header_is(name, figure_names[which]))
			which++;
		if (value && which < FIGURES && seen & 1U << which)
			return repeated(h, p, name);
		seen |= 1U << which;
		if (value)
			value = which < FIGURES ? scan_figure(h, s, value, which, f)
						: frag_scan_skip(s, value, depth + 1);
		p = frag_scan_next(s, value, '}', &end);
	}
	return p;
}

static const char *scan_devices(struct frag_header *h, struct frag_scan *s, const char *p)
{
	bool end = false;

	if (*p != '[')
		return header_mistyped(h, s, p, "devices", "an array of devices");
	p = frag_scan_space(s, p + 1);
	if (p && *p == ']')
		return header_wrong(h, p,
				    "member \"devices\" is empty; there is at least one device");
	while (p && !end)
		p = frag_scan_next(s, scan_device(h, s, p, 3), ']', &end);
	return p;
}

static const char *scan_format(struct frag_header *h, struct frag_scan *s, const char *p)
{
	struct frag_text text;
	const char *q = *p == '"' ? frag_scan_string(s, p + 1, &text) : NULL;

	return q && header_is(text, "fragsim-trace")
		       ? q
		       : header_mistyped(h, s, p, "format", "\"fragsim-trace\"");
}

static const char *scan_version(struct frag_header *h, struct frag_scan *s, const char *p)
{
	uint64_t version;
	const char *q = frag_scan_integer(p, &version);

	return q && version == 1 ? q : header_mistyped(h, s, p, "version", "1");
}

static const char *scan_meta(struct frag_header *h, struct frag_scan *s, const char *p)
{
	struct frag_text text = { .text = p };

	if (*p != '{')
		return header_mistyped(h, s, p, "meta", "an object");
	p = frag_scan_skip(s, p, 2);
	if (!p)
		return NULL;
	text.length = (uint32_t)(p - text.text);
	h->meta = header_copy_text(text);
	h->meta_length = text.length;
	h->nomem = !h->meta;
	return h->nomem ? NULL : p;
}

/*
 * Reads only the bracket of `events`: the source reads the events, window by window.
 */
static const char *header_scan_member(struct frag_header *h, struct frag_scan *s, const char *p,
				      uint32_t member)
{
	switch (member) {
	case FRAG_HEADER_FORMAT:
		return scan_format(h, s, p);
	case FRAG_HEADER_VERSION:
		return scan_version(h, s, p);
	case FRAG_HEADER_DEVICE:
		return scan_device(h, s, p, 2);
	case FRAG_HEADER_DEVICES:
		return scan_devices(h, s, p);
	case FRAG_HEADER_META:
		return scan_meta(h, s, p);
	case FRAG_HEADER_EVENTS:
		return *p == '[' ? p + 1 : header_mistyped(h, s, p, "events", "an array");
	default:
		return frag_scan_skip(s, p, 2);
	}
}

static uint32_t member_of(struct frag_text name)
{
	static const char *const names[] = {
		"format", "version", "device", "devices", "meta", "events", "op",
	};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (header_is(name, names[i]))
			return 1U << i;
	return 0;
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
const char *frag_header_scan(struct frag_header *h, struct frag_scan *s, const char *p)
{
	bool end = false;

	p = frag_scan_space(s, p);
	if (p && *p == '}')
		return p + 1;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		uint32_t member = value ? member_of(name) : 0;

		if (h->members & member & ~(uint32_t)FRAG_HEADER_OP)
			return repeated(h, p, name);
		h->members |= member;
		if ((h->members & FRAG_HEADER_DEVICE) && (h->members & FRAG_HEADER_DEVICES))
			return header_wrong(h, p, "both \"device\" and \"devices\" are given");
		if (value)
			value = header_scan_member(h, s, value, member);
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
	if (!frag_grow(&h->devices, &h->device_capacity, 1, sizeof(*h->devices)))
		return false;
	h->devices[h->device_count++] = (struct frag_device_figures){
		.granularity = FRAG_GRANULARITY,
	};
	return true;
}
