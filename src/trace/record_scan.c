/*
 * record_scan.c - one event object of a trace, decoded: the hot path; and the header of a trace.
 *
 * Members may come in any order, op among them, so a mistyped member is noted
 * first and judged at the end, when it is known whether the op has such a
 * member at all.
 */
#include "trace/record_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/inline.h"
#include "base/parse.h"
#include "input/json_scan.h"

#define MEMBERS 11
#define EXCERPT 40         /* the bytes of a value that messages show */

/* Inlined once for each usual member, so that the compiler resolves the choices by member. */

#define MEMBER(name, kind, ...) #name,
const char *const frag_event_member_names[MEMBERS + 1] = { FRAG_EVENT_MEMBERS(MEMBER) };
#undef MEMBER

#define WANTED_OP "a string"
#define WANTED_TEXT "a string"
#define WANTED_HANDLE "an integer from 0 to 2^53-1 or a string"
#define WANTED_SIZE "an integer from 0 to 2^53-1 or a size such as \"512MiB\""
#define WANTED_NUMBER "a number"
#define WANTED_ORDINAL "an integer from 0 to 2^53-1"
#define WANTED_FLAG "true or false"
#define WANTED_VALUE "a number (set_fraction) or a string (configure)"
#define MEMBER(name, kind, what) WANTED_##kind,
static const char *const member_wants[MEMBERS] = { FRAG_EVENT_MEMBERS(MEMBER) };
#undef MEMBER

#define COMMON (FRAG_HAS_OP | FRAG_HAS_STREAM | FRAG_HAS_T | FRAG_HAS_TAG | FRAG_HAS_DEVICE)

const uint32_t frag_event_knows[FRAG_OPS] = {
	[FRAG_OP_ALLOC] = COMMON | FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_POOL,
	[FRAG_OP_FREE] = COMMON | FRAG_HAS_ID | FRAG_HAS_PENDING,
	[FRAG_OP_COMPLETE] = COMMON | FRAG_HAS_ID,
	[FRAG_OP_RECORD_STREAM] = COMMON | FRAG_HAS_ID,
	[FRAG_OP_SYNC] = COMMON,
	[FRAG_OP_EMPTY_CACHE] = COMMON,
	[FRAG_OP_SET_FRACTION] = COMMON | FRAG_HAS_VALUE,
	[FRAG_OP_CONFIGURE] = COMMON | FRAG_HAS_VALUE,
	[FRAG_OP_MARK] = COMMON | FRAG_HAS_NAME,
	[FRAG_OP_RELEASE_POOL] = COMMON | FRAG_HAS_POOL,
	[FRAG_OP_BEGIN_POOL] = COMMON | FRAG_HAS_POOL,
	[FRAG_OP_END_POOL] = COMMON | FRAG_HAS_POOL,
};

const uint32_t frag_event_needs[FRAG_OPS] = {
	[FRAG_OP_ALLOC] = FRAG_HAS_ID | FRAG_HAS_SIZE, [FRAG_OP_FREE] = FRAG_HAS_ID,
	[FRAG_OP_COMPLETE] = FRAG_HAS_ID, [FRAG_OP_MARK] = FRAG_HAS_NAME,
	[FRAG_OP_RECORD_STREAM] = FRAG_HAS_ID | FRAG_HAS_STREAM,
	[FRAG_OP_SET_FRACTION] = FRAG_HAS_VALUE, [FRAG_OP_CONFIGURE] = FRAG_HAS_VALUE,
	[FRAG_OP_RELEASE_POOL] = FRAG_HAS_POOL, [FRAG_OP_BEGIN_POOL] = FRAG_HAS_POOL,
	[FRAG_OP_END_POOL] = FRAG_HAS_POOL,
};

const char *const frag_op_names[FRAG_OPS + 1] = {
	"alloc", "free", "complete", "record_stream", "sync", "empty_cache", "set_fraction",
	"configure", "mark", "release_pool", "begin_pool", "end_pool",
};

const char *frag_op_name(enum frag_op op)
{
	FRAG_ASSERT((unsigned)op < FRAG_OPS);
	return frag_op_names[op];
}

bool frag_op_parse(struct frag_text name, enum frag_op *op)
{
	const uint32_t i = frag_text_among(name, frag_op_names);

	if (i < FRAG_OPS)
		*op = (enum frag_op)i;
	return i < FRAG_OPS;
}

/* What is wrong with a record's members so far; at: where, for each bit. */
struct flaws {
	uint32_t repeated, mistyped;
	const char *at[MEMBERS];
	struct frag_text op;    /* where it is unknown */
};

