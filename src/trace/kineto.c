/*
 * kineto.c - the Chrome trace that torch.profiler (Kineto) writes, as a source.
 *
 * The document goes through the window once; of each memory event, operator and
 * annotation a few numbers are kept. Then they are put in the order of time, and
 * each allocation is given the name of the innermost operator around it.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/parse.h"
#include "input/json_scan.h"
#include "trace/header_scan.h"

enum kineto_kind {
	KINETO_OTHER,
	KINETO_MEMORY,             /* "[memory]" */
	KINETO_OOM,                /* "[OutOfMemory]" */
	KINETO_OP,                 /* an operator, from t to t + duration */
	KINETO_ANNOTATION,         /* a named range of the program: a step of training */
};

/* What is kept of an event. */
struct moment {
	double   t;             /* microseconds */
	uint64_t place;         /* its byte in the file */
	uint64_t bytes, address;        /* of memory; likewise: */
	uint64_t allocated;     /* on the device after the event */
	uint64_t thread;        /* a number, or a hash of its name */
	uint32_t text;          /* name of a mark; tag */
	uint16_t device;        /* ordinal; 0 for the CPU */
	uint8_t  type;          /* c10::DeviceType; 0 is the CPU */
	uint8_t  kind;          /* enum kineto_kind */
	uint8_t  maker;         /* enum frag_maker, where some operator runs a backward pass */
	bool     is_free, has_allocated;
};

/* An operator that is of none. */
#define NO_SEQUENCE UINT64_MAX

struct kineto_event {
	struct moment m;
	struct frag_text name;
	double duration;
	uint64_t sequence;      /* of an operator: that of its node in the graph of autograd */
};

/* The members of args that count: those before ARG_ALLOCATED are required. */
enum { ARG_BYTES, ARG_ADDR, ARG_TYPE, ARG_DEVICE, ARG_ALLOCATED, ARGS };
static const char *const arg_names[ARGS + 1] = {
	"Bytes", "Addr", "Device Type", "Device Id", "Total Allocated",
};

/* One member of args that counts. */
static const char *scan_arg(struct frag_document *d, struct frag_scan *s, const char *p,
			    uint32_t which, struct kineto_event *ev)
{
	bool negative = false;
	uint64_t value = 0;
	const char *q = frag_scan_wide(p, &negative, &value);

	if (q == s->end)        /* more digits may follow */
		return frag_scan_bad(s, q, "");
	if (!q)
		return frag_document_mistyped(d, p, arg_names[which], "an integer");
	switch (which) {
	case ARG_BYTES:
		if (value >> 53)
			return frag_document_mistyped(d, p, "Bytes", "a size below 2^53");
		ev->m.bytes = value;
		ev->m.is_free = negative;
		break;
	case ARG_ADDR:
		/* the high half of the address space may be written as a negative number */
		ev->m.address = negative ? 0 - value : value;
		break;
	case ARG_TYPE:
		if (negative || value > 255)
			return frag_document_mistyped(d, p, "Device Type", "a number from 0 to 255");
		ev->m.type = (uint8_t)value;
		break;
	case ARG_DEVICE:
		if ((negative && value != 1) || value >= FRAG_DEVICES_MAX)
			return frag_document_mistyped(d, p, "Device Id", "-1, or a number below 1024");
		ev->m.device = negative ? 0 : (uint16_t)value;
		break;
	default:
		ev->m.has_allocated = !negative && value >> 53 == 0;
		ev->m.allocated = value;
	}
	return q;
}

/*
 * The number that an operator of a forward pass and the node of its backward pass share. The args of
 * operators are many and long, so they are searched, not scanned.
 */
static uint64_t find_sequence(const char *args, const char *end)
{
	static const char name[] = "Sequence number\":";
	const char *at = args && end ? frag_text_find((struct frag_text){ args, (uint32_t)(end - args) }, name)
				     : NULL;
	uint64_t value;

	if (!at)
		return NO_SEQUENCE;
	at += sizeof(name) - 1;
	at += *at == ' ';
	return frag_scan_integer(at, &value) ? value : NO_SEQUENCE;
}

