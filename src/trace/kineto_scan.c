/* kineto_scan.c - one event of a Chrome trace, decoded. */
#include "trace/kineto_scan.h"

#include <string.h>

#include "base/hash.h"
#include "trace/record_scan.h"

static bool is(struct frag_text t, const char *word)
{
	return strlen(word) == t.length && memcmp(word, t.text, t.length) == 0;
}

enum { HAS_BYTES = 1 << 0, HAS_ADDR = 1 << 1, HAS_TYPE = 1 << 2, HAS_DEVICE = 1 << 3,
       HAS_ALLOCATED = 1 << 4 };

static const struct {
	const char *name;
	uint32_t bit;
} args[] = {
	{ "Bytes", HAS_BYTES }, { "Addr", HAS_ADDR }, { "Device Type", HAS_TYPE },
	{ "Device Id", HAS_DEVICE }, { "Total Allocated", HAS_ALLOCATED },
};

/* An integer of 64 bits, with a sign or without; NULL without a fail where it is none. */
static const char *scan_wide(const char *p, bool *negative, uint64_t *out)
{
	const char *begin;
	uint64_t value = 0;

	*negative = *p == '-';
	p += *negative;
	for (begin = p; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	if (p == begin || (*begin == '0' && p - begin > 1) || *p == '.' || *p == 'e' || *p == 'E')
		return NULL;
	*out = value;
	return p;
}

static const char *mistyped(struct frag_document *d, struct frag_scan *s, const char *at,
			    const char *name, const char *wanted)
{
	char value[64];

	if (s->fail != FRAG_SCAN_FINE)
		return NULL;
	if (at == s->end)
		return frag_scan_bad(s, at, "");
	return frag_document_wrong(d, at, "member \"%s\": %s is required, not %s", name, wanted,
				   frag_excerpt(s, at, value));
}

/* One member of args that counts. */
static const char *scan_arg(struct frag_document *d, struct frag_scan *s, const char *p,
			    uint32_t which, struct frag_kineto_event *ev)
{
	bool negative = false;
	uint64_t value = 0;
	const char *q = scan_wide(p, &negative, &value);

	if (q == s->end)        /* more digits may follow */
		return frag_scan_bad(s, q, "");
	if (!q)
		return mistyped(d, s, p, args[which].name, "an integer");
	switch (args[which].bit) {
	case HAS_BYTES:
		if (value >> 53)
			return mistyped(d, s, p, "Bytes", "a size below 2^53");
		ev->bytes = value;
		ev->is_free = negative;
		break;
	case HAS_ADDR:
		/* the high half of the address space may be written as a negative number */
		ev->address = negative ? 0 - value : value;
		break;
	case HAS_TYPE:
		if (negative || value > 255)
			return mistyped(d, s, p, "Device Type", "a number from 0 to 255");
		ev->type = value;
		break;
	case HAS_DEVICE:
		if ((negative && value != 1) || value >= FRAG_KINETO_DEVICES_MAX)
			return mistyped(d, s, p, "Device Id", "-1, or a number below 1024");
		ev->device = negative ? 0 : value;
		break;
	default:
		ev->has_allocated = !negative && value >> 53 == 0;
		ev->allocated = value;
	}
	return q;
}

/* The first four of the table are required, but a failed request has no address. */
static const char *scan_args(struct frag_document *d, struct frag_scan *s, const char *begin,
			     uint32_t depth, struct frag_kineto_event *ev)
{
	uint32_t seen = 0;
	const char *p = begin;
	bool end;

	if (*p != '{')
		return mistyped(d, s, p, "args", "an object");
	p = frag_scan_space(s, p + 1);
	end = p && *p == '}';
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		uint32_t which = 0;

		while (value && which < sizeof(args) / sizeof(args[0])
		       && !is(name, args[which].name))
			which++;
		if (value && which < sizeof(args) / sizeof(args[0])) {
			if (seen & args[which].bit)
				return frag_document_wrong(d, p, "member \"%s\" is given twice",
							   args[which].name);
			seen |= args[which].bit;
			value = scan_arg(d, s, value, which, ev);
		} else if (value) {
			value = frag_scan_skip(s, value, depth + 1);
		}
		p = frag_scan_next(s, value, '}', &end);
	}
	if (!p)
		return NULL;
	for (uint32_t i = 0; i < 4; i++)
		if (!(seen & args[i].bit) && (args[i].bit != HAS_ADDR || ev->kind != FRAG_KINETO_OOM))
			return frag_document_wrong(d, begin, "member \"%s\" of a memory event is"
						   " missing", args[i].name);
	return p;
}