/*
 * Bytes as a size: a JSON integer, or a string such as "512MiB". p is at the
 * value. NULL without a fail where it is neither.
 */
static const char *scan_size(struct frag_scan *s, const char *p, uint64_t *out)
{
	struct frag_text text;

	if (*p != '"')
		return frag_scan_integer(p, out);
	p = frag_scan_string(s, p + 1, &text);
	if (!p || !frag_parse_size(text.text, text.length, false, out))
		return NULL;
	return p;
}

#define SCAN_ADVICE_ROOM 160
/*
 * Suggests the correct spelling of the size at p that scan_size() refused: "; use 3MiB, or
 * bytes" for "3MB". "" where none can be derived.
 */
static const char *scan_size_advice(const struct frag_scan *s, const char *p,
				    char buf[SCAN_ADVICE_ROOM])
{
	char advice[FRAG_ADVICE_ROOM];
	size_t length = 0;
	uint64_t bytes;

	*buf = '\0';
	if (*p++ != '"')
		return buf;
	while (p + length < s->end && length < EXCERPT && p[length] != '"')
		length++;
	/* a fraction, which a command takes, is none of a trace's */
	if (frag_parse_size(p, length, true, &bytes))
		snprintf(buf, SCAN_ADVICE_ROOM, "; use %" PRIu64, bytes);
	else if (!memchr(p, '.', length) && *frag_size_advice(advice, p, length))
		snprintf(buf, SCAN_ADVICE_ROOM, "; %s", advice);
	return buf;
}

static const char *scan_handle(struct frag_scan *s, const char *p, struct frag_handle *out)
{
	struct frag_text text;

	if (*p != '"') {
		out->text = NULL;
		return frag_scan_integer(p, &out->number);
	}
	p = frag_scan_string(s, p + 1, &text);
	if (p)
		*out = (struct frag_handle){ .text = text.text, .number = text.length };
	return p;
}

static const char *scan_text(struct frag_scan *s, const char *p, struct frag_text *out)
{
	return *p == '"' ? frag_scan_string(s, p + 1, out) : NULL;
}

static bool numeric(const char *p)
{
	return *p == '-' || (*p >= '0' && *p <= '9');
}

static const char *scan_op_name(struct frag_scan *s, const char *p, struct frag_record *rec,
				struct flaws *flaws)
{
	struct frag_text text;

	p = scan_text(s, p, &text);
	if (p && !frag_op_parse(text, &rec->op)) {
		flaws->op = text;
		rec->op = FRAG_OPS;
	}
	return p;
}

/* The usual two without a call. */
static inline const char *scan_op(struct frag_scan *s, const char *p, struct frag_record *rec,
				  struct flaws *flaws)
{
	if (memcmp(p, "\"alloc\"", 7) == 0) {
		rec->op = FRAG_OP_ALLOC;
		return p + 7;
	}
	if (memcmp(p, "\"free\"", 6) == 0) {
		rec->op = FRAG_OP_FREE;
		return p + 6;
	}
	return scan_op_name(s, p, rec, flaws);
}

static const char *scan_t(struct frag_scan *s, const char *p, struct frag_record *rec)
{
	const char *begin = p;

	if (!numeric(p))
		return NULL;
	p = frag_scan_number(s, p, &rec->t);
	if (p)
		rec->t_text = (struct frag_text){
			.text = begin, .length = (uint32_t)(p - begin),
		};
	return p && rec->t - rec->t == 0 ? p : NULL;    /* infinite is mistyped */
}

static const char *scan_pending(const char *p, struct frag_record *rec)
{
	rec->pending = memcmp(p, "true", 4) == 0;
	if (rec->pending)
		return p + 4;
	return memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
}

static const char *scan_value(struct frag_scan *s, const char *p, struct frag_record *rec)
{
	rec->text = (struct frag_text){ .text = NULL };
	if (numeric(p))
		return frag_scan_number(s, p, &rec->fraction);
	return scan_text(s, p, &rec->text);
}

/* Inlined with a constant member for the usual ones, so that the switch costs nothing there. */
FRAG_INLINE const char *scan_member(struct frag_scan *s, const char *p, uint32_t member,
					     struct frag_record *rec, struct flaws *flaws)
{
	switch ((enum frag_member)member) {
	case FRAG_HAS_OP:
		return scan_op(s, p, rec, flaws);
	case FRAG_HAS_ID:
		return scan_handle(s, p, &rec->id);
	case FRAG_HAS_SIZE:
		return scan_size(s, p, &rec->size);
	case FRAG_HAS_STREAM:
		return scan_handle(s, p, &rec->stream);
	case FRAG_HAS_T:
		return scan_t(s, p, rec);
	case FRAG_HAS_TAG:
		return scan_text(s, p, &rec->tag);
	case FRAG_HAS_DEVICE:
		return frag_scan_integer(p, &rec->device);
	case FRAG_HAS_POOL:
		return scan_handle(s, p, &rec->pool);
	case FRAG_HAS_PENDING:
		return scan_pending(p, rec);
	case FRAG_HAS_VALUE:
		return scan_value(s, p, rec);
	case FRAG_HAS_NAME:
		return scan_text(s, p, &rec->text);
	case FRAG_HAS_PLACE:
	case FRAG_HAS_STACK:
		break;
	}
	return NULL;
}

