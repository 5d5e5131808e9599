/*
 * ndjson_reader.c - reads fragsim's own formats, NDJSON and a JSON object, as a source.
 *
 * Events are decoded out of a window of the input. Where the window ends inside
 * an event, the window moves on and that event is decoded again from its start,
 * so no token ever must be continued.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/header.h"
#include "trace/record_scan.h"

enum form { LINES, OBJECT };

struct native {
	struct frag_input in;
	struct frag_scan scan;
	char *scratch;
	size_t scratch_size;
	size_t at;              /* the window is used up to here */
	size_t last;            /* where the last record or trouble begins */
	uint64_t records;       /* given so far, flawed ones among them */
	bool in_events;         /* trouble now is that of an event */
	struct frag_header header;
	enum form form;
	bool reading;           /* events have been asked for */
	bool begun;             /* an element of the array, or an event, was seen */
	bool closed;            /* the array's bracket was read, the next token not yet */
	bool ended;             /* nothing is left to read */
	bool expect_event;      /* JSON object: after a comma */
	bool looked_behind;     /* members after the events are known already */
	bool open_header;       /* they are not, and could not be (a pipe) */
	bool any_meta;          /* they are read for meta alone */
};

static const char *here(struct native *n)
{
	return n->in.buf + n->at;
}

/* White space within a line. */
static inline bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The scanner over the present window. */
static void ndjson_reader_aim(struct native *n, bool one_line)
{
	n->scan = (struct frag_scan){
		.end = n->in.buf + n->in.end, .scratch = n->scratch, .one_line = one_line,
	};
}

/* Moves the window on to n->at; the scratch follows in size. 1, 0 at eof, or an error. */
static int ndjson_reader_refill(struct native *n, struct frag_error *err)
{
	int rc = frag_input_fill(&n->in, n->at, err);

	n->at = n->last = 0;
	if (rc >= 0 && n->scratch_size < n->in.capacity) {
		free(n->scratch);
		n->scratch_size = n->in.capacity;
		n->scratch = malloc(n->scratch_size);
		if (!n->scratch) {
			n->scratch_size = 0;
			return frag_fail_nomem(err);
		}
	}
	return rc;
}

static void native_where(void *state, uint64_t at, char *buf, uint32_t size)
{
	struct native *n = state;

	frag_input_where(&n->in, (size_t)at, n->form == LINES && n->begun, buf, size);
}

static int ndjson_reader_bad_at(struct native *n, const char *at, const char *text,
				struct frag_error *err)
{
	char where[512];

	n->last = (size_t)(at - n->in.buf);
	native_where(n, n->last, where, sizeof(where));
	if (n->in_events)
		return frag_fail(err, FRAG_ETRACE, "%s: step %" PRIu64 ": %s", where, n->records,
				 text);
	return frag_fail(err, FRAG_ETRACE, "%s: %s", where, text);
}

/* After a scan that stopped: more input (1), or why not. */
static int ndjson_reader_go_on(struct native *n, struct frag_error *err)
{
	int rc;

	if (n->header.nomem)
		return frag_fail_nomem(err);
	if (n->header.wrong_at)
		return ndjson_reader_bad_at(n, n->header.wrong_at, n->header.wrong, err);
	if (n->scan.fail == FRAG_SCAN_BAD)
		return ndjson_reader_bad_at(n, n->scan.fail_at, n->scan.fail_text, err);
	if (!n->in.eof) {
		rc = ndjson_reader_refill(n, err);
		if (rc)
			return rc;
	}
	return ndjson_reader_bad_at(n, n->in.buf + n->in.end, "truncated: the input ends here",
				    err);
}

static const char *skip_blank(struct native *n)
{
	ndjson_reader_aim(n, false);
	return frag_scan_space(&n->scan, here(n));
}

