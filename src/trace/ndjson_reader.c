/*
 * ndjson_reader.c - reads fragsim's own formats, NDJSON and a JSON object, as a source.
 *
 * Events are decoded out of a window of the input. Where the window ends inside
 * an event, the window moves on and that event is decoded again from its start,
 * so no token ever must be continued.
 */
#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "trace/beginning.h"
#include "trace/fast_scan.h"
#include "trace/header_scan.h"
#include "trace/record_scan.h"

enum form { LINES, OBJECT };

#define ALL_BEFORE (FRAG_HEADER_FORMAT | FRAG_HEADER_VERSION)
#define ANY_DEVICE (FRAG_HEADER_DEVICE | FRAG_HEADER_DEVICES)

struct native {
	struct frag_document doc;       /* its step: records given so far, flawed ones too */
	struct frag_header header;
	struct frag_header before;      /* without what an attempt at members after the events added */
	struct frag_header tail;        /* those members, once the events are read */
	size_t begin;                   /* where the last part that was scanned begins */
	enum form form;
	bool reading;           /* events have been asked for */
	bool begun;             /* an element of the array, or an event, was seen */
	bool closed;            /* the array's bracket was read, the next token not yet */
	bool ended;             /* nothing is left to read */
	bool expect_event;      /* JSON object: after a comma */
	bool looked_behind;     /* members after the events are known already */
	bool open_header;       /* they are not, and could not be (a pipe) */
	struct frag_first_state *beginning;
};

static const char *here(struct native *n)
{
	return n->doc.in.buf + n->doc.at;
}

/* White space within a line. */
static inline bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void native_where(void *state, uint64_t at, char *buf, uint32_t size)
{
	struct native *n = state;

	frag_input_where(&n->doc.in, (size_t)at, n->doc.by_line, buf, size);
}

/* An event was seen. */
static void native_begun(struct native *n)
{
	n->begun = true;
	n->doc.by_line = n->form == LINES;
}

/*
 * The first object's members, with the window as wide as that takes; p is at
 * its brace. Where it is an event, only which members it has.
 */
static const char *scan_first(void *ctx, struct frag_scan *s, const char *p)
{
	struct native *n = ctx;
	struct frag_header seen = { .names_only = true };
	const char *end;

	n->begin = (size_t)(p - n->doc.in.buf);
	frag_header_fini(&n->header);
	end = frag_header_scan(&seen, &n->doc, p + 1);
	if (!end || !(seen.members & FRAG_HEADER_OP) || seen.members & FRAG_HEADER_FORMAT) {
		s->scratch = n->doc.scratch;    /* its names come a second time */
		return end ? frag_header_scan(&n->header, &n->doc, p + 1) : NULL;
	}
	n->header.members = FRAG_HEADER_OP;
	return end;
}

/* From the bracket that closed the events on: their object ends, or has more members. */
static const char *scan_tail(struct native *n, struct frag_header *header, const char *p)
{
	struct frag_scan *s = &n->doc.scan;

	p = frag_scan_space(s, p);
	if (*p == '}')
		return p + 1;
	if (*p != ',')
		return frag_scan_bad(s, p, "a comma or } is expected here");
	p = frag_scan_space(s, p + 1);
	if (*p == '}')
		return frag_scan_bad(s, p, "a member's name is expected here");
	return frag_header_scan(header, &n->doc, p);
}

/* The same, where these members are the trace's: an attempt that the window cut drops its own. */
static const char *scan_behind(void *ctx, struct frag_scan *s, const char *p)
{
	struct native *n = ctx;

	(void)s;
	while (n->header.device_count > n->before.device_count)
		free(n->header.devices[--n->header.device_count].name);
	if (n->before.meta != n->header.meta)
		free(n->header.meta);
	if (n->before.beginning != n->header.beginning)
		free(n->header.beginning);
	n->header.meta = n->before.meta;
	n->header.beginning = n->before.beginning;
	n->header.members = n->before.members;
	return scan_tail(n, &n->header, p);
}

/* The same, after the events. */
static const char *scan_end(void *ctx, struct frag_scan *s, const char *p)
{
	struct native *n = ctx;

	(void)s;
	n->begin = (size_t)(p - n->doc.in.buf);
	frag_header_fini(&n->tail);
	return scan_tail(n, &n->tail, p);
}