/* The colon behind a name, up to the value. */
static inline const char *scan_colon(struct frag_scan *s, const char *p)
{
	if (*p != ':') {
		p = frag_scan_space(s, p);
		if (!p || *p != ':')
			return p ? frag_scan_bad(s, p, "a colon is expected here") : NULL;
	}
	return frag_scan_space(s, p + 1);
}

/*
 * Reports one error. A repeated member comes first, because it is open which of the two counts;
 * then the op, which decides which members matter.
 */
static void describe_flaw(const struct frag_scan *s, const struct frag_record *rec,
			  const struct flaws *flaws, const char *begin,
			  struct frag_record_error *flaw)
{
	uint32_t mistyped = flaws->mistyped;
	uint32_t at;
	char value[64], advice[SCAN_ADVICE_ROOM];

	flaw->at = begin;
	if (!flaws->repeated && !(rec->members & FRAG_HAS_OP) && !(mistyped & FRAG_HAS_OP)) {
		flaw->kind = "a missing member";
		snprintf(flaw->text, sizeof(flaw->text), "member \"op\" is missing");
		return;
	}
	if (!flaws->repeated && rec->members & FRAG_HAS_OP && rec->op == FRAG_OPS) {
		flaw->kind = "an unknown op";
		flaw->at = flaws->at[0];
		snprintf(flaw->text, sizeof(flaw->text), "unknown op %s",
			 frag_excerpt(s, flaws->at[0], value));
		return;
	}
	at = (uint32_t)__builtin_ctz(flaws->repeated ? flaws->repeated : mistyped);
	flaw->at = flaws->at[at];
	flaw->kind = flaws->repeated ? "a repeated member" : "a mistyped member";
	if (flaws->repeated)
		snprintf(flaw->text, sizeof(flaw->text), "member \"%s\" is specified more than once",
			 frag_event_member_names[at]);
	else
		snprintf(flaw->text, sizeof(flaw->text), "member \"%s\": %s is required, not %s%s",
			 frag_event_member_names[at], member_wants[at], frag_excerpt(s, flaw->at, value),
			 1U << at == FRAG_HAS_SIZE ? scan_size_advice(s, flaw->at, advice) : "");
}

/* Judges the whole object: members of no concern to its op cannot make it bad. */
static void record_scan_judge(const struct frag_scan *s, const struct frag_record *rec,
			      struct flaws *flaws, const char *begin,
			      struct frag_record_error *flaw)
{
	bool has_op = rec->members & FRAG_HAS_OP && rec->op != FRAG_OPS;

	if (has_op)
		flaws->mistyped &= frag_event_knows[rec->op];
	if (has_op && rec->members & FRAG_HAS_VALUE) {
		bool text = rec->text.text != NULL;

		/* the value was scanned before its member was known */
		if ((rec->op == FRAG_OP_SET_FRACTION && text)
		    || (rec->op == FRAG_OP_CONFIGURE && !text))
			flaws->mistyped |= FRAG_HAS_VALUE;
	}
	if (!has_op || flaws->mistyped || flaws->repeated) {
		describe_flaw(s, rec, flaws, begin, flaw);
	} else if (rec->op == FRAG_OP_SET_FRACTION && rec->members & FRAG_HAS_VALUE
		   && !(rec->fraction >= 0 && rec->fraction <= 1)) {
		char value[64];

		flaw->kind = "a value out of range";
		flaw->at = flaws->at[(uint32_t)__builtin_ctz(FRAG_HAS_VALUE)];
		snprintf(flaw->text, sizeof(flaw->text),
			 "set_fraction: value %s is not from 0 to 1",
			 frag_excerpt(s, flaw->at, value));
	}
}