/* A failed request has no address. */
static const char *scan_args(struct frag_document *d, struct frag_scan *s, const char *begin,
			     uint32_t depth, struct kineto_event *ev)
{
	uint32_t seen = 0;
	const char *p = begin;
	bool end;

	if (*p != '{')
		return frag_document_mistyped(d, p, "args", "an object");
	p = frag_scan_space(s, p + 1);
	end = p && *p == '}';
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);
		uint32_t which = value ? frag_text_among(name, arg_names) : ARGS;

		if (value && which < ARGS) {
			if (seen & 1U << which)
				return frag_document_wrong(d, p, "member \"%s\" is specified more than once",
							   arg_names[which]);
			seen |= 1U << which;
			value = scan_arg(d, s, value, which, ev);
		} else if (value) {
			value = frag_scan_skip(s, value, depth + 1);
		}
		p = frag_scan_next(s, value, '}', &end);
	}
	if (!p)
		return NULL;
	for (uint32_t i = 0; i < ARG_ALLOCATED; i++)
		if (!(seen & 1U << i) && (i != ARG_ADDR || ev->m.kind != KINETO_OOM))
			return frag_document_wrong(d, begin, "member \"%s\" of a memory event is"
						   " missing", arg_names[i]);
	return p;
}

/* The members of an event except its args. */
struct outside {
	struct frag_text name, category, phase;
	const char *args, *args_end;
	bool has_t;
};

