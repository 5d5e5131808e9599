/* align_recordings.c - recordings of one program, one with insertions, on their tapes. */
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/parse.h"
#include "events/tape.h"
#include "transform/align.h"
#include "transform/recordings.h"

#define BRIEF 6                 /* events that a block of one operation lives, at most */
#define LASTING 40              /* likewise an insertion, in recordings of one program: a sort takes 30 */
#define BACKWARD "autograd"     /* tags of blocks of a backward pass begin so */

/* A recording, for the comparison. */
struct aligned {
	uint32_t number;
	struct frag_align_item *items;
	uint32_t count, capacity;
	uint64_t *bytes;                /* by alloc */
	struct frag_text *tags;         /* likewise; of the tape */
	struct frag_text *marks;
	uint32_t mark_count, mark_capacity;
	uint32_t *ends;                 /* events that it lived; UINT32_MAX: never freed */
	uint32_t allocs, alloc_capacity, tag_capacity, end_capacity;
	uint32_t initial;               /* the first allocs are from before the history */
	uint64_t others;                /* hash of all operations on no block */
};

/* Of a text: its hash, and that of the text without the number, where that stands alone. */
static uint64_t hash_name(struct frag_text text, uint32_t number, uint64_t seed, bool own)
{
	char digits[FRAG_NUMBER_ROOM];
	const uint32_t length = (uint32_t)(frag_put_u64(digits, number) - digits);
	uint64_t hash = seed;
	uint32_t from = 0;

	for (uint32_t i = 0; own && i + length <= text.length;) {
		uint32_t end = i;

		while (end < text.length && frag_is_digit(text.text[end]))
			end++;
		if (end - i == length && memcmp(text.text + i, digits, length) == 0) {
			hash = frag_hash_mix(hash ^ frag_hash_text(text.text + from, i - from, seed)) + 1;
			from = end;
		}
		i = end > i ? end : i + 1;
	}
	return frag_hash_mix(hash ^ frag_hash_text(text.text ? text.text + from : "",
						   text.length - from, seed));
}

static uint64_t item_name(const struct frag_event *ev, struct frag_text text, uint32_t number, bool own)
{
	uint64_t hash = hash_name(text, number, 1, own);

	if (ev->op != FRAG_OP_ALLOC)
		return hash;
	hash = frag_hash_mix(hash ^ ev->stream);
	hash = frag_hash_mix(hash ^ ((uint64_t)ev->pool << 32 | ev->device));
	return hash;
}

static bool align_note_alloc(struct aligned *a, const struct frag_event *ev, struct frag_text tag)
{
	if (!FRAG_GROW(a->bytes, a->alloc_capacity, a->allocs)
	    || !FRAG_GROW(a->tags, a->tag_capacity, a->allocs)
	    || !FRAG_GROW(a->ends, a->end_capacity, a->allocs))
		return false;
	a->bytes[a->allocs] = ev->bytes;
	a->tags[a->allocs] = tag;
	a->ends[a->allocs++] = UINT32_MAX;
	return true;
}

static bool align_note(struct aligned *a, const struct frag_symbols *symbols, const struct frag_event *ev)
{
	const bool alloc = ev->op == FRAG_OP_ALLOC;
	const struct frag_text text = !alloc ? ev->text : ev->tag ? frag_symbols_tag(symbols, ev->tag)
				      : (struct frag_text){ .text = "" };

	if (alloc ? !align_note_alloc(a, ev, text) : !FRAG_GROW(a->marks, a->mark_capacity, a->mark_count))
		return false;
	if (!alloc)
		a->marks[a->mark_count++] = text;
	if (alloc && ev->place) {
		a->initial++;
		return true;
	}
	if (!FRAG_GROW(a->items, a->capacity, a->count))
		return false;
	a->items[a->count++] = (struct frag_align_item){
		.name = item_name(ev, text, a->number, false),
		.own_name = item_name(ev, text, a->number, true),
		.bytes = ev->bytes, .alloc = alloc ? a->allocs - 1 : FRAG_NO_ALLOC,
	};
	return true;
}