/* The value of a member that counts; p is after its name. */
FRAG_INLINE const char *scan_rest(struct frag_scan *s, const char *p, uint32_t member,
				    uint32_t depth, struct frag_record *rec, struct flaws *flaws)
{
	const char *value = scan_colon(s, p);

	if (!value)
		return NULL;
	if ((rec->members | flaws->mistyped) & member) {
		flaws->repeated |= member;
		flaws->at[(uint32_t)__builtin_ctz(member)] = value;
		return frag_scan_skip(s, value, depth + 1);
	}
	p = scan_member(s, value, member, rec, flaws);
	if (p) {
		rec->members |= member;
		if (member & (FRAG_HAS_OP | FRAG_HAS_VALUE))
			flaws->at[(uint32_t)__builtin_ctz(member)] = value;
		return p;
	}
	if (s->fail != FRAG_SCAN_FINE)
		return NULL;
	flaws->mistyped |= member;
	flaws->at[(uint32_t)__builtin_ctz(member)] = value;
	return frag_scan_skip(s, value, depth + 1);
}

/* A member whose name needs a closer look: a rare one, an unknown one, one with escapes. */
static const char *scan_other(struct frag_scan *s, const char *p, uint32_t depth,
			      struct frag_record *rec, struct flaws *flaws)
{
	struct frag_text name;
	uint32_t member;

	if (*p != '"')
		return frag_scan_bad(s, p, "a member's name is expected here");
	p = frag_scan_string(s, p + 1, &name);
	if (!p)
		return NULL;
	member = frag_text_among(name, frag_event_member_names);
	if (member < MEMBERS)
		return scan_rest(s, p, 1U << member, depth, rec, flaws);
	p = scan_colon(s, p);
	return p ? frag_scan_skip(s, p, depth + 1) : NULL;
}

/* Scans one member. The usual ones have separate code, at their labels in scan_member(). */
static inline const char *scan_pair(struct frag_scan *s, const char *p, uint32_t depth,
				    struct frag_record *rec, struct flaws *flaws)
{
#define MEMBER(text, member)                                                            \
	if (memcmp(p, "\"" text "\"", sizeof(text) + 1) == 0)                           \
		return scan_rest(s, p + sizeof(text) + 1, member, depth, rec, flaws);
	switch (p[1]) {
	case 'o':
		MEMBER("op", FRAG_HAS_OP)
		break;
	case 'i':
		MEMBER("id", FRAG_HAS_ID)
		break;
	case 's':
		MEMBER("size", FRAG_HAS_SIZE)
		MEMBER("stream", FRAG_HAS_STREAM)
		break;
	case 't':
		MEMBER("t", FRAG_HAS_T)
		MEMBER("tag", FRAG_HAS_TAG)
		break;
	default:
		break;
	}
#undef MEMBER
	return scan_other(s, p, depth, rec, flaws);
}

/*
 * The scan notes errors and judges them at the end, when the op is known. An object without
 * notes, the usual case, needs no judgement.
 */
const char *frag_record_scan(struct frag_scan *s, const char *p, uint32_t depth,
			     struct frag_record *rec, struct frag_record_error *flaw)
{
	const char *begin = p;
	struct flaws flaws;

	flaws.repeated = flaws.mistyped = 0;
	rec->members = 0;
	flaw->kind = NULL;
	if (*p != '{')
		return frag_scan_bad(s, p, "an event, { ... }, is expected here");
	p = frag_scan_space(s, p + 1);
	if (p && *p == '}') {
		record_scan_judge(s, rec, &flaws, begin, flaw);
		return p + 1;
	}
	while (p) {
		p = scan_pair(s, p, depth, rec, &flaws);
		p = p ? frag_scan_space(s, p) : NULL;
		if (!p || *p != ',')
			break;
		p = frag_scan_space(s, p + 1);
	}
	if (!p)
		return NULL;
	if (*p != '}')
		return frag_scan_bad(s, p, "a comma or } is expected here");
	if (flaws.mistyped | flaws.repeated || !(rec->members & FRAG_HAS_OP) || rec->op == FRAG_OPS
	    || rec->members & FRAG_HAS_VALUE)
		record_scan_judge(s, rec, &flaws, begin, flaw);
	return p + 1;
}

/*
 * A literal that starts inside the window may extend into the zeros behind it. The next
 * comparison starts only after the previous one matched.
 */
#define BEGINS(p, literal) (memcmp(p, literal, sizeof(literal) - 1) == 0)
#define AFTER(p, literal) ((p) + sizeof(literal) - 1)

/* The loop over lines is the hottest of all; with calls in it, it takes a quarter more. */

/* Below 10^15, and no zeros before it. */
static inline const char *integer(const char *p, uint64_t *out)
{
	const uint32_t n = frag_scan_digits(p, out);

	return n - 1 < 15 && (n == 1 || *p != '0') ? p + n : NULL;
}

