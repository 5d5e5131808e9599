/*
 * pickle_plain.c - the opcodes that most of a snapshot is made of, where they are
 * plainly good.
 *
 * A snapshot is dicts of events and frames, whose keys and strings are numbers of
 * the memo, and lists of frames, which are nothing else.
 */
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/hash.h"
#include "input/pickle_machine.h"

#define HOT static inline __attribute__((always_inline))
#define SLACK 16                /* the longest of these opcodes, and a word more */
#define RUN_MIN 16              /* bytes; shorter lists are soon read */

void frag_pickle_forget(struct frag_plain *plain)
{
	struct frag_pickle_runs *runs = &plain->runs;

	memset(plain->templates, 0, sizeof(plain->templates));
	if (runs->count)
		memset(runs->by_hash, 0, sizeof(runs->by_hash));
	runs->count = runs->last = 0;
}

/* The run whose bytes are at `at`; NULL: it is not this one. */
static const struct frag_pickle_run *is_run(const struct pickle *p, uint32_t number,
				     const unsigned char *at)
{
	const struct frag_pickle_run *run = &p->plain->runs.runs[number];

	return (size_t)(p->end - at) >= run->length && memcmp(at, run->bytes, run->length) == 0
	       ? run : NULL;
}

static uint32_t *pickle_plain_place_of(const struct pickle *p, const unsigned char *at,
				       size_t length)
{
	uint64_t hash = frag_hash_text((const char *)at, length, p->seed);

	return &p->plain->runs.by_hash[hash % FRAG_PICKLE_RUNS];
}

/* After the run that came last comes this one. */
static void follow(struct frag_pickle_runs *runs, uint32_t number)
{
	runs->runs[runs->last].next = number;
	runs->last = number;
}

/* The list has become a run: these bytes, the last of them its APPENDS. */
static int note_run(struct pickle *p, uint32_t *place, const unsigned char *at, size_t length,
		    uint32_t number)
{
	struct frag_pickle_runs *runs = &p->plain->runs;
	const struct frag_value *list = &p->values->table[number];
	uint32_t before = runs->capacity;
	const char *bytes;
	int rc = frag_pickle_added(p, frag_values_keep(p->values, at, (uint32_t)length, &bytes));

	if (rc)
		return rc;
	if (!frag_grow(&runs->runs, &runs->capacity, (uint64_t)runs->count + 1,
		       sizeof(*runs->runs)))
		return frag_fail_nomem(p->err);
	if (!frag_values_take(p->values, (uint64_t)(runs->capacity - before)
					 * sizeof(*runs->runs)))
		return frag_pickle_added(p, FRAG_ADD_TOO_MUCH);
	runs->runs[runs->count] = (struct frag_pickle_run){
		.bytes = (const unsigned char *)bytes, .length = (uint32_t)length,
		.items = list->as.items, .count = list->length, .depth = list->depth,
		.next = runs->count,
	};
	follow(runs, runs->count++);
	*place = runs->count;
	return 0;
}

/*
 * What is between the MARK before `at` and the APPENDS: `items` of them, above top.
 * Where the same bytes are a run already, its items are those of the list.
 */
static int end_list(struct pickle *p, const unsigned char *at, const unsigned char *behind,
		    uint32_t list, const uint32_t *items, uint32_t count)
{
	const size_t length = (size_t)(behind - at);
	uint32_t *place = length >= RUN_MIN ? pickle_plain_place_of(p, at, length) : NULL;
	const struct frag_pickle_run *run = place && *place ? is_run(p, *place - 1, at) : NULL;
	int rc;

	if (run && run->length == length) {
		follow(&p->plain->runs, *place - 1);
		frag_values_share(p->values, list, run->items, run->count, run->depth);
		return 0;
	}
	rc = frag_pickle_added(p, frag_values_add(p->values, list, items, count));
	return rc || !place ? rc : note_run(p, place, at, length, list);
}