/* What an event has besides its args. */
struct outside {
	struct frag_text name, category, phase;
	const char *args, *name_at;
	bool has_t;
};

static const char *scan_thread(struct frag_scan *s, const char *p, struct frag_kineto_event *ev)
{
	struct frag_text text;
	const char *q;

	if (*p == '"') {
		p = frag_scan_string(s, p + 1, &text);
		if (p)
			ev->thread = frag_hash_text(text.text, text.length, 0);
		return p;
	}
	q = frag_scan_integer(p, &ev->thread);
	return q && q < s->end ? q : frag_scan_skip(s, p, 3);
}

static const char *scan_double(struct frag_scan *s, const char *p, double *out)
{
	if (*p != '-' && (*p < '0' || *p > '9'))
		return NULL;
	p = frag_scan_number(s, p, out);
	return p && *out - *out == 0 ? p : NULL;
}

/*
 * args are passed over and their place kept: whether they matter is said by name
 * and phase, which may come later.
 */
static const char *scan_member(struct frag_document *d, struct frag_scan *s, const char *p,
			       struct frag_text name, uint32_t depth, struct outside *o,
			       struct frag_kineto_event *ev)
{
	struct frag_text *text = is(name, "name") ? &o->name : is(name, "cat") ? &o->category
			       : is(name, "ph") ? &o->phase : NULL;
	const char *q;

	if (text && *p == '"')
		return frag_scan_string(s, p + 1, text);
	if (is(name, "ts") || is(name, "dur")) {
		q = scan_double(s, p, name.length == 2 ? &ev->t : &ev->duration);
		o->has_t = o->has_t || name.length == 2;
		return q ? q : mistyped(d, s, p, name.length == 2 ? "ts" : "dur", "a number");
	}
	if (is(name, "tid"))
		return scan_thread(s, p, ev);
	if (is(name, "args"))
		o->args = p;
	return frag_scan_skip(s, p, depth + 1);
}

static enum frag_kineto_kind kind_of(const struct outside *o)
{
	if (!o->name.text || !o->phase.text)
		return FRAG_KINETO_OTHER;
	if (is(o->phase, "i"))
		return is(o->name, "[memory]") ? FRAG_KINETO_MEMORY
		     : is(o->name, "[OutOfMemory]") ? FRAG_KINETO_OOM : FRAG_KINETO_OTHER;
	if (!is(o->phase, "X") || !o->category.text)
		return FRAG_KINETO_OTHER;
	return is(o->category, "cpu_op") ? FRAG_KINETO_OP
	     : is(o->category, "user_annotation") ? FRAG_KINETO_ANNOTATION : FRAG_KINETO_OTHER;
}

/*
 * The kind is known when all members are. Then the args of a memory event are
 * scanned, the only ones that matter.
 */
const char *frag_kineto_scan(struct frag_document *d, struct frag_scan *s, const char *begin,
			     uint32_t depth, struct frag_kineto_event *ev)
{
	struct outside o = { .args = NULL };
	const char *p = begin;
	char *scratch = s->scratch;
	bool end;

	*ev = (struct frag_kineto_event){ .kind = FRAG_KINETO_OTHER };
	if (*p != '{')
		return p == s->end ? frag_scan_bad(s, p, "")
				   : frag_document_wrong(d, p, "an event, { ... }, is expected here");
	p = frag_scan_space(s, p + 1);
	end = p && *p == '}';
	p += end;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);

		value = value ? scan_member(d, s, value, name, depth, &o, ev) : NULL;
		p = frag_scan_next(s, value, '}', &end);
	}
	if (!p)
		return NULL;
	ev->kind = kind_of(&o);
	ev->name = o.name;
	if (ev->kind != FRAG_KINETO_OTHER && !o.has_t)
		return frag_document_wrong(d, begin, "member \"ts\" is missing");
	if (ev->kind == FRAG_KINETO_MEMORY || ev->kind == FRAG_KINETO_OOM) {
		if (!o.args)
			return frag_document_wrong(d, begin, "member \"args\" of a memory event is"
						   " missing");
		s->scratch = scratch;   /* args are seen twice, and there is room for once */
		if (!scan_args(d, s, o.args, depth + 1, ev))
			return NULL;
	}
	return p;
}