/* Moves to the first byte that is not white space; 0 at the end of the input. */
static int find_value(struct native *n, struct frag_error *err)
{
	for (;;) {
		int rc;

		n->at = (size_t)(skip_blank(n) - n->in.buf);
		if (n->at < n->in.end)
			return 1;
		rc = n->in.eof ? 0 : ndjson_reader_refill(n, err);
		if (rc < 0 || (rc == 0 && n->in.eof))
			return rc;
	}
}

/*
 * The first object's members, with the window as wide as that takes; n->at is
 * its brace. Where it is an event, only which members it has.
 */
static int scan_header(struct native *n, size_t *end, struct frag_error *err)
{
	for (;;) {
		const char *p;
		uint32_t members;
		int rc;

		frag_header_fini(&n->header);
		ndjson_reader_aim(n, false);
		p = frag_header_look(&n->scan, here(n) + 1, &members);
		if (p && members & FRAG_HEADER_OP && !(members & FRAG_HEADER_FORMAT)) {
			n->header.members = FRAG_HEADER_OP;
		} else if (p) {
			ndjson_reader_aim(n, false);          /* its names come a second time */
			p = frag_header_scan(&n->header, &n->scan, here(n) + 1);
		}
		if (p) {
			*end = (size_t)(p - n->in.buf);
			return 0;
		}
		rc = ndjson_reader_go_on(n, err);
		if (rc < 0)
			return rc;
	}
}

/* Members after the events, p at their comma. */
static const char *scan_tail(struct native *n, struct frag_header *header, const char *p)
{
	if (*p != ',')
		return frag_scan_bad(&n->scan, p, "a comma or } is expected here");
	p = frag_scan_space(&n->scan, p + 1);
	if (*p == '}')
		return frag_scan_bad(&n->scan, p, "a member's name is expected here");
	return frag_header_scan(header, &n->scan, p);
}

/* JSON object: skips the events, checking only their syntax, and reads the members after them. */
static int ndjson_reader_look_behind(struct native *n, struct frag_error *err)
{
	int rc;

	n->in_events = true;
	for (;;) {
		const char *p;

		ndjson_reader_aim(n, false);
		p = frag_scan_space(&n->scan, here(n));
		if (p && *p == ']') {
			n->at = (size_t)(p + 1 - n->in.buf);
			break;
		}
		if (p && n->records)
			p = *p == ',' ? frag_scan_space(&n->scan, p + 1)
				      : frag_scan_bad(&n->scan, p, "a comma or ] is expected here");
		p = p ? frag_scan_skip(&n->scan, p, 3) : NULL;
		/* a value at the window's end may go on: a number, say */
		if (p && p == n->scan.end)
			p = frag_scan_bad(&n->scan, p, "");
		if (p) {
			n->at = (size_t)(p - n->in.buf);
			n->records++;
			continue;
		}
		rc = ndjson_reader_go_on(n, err);
		if (rc < 0)
			return rc;
	}
	n->in_events = false;
	n->records = 0;
	for (;;) {
		struct frag_header before = n->header;
		const char *p;

		ndjson_reader_aim(n, false);
		p = frag_scan_space(&n->scan, here(n));
		if (p && *p != '}')
			p = scan_tail(n, &n->header, p);
		if (p)
			return 0;
		if (n->scan.fail == FRAG_SCAN_MORE) { /* drops this attempt's members */
			while (n->header.device_count > before.device_count)
				free(n->header.devices[--n->header.device_count].name);
			if (before.meta != n->header.meta)
				free(n->header.meta);
			n->header.meta = before.meta;
			n->header.members = before.members;
		}
		rc = ndjson_reader_go_on(n, err);
		if (rc < 0)
			return rc;
	}
}

static int check_header(struct native *n, struct frag_error *err)
{
	if (!(n->header.members & FRAG_HEADER_FORMAT))
		return ndjson_reader_bad_at(
			n, here(n), "member \"format\" is missing: this is no fragsim trace", err);
	if (!(n->header.members & FRAG_HEADER_VERSION))
		return ndjson_reader_bad_at(n, here(n), "member \"version\" is missing", err);
	return frag_header_complete(&n->header) ? 0 : frag_fail_nomem(err);
}