/* The number that an opcode asks the memo for, and its length; 0: it asks for none. */
HOT size_t reference_length(const unsigned char *at, uint32_t *number)
{
	if (*at == BINGET) {
		*number = at[1];
		return 2;
	}
	*number = (uint32_t)frag_word_at((const char *)at + 1);
	return *at == LONG_BINGET ? 5 : 0;
}

/*
 * From after a MARK above an empty list: the list, where references alone are in
 * it. p->at stays where it is where there is anything else.
 */
static int read_list(struct pickle *p, const unsigned char *last)
{
	const unsigned char *at = p->at + 1, *first = at;
	uint32_t list = p->stack[p->count - 1], number;
	uint32_t *items = p->stack + p->count, *to = items, *full = p->stack + p->capacity;
	struct frag_pickle_runs *runs = &p->plain->runs;
	const struct frag_pickle_run *run;
	size_t length;

	if (runs->count && runs->runs[runs->last].next != runs->last) {
		number = runs->runs[runs->last].next;
		run = is_run(p, number, at);
		if (run) {
			runs->last = number;
			frag_values_share(p->values, list, run->items, run->count, run->depth);
			p->at = at + run->length;
			return 0;
		}
	}
	while (at <= last && to < full && (length = reference_length(at, &number)) != 0) {
		if (number >= p->memo_count || p->memo[number] == FRAG_PICKLE_HOLE)
			return 0;
		*to++ = p->memo[number];
		at += length;
	}
	if (at > last || *at != APPENDS)
		return 0;
	p->at = at + 1;
	return end_list(p, first, p->at, list, items, (uint32_t)(to - items));
}

/* An integer that is not negative, and its opcode's length; 0: something else. */
HOT size_t plain_integer(const unsigned char *at, uint64_t *out)
{
	const uint64_t word = frag_word_at((const char *)at + 1);
	size_t n;

	switch (*at) {
	case BININT2:
		*out = word & 0xffff;
		return 3;
	case BININT:
		*out = word & 0xffffffff;
		return word & 0x80000000 ? 0 : 5;
	case LONG1:
		n = word & 0xff;
		if (n - 1 >= 7 || at[1 + n] & 0x80)
			return 0;
		*out = word >> 8 & ((UINT64_C(1) << 8 * n) - 1);
		return 2 + n;
	default:
		return 0;
	}
}

/* The number that the value of this opcode has already; HOLE: it has none yet. */
HOT uint32_t known(const struct pickle *p, const unsigned char *at, size_t *length)
{
	uint32_t number = FRAG_PICKLE_HOLE;

	*length = 2;
	if (*at == BININT1)
		return p->small[at[1]] - 1;     /* 0 becomes a hole */
	*length = reference_length(at, &number);
	return number < p->memo_count ? p->memo[number] : FRAG_PICKLE_HOLE;
}

/* What the opcodes that push values work on: a copy, so that it stays in registers. */
struct hand {
	const unsigned char *at;
	uint32_t *to, *full;            /* of the stack */
	struct frag_value *value, *end; /* of the table */
};

static inline struct hand take_up(const struct pickle *p)
{
	const struct frag_values *v = p->values;

	return (struct hand){
		.at = p->at, .to = p->stack + p->count, .full = p->stack + p->capacity,
		.value = v->table + v->count, .end = v->table + v->capacity,
	};
}

static inline void put_down(struct pickle *p, const struct hand *h)
{
	FRAG_ASSERT(h->to <= h->full && h->value <= h->end);
	p->at = h->at;
	p->count = (uint32_t)(h->to - p->stack);
	p->values->count = (uint32_t)(h->value - p->values->table);
}

/* Room for a key and its value? */
static inline bool pickle_plain_has_room(const struct hand *h)
{
	return h->full - h->to > 1 && h->value < h->end;
}

/* False where there is no room for it: who reads it again says so. */
static bool keep_text(struct pickle *p, struct frag_value *value, const unsigned char *from,
		      size_t length)
{
	*value = (struct frag_value){ .kind = FRAG_STRING, .length = (uint32_t)length };
	return frag_values_keep(p->values, from, value->length, &value->as.text) == FRAG_ADDED;
}