/* Events, checking only their syntax: up to the last in the window, or after their bracket. */
static const char *skip_elements(void *ctx, struct frag_scan *s, const char *p)
{
	struct native *n = ctx;
	const char *done = NULL;

	for (;; done = p, n->doc.step++) {
		p = frag_scan_space(s, p);
		if (*p == ']') {
			n->looked_behind = true;
			return p + 1;
		}
		if (n->doc.step)
			p = *p == ',' ? frag_scan_space(s, p + 1)
				      : frag_scan_bad(s, p, "a comma or ] is expected here");
		p = p ? frag_scan_skip(s, p, 3) : NULL;
		/* a value at the window's end may go on: a number, say */
		if (p && p < s->end)
			continue;
		p = p ? frag_scan_bad(s, p, "") : NULL;
		return s->fail == FRAG_SCAN_MORE ? done : NULL;
	}
}

/* JSON object: skips the events, and reads the members after them. */
static int ndjson_reader_look_behind(struct native *n, struct frag_error *err)
{
	int rc = 0;

	n->doc.in_events = true;
	while (!rc && !n->looked_behind)
		rc = frag_document_part(&n->doc, skip_elements, n, err);
	if (rc)
		return rc;
	n->doc.in_events = false;
	n->doc.step = 0;
	n->before = n->header;
	return frag_document_part(&n->doc, scan_behind, n, err);
}

/* One device with all defaults, where none was given. */
static int complete_header(struct frag_header *h, struct frag_error *err)
{
	if (h->device_count)
		return 0;
	if (!FRAG_GROW(h->devices, h->device_capacity, 0))
		return frag_fail_nomem(err);
	h->devices[h->device_count++] = (struct frag_device_figures){
		.granularity = FRAG_GRANULARITY,
	};
	return 0;
}

static int check_header(struct native *n, const char *at, struct frag_error *err)
{
	if (!(n->header.members & FRAG_HEADER_FORMAT))
		return frag_document_bad(&n->doc, at, "member \"format\" is missing: this is no"
					 " fragsim trace", err);
	if (!(n->header.members & FRAG_HEADER_VERSION))
		return frag_document_bad(&n->doc, at, "member \"version\" is missing", err);
	return complete_header(&n->header, err);
}

/* JSON object: the next byte is after the bracket of `events`. */
static int begin_object(struct native *n, struct frag_error *err)
{
	const uint32_t members = n->header.members;
	struct frag_header whole;
	int rc;

	n->form = OBJECT;
	/* all is there that may be needed before the first event */
	if ((members & ALL_BEFORE) == ALL_BEFORE && members & ANY_DEVICE
	    && (members & FRAG_HEADER_META || !n->doc.in.rewindable))
		return check_header(n, here(n), err);
	if (!n->doc.in.rewindable) {
		n->open_header = true;
		if ((members & ALL_BEFORE) != ALL_BEFORE)
			return frag_document_bad(&n->doc, here(n) - 1,
						 "\"events\" precedes \"format\" or \"version\","
						 " which only a file that can be read twice may do",
						 err);
		return check_header(n, here(n), err);
	}
	rc = ndjson_reader_look_behind(n, err);
	rc = rc ? rc : check_header(n, here(n), err);
	if (rc)
		return rc;
	whole = n->header;
	n->header = (struct frag_header){ .members = 0 };
	n->doc.at = 0;
	if (!frag_input_rewind(&n->doc.in))
		rc = frag_fail(err, FRAG_ETRACE, "%s: cannot be read a second time",
			       n->doc.in.path);
	rc = rc ? rc : frag_document_space(&n->doc, err);
	rc = rc < 0 ? rc : frag_document_part(&n->doc, scan_first, n, err);
	frag_header_fini(&n->header);
	n->header = whole;
	return rc;
}

/* NDJSON: only white space may follow the header on its line. */
static int end_header(struct native *n, struct frag_error *err)
{
	for (;;) {
		const char *p = here(n);
		int rc;

		while (is_space(*p))
			p++;
		n->doc.at = (size_t)(p - n->doc.in.buf);
		if (*p == '\n')
			return 0;
		if (n->doc.at < n->doc.in.end)
			return frag_document_bad(&n->doc, p, "bytes after the header on its line",
						 err);
		rc = n->doc.in.eof ? 0 : frag_document_fill(&n->doc, err);
		if (rc < 0 || (rc == 0 && n->doc.in.eof))
			return rc;
	}
}

