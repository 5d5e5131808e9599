/* recordings.c - recordings of one program at several numbers: batch sizes, lengths. */
#include "transform/recordings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "base/parse.h"

/* What is left to be read of a text. */
struct rest {
	const char *p;
	size_t left;
};

/* Takes the digits up to the next other byte, or else one byte. */
static struct rest recording_number_take(struct rest *r)
{
	struct rest part = { .p = r->p, .left = 1 };

	while (frag_is_digit(*r->p) && part.left < r->left
	       && frag_is_digit(r->p[part.left]))
		part.left++;
	r->p += part.left;
	r->left -= part.left;
	return part;
}

static bool recordings_same(struct rest a, struct rest b)
{
	return a.left == b.left && memcmp(a.p, b.p, a.left) == 0;
}

static bool is_number(struct rest part, uint32_t number)
{
	char text[FRAG_NUMBER_ROOM];
	const size_t length = (size_t)(frag_put_u64(text, number) - text);

	return recordings_same(part, (struct rest){ .p = text, .left = length });
}

bool frag_text_same_except_number(struct frag_text a, uint32_t a_number, struct frag_text b,
			  uint32_t b_number)
{
	struct rest x = { .p = a.text, .left = a.length }, y = { .p = b.text, .left = b.length };

	while (x.left && y.left) {
		const struct rest here = recording_number_take(&x),
				  there = recording_number_take(&y);

		if (!recordings_same(here, there)
		    && !(is_number(here, a_number) && is_number(there, b_number)))
			return false;
	}
	return x.left == y.left;
}

struct frag_text frag_own_number_at(struct frag_text a, struct frag_text b, uint32_t number,
				    char *out)
{
	struct rest x = { .p = a.text, .left = a.length }, y = { .p = b.text, .left = b.length };
	char *p = out;

	while (x.left && y.left) {
		const struct rest here = recording_number_take(&x),
				  there = recording_number_take(&y);

		if (recordings_same(here, there))
			p = (char *)memcpy(p, here.p, here.left) + here.left;
		else
			p = frag_put_u64(p, number);
	}
	return (struct frag_text){ .text = out, .length = (uint32_t)(p - out) };
}

#define WORDS_ROOM 300

static void rank_numbers(struct frag_recordings *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t rank = 0;

		for (uint32_t k = 0; k < r->count; k++)
			rank += r->of[k].number < r->of[i].number;
		r->of[i].rank = rank;
		r->numbers.at[rank] = r->of[i].number;
	}
	r->numbers.count = r->count;
}

static int recordings_init(struct frag_recordings *r, const struct frag_recordings_options *o,
			   struct frag_error *err)
{
	*r = (struct frag_recordings){ .count = o->count };
	for (uint32_t i = 0; i < r->count; i++)
		r->of[i] = (struct frag_recording){
			.trace = o->traces[i], .number = o->numbers[i],
		};
	rank_numbers(r);
	r->on_tapes = o->tapes != NULL;
	for (uint32_t i = 0; i < r->count && r->on_tapes; i++)
		r->on_tapes = o->tapes[i] != NULL;
	r->ready = frag_map_init(&r->known, frag_hash_seed());
	return r->ready ? 0 : frag_fail_nomem(err);
}

void frag_recordings_fini(struct frag_recordings *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->of[i].twin);
	free(r->seen);
	free(r->sizes);
	free(r->which);
	free(r->born);
	free(r->others);
	free(r->other_marks);
	if (r->ready)
		frag_map_fini(&r->known);
	*r = (struct frag_recordings){ .count = 0 };
}

static const struct frag_event *recordings_event_of(const struct frag_recording *of)
{
	return &of->batch.events[of->next];
}

static const struct frag_record *recordings_record_of(const struct frag_recording *of)
{
	return &of->batch.records[of->next];
}

/* The next event, or none at its end. */
static int recordings_advance(struct frag_recording *of, const struct frag_recordings_options *o,
			      uint32_t i, struct frag_error *err)
{
	int rc;

	if (of->next < of->batch.count)
		return 0;
	of->next = 0;
	rc = frag_trace_next(of->trace, &of->batch, err);
	if (!rc && o->tapes && o->tapes[i])
		rc = frag_tape_write(o->tapes[i], &of->batch, err);
	for (uint32_t k = 0; !rc && o->records && k < of->batch.count; k++)
		if (!frag_record_buffer_add(&o->records[i], &(struct frag_item){
			.rec = of->batch.records[k], .block = FRAG_NO_BLOCK_NUMBER }))
			rc = frag_fail_nomem(err);
	return rc;
}