/* One opcode that pushes a value; false: it is none, or not plain. */
HOT bool push_one(struct pickle *p, struct hand *h)
{
	size_t length;
	uint64_t integer;
	uint32_t number;

	switch (*h->at) {
	case BINGET:
	case LONG_BINGET:
	case BININT1:
		number = known(p, h->at, &length);
		if (number == FRAG_PICKLE_HOLE)
			return false;
		*h->to++ = number;
		h->at += length;
		return true;
	case BININT2:
	case BININT:
	case LONG1:
		length = plain_integer(h->at, &integer);
		if (!length)
			return false;
		*h->value = (struct frag_value){ .kind = FRAG_INTEGER, .as.magnitude = integer };
		h->at += length;
		break;
	case EMPTY_LIST:
	case EMPTY_DICT:
		*h->value = (struct frag_value){
			.kind = *h->at++ == EMPTY_LIST ? FRAG_LIST : FRAG_DICT, .depth = 1,
		};
		break;
	case SHORT_BINUNICODE:
		length = h->at[1];
		if ((size_t)(p->end - h->at) < length + 2 + SLACK
		    || !keep_text(p, h->value, h->at + 2, length))
			return false;
		h->at += 2 + length;
		break;
	default:
		return false;
	}
	*h->to++ = (uint32_t)(h->value++ - p->values->table);
	return true;
}

/* MEMOIZE; false: not that plainly. */
HOT bool memoize(struct pickle *p, struct hand *h, const uint32_t *ground)
{
	if (h->to == ground || p->memo_count != p->memoized || p->memo_count == p->memo_capacity)
		return false;
	p->memo[p->memo_count++] = h->to[-1];
	p->memoized++;
	h->at++;
	return true;
}

/* Opcodes that push values, and MEMOIZE, as long as they come. */
static void push_many(struct pickle *p, const unsigned char *last)
{
	const uint32_t *const ground = p->stack + frag_pickle_mark_depth(p);
	struct hand h = take_up(p);

	while (h.at <= last && pickle_plain_has_room(&h)
	       && (*h.at == MEMOIZE ? memoize(p, &h, ground) : push_one(p, &h)))
		;
	put_down(p, &h);
}

/* The place for templates whose first key is there. */
static inline struct frag_template *template_at(struct pickle *p, const unsigned char *at)
{
	const uint64_t mask = *at == BINGET ? 0xffff : UINT64_C(0xffffffffff);

	return &p->plain->templates[(frag_word_at((const char *)at) & mask) % FRAG_TEMPLATES];
}

/* The key is the one that the template expects there. */
HOT bool is_expected(const struct frag_template *t, uint32_t i, const unsigned char *at)
{
	return i < t->count
	       && ((frag_word_at((const char *)at) ^ t->keys[i].word) & t->keys[i].mask) == 0;
}

/* A key that nobody expected; its place in the template that is made. */
HOT bool push_key(struct pickle *p, struct hand *h, struct frag_template *made, uint32_t i)
{
	size_t length;
	uint32_t number;

	if (*h->at != BINGET && *h->at != LONG_BINGET)
		return false;
	number = known(p, h->at, &length);
	if (number == FRAG_PICKLE_HOLE)
		return false;
	made->keys[i].mask = (UINT64_C(1) << 8 * length) - 1;
	made->keys[i].word = frag_word_at((const char *)h->at) & made->keys[i].mask;
	made->keys[i].length = (uint32_t)length;
	made->keys[i].number = number;
	*h->to++ = number;
	h->at += length;
	return true;
}

/* A member's value, with what belongs to it. False: it is for others to go on, from h->at. */
HOT bool push_member(struct pickle *p, struct hand *h, const unsigned char *last, int *rc)
{
	const bool list = *h->at == EMPTY_LIST;

	if (!push_one(p, h))
		return false;
	if (*h->at == MEMOIZE && !memoize(p, h, p->stack))
		return false;
	if (!list || *h->at != MARK)
		return true;
	put_down(p, h);
	*rc = read_list(p, last);
	if (*rc || p->at == h->at)
		return false;
	h->at = p->at;
	return true;
}