enum frag_sniff frag_sniff_text(const char *bytes, size_t length)
{
	static const char *const ours[] = { "format", "op", NULL }, *const none[] = { NULL };
	static const char *const texts[] = {
		"log", "message", "msg", "cells", "nbformat", "allocated_bytes.all.current", "allocated_bytes",
		"active_bytes", "bytes_in_use", "card0", NULL,
	};
	const bool marked = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
	const char *p = bytes + (marked ? 3 : 0), *end = bytes + length;
	enum frag_sniff document;

	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	if (p == end || *p++ != '{')
		return FRAG_SNIFF_YES;
	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	/* NUL bytes are of UTF-16 */
	if (p < end && (!*p || !strchr("\"}", *p)))
		return FRAG_SNIFF_YES;
	if (marked)
		return FRAG_SNIFF_NO;
	document = frag_sniff_json(bytes, length, false, ours, none);
	if (document != FRAG_SNIFF_NO)
		return document == FRAG_SNIFF_YES ? FRAG_SNIFF_NO : FRAG_SNIFF_MORE;
	return frag_sniff_json(bytes, length, false, texts, none);
}

/* Has the window a text, by bytes that people write? */
static bool is_text(const struct native *n)
{
	const size_t length = n->doc.in.end < FRAG_SNIFF_MAX ? n->doc.in.end : FRAG_SNIFF_MAX;

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)n->doc.in.buf[i] < '\t')
			return false;
	return frag_sniff_text(n->doc.in.buf, length) == FRAG_SNIFF_YES;
}

/*
 * The first object decides: with `events` it is the whole trace, otherwise a header on a
 * separate line. If it is an event there is no header, and the event is still to be read.
 */