static bool same_text(struct frag_text a, struct frag_text b)
{
	return !a.text == !b.text && a.length == b.length
	       && (!a.text || memcmp(a.text, b.text, a.length) == 0);
}

static struct frag_text recordings_tag_of(const struct frag_recording *of)
{
	const uint32_t tag = recordings_event_of(of)->tag;

	if (!tag)
		return (struct frag_text){ .text = NULL };
	return frag_symbols_tag(frag_trace_symbols(of->trace), tag);
}

/* The tag of an alloc, or the name of a mark; none of other events. */
static struct frag_text recordings_name_at(const struct frag_recording *of)
{
	const struct frag_event *ev = recordings_event_of(of);

	if (ev->op == FRAG_OP_ALLOC)
		return recordings_tag_of(of);
	return ev->op == FRAG_OP_MARK ? ev->text : (struct frag_text){ .text = NULL };
}

/* A recording without tags says nothing against those of another one. */
static bool same_name(const struct frag_recording *a, const struct frag_recording *b)
{
	const struct frag_text name = recordings_name_at(a), other = recordings_name_at(b);

	return !name.text || !other.text || same_text(name, other)
	       || frag_text_same_except_number(name, a->number, other, b->number);
}

static bool is_pending(const struct frag_record *rec)
{
	return rec->members & FRAG_HAS_PENDING && rec->pending;
}

uint32_t frag_recordings_sizes(struct frag_recordings *r, const uint64_t *at)
{
	uint64_t hash = r->known.seed;
	uint32_t home, i;

	for (i = 0; i < r->count; i++)
		hash = frag_hash_mix(hash ^ frag_hash_key(at[i], hash));
	home = frag_map_home(&r->known, hash);
	while ((i = frag_map_next(&r->known, hash, &home)) != FRAG_MAP_NONE)
		if (memcmp(r->sizes[i].at, at, r->count * sizeof(*at)) == 0)
			return i;
	if (!FRAG_GROW(r->sizes, r->size_capacity, r->size_count)
	    || !frag_map_add(&r->known, hash, r->size_count))
		return UINT32_MAX;
	r->sizes[r->size_count].allocs = 0;
	memcpy(r->sizes[r->size_count].at, at, r->count * sizeof(*at));
	r->sizes[r->size_count].growth = frag_growth_of(&r->numbers, at);
	r->sizes[r->size_count].steep = frag_size_is_steep(&r->numbers, at);
	return r->size_count++;
}

/* Gives two initial blocks of the first recording each other's sizes in b; false: out of memory. */
static bool swap_sizes(struct frag_recordings *r, const struct frag_recording *b, uint32_t x,
		       uint32_t y)
{
	const uint32_t old[] = { r->which[x], r->which[y] };
	uint64_t at[2][FRAG_RECORDINGS_MAX];

	for (uint32_t k = 0; k < 2; k++) {
		memcpy(at[k], r->sizes[old[k]].at, sizeof(at[k]));
		at[k][b->rank] = r->sizes[old[!k]].at[b->rank];
	}
	for (uint32_t k = 0; k < 2; k++) {
		const uint32_t now = frag_recordings_sizes(r, at[k]);

		if (now == UINT32_MAX)
			return false;
		r->sizes[old[k]].allocs--;
		r->sizes[now].allocs++;
		r->which[k ? y : x] = now;
	}
	return true;
}

/*
 * Is the block of slot x in the first recording that of slot y in b? Of initial blocks that no
 * event has used the match can change.
 */
static bool same_slot(struct frag_recordings *r, struct frag_recording *b, uint32_t x, uint32_t y)
{
	uint32_t before = 0, other;

	if (x >= r->initial || y >= r->initial)
		return x == y;
	other = b->twin[y];
	if (other != x) {
		const uint64_t *is = r->sizes[r->which[x]].at, *was = r->sizes[r->which[other]].at;

		if (r->seen[x] || r->seen[other]
		    || (is[b->rank] != was[b->rank] && !swap_sizes(r, b, x, other)))
			return false;
		while (b->twin[before] != x)
			before++;
		b->twin[before] = other;
		b->twin[y] = x;
		r->matched = true;
	}
	return true;
}