#define ALL_BEFORE (FRAG_HEADER_FORMAT | FRAG_HEADER_VERSION)
#define ANY_DEVICE (FRAG_HEADER_DEVICE | FRAG_HEADER_DEVICES)

/* Is all there that may be needed before the first event? */
static bool has_all(const struct native *n)
{
	uint32_t members = n->header.members;

	return (members & ALL_BEFORE) == ALL_BEFORE && members & ANY_DEVICE
	       && (members & FRAG_HEADER_META || !n->any_meta || !n->in.rewindable);
}

/* JSON object: n->at is after the bracket of `events`. */
static int begin_object(struct native *n, struct frag_error *err)
{
	uint32_t members = n->header.members;
	struct frag_header whole;
	size_t end;
	int rc;

	n->form = OBJECT;
	if (has_all(n))
		return check_header(n, err);
	if (!n->in.rewindable) {
		n->open_header = true;
		if ((members & ALL_BEFORE) != ALL_BEFORE)
			return ndjson_reader_bad_at(n, here(n) - 1,
				      "\"events\" precedes \"format\" or \"version\","
				      " which only a file that can be read twice may do",
				      err);
		return check_header(n, err);
	}
	rc = ndjson_reader_look_behind(n, err);
	n->looked_behind = true;
	rc = rc ? rc : check_header(n, err);
	if (rc)
		return rc;
	whole = n->header;
	n->header = (struct frag_header){ .members = 0 };
	n->at = n->last = 0;
	if (!frag_input_rewind(&n->in))
		rc = frag_fail(err, FRAG_ETRACE, "%s: cannot be read a second time", n->in.path);
	rc = rc ? rc : find_value(n, err);
	rc = rc < 0 ? rc : scan_header(n, &end, err);
	frag_header_fini(&n->header);
	n->header = whole;
	if (!rc)
		n->at = end;
	return rc;
}

/* NDJSON: only white space may follow the header on its line. */
static int end_header(struct native *n, struct frag_error *err)
{
	for (;;) {
		const char *p = here(n);
		int rc = 0;

		while (is_space(*p))
			p++;
		n->at = (size_t)(p - n->in.buf);
		if (*p == '\n')
			return 0;
		if (n->at < n->in.end)
			return ndjson_reader_bad_at(n, p, "bytes after the header on its line",
						    err);
		rc = n->in.eof ? 0 : ndjson_reader_refill(n, err);
		if (rc < 0 || (rc == 0 && n->in.eof))
			return rc;
	}
}

/*
 * The first object decides: with `events` it is the whole trace, otherwise a header on a
 * separate line. If it is an event there is no header, and n->at stays before it.
 */