static int ndjson_reader_begin(struct native *n, struct frag_error *err)
{
	int rc = frag_document_space(&n->doc, err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return frag_fail(err, FRAG_ETRACE, "%s: empty: it has no events", n->doc.in.path);
	if (is_text(n))
		return frag_fail(err, FRAG_ETRACE, "%s: this is a text: fragsim explain %s",
				 n->doc.in.path, strcmp(n->doc.in.path, frag_input_name("-")) == 0
				 ? "-" : n->doc.in.path);
	if (memcmp(here(n), "\xef\xbb\xbf", 3) == 0)
		return frag_document_bad(&n->doc, here(n),
					 "not JSON: a byte order mark (EF BB BF)", err);
	if (*here(n) != '{')
		return frag_document_bad(&n->doc, here(n), "not JSON: a trace begins with {;"
					 " fragsim-formats(5) lists what is read", err);
	rc = frag_document_part(&n->doc, scan_first, n, err);
	if (rc)
		return rc;
	if (n->header.members & FRAG_HEADER_EVENTS)
		return begin_object(n, err);
	n->form = LINES;
	if (n->header.members == FRAG_HEADER_OP) {      /* no header: every default applies */
		n->doc.at = n->begin;
		return complete_header(&n->header, err);
	}
	rc = check_header(n, n->doc.in.buf + n->begin, err);
	return rc ? rc : end_header(n, err);
}

/* What may follow the closing bracket of the events: members, the brace, the end. */
static int finish_object(struct native *n, struct frag_error *err)
{
	const uint32_t before = n->header.members
				| (n->header.members & ANY_DEVICE ? ANY_DEVICE : 0);
	const char *begin;
	int rc;

	n->doc.in_events = false;
	rc = frag_document_part(&n->doc, scan_end, n, err);
	begin = n->doc.in.buf + n->begin;
	if (!rc && n->open_header && n->tail.members & ANY_DEVICE)
		rc = frag_document_bad(&n->doc, begin, "\"device\" follows \"events\", which only a"
				       " file that can be read twice may do", err);
	else if (!rc && !n->looked_behind && n->tail.members & FRAG_HEADER_BEGINNING)
		rc = frag_document_bad(&n->doc, begin, "\"beginning\" follows \"events\", which only"
				       " a file that can be read twice may do", err);
	else if (!rc && !n->looked_behind && n->tail.members & before)
		rc = frag_document_bad(&n->doc, begin,
				       "a member of the trace is specified more than once", err);
	frag_header_fini(&n->tail);
	rc = rc ? rc : frag_document_end(&n->doc, "trace", err);
	n->ended = true;
	return rc;
}

/*
 * A new window may only be read when the records of the last one are used up, as
 * they borrow from it.
 */
static int native_refill(void *state, struct frag_error *err)
{
	struct native *n = state;
	int rc = 0;

	if (n->ended)
		return 0;
	/* only now, as it may move the window that the last events borrow from */
	if (n->closed)
		return finish_object(n, err);
	/* a window with more than one event is not used up: it continues at the start of the
	 * event after the last one returned */
	if (n->reading && !n->doc.in.eof)
		rc = frag_document_fill(&n->doc, err);
	if (rc < 0)
		return rc;
	/* events read with the header are returned before more input arrives */
	n->reading = n->doc.in_events = true;
	frag_document_aim(&n->doc, n->form == LINES);
	return 1;
}

/* JSON object: moves to the next event's brace. 1; 0 where the window or the array ends. */
static int next_element(struct native *n, struct frag_error *err)
{
	struct frag_scan *s = &n->doc.scan;
	const char *p = frag_scan_space(s, here(n));

	if (*p == ']' && !n->expect_event) {
		n->doc.at = (size_t)(p + 1 - n->doc.in.buf);
		n->closed = true;
		return 0;
	}
	if (n->begun && !n->expect_event) {
		if (*p != ',')
			p = frag_scan_bad(s, p, "a comma or ] is expected here");
		else
			n->expect_event = true;
		p = p ? frag_scan_space(s, p + 1) : NULL;
	}
	if ((!p || p == s->end) && (s->fail == FRAG_SCAN_BAD || n->doc.in.eof))
		return frag_document_go_on(&n->doc, err);
	if (p)
		n->doc.at = (size_t)(p - n->doc.in.buf);
	return p && p < s->end;
}

/* NDJSON: skips blank lines. 1; 0 where the window or the input ends. */
static inline int ndjson_reader_next_line(struct native *n, struct frag_error *err)
{
	const char *p = here(n);

	while ((unsigned char)*p <= ' ' && (*p == '\n' || is_space(*p)))
		p++;
	n->doc.at = (size_t)(p - n->doc.in.buf);
	if (p < n->doc.scan.end)
		return 1;
	if (!n->doc.in.eof)
		return 0;
	n->ended = true;
	if (!n->begun)
		return frag_fail(err, FRAG_ETRACE, "%s: a header and no events", n->doc.in.path);
	return 0;
}

/* NDJSON: only white space may follow an event on its line. */
static inline const char *ndjson_reader_end_line(struct native *n, const char *p)
{
	while (is_space(*p))
		p++;
	if (*p == '\n')
		return p + 1;
	if (p == n->doc.scan.end && n->doc.in.eof)
		return p;
	return frag_scan_bad(&n->doc.scan, p, "bytes after the event on its line");
}

/*
 * A scan that the window cut is no error: the event is left where it begins, and
 * the next window starts with it.
 */
static int native_next(void *state, struct frag_record *rec, const char **kind,
		       struct frag_error *err)
{
	struct native *n = state;
	struct frag_scan *s = &n->doc.scan;
	struct frag_record_error flaw;  /* large: its text is set with its kind */
	const char *p;
	int rc;

	*kind = flaw.kind = NULL;
	if (n->ended || n->closed)
		return 0;
	rc = n->form == LINES ? ndjson_reader_next_line(n, err) : next_element(n, err);
	if (rc != 1)
		return rc;
	rec->at = n->doc.at;
	p = n->form == OBJECT ? frag_fast_scan_event(here(n), s->end, rec) : NULL;
	if (!p)
		p = frag_record_scan(s, here(n), n->form == LINES ? 1 : 3, rec, &flaw);
	if (p && n->form == LINES)
		p = ndjson_reader_end_line(n, p);
	if (!p) {
		if (s->fail == FRAG_SCAN_BAD || n->doc.in.eof) {
			const bool torn = s->fail != FRAG_SCAN_BAD && n->form == LINES;

			rc = frag_document_go_on(&n->doc, err);
			/* as after a killed program: the line can be omitted */
			if (torn && rc == -FRAG_ETRACE) {
				*kind = "a torn last line";
				n->doc.at = n->doc.in.end;
			}
			return rc;
		}
		s->fail = FRAG_SCAN_FINE;       /* the next window begins with this event */
		return 0;
	}
	n->doc.at = (size_t)(p - n->doc.in.buf);
	native_begun(n);
	n->expect_event = false;
	if (flaw.kind) {
		*kind = flaw.kind;
		frag_document_bad(&n->doc, flaw.at, flaw.text, err);
	}
	n->doc.step++;
	return flaw.kind ? -FRAG_ETRACE : 1;
}

/* Lines of the usual spelling are read in batches, all others individually. */
static int native_many(void *state, struct frag_record *recs, uint32_t max, uint32_t *count,
		       const char **kind, struct frag_error *err)
{
	struct native *n = state;
	uint32_t usual;
	int rc = 1;

	for (*count = 0; *count < max && rc == 1;) {
		usual = n->form == LINES ? frag_usual_lines(n->doc.in.buf, &n->doc.at,
							    n->doc.scan.end, recs + *count,
							    max - *count) : 0;
		if (usual)
			native_begun(n);
		n->doc.step += usual;
		*count += usual;
		if (*count == max)
			break;
		rc = native_next(n, &recs[*count], kind, err);
		*count += rc == 1;
	}
	return rc;
}

static bool native_rewind(void *state)
{
	struct native *n = state;
	struct frag_error ignored;

	if (!n->doc.in.rewindable || !frag_input_rewind(&n->doc.in))
		return false;
	frag_header_fini(&n->header);
	n->doc.at = 0;
	n->doc.step = 0;
	n->doc.by_line = n->doc.in_events = false;
	n->begun = n->closed = n->ended = n->expect_event = false;
	n->open_header = n->looked_behind = false;
	return ndjson_reader_begin(n, &ignored) == 0;
}

static void native_close(void *state)
{
	struct native *n = state;

	frag_document_fini(&n->doc);
	frag_header_fini(&n->header);
	frag_header_fini(&n->tail);
	frag_first_state_del(n->beginning);
	free(n);
}

static struct frag_first_state *native_beginning(void *state)
{
	return ((struct native *)state)->beginning;
}

static const struct frag_source_ops native_source = {
	.form = "fragsim JSON",
	.refill = native_refill,
	.next = native_next,
	.many = native_many,
	.where = native_where,
	.rewind = native_rewind,
	.beginning = native_beginning,
	.close = native_close,
};

/* The header is read here, and stays the source's. */
static int native_open(struct frag_reading *out, struct frag_input *in,
		       const struct frag_log *log, struct frag_error *err)
{
	struct native *n = calloc(1, sizeof(*n));
	int rc;

	(void)log;
	if (!n) {
		frag_input_close(in);
		return frag_fail_nomem(err);
	}
	rc = frag_document_init(&n->doc, in, err);
	rc = rc ? rc : ndjson_reader_begin(n, err);
	rc = rc ? rc : frag_first_state_read(&n->beginning, &n->header, n->doc.in.path, err);
	if (rc) {
		native_close(n);
		return rc;
	}
	*out = (struct frag_reading){
		.ops = &native_source,
		.state = n,
		.input = &n->doc.in,
		.form = n->form == LINES ? "lines" : "object",
		.devices = n->header.devices,
		.device_count = n->header.device_count,
		.meta = { .text = n->header.meta, .length = n->header.meta_length },
	};
	return 0;
}

static enum frag_sniff sniff_object(const char *bytes, size_t length)
{
	static const char *const ours[] = { "events", NULL };
	static const char *const theirs[] = { "op", NULL };

	return frag_sniff_json(bytes, length, false, ours, theirs);
}

static enum frag_sniff sniff_lines(const char *bytes, size_t length)
{
	static const char *const ours[] = { "format", "op", NULL };
	static const char *const theirs[] = { "events", NULL };

	return frag_sniff_json(bytes, length, false, ours, theirs);
}

const struct frag_reader frag_reader_object = {
	.name = "object",
	.sniff = sniff_object,
	.open = native_open,
};

const struct frag_reader frag_reader_lines = {
	.name = "lines",
	.sniff = sniff_lines,
	.open = native_open,
};