/*
 * Slots, streams and pools are numbered in the order of their first use, so up to here equal
 * numbers are equal objects. A free's streams depend on the events before it, except
 * `pending`.
 */
static bool same_event(struct frag_recordings *r, struct frag_recording *b)
{
	const struct frag_recording *a = &r->of[0];
	const struct frag_event *x = recordings_event_of(a), *y = recordings_event_of(b);

	if (x->op != y->op || x->device != y->device)
		return false;
	switch ((enum frag_op)x->op) {
	case FRAG_OP_ALLOC:
		return same_slot(r, b, x->slot, y->slot) && x->stream == y->stream
		       && x->pool == y->pool && same_name(a, b);
	case FRAG_OP_FREE:
		return same_slot(r, b, x->slot, y->slot)
		       && is_pending(recordings_record_of(a))
				  == is_pending(recordings_record_of(b));
	case FRAG_OP_COMPLETE:
		return same_slot(r, b, x->slot, y->slot);
	case FRAG_OP_RECORD_STREAM:
		return same_slot(r, b, x->slot, y->slot) && x->stream == y->stream;
	case FRAG_OP_SYNC:
		return x->stream == y->stream;
	case FRAG_OP_RELEASE_POOL:
	case FRAG_OP_END_POOL:
		return x->pool == y->pool;
	case FRAG_OP_BEGIN_POOL:
		return x->pool == y->pool && x->stream == y->stream;
	case FRAG_OP_SET_FRACTION:
		return !(x->fraction < y->fraction) && !(x->fraction > y->fraction);
	case FRAG_OP_CONFIGURE:
		return same_text(x->text, y->text);
	case FRAG_OP_MARK:
		return same_name(a, b);
	case FRAG_OP_EMPTY_CACHE:
	case FRAG_OPS:
		break;
	}
	return true;
}

static void recordings_add_handle(char words[WORDS_ROOM], const char *before,
				  const struct frag_handle *h)
{
	const size_t used = strlen(words);

	if (h->text)
		snprintf(words + used, WORDS_ROOM - used, "%s\"%.*s\"", before,
			 h->number < 40 ? (int)h->number : 40, h->text);
	else
		snprintf(words + used, WORDS_ROOM - used, "%s%" PRIu64, before, h->number);
}

/* "alloc on stream 7 of device 1 "conv1"", "free of the block of step 12". */
static void recordings_describe(const struct frag_recordings *r, const struct frag_recording *of,
				char words[WORDS_ROOM])
{
	const struct frag_event *ev = recordings_event_of(of);
	const struct frag_record *rec = recordings_record_of(of);
	const struct frag_text tag = ev->op == FRAG_OP_ALLOC ? recordings_tag_of(of) : ev->text;

	snprintf(words, WORDS_ROOM, "%s", frag_op_name((enum frag_op)ev->op));
	if (ev->op == FRAG_OP_FREE || ev->op == FRAG_OP_COMPLETE || ev->op == FRAG_OP_RECORD_STREAM)
		snprintf(words + strlen(words), WORDS_ROOM - strlen(words),
			 " of the block of event %" PRIu64, r->born[ev->slot]);
	if (ev->op == FRAG_OP_FREE && is_pending(rec))
		snprintf(words + strlen(words), WORDS_ROOM - strlen(words), ", pending");
	if (rec->members & FRAG_HAS_STREAM)
		recordings_add_handle(words, " on stream ", &rec->stream);
	if (rec->members & FRAG_HAS_POOL)
		recordings_add_handle(words, " in pool ", &rec->pool);
	if (rec->members & FRAG_HAS_DEVICE)
		snprintf(words + strlen(words), WORDS_ROOM - strlen(words),
			 " of device %" PRIu64, rec->device);
	if (ev->op == FRAG_OP_SET_FRACTION)
		frag_snprintf(words + strlen(words), WORDS_ROOM - strlen(words), " of %g",
			      ev->fraction);
	if (tag.text)
		snprintf(words + strlen(words), WORDS_ROOM - strlen(words), " \"%.*s\"",
			 tag.length < 80 ? (int)tag.length : 80, tag.text);
}