static int ndjson_reader_begin(struct native *n, struct frag_error *err)
{
	size_t end;
	int rc = find_value(n, err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return frag_fail(err, FRAG_ETRACE, "%s: empty: it has no events", n->in.path);
	if (memcmp(here(n), "\xef\xbb\xbf", 3) == 0)
		return ndjson_reader_bad_at(n, here(n), "not JSON: a byte order mark (EF BB BF)",
					    err);
	if (*here(n) != '{')
		return ndjson_reader_bad_at(
			n, here(n),
			"not JSON: a trace begins with {; fragsim-formats(5) lists what is read",
			err);
	rc = scan_header(n, &end, err);
	if (rc)
		return rc;
	if (n->header.members & FRAG_HEADER_EVENTS) {
		n->at = end;
		return begin_object(n, err);
	}
	n->form = LINES;
	if (n->header.members == FRAG_HEADER_OP)        /* no header: every default applies */
		return frag_header_complete(&n->header) ? 0 : frag_fail_nomem(err);
	rc = check_header(n, err);
	n->at = end;
	return rc ? rc : end_header(n, err);
}

/* What may follow the closing bracket of the events: members, the brace, the end. */
static int finish_object(struct native *n, struct frag_error *err)
{
	uint32_t before = n->header.members
			| (n->header.members & ANY_DEVICE ? ANY_DEVICE : 0);
	struct frag_header tail = { .members = 0 };
	int rc = 0;

	n->in_events = false;
	for (;;) {
		const char *p;

		frag_header_fini(&tail);
		ndjson_reader_aim(n, false);
		p = frag_scan_space(&n->scan, here(n));
		if (p)
			p = *p == '}' ? p + 1 : scan_tail(n, &tail, p);
		n->header.wrong_at = tail.wrong_at;
		memcpy(n->header.wrong, tail.wrong, sizeof(tail.wrong));
		if (p) {
			if (n->open_header && tail.members & ANY_DEVICE)
				rc = ndjson_reader_bad_at(
					n, here(n),
					"\"device\" follows \"events\", which"
					" only a file that can be read twice may do",
					err);
			else if (!n->looked_behind && tail.members & before)
				rc = ndjson_reader_bad_at(
					n, here(n), "a member of the trace is specified more than once", err);
			n->at = (size_t)(p - n->in.buf);
			break;
		}
		rc = ndjson_reader_go_on(n, err);
		if (rc < 0)
			break;
		rc = 0;
	}
	frag_header_fini(&tail);
	rc = rc ? rc : find_value(n, err);
	if (rc == 1)
		return ndjson_reader_bad_at(n, here(n), "bytes after the end of the trace", err);
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
	if (n->reading && !n->in.eof)
		rc = ndjson_reader_refill(n, err);
	if (rc < 0)
		return rc;
	/* events read with the header are returned before more input arrives */
	n->reading = n->in_events = true;
	ndjson_reader_aim(n, n->form == LINES);
	return 1;
}

/* JSON object: moves to the next event's brace. 1; 0 where the window or the array ends. */
static int next_element(struct native *n, struct frag_error *err)
{
	const char *p = frag_scan_space(&n->scan, here(n));

	if (*p == ']' && !n->expect_event) {
		n->at = (size_t)(p + 1 - n->in.buf);
		n->closed = true;
		return 0;
	}
	if (n->begun && !n->expect_event) {
		if (*p != ',')
			p = frag_scan_bad(&n->scan, p, "a comma or ] is expected here");
		else
			n->expect_event = true;
		p = p ? frag_scan_space(&n->scan, p + 1) : NULL;
	}
	if (!p || p == n->scan.end) {
		if (n->scan.fail == FRAG_SCAN_BAD || n->in.eof)
			return ndjson_reader_go_on(n, err);
		if (p)
			n->at = (size_t)(p - n->in.buf);
		return 0;
	}
	n->at = (size_t)(p - n->in.buf);
	return 1;
}

/* NDJSON: skips blank lines. 1; 0 where the window or the input ends. */
static inline int ndjson_reader_next_line(struct native *n, struct frag_error *err)
{
	const char *p = here(n);

	while ((unsigned char)*p <= ' ' && (*p == '\n' || is_space(*p)))
		p++;
	n->at = (size_t)(p - n->in.buf);
	if (p < n->scan.end)
		return 1;
	if (!n->in.eof)
		return 0;
	n->ended = true;
	if (!n->begun)
		return frag_fail(err, FRAG_ETRACE, "%s: a header and no events", n->in.path);
	return 0;
}

/* NDJSON: only white space may follow an event on its line. */
static inline const char *ndjson_reader_end_line(struct native *n, const char *p)
{
	while (is_space(*p))
		p++;
	if (*p == '\n')
		return p + 1;
	if (p == n->scan.end && n->in.eof)
		return p;
	return frag_scan_bad(&n->scan, p, "bytes after the event on its line");
}

/* The input ends within the last line, as after a killed program: the line can be omitted. */
static int torn_line(struct native *n, const char **kind, struct frag_error *err)
{
	const int rc = ndjson_reader_go_on(n, err);

	if (rc == -FRAG_ETRACE) {
		*kind = "a torn last line";
		n->at = n->in.end;
	}
	return rc;
}

/*
 * A scan that the window cut is no error: the event is left where it begins, and
 * the next window starts with it.
 */
static int native_next(void *state, struct frag_record *rec, const char **kind,
		       struct frag_error *err)
{
	struct native *n = state;
	struct frag_record_error flaw;
	const char *p;
	int rc;

	*kind = NULL;
	if (n->ended || n->closed)
		return 0;
	rc = n->form == LINES ? ndjson_reader_next_line(n, err) : next_element(n, err);
	if (rc != 1)
		return rc;
	n->last = n->at;
	flaw.kind = NULL;
	p = n->form == OBJECT ? frag_fast_scan_event(here(n), n->scan.end, rec) : NULL;
	if (!p)
		p = frag_record_scan(&n->scan, here(n), n->form == LINES ? 1 : 3, rec, &flaw);
	if (p && n->form == LINES)
		p = ndjson_reader_end_line(n, p);
	if (!p) {
		if (n->scan.fail != FRAG_SCAN_BAD && n->in.eof && n->form == LINES)
			return torn_line(n, kind, err);
		if (n->scan.fail == FRAG_SCAN_BAD || n->in.eof)
			return ndjson_reader_go_on(n, err);
		n->scan.fail = FRAG_SCAN_FINE;  /* the next window begins with this event */
		return 0;
	}
	n->at = (size_t)(p - n->in.buf);
	n->begun = true;
	n->expect_event = false;
	if (flaw.kind) {
		*kind = flaw.kind;
		ndjson_reader_bad_at(n, flaw.at, flaw.text, err);
	}
	rec->at = n->last;
	n->records++;
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
		usual = n->form == LINES ? frag_usual_lines(n->in.buf, &n->at, n->scan.end,
							    recs + *count, max - *count) : 0;
		n->records += usual;
		n->begun = n->begun || usual;
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

	if (!n->in.rewindable || !frag_input_rewind(&n->in))
		return false;
	frag_header_fini(&n->header);
	n->at = n->last = 0;
	n->records = 0;
	n->begun = n->closed = n->ended = n->expect_event = n->in_events = false;
	n->open_header = n->looked_behind = false;
	return ndjson_reader_begin(n, &ignored) == 0;
}

static void native_amount(void *state, uint64_t *read, uint64_t *total)
{
	const struct native *n = state;

	frag_input_amount(&n->in, read, total);
}

static void native_close(void *state)
{
	struct native *n = state;

	frag_input_close(&n->in);
	frag_header_fini(&n->header);
	free(n->scratch);
	free(n);
}

static const struct frag_source_ops native_source = {
	.form = "fragsim JSON",
	.refill = native_refill,
	.next = native_next,
	.many = native_many,
	.where = native_where,
	.rewind = native_rewind,
	.amount = native_amount,
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
	n->in = *in;
	n->any_meta = out->any_meta;
	n->scratch = malloc(n->in.capacity);
	n->scratch_size = n->in.capacity;
	rc = n->scratch ? ndjson_reader_begin(n, err) : frag_fail_nomem(err);
	if (rc) {
		native_close(n);
		return rc;
	}
	n->last = n->at;
	*out = (struct frag_reading){
		.ops = &native_source,
		.state = n,
		.input = &n->in,
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
	.summary = "fragsim's own JSON, one object",
	.sniff = sniff_object,
	.open = native_open,
};

const struct frag_reader frag_reader_lines = {
	.name = "lines",
	.summary = "fragsim's own JSON, an event a line",
	.sniff = sniff_lines,
	.open = native_open,
};