/* Streams and devices are numbered from 0, so most of these numbers are one digit. */
static inline const char *small_integer(const char *p, uint64_t *out)
{
	const uint32_t digit = (uint32_t)(unsigned char)*p - '0';

	if (digit > 9 || (p[1] != ',' && p[1] != '}'))
		return integer(p, out);
	*out = digit;
	return p + 1;
}

/* Scans a number with a fraction, a sign or an exponent; accepts JSON numbers only. */
static const char *any_number(const char *p, const char *end, double *out)
{
	struct frag_scan s = { .end = end };

	p = frag_scan_number(&s, p, out);
	return p && *out - *out == 0 ? p : NULL;        /* an infinite one is a flaw */
}

static inline const char *microseconds(const char *begin, const char *end, struct frag_record *rec)
{
	uint64_t whole;
	const char *p = integer(begin, &whole);

	rec->t = (double)whole;
	if (!p || *p == '.' || *p == 'e' || *p == 'E')
		p = any_number(begin, end, &rec->t);
	if (p)
		rec->t_text = (struct frag_text){
			.text = begin, .length = (uint32_t)(p - begin),
		};
	return p;
}

/* Plain ASCII; what has an escape or another character needs a closer look. */
static inline const char *text(const char *p, struct frag_text *out)
{
	const char *end = frag_scan_plain(p);

	*out = (struct frag_text){ .text = p, .length = (uint32_t)(end - p) };
	return *end == '"' ? end + 1 : NULL;
}

/* Members that may follow, in any order, each once. */
FRAG_INLINE const char *others(const char *p, const char *end, uint32_t members,
					struct frag_record *rec)
{
	uint32_t member;

	while (p && *p != '}') {
		if (BEGINS(p, ",\"t\":")) {
			member = FRAG_HAS_T;
			p = microseconds(AFTER(p, ",\"t\":"), end, rec);
		} else if (BEGINS(p, ",\"tag\":\"")) {
			member = FRAG_HAS_TAG;
			p = text(AFTER(p, ",\"tag\":\""), &rec->tag);
		} else if (BEGINS(p, ",\"stream\":")) {
			member = FRAG_HAS_STREAM;
			rec->stream.text = NULL;
			p = small_integer(AFTER(p, ",\"stream\":"), &rec->stream.number);
		} else if (BEGINS(p, ",\"device\":")) {
			member = FRAG_HAS_DEVICE;
			p = small_integer(AFTER(p, ",\"device\":"), &rec->device);
		} else {
			return NULL;
		}
		if (members & member)
			return NULL;
		members |= member;
	}
	rec->members = members;
	return p ? p + 1 : NULL;
}

FRAG_INLINE const char *scan_usual(const char *p, const char *end, struct frag_record *rec)
{
	uint32_t members = FRAG_HAS_OP | FRAG_HAS_ID;

	rec->id.text = NULL;
	if (BEGINS(p, "{\"op\":\"a") && BEGINS(p + 8, "lloc\",\"id\":")) {
		rec->op = FRAG_OP_ALLOC;
		p = integer(AFTER(p, "{\"op\":\"alloc\",\"id\":"), &rec->id.number);
		if (!p || !BEGINS(p, ",\"size\":"))
			return NULL;
		members |= FRAG_HAS_SIZE;
		p = integer(AFTER(p, ",\"size\":"), &rec->size);
	} else if (BEGINS(p, "{\"op\":\"f") && BEGINS(p + 8, "ree\",\"id\":")) {
		rec->op = FRAG_OP_FREE;
		p = integer(AFTER(p, "{\"op\":\"free\",\"id\":"), &rec->id.number);
	} else {
		return NULL;
	}
	return others(p, end, members, rec);
}

const char *frag_fast_scan_event(const char *p, const char *end, struct frag_record *rec)
{
	return scan_usual(p, end, rec);
}

uint32_t frag_usual_lines(const char *window, size_t *at, const char *end,
			  struct frag_record *recs, uint32_t max)
{
	const char *p = window + *at;
	uint32_t n = 0;

	for (; n < max; n++) {
		const char *after = scan_usual(p, end, &recs[n]);

		if (!after || *after != '\n')
			break;
		recs[n].at = (uint64_t)(p - window);
		p = after + 1;
	}
	*at = (size_t)(p - window);
	return n;
}

/* The header: members of the trace and of its devices. */

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
	char advice[SCAN_ADVICE_ROOM];

	frag_document_mistyped(d, at, name, "a size from 0 to 2^53-1");
	if (d->wrong_at == at)
		strncat(d->wrong, scan_size_advice(&d->scan, at, advice),
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
	q = scan_size(&d->scan, p, sizes[which]);
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