/* What an operation on no block is: these are the same in all recordings. */
static void align_note_other(struct aligned *a, const struct frag_event *ev)
{
	uint64_t hash = a->others ^ ev->op ^ (uint64_t)ev->device << 8 ^ (uint64_t)ev->stream << 24
			^ (uint64_t)ev->pool << 44;

	if (ev->op == FRAG_OP_SET_FRACTION)
		hash = frag_hash_mix(hash) ^ (uint64_t)(ev->fraction * 1e15);
	if (ev->op == FRAG_OP_CONFIGURE)
		hash = frag_hash_mix(hash) ^ frag_hash_text(ev->text.text, ev->text.length, 1);
	a->others = frag_hash_mix(hash);
}

static bool is_of_block(const struct frag_event *ev)
{
	return ev->op == FRAG_OP_FREE || ev->op == FRAG_OP_COMPLETE || ev->op == FRAG_OP_RECORD_STREAM;
}

/* The items of a tape, and how long its blocks live. False: out of memory. */
static bool align_read(struct aligned *a, const struct frag_tape *tape)
{
	const struct frag_symbols *symbols = frag_tape_symbols(tape);
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;
	uint32_t *alloc_of = NULL, count = 0, capacity = 0, event = 0;  /* by slot */
	uint32_t *born = NULL, born_count = 0, born_capacity = 0;       /* by slot: the event */
	bool good = w.reader;

	for (; good && (ev = frag_tape_walk_next(&w)); event++) {
		if (ev->op == FRAG_OP_ALLOC) {
			good = FRAG_EXTEND(alloc_of, capacity, count, ev->slot)
			       && FRAG_EXTEND(born, born_capacity, born_count, ev->slot)
			       && align_note(a, symbols, ev);
			if (good)
				alloc_of[ev->slot] = a->allocs - 1, born[ev->slot] = event;
		} else if (ev->op == FRAG_OP_FREE && ev->slot < count) {
			a->ends[alloc_of[ev->slot]] = event - born[ev->slot];
		} else if (ev->op == FRAG_OP_MARK) {
			good = align_note(a, symbols, ev);
		} else if (!is_of_block(ev)) {
			align_note_other(a, ev);
		}
	}
	for (uint32_t i = 0; i < a->count; i++)
		if (a->items[i].alloc != FRAG_NO_ALLOC)
			a->items[i].brief = a->ends[a->items[i].alloc] <= BRIEF;
	frag_tape_reader_del(w.reader);
	free(alloc_of);
	free(born);
	return good;
}

/* A block from before the history, in the order in which such blocks are paired. */
struct initial_block {
	uint64_t bytes;                 /* 0: sizes no longer count; likewise the end */
	uint32_t end, alloc;
};

static int by_size_and_end(const void *a, const void *b)
{
	const struct initial_block *x = a, *y = b;
	const bool mine = x->end == UINT32_MAX, its = y->end == UINT32_MAX;

	if (mine != its)
		return mine ? 1 : -1;
	return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1)
				    : frag_order_two(x->end, y->end, x->alloc, y->alloc);
}

/* The blocks that have no partner yet, sorted. */
static uint32_t initial_left(const struct aligned *a, const bool *paired, int pass,
			     struct initial_block *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->initial; i++)
		if (!paired[i])
			out[count++] = (struct initial_block){
				.bytes = pass < 1 ? a->bytes[i] : 0,
				.end = pass < 2 ? a->ends[i] : 0, .alloc = i,
			};
	FRAG_SORT(out, count, by_size_and_end);
	return count;
}

/*
 * Blocks from before the history come by address. Those of equal sizes are paired in the order of
 * their frees, then those that are freed, or not, likewise, then all others. False: out of memory.
 */
