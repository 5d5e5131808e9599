/*
 * record_scan.c - one event object of a trace, decoded.
 *
 * Members may come in any order, op among them, so a mistyped member is noted
 * first and judged at the end, when it is known whether the op has such a
 * member at all.
 */
#include "trace/record_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/inline.h"
#include "base/parse.h"
#include "input/json_scan.h"

#define MEMBERS 11
#define EXCERPT 40         /* the bytes of a value that messages show */

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
};

const char *frag_scan_size(struct frag_scan *s, const char *p, uint64_t *out)
{
	struct frag_text text;

	if (*p != '"')
		return frag_scan_integer(p, out);
	p = frag_scan_string(s, p + 1, &text);
	if (!p || !frag_parse_size(text.text, text.length, false, out))
		return NULL;
	return p;
}

const char *frag_scan_size_advice(const struct frag_scan *s, const char *p,
				  char buf[FRAG_SCAN_ADVICE_ROOM])
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
		snprintf(buf, FRAG_SCAN_ADVICE_ROOM, "; use %" PRIu64, bytes);
	else if (!memchr(p, '.', length) && *frag_size_advice(advice, p, length))
		snprintf(buf, FRAG_SCAN_ADVICE_ROOM, "; %s", advice);
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

static const char *scan_op_name(struct frag_scan *s, const char *p, struct frag_record *rec)
{
	struct frag_text text;

	p = scan_text(s, p, &text);
	if (p && !frag_op_parse(text, &rec->op))
		rec->op = FRAG_OPS;
	return p;
}

/* The usual two without a call. */
static inline const char *scan_op(struct frag_scan *s, const char *p, struct frag_record *rec)
{
	if (memcmp(p, "\"alloc\"", 7) == 0) {
		rec->op = FRAG_OP_ALLOC;
		return p + 7;
	}
	if (memcmp(p, "\"free\"", 6) == 0) {
		rec->op = FRAG_OP_FREE;
		return p + 6;
	}
	return scan_op_name(s, p, rec);
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
				    struct frag_record *rec)
{
	switch ((enum frag_member)member) {
	case FRAG_HAS_OP:
		return scan_op(s, p, rec);
	case FRAG_HAS_ID:
		return scan_handle(s, p, &rec->id);
	case FRAG_HAS_SIZE:
		return frag_scan_size(s, p, &rec->size);
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
	char value[64], advice[FRAG_SCAN_ADVICE_ROOM];

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
			 1U << at == FRAG_HAS_SIZE ? frag_scan_size_advice(s, flaw->at, advice) : "");
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
	p = scan_member(s, value, member, rec);
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
#define IS(text) (memcmp(p, "\"" text "\"", sizeof(text) + 1) == 0)
#define REST(text, member) scan_rest(s, p + sizeof(text) + 1, member, depth, rec, flaws)
	switch (p[1]) {
	case 'o':
		if (IS("op"))
			return REST("op", FRAG_HAS_OP);
		break;
	case 'i':
		if (IS("id"))
			return REST("id", FRAG_HAS_ID);
		break;
	case 's':
		if (IS("size"))
			return REST("size", FRAG_HAS_SIZE);
		if (IS("stream"))
			return REST("stream", FRAG_HAS_STREAM);
		break;
	case 't':
		if (IS("t"))
			return REST("t", FRAG_HAS_T);
		if (IS("tag"))
			return REST("tag", FRAG_HAS_TAG);
		break;
	default:
		break;
	}
#undef IS
#undef REST
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