static const char *recordings_name_of(const struct frag_recording *of)
{
	return frag_input_name(frag_trace_info(of->trace)->path);
}

/* Each with its own step: with --lenient they may count differently. */
static int differ(struct frag_recordings *r, const struct frag_recording *other,
		  struct frag_error *err)
{
	const struct frag_recording *first = &r->of[0];
	char here[WORDS_ROOM], there[WORDS_ROOM];

	r->differ = r->on_tapes;
	recordings_describe(r, first, here);
	recordings_describe(r, other, there);
	return frag_fail(err, FRAG_ETRACE,
			 "%.200s, event %" PRIu64 ": %s, where %.200s has, at event"
			 " %" PRIu64 ": %s; recordings of one program have the same events",
			 recordings_name_of(other), recordings_event_of(other)->step, there,
			 recordings_name_of(first), recordings_event_of(first)->step, here);
}

static int ends_early(struct frag_recordings *r, const struct frag_recording *ended,
		      const struct frag_recording *longer, struct frag_error *err)
{
	char words[WORDS_ROOM];

	r->differ = r->on_tapes;
	recordings_describe(r, longer, words);
	return frag_fail(err, FRAG_ETRACE,
			 "%.200s: it has ended, where %.200s has, at event %" PRIu64
			 ": %s; recordings of one program have the same events",
			 recordings_name_of(ended), recordings_name_of(longer),
			 recordings_event_of(longer)->step, words);
}

/* Of the k-th initial block of the first recording: how many bytes recording i has for it. */
static uint64_t initial_bytes(const struct frag_recordings *r, uint32_t i, uint32_t k)
{
	uint32_t its = k;

	for (its = 0; i && r->of[i].twin[its] != k;)
		its++;
	return r->of[i].batch.events[i ? its : k].bytes;
}

/* The initial blocks of a recording, as far as its first batch has them. */
static uint32_t count_initial(const struct frag_recording *of)
{
	uint32_t n = 0;

	while (n < of->batch.count && of->batch.events[n].place && of->batch.events[n].slot == n)
		n++;
	return n;
}

/* Does each initial block, by address, have sizes that grow? */
static bool initial_grow(const struct frag_recordings *r, uint32_t n)
{
	uint64_t at[FRAG_RECORDINGS_MAX];
	bool good = true;

	for (uint32_t k = 0; k < n && good; k++) {
		for (uint32_t i = 0; i < r->count; i++)
			at[r->of[i].rank] = r->of[i].batch.events[k].bytes;
		good = frag_growth_of(&r->numbers, at) != FRAG_UNEXPLAINED;
	}
	return good;
}

/* How many of them are as large as their match? */
static uint32_t equal_initial(const struct frag_recordings *r, const struct frag_recording *b,
			      uint32_t n)
{
	uint32_t equal = 0;

	for (uint32_t y = 0; y < n; y++)
		equal += b->batch.events[y].bytes == r->of[0].batch.events[b->twin[y]].bytes;
	return equal;
}

/* Matches initial blocks with those of the first recording: of equal sizes, then rising. */
static void match_initial(struct frag_recordings *r, struct frag_recording *b, uint32_t n)
{
	const struct frag_event *mine = r->of[0].batch.events, *its = b->batch.events;
	uint32_t x, y;

	memset(b->twin, 0xff, n * sizeof(*b->twin));
	memset(r->seen, 0, n);
	for (y = 0; y < n; y++) {
		for (x = 0; x < n && (r->seen[x] || mine[x].bytes != its[y].bytes); x++)
			;
		if (x < n) {
			b->twin[y] = x;
			r->seen[x] = true;
		}
	}
	for (;;) {
		uint32_t least = n, small = n;

		for (y = 0; y < n; y++)
			if (b->twin[y] == UINT32_MAX
			    && (least == n || its[y].bytes < its[least].bytes))
				least = y;
		for (x = 0; x < n; x++)
			if (!r->seen[x] && (small == n || mine[x].bytes < mine[small].bytes))
				small = x;
		if (least == n)
			break;
		b->twin[least] = small;
		r->seen[small] = true;
	}
	memset(r->seen, 0, n);
}