static bool align_initial(const struct aligned *small, const struct aligned *large, uint32_t *twin)
{
	const size_t room = (size_t)small->initial + large->initial + 1;
	struct initial_block *x = malloc(2 * room * sizeof(*x)), *y = x ? x + room : NULL;
	bool *paired = calloc(2 * room, sizeof(*paired)), *used = paired ? paired + room : NULL;

	for (int pass = 0; x && paired && pass < 3; pass++) {
		const uint32_t n = initial_left(small, used, pass, x);
		const uint32_t m = initial_left(large, paired, pass, y);

		for (uint32_t i = 0, k = 0; i < n && k < m;) {
			const bool freed = x[i].end != UINT32_MAX, its = y[k].end != UINT32_MAX;

			if (freed != its || x[i].bytes != y[k].bytes) {
				if (freed != its ? freed : x[i].bytes < y[k].bytes)
					i++;
				else
					k++;
				continue;
			}
			twin[y[k].alloc] = x[i].alloc;
			paired[y[k++].alloc] = used[x[i++].alloc] = true;
		}
	}
	free(x);
	free(paired);
	return x && paired;
}

/* By alloc of the template: the alloc of another recording; UINT32_MAX: it lacks the block. */
static int align_one(const struct aligned *small, const struct aligned *large, uint32_t *twin,
		     struct frag_error *err)
{
	const struct frag_align_side sides[] = {
		{ small->items, small->count, small->number }, { large->items, large->count, large->number },
	};
	uint32_t *twins = malloc(((size_t)large->count + 1) * sizeof(*twins));
	int rc = twins ? frag_align(&sides[0], &sides[1], twins, err) : frag_fail_nomem(err);

	for (uint32_t k = 0; k < large->allocs; k++)
		twin[k] = UINT32_MAX;
	for (uint32_t k = 0; k < large->count && !rc; k++)
		if (twins[k] != UINT32_MAX && large->items[k].alloc != FRAG_NO_ALLOC)
			twin[large->items[k].alloc] = small->items[twins[k]].alloc;
	if (!rc && !align_initial(small, large, twin))
		rc = frag_fail_nomem(err);
	free(twins);
	return rc;
}

/* Is it one program, by how many of the allocs correspond? *differ: some do not. */
static bool is_one_program(const struct aligned *small, const struct aligned *large,
			   const uint32_t *twin, bool *differ)
{
	uint32_t paired = 0;

	for (uint32_t k = 0; k < large->allocs; k++)
		paired += twin[k] != UINT32_MAX;
	*differ |= paired < large->allocs || paired < small->allocs;
	return small->others == large->others && 2 * (uint64_t)paired >= large->allocs && 10 * (uint64_t)paired >= 9 * (uint64_t)small->allocs;
}

/* Notes the name of another recording, unless one that differs is noted already. */
static bool note_other_name(struct frag_text **list, uint32_t *capacity, uint32_t i, struct frag_text name,
			    struct frag_text other)
{
	const uint32_t old = *capacity;

	if (old <= i && !frag_grow(list, capacity, (uint64_t)i + 1, sizeof(**list)))
		return false;
	if (*capacity > old)
		memset(*list + old, 0, (*capacity - old) * sizeof(**list));
	if (!(*list)[i].text && (name.length != other.length
				 || memcmp(name.text, other.text, name.length) != 0))
		(*list)[i] = other;
	return true;
}

/* The names of a recording for the template's tags and marks. */
static bool align_take_names(struct frag_recordings *r, const struct aligned *a,
			     const struct aligned *template, const uint32_t *twins)
{
	bool good = true;

	for (uint32_t k = 0; k < template->allocs && good; k++)
		good = twins[k] == UINT32_MAX
		       || note_other_name(&r->others, &r->others_capacity, k, template->tags[k],
					  a->tags[twins[k]]);
	for (uint32_t k = 0; k < template->mark_count && good && a->mark_count == template->mark_count; k++)
		good = note_other_name(&r->other_marks, &r->marks_capacity, k, template->marks[k],
				       a->marks[k]);
	return good;
}