static const char *scan_thread(struct frag_scan *s, const char *p, struct kineto_event *ev)
{
	struct frag_text text;
	const char *q;

	if (*p == '"') {
		p = frag_scan_string(s, p + 1, &text);
		if (p)
			ev->m.thread = frag_hash_text(text.text, text.length, 0);
		return p;
	}
	q = frag_scan_integer(p, &ev->m.thread);
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
static const char *kineto_scan_scan_member(struct frag_document *d, struct frag_scan *s,
					   const char *p, struct frag_text name, uint32_t depth,
					   struct outside *o, struct kineto_event *ev)
{
	struct frag_text *text = frag_text_equals(name, "name") ? &o->name
				 : frag_text_equals(name, "cat") ? &o->category
				 : frag_text_equals(name, "ph") ? &o->phase : NULL;
	const char *q;

	if (text && *p == '"')
		return frag_scan_string(s, p + 1, text);
	if (frag_text_equals(name, "ts") || frag_text_equals(name, "dur")) {
		q = scan_double(s, p, name.length == 2 ? &ev->m.t : &ev->duration);
		o->has_t = o->has_t || name.length == 2;
		return q ? q
			 : frag_document_mistyped(d, p, name.length == 2 ? "ts" : "dur", "a number");
	}
	if (frag_text_equals(name, "tid"))
		return scan_thread(s, p, ev);
	q = frag_scan_skip(s, p, depth + 1);
	if (frag_text_equals(name, "args")) {
		o->args = p;
		o->args_end = q;
	}
	return q;
}

static enum kineto_kind kind_of(const struct outside *o)
{
	static const struct {
		const char *phase, *name, *category;    /* NULL: any */
		enum kineto_kind kind;
	} kinds[] = {
		{ "i", "[memory]", NULL, KINETO_MEMORY },
		{ "i", "[OutOfMemory]", NULL, KINETO_OOM },
		{ "X", NULL, "cpu_op", KINETO_OP },
		{ "X", NULL, "user_annotation", KINETO_ANNOTATION },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && o->name.text; i++)
		if (frag_text_equals(o->phase, kinds[i].phase)
		    && (!kinds[i].name || frag_text_equals(o->name, kinds[i].name))
		    && (!kinds[i].category || frag_text_equals(o->category, kinds[i].category)))
			return kinds[i].kind;
	return KINETO_OTHER;
}

/*
 * The kind is known when all members are. Then the args of a memory event are
 * scanned, the only ones that matter.
 */
static const char *kineto_scan(struct frag_document *d, struct frag_scan *s, const char *begin,
			     uint32_t depth, struct kineto_event *ev)
{
	struct outside o = { .args = NULL };
	const char *p = begin;
	char *scratch = s->scratch;
	bool end;

	*ev = (struct kineto_event){ .m.kind = KINETO_OTHER };
	if (*p != '{')
		return p == s->end
			       ? frag_scan_bad(s, p, "")
			       : frag_document_wrong(d, p, "an event, { ... }, is expected here");
	p = frag_scan_space(s, p + 1);
	end = p && *p == '}';
	p += end;
	while (p && !end) {
		struct frag_text name;
		const char *value = frag_scan_name(s, p, &name);

		value = value ? kineto_scan_scan_member(d, s, value, name, depth, &o, ev) : NULL;
		p = frag_scan_next(s, value, '}', &end);
	}
	if (!p)
		return NULL;
	ev->m.kind = (uint8_t)kind_of(&o);
	ev->name = o.name;
	ev->sequence = ev->m.kind == KINETO_OP ? find_sequence(o.args, o.args_end) : NO_SEQUENCE;
	if (ev->m.kind != KINETO_OTHER && !o.has_t)
		return frag_document_wrong(d, begin, "member \"ts\" is missing");
	if (ev->m.kind == KINETO_MEMORY || ev->m.kind == KINETO_OOM) {
		if (!o.args)
			return frag_document_wrong(d, begin, "member \"args\" of a memory event is"
						   " missing");
		s->scratch = scratch;   /* args occur twice, but only one copy fits */
		if (!scan_args(d, s, o.args, depth + 1, ev))
			return NULL;
	}
	return p;
}

/* Also an optimizer's step, which is an annotation and no tag. */
struct operator {
	double   begin, end;
	uint64_t thread, sequence;
	uint32_t text;
	uint8_t  maker;         /* enum frag_maker: BACKWARD, OPTIMIZER, FORWARD; UNKNOWN: none of these */
};

struct kineto {
	struct frag_document doc;
	struct frag_buffered *buffered;
	struct moment *moments;
	uint32_t moment_count, moment_capacity;
	struct operator *ops;
	uint32_t op_count, op_capacity;
	bool bare;              /* an array of events, not an object that has one */
	bool begun;             /* an element or a member was seen */
	bool in_events, had_events, ended;
	struct kineto_event event;
	bool has_event;
	size_t event_at;        /* in the window */
	struct frag_map backward;       /* sequences of nodes of backward passes */
	bool any_backward;
};

/* The document's first bracket. */
static const char *scan_begin(void *ctx, struct frag_scan *s, const char *p)
{
	struct kineto *k = ctx;

	p = frag_scan_space(s, p);
	if (p == s->end)
		return frag_scan_bad(s, p, "");
	if (*p != '{' && *p != '[')
		return frag_scan_bad(s, p, "not JSON: a profiler's trace begins with { or [");
	k->bare = k->in_events = k->had_events = *p == '[';
	return p + 1;
}

/* A member of the document, or its end; of traceEvents just the bracket. */
static const char *kineto_scan_member(void *ctx, struct frag_scan *s, const char *p)
{
	struct kineto *k = ctx;
	struct frag_text name;
	const char *at;

	p = frag_scan_space(s, p);
	if (*p == '}') {
		k->ended = true;
		return p + 1;
	}
	if (k->begun)
		p = *p == ',' ? frag_scan_space(s, p + 1)
			      : frag_scan_bad(s, p, "a comma or } is expected here");
	at = p;
	p = p ? frag_scan_name(s, p, &name) : NULL;
	if (!p)
		return NULL;
	if (!frag_text_equals(name, "traceEvents")) {
		p = frag_scan_skip(s, p, 2);
		k->begun = k->begun || p;
		return p;
	}
	if (p == s->end)
		return frag_scan_bad(s, p, "");
	if (k->had_events)
		return frag_document_wrong(&k->doc, at, "member \"traceEvents\" is specified more than once");
	if (*p != '[')
		return frag_document_wrong(&k->doc, p,
					   "member \"traceEvents\": an array is required");
	k->in_events = k->had_events = true;
	k->begun = false;
	return p + 1;
}

/* An element of the events, or their end. */
static const char *scan_element(void *ctx, struct frag_scan *s, const char *p)
{
	struct kineto *k = ctx;

	k->has_event = false;
	p = frag_scan_space(s, p);
	if (*p == ']') {
		k->in_events = false;
		k->begun = true;
		k->ended = k->bare;
		return p + 1;
	}
	if (k->begun)
		p = *p == ',' ? frag_scan_space(s, p + 1)
			      : frag_scan_bad(s, p, "a comma or ] is expected here");
	if (!p)
		return NULL;
	k->event_at = (size_t)(p - k->doc.in.buf);
	p = kineto_scan(&k->doc, s, p, k->bare ? 2 : 3, &k->event);
	k->has_event = p != NULL;
	k->begun = k->begun || p;
	return p;
}

static bool name_begins(struct frag_text name, const char *with)
{
	return name.length >= strlen(with) && memcmp(name.text, with, strlen(with)) == 0;
}

/* False: out of memory. */
static bool keep_operator(struct kineto *k)
{
	const struct kineto_event *ev = &k->event;
	const enum frag_maker maker =
		ev->m.kind == KINETO_ANNOTATION ? FRAG_MAKER_OPTIMIZER
		: name_begins(ev->name, "autograd::engine::evaluate_function") ? FRAG_MAKER_BACKWARD
									       : FRAG_MAKER_UNKNOWN;

	if (maker == FRAG_MAKER_BACKWARD) {
		k->any_backward = true;
		if (ev->sequence != NO_SEQUENCE
		    && frag_map_get(&k->backward, ev->sequence) == FRAG_MAP_NONE
		    && !frag_map_add(&k->backward, ev->sequence, 0))
			return false;
	}
	if (!FRAG_GROW(k->ops, k->op_capacity, k->op_count))
		return false;
	k->ops[k->op_count++] = (struct operator){
		.begin = ev->m.t, .end = ev->m.t + ev->duration, .thread = ev->m.thread,
		.sequence = ev->sequence, .text = ev->m.text, .maker = (uint8_t)maker,
	};
	return true;
}

/*
 * The name is borrowed from the window, so it is interned at once; operators
 * repeat theirs many times.
 */
static bool kineto_keep(struct kineto *k)
{
	struct moment *m = &k->event.m;
	bool named = m->kind == KINETO_OP || m->kind == KINETO_ANNOTATION;

	m->text = 0;
	m->place = k->doc.in.before + k->event_at;
	if (named && !frag_buffered_text(k->buffered, k->event.name, &m->text))
		return false;
	if (m->kind == KINETO_OP)
		return keep_operator(k);
	if (m->kind == KINETO_ANNOTATION && name_begins(k->event.name, "Optimizer.step#")
	    && !keep_operator(k))
		return false;
	/* zero bytes are neither a block nor the end of one */
	if (m->kind == KINETO_MEMORY && m->bytes == 0)
		return true;
	if (!FRAG_GROW(k->moments, k->moment_capacity, k->moment_count))
		return false;
	k->moments[k->moment_count++] = *m;
	return true;
}

static int kineto_read_document(struct kineto *k, struct frag_error *err)
{
	/* moments become rows */
	const uint64_t a_moment = sizeof(*k->moments) + sizeof(struct frag_row);
	int rc = frag_document_part(&k->doc, scan_begin, k, err);

	while (!rc && !k->ended) {
		rc = frag_document_part(&k->doc, k->in_events ? scan_element : kineto_scan_member,
					k, err);
		if (!rc && k->has_event && k->event.m.kind != KINETO_OTHER && !kineto_keep(k))
			rc = frag_fail_nomem(err);
		rc = rc ? rc : frag_buffered_afford(k->buffered, &k->doc.in, k->moment_count * a_moment
						    + k->op_count * sizeof(*k->ops), err);
		k->has_event = false;
	}
	rc = rc ? rc : frag_document_end(&k->doc, "document", err);
	if (!rc && !k->had_events)
		rc = frag_fail(err, FRAG_ETRACE, "%s: member \"traceEvents\" is missing: this is no"
			       " profiler's trace", k->doc.in.path);
	return rc;
}

static int kineto_by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int ops_by_thread(const void *a, const void *b)
{
	const struct operator *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	/* the outer one first */
	return x->end > y->end ? -1 : x->end < y->end;
}

static int moments_by_thread(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return kineto_by_time(a, b);
}

/* The innermost of the open operators that is in the backward pass of this one's node, or any. */
static bool runs_backward(const struct kineto *k, const uint32_t *open, uint32_t depth, uint64_t sequence)
{
	while (depth-- > 0)
		if (k->ops[open[depth]].maker == FRAG_MAKER_BACKWARD
		    && (sequence == NO_SEQUENCE || k->ops[open[depth]].sequence == sequence))
			return true;
	return false;
}

/* An operator is of a forward pass if another runs the backward pass of its node. */
static void find_forward(const struct kineto *k, const uint32_t *open, uint32_t depth, struct operator *op)
{
	if (op->maker == FRAG_MAKER_UNKNOWN && op->sequence != NO_SEQUENCE
	    && frag_map_get(&k->backward, op->sequence) != FRAG_MAP_NONE
	    && !runs_backward(k, open, depth, op->sequence))
		op->maker = FRAG_MAKER_FORWARD;
}

/* The part of the program, by the innermost operator that is of one; open[0] is the outermost. */
static enum frag_maker kineto_maker(const struct kineto *k, const uint32_t *open, uint32_t depth)
{
	enum frag_maker maker = FRAG_MAKER_UNKNOWN;

	while (depth && maker == FRAG_MAKER_UNKNOWN)
		maker = (enum frag_maker)k->ops[open[--depth]].maker;
	if (maker == FRAG_MAKER_FORWARD && runs_backward(k, open, depth, NO_SEQUENCE))
		maker = FRAG_MAKER_RECOMPUTE;
	return maker == FRAG_MAKER_UNKNOWN ? FRAG_MAKER_PROGRAM : maker;
}

/*
 * Each allocation gets the innermost operator of its thread as its tag, and the part of the program
 * where the profile has a backward pass.
 */
static bool name_all(struct kineto *k)
{
	uint32_t *open = malloc(((size_t)k->op_count + 1) * sizeof(*open));
	uint32_t depth = 0, next = 0;

	if (!open)
		return false;
	FRAG_SORT(k->ops, k->op_count, ops_by_thread);
	FRAG_SORT(k->moments, k->moment_count, moments_by_thread);
	for (uint32_t i = 0; i < k->moment_count; i++) {
		struct moment *m = &k->moments[i];

		while (next < k->op_count
		       && (k->ops[next].thread < m->thread
			   || (k->ops[next].thread == m->thread && k->ops[next].begin <= m->t))) {
			while (depth && (k->ops[open[depth - 1]].thread != k->ops[next].thread
					 || k->ops[open[depth - 1]].end < k->ops[next].begin))
				depth--;
			find_forward(k, open, depth, &k->ops[next]);
			open[depth++] = next++;
		}
		while (depth && (k->ops[open[depth - 1]].thread != m->thread
				 || k->ops[open[depth - 1]].end < m->t))
			depth--;
		if (m->kind == KINETO_ANNOTATION)
			continue;
		if (k->any_backward)
			m->maker = (uint8_t)kineto_maker(k, open, depth);
		for (uint32_t at = depth; at-- > 0 && !m->text;)
			if (k->ops[open[at]].maker != FRAG_MAKER_OPTIMIZER)
				m->text = k->ops[open[at]].text;
	}
	free(open);
	return true;
}

/* What of the memory events counts, and how devices are numbered. */
struct devices {
	bool cpu_only;
	uint64_t cpu_events;    /* left out, where there are others */
	uint8_t type;           /* the one that counts */
	uint64_t other_events;  /* of further types, left out */
	uint32_t count;
};

/*
 * A trace has one kind of device: the type other than the CPU that has the most
 * events, and the CPU only where there is no other.
 */
static struct devices find_devices(const struct kineto *k)
{
	struct devices d = { .cpu_only = true, .count = 1 };
	uint64_t of_type[256] = { 0 };

	for (uint32_t i = 0; i < k->moment_count; i++)
		if (k->moments[i].kind != KINETO_ANNOTATION)
			of_type[k->moments[i].type]++;
	for (uint32_t type = 1; type < 256; type++)
		if (of_type[type] > (d.type ? of_type[d.type] : 0))
			d.type = (uint8_t)type;
	d.cpu_only = d.type == 0;
	d.cpu_events = d.cpu_only ? 0 : of_type[0];
	for (uint32_t type = 1; type < 256; type++)
		d.other_events += type != d.type ? of_type[type] : 0;
	for (uint32_t i = 0; i < k->moment_count; i++)
		if (k->moments[i].kind != KINETO_ANNOTATION && k->moments[i].type == d.type
		    && k->moments[i].device >= d.count)
			d.count = k->moments[i].device + 1U;
	return d;
}

static bool kineto_add_row(struct kineto *k, struct frag_address_map *addresses,
			   const struct moment *m, const struct devices *d)
{
	struct frag_row row = {
		.t = m->t, .size = m->bytes, .place = m->place, .text = m->text,
		.device = m->device, .members = FRAG_ROW_T, .maker = m->maker,
	}, *mark;

	if (m->kind == KINETO_ANNOTATION) {
		mark = frag_buffered_add(k->buffered);
		row.op = FRAG_OP_MARK;
		if (mark)
			*mark = row;
		return mark != NULL;
	}
	if (m->type != d->type)
		return true;
	if (d->count > 1)
		row.members |= FRAG_ROW_DEVICE;
	if (m->kind == KINETO_OOM)
		return frag_buffered_add_oom(k->buffered, &row);
	return m->is_free ? frag_address_map_free(addresses, m->address, &row)
			  : frag_address_map_alloc(addresses, m->address, &row);
}

static const struct moment *kineto_first_of(const struct kineto *k, uint32_t type, uint32_t device)
{
	for (uint32_t i = 0; i < k->moment_count; i++)
		if (k->moments[i].kind == KINETO_MEMORY && k->moments[i].type == type
		    && k->moments[i].device == device)
			return &k->moments[i];
	return NULL;
}

/*
 * What the device held before the first event and no event frees: the first
 * event's total shows it. It counts as one block.
 */
static bool add_rest(struct kineto *k, struct frag_address_map *addresses, const struct devices *d,
		     const struct frag_log *log)
{
	for (uint32_t device = 0; device < d->count; device++) {
		uint64_t early = 0, total = 0;
		const struct moment *m = kineto_first_of(k, d->type, device);

		if (!m || !m->has_allocated)
			continue;
		total = m->is_free ? m->allocated + m->bytes
		      : m->allocated > m->bytes ? m->allocated - m->bytes : 0;
		for (uint32_t i = 0; i < addresses->count; i++)
			if (addresses->entries[i].before && addresses->entries[i].device == device)
				early += addresses->entries[i].address;
		if (total <= early || total >> 53)
			continue;
		frag_note(log,
			  "%s: device %u: %" PRIu64 " byte%s from before the profile are"
			  " never freed: one block here",
			  k->buffered->path, device, total - early, frag_s(total - early));
		if (!frag_address_map_before(addresses, device, total - early))
			return false;
	}
	return true;
}

static void note_devices(const struct kineto *k, const struct devices *d,
			 const struct frag_log *log)
{
	if (d->cpu_only && k->moment_count)
		frag_note(log, "%s: only allocations of the CPU: they are device 0 here",
			  k->buffered->path);
	if (d->cpu_events)
		frag_note(log, "%s: %" PRIu64 " memory event%s of the CPU left out",
			  k->buffered->path, d->cpu_events, frag_s(d->cpu_events));
	if (d->other_events)
		frag_note(log,
			  "%s: %" PRIu64 " memory event%s of further kinds of devices left out",
			  k->buffered->path, d->other_events, frag_s(d->other_events));
}

/*
 * Naming sorts by thread, the address map needs the order of time, and the blocks allocated
 * before the profile are known only after all early frees.
 */
static bool kineto_make_rows(struct kineto *k, uint32_t *device_count, const struct frag_log *log)
{
	struct devices d = find_devices(k);
	struct frag_address_map addresses;
	bool good;

	if (!name_all(k))
		return false;
	FRAG_SORT(k->moments, k->moment_count, kineto_by_time);
	note_devices(k, &d, log);
	good = frag_address_map_init(&addresses, k->buffered);
	for (uint32_t i = 0; i < k->moment_count && good; i++)
		good = kineto_add_row(k, &addresses, &k->moments[i], &d);
	good = good && add_rest(k, &addresses, &d, log)
	       && frag_address_map_end(&addresses, d.count > 1 ? FRAG_ROW_DEVICE : 0, log);
	frag_address_map_fini(&addresses);
	*device_count = d.count;
	return good;
}

/* The source owns the rows once it is opened, also where that fails. */
static int kineto_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		       struct frag_error *err)
{
	struct kineto k = { .bare = false };
	uint32_t device_count = 1;
	int rc = frag_document_init(&k.doc, in, err);

	if (rc)
		return rc;
	k.buffered = frag_buffered_new(k.doc.in.path, "byte");
	rc = k.buffered && frag_map_init(&k.backward, frag_hash_seed()) ? kineto_read_document(&k, err) : frag_fail_nomem(err);
	if (!rc && !kineto_make_rows(&k, &device_count, log))
		rc = frag_fail_nomem(err);
	if (!rc && k.buffered->count == 0)
		rc = frag_fail(err, FRAG_ETRACE,
			       "%s: memory events are missing: the profile was recorded without"
			       " profile_memory=True",
			       k.doc.in.path);
	if (rc)
		frag_buffered_del(k.buffered);
	else
		rc = frag_buffered_open(out, k.buffered, device_count, &k.doc.in, err);
	out->pytorch = true;
	frag_document_fini(&k.doc);
	frag_map_fini(&k.backward);
	free(k.moments);
	free(k.ops);
	return rc;
}

static enum frag_sniff kineto_sniff(const char *bytes, size_t length)
{
	static const char *const ours[] = { "traceEvents", "schemaVersion", "deviceProperties",
					    "displayTimeUnit", NULL };
	static const char *const of_event[] = { "ph", NULL };
	static const char *const theirs[] = { "format", "op", "events", NULL };
	enum frag_sniff as_array;

	as_array = frag_sniff_json(bytes, length, true, of_event, theirs);
	return as_array != FRAG_SNIFF_NO ? as_array
					 : frag_sniff_json(bytes, length, false, ours, theirs);
}

const struct frag_reader frag_reader_kineto = {
	.name = "kineto",
	.sniff = kineto_sniff,
	.open = kineto_open,
};