/* Before the first event: matches initial blocks by size, if more are equal than by address. */
static int begin_initial(struct frag_recordings *r, struct frag_error *err)
{
	const uint32_t n = count_initial(&r->of[0]);

	for (uint32_t i = 1; i < r->count; i++) {
		if (count_initial(&r->of[i]) == n)
			continue;
		r->differ = r->on_tapes;
		return frag_fail(err, FRAG_ETRACE, "%.200s begins with %" PRIu32 " blocks from"
					 " before its history, %.200s with %" PRIu32 "; begin each"
					 " recording at the same point of the program",
					 recordings_name_of(&r->of[i]), count_initial(&r->of[i]),
					 recordings_name_of(&r->of[0]), n);
	}
	if (!n || n == r->of[0].batch.count)
		return 0;
	r->seen = calloc(n, sizeof(*r->seen));
	for (uint32_t i = 1; i < r->count && r->seen; i++) {
		struct frag_recording *b = &r->of[i];
		uint32_t equal = 0;

		b->twin = calloc(n, sizeof(*b->twin));
		if (!b->twin)
			return frag_fail_nomem(err);
		for (uint32_t y = 0; y < n; y++)
			b->twin[y] = y;
		equal = equal_initial(r, b, n);
		match_initial(r, b, n);
		if (initial_grow(r, n) && equal_initial(r, b, n) == equal)
			for (uint32_t y = 0; y < n; y++)
				b->twin[y] = y;
		else
			r->matched = true;
	}
	r->initial = n;
	return r->seen ? 0 : frag_fail_nomem(err);
}

static int recordings_add_alloc(struct frag_recordings *r, struct frag_error *err)
{
	const struct frag_event *ev = recordings_event_of(&r->of[0]);
	uint64_t at[FRAG_RECORDINGS_MAX];
	uint32_t which;

	for (uint32_t i = 0; i < r->count; i++)
		at[r->of[i].rank] = r->alloc_count < r->initial
					    ? initial_bytes(r, i, r->alloc_count)
					    : recordings_event_of(&r->of[i])->bytes;
	which = frag_recordings_sizes(r, at);
	if (which == UINT32_MAX
	    || !FRAG_GROW(r->which, r->alloc_capacity, r->alloc_count)
	    || !FRAG_GROW(r->born, r->slot_capacity, ev->slot))
		return frag_fail_nomem(err);
	r->which[r->alloc_count++] = which;
	r->sizes[which].allocs++;
	r->born[ev->slot] = ev->step;
	return 0;
}

static int one_event(struct frag_recordings *r, struct frag_error *err)
{
	const struct frag_event *ev = recordings_event_of(&r->of[0]);
	/* initial blocks are no events that show a match */
	const bool initial = r->alloc_count < r->initial;
	int rc = 0;

	for (uint32_t i = 1; i < r->count && !initial; i++)
		if (!same_event(r, &r->of[i])
		    || (i > 1 && !same_name(&r->of[i - 1], &r->of[i])))
			return differ(r, &r->of[i], err);
	if (!initial && ev->slot < r->initial)
		r->seen[ev->slot] = true;
	if (ev->op == FRAG_OP_ALLOC)
		rc = recordings_add_alloc(r, err);
	for (uint32_t i = 0; i < r->count; i++)
		r->of[i].next++;
	return rc;
}

/* The next event of each. 1: there is one; 0: all have ended. */
static int advance_all(struct frag_recordings *r, const struct frag_recordings_options *o,
		       struct frag_error *err)
{
	const bool fresh = r->of[0].next == r->of[0].batch.count;
	int rc = 0;

	if (fresh)
		rc = frag_read_check(&o->read, err);
	for (uint32_t i = 0; i < r->count && !rc; i++)
		rc = recordings_advance(&r->of[i], o, i, err);
	if (!rc && fresh)
		frag_read_show(&o->read, frag_trace_info(r->of[0].trace));
	for (uint32_t i = 1; i < r->count && !rc; i++) {
		const struct frag_recording *a = &r->of[0], *b = &r->of[i];

		if (a->batch.count && !b->batch.count)
			rc = ends_early(r, b, a, err);
		else if (!a->batch.count && b->batch.count)
			rc = ends_early(r, a, b, err);
	}
	return rc ? rc : r->of[0].batch.count != 0;
}