/* The members down to the mark become the dict's; so the template is known. */
static int end_dict(struct pickle *p, const struct frag_template *t, struct frag_template *made,
		    uint32_t count)
{
	const uint32_t *items = p->stack + p->count - 2 * (size_t)count;
	uint32_t dict = items[-1];
	int rc;

	FRAG_ASSERT(p->mark_count && count && p->count > 2 * count);
	p->mark_count--;
	p->count -= 2 * count;
	if (t && t->count == count)
		return frag_pickle_added(p, frag_values_fill(p->values, dict, t->shape, items,
							     2 * count));
	rc = frag_pickle_added(p, frag_values_add(p->values, dict, items, 2 * count));
	if (!rc && !t && p->values->table[dict].shared) {
		made->shape = p->values->table[dict].as.items[-1];
		made->count = count;
		p->plain->templates[made->keys[0].word % FRAG_TEMPLATES] = *made;
	}
	return rc;
}

/*
 * From after a MARK above an empty dict, as many members as are plain. Most dicts
 * have the keys of one that was there before: then these are only compared.
 */
static int read_dict(struct pickle *p, const unsigned char *last)
{
	struct hand h = take_up(p);
	const struct frag_template *t = template_at(p, h.at);
	struct frag_template *made = &p->plain->made;
	uint32_t i = 0;
	int rc = 0;

	while (i < FRAG_SHAPE_KEYS && h.at <= last && pickle_plain_has_room(&h)
	       && *h.at != SETITEMS) {
		if (t && is_expected(t, i, h.at)) {
			*h.to++ = t->keys[i].number;
			h.at += t->keys[i].length;
		} else {
			if (t)
				memcpy(made->keys, t->keys, i * sizeof(made->keys[0]));
			t = NULL;
			if (!push_key(p, &h, made, i))
				break;
		}
		i++;
		if (h.at > last || !push_member(p, &h, last, &rc))
			goto out;
	}
	if (i && h.at <= last && *h.at == SETITEMS) {
		h.at++;
		put_down(p, &h);
		return end_dict(p, t, made, i);
	}
out:
	put_down(p, &h);
	return rc;
}

/* A MARK; above an empty box, all that is in the box where that is plain. */
static int read_mark(struct pickle *p, const unsigned char *last)
{
	const struct frag_value *top = p->count > frag_pickle_mark_depth(p)
		? &p->values->table[p->stack[p->count - 1]] : NULL;
	const unsigned char *at = p->at;
	int rc = 0;

	if (top && top->kind == FRAG_LIST && !top->length) {
		rc = read_list(p, last);
		if (rc || p->at != at)
			return rc;
	}
	if (p->mark_count == FRAG_PICKLE_MARKS)
		return frag_pickle_added(p, FRAG_ADD_TOO_DEEP);
	p->marks[p->mark_count++] = p->count;
	p->at++;
	return top && top->kind == FRAG_DICT && !top->length ? read_dict(p, last) : 0;
}

/*
 * Up to `last` no opcode has to look for the window's end: the longest one, and a
 * word read too far, fit after it. Before the file's end that margin is larger,
 * so that whole dicts are seen at once.
 */
int frag_pickle_plain(struct pickle *p)
{
	const size_t rest = p->in && !p->in->eof ? FRAG_PICKLE_AHEAD / 2 : SLACK;
	const unsigned char *last;
	int rc = 0;

	if ((size_t)(p->end - p->at) < rest || !p->plain)
		return 0;
	last = p->end - rest;
	while (!rc) {
		push_many(p, last);
		p->op = p->at;
		if (p->at > last)
			break;
		if (*p->at == MARK) {
			rc = read_mark(p, last);
		} else if (*p->at == SETITEMS) {
			p->at++;
			rc = frag_pickle_join(p, FRAG_DICT);
		} else {
			break;
		}
	}
	return rc;
}