static bool is_of_backward(struct frag_text tag)
{
	return tag.length >= sizeof(BACKWARD) - 1 && memcmp(tag.text, BACKWARD, sizeof(BACKWARD) - 1) == 0;
}

/* The sizes of each alloc of the template, and which are insertions. twins: by rank. */
static bool align_take(struct frag_recordings *r, const struct aligned *of, uint32_t *const *twins)
{
	const uint32_t last = r->count - 1;
	const struct aligned *template = &of[last];
	bool good = true;

	for (uint32_t i = 0; i < last && good; i++)
		good = align_take_names(r, &of[i], template, twins[i]);
	if (!good)
		return false;
	r->size_count = r->alloc_count = 0;
	frag_map_fini(&r->known);
	if (!frag_map_init(&r->known, frag_hash_seed()))
		return r->ready = false;
	for (uint32_t k = 0; k < template->allocs; k++) {
		uint64_t at[FRAG_RECORDINGS_MAX];
		bool everywhere = true;
		uint32_t which;

		at[last] = template->bytes[k];
		for (uint32_t i = 0; i < last; i++) {
			at[i] = twins[i][k] == UINT32_MAX ? FRAG_NO_SIZE : of[i].bytes[twins[i][k]];
			everywhere = everywhere && at[i] != FRAG_NO_SIZE;
		}
		which = frag_recordings_sizes(r, at);
		if (which == UINT32_MAX || !FRAG_GROW(r->which, r->alloc_capacity, r->alloc_count))
			return false;
		r->which[r->alloc_count++] = which;
		r->sizes[which].allocs++;
		r->paired += everywhere;
		r->inserted += !everywhere;
		if (everywhere)
			continue;
		if (template->ends[k] <= LASTING) {
			r->workspaces += is_of_backward(template->tags[k]);
			continue;
		}
		if (!r->lasting++)
			r->lasting_tag = template->tags[k];
	}
	return true;
}

static void aligned_fini(struct aligned *a)
{
	free(a->items);
	free(a->bytes);
	free(a->tags);
	free(a->marks);
	free(a->ends);
}

int frag_recordings_align(struct frag_recordings *r, const struct frag_tape *const *tapes,
			  struct frag_error *err)
{
	const uint32_t last = r->count - 1;
	struct aligned of[FRAG_RECORDINGS_MAX] = { { .count = 0 } };      /* by rank */
	uint32_t *twins[FRAG_RECORDINGS_MAX] = { NULL };
	struct frag_error own = { .code = 0 };
	bool good = true, one = true, differ = false;
	int rc = 0;

	for (uint32_t i = 0; i < r->count && good; i++) {
		struct aligned *a = &of[r->of[i].rank];

		a->number = r->of[i].number;
		good = align_read(a, tapes[i]);
		if (r->of[i].rank == last)
			r->template = i;
	}
	for (uint32_t i = 0; i < last && good && one && !rc; i++) {
		twins[i] = malloc(((size_t)of[last].allocs + 1) * sizeof(**twins));
		good = twins[i];
		rc = good ? align_one(&of[i], &of[last], twins[i], &own) : 0;
		one = good && !rc && is_one_program(&of[i], &of[last], twins[i], &differ);
	}
	/* equal allocs: it is the other events that differ */
	one = one && differ;
	if (good && !rc && one)
		good = align_take(r, of, twins);
	for (uint32_t i = 0; i < r->count; i++) {
		aligned_fini(&of[i]);
		free(twins[i]);
	}
	if (!good || rc == -FRAG_ENOMEM) {
		*err = (struct frag_error){ .code = 0 };
		return frag_fail_nomem(err);
	}
	r->aligned = one && !rc;
	return r->aligned ? 0 : -FRAG_ETRACE;
}