static int check_devices(const struct frag_recordings *r, struct frag_error *err)
{
	const uint32_t count = frag_trace_info(r->of[0].trace)->device_count;

	for (uint32_t i = 1; i < r->count; i++) {
		const uint32_t other = frag_trace_info(r->of[i].trace)->device_count;

		if (other != count)
			return frag_fail(
				err, FRAG_ETRACE,
				"%.300s has %" PRIu32 " device%s, and"
				" %.300s %" PRIu32 "; recordings of one program have the same",
				recordings_name_of(&r->of[i]), other, other == 1 ? "" : "s",
				recordings_name_of(&r->of[0]), count);
	}
	return 0;
}

/* Reads recordings that differ to their ends, onto their tapes. False: interrupted, or it fails. */
static bool read_remainder(struct frag_recordings *r, const struct frag_recordings_options *o)
{
	struct frag_error own = { .code = 0 };
	int rc = 0;

	for (uint32_t i = 0; i < r->count; i++)
		do {
			r->of[i].next = r->of[i].batch.count;
			rc = rc ? rc : frag_read_check(&o->read, &own);
			rc = rc ? rc : recordings_advance(&r->of[i], o, i, &own);
		} while (!rc && r->of[i].batch.count);
	return !rc;
}

int frag_recordings_read(struct frag_recordings *r, const struct frag_recordings_options *options,
			 struct frag_error *err)
{
	int rc = recordings_init(r, options, err);

	rc = rc ? rc : check_devices(r, err);
	for (bool first = true; !rc; first = false) {
		rc = advance_all(r, options, err);
		if (rc <= 0)
			break;
		rc = first ? begin_initial(r, err) : 0;
		rc = rc ? rc : one_event(r, err);
	}
	if (r->differ && !read_remainder(r, options)) {
		*err = (struct frag_error){ .code = 0 };
		r->differ = false;
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	}
	return rc;
}

/*
 * Copies the members that decide the simulation to the top level; the others are nested. False: out
 * of memory.
 */
static bool write_recorder(FILE *f, struct frag_node_ref meta)
{
	static const char *const kept[] = { "recorder", "pytorch", "alloc_conf" };
	struct frag_node_ref member;

	for (uint32_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const char *text;
		char *json;

		if (!frag_json_member(meta, kept[i], &member)
		    || frag_json_kind(member) != FRAG_JSON_STRING)
			continue;
		text = frag_json_string(member);
		json = frag_new_json(text, strlen(text));
		if (!json)
			return false;
		fprintf(f, ",\"%s\":%s", kept[i], json);
		free(json);
	}
	return true;
}

/* root: what `old` says, NULL where there is none. */
static bool write_meta(FILE *f, const char *member, const char *body, struct frag_text old,
		       struct frag_node_ref root)
{
	struct frag_node_ref same;
	bool good = true;

	fprintf(f, "{\"%s\":{%s", member, body);
	if (root.node && frag_json_member(root, member, &same) > 0) {
		fputs(",\"meta\":", f);
		fwrite(old.text, 1, old.length, f);
		fputc('}', f);
		good = write_recorder(f, root);
		fputc('}', f);
	} else if (root.node && frag_json_first(root).node) {
		/* its own brace gives way to a comma */
		fputs("},", f);
		fwrite(old.text + 1, 1, old.length - 1, f);
	} else {
		fputs("}}", f);
	}
	return good;
}

int frag_meta_begin(struct frag_sink *sink, const struct frag_trace_info *head, const char *member,
		    const char *body, struct frag_error *err)
{
	struct frag_trace_info with = *head;
	struct frag_json doc = { .root = NULL };
	struct frag_node_ref root = { .node = NULL };
	struct frag_memory meta;
	bool good = frag_memory_open(&meta);
	int rc;

	if (!good)
		return frag_fail_nomem(err);
	if (head->meta.text) {
		root = frag_json_parse(&doc, head->meta.text, head->meta.length);
		good = root.node != NULL;
	}
	good = good && write_meta(meta.f, member, body, head->meta, root);
	if (head->meta.text)
		frag_json_end(&doc);
	good = frag_memory_close(&meta) && good;
	with.meta = (struct frag_text){ .text = meta.text, .length = (uint32_t)meta.size };
	FRAG_ASSERT(!head->beginning);  /* its blocks are of other sizes, and at other events */
	rc = good ? sink->ops->begin(sink, &with, err) : frag_fail_nomem(err);
	free(meta.text);
	return rc;
}
