/*
 * request_alignment.c - which requests of two recordings are the same, in the same order.
 *
 * Equal requests are taken one after the other. Where two differ, a greedy search (Myers, "An O(ND)
 * Difference Algorithm and Its Variations", 1986) looks for the fewest insertions and deletions
 * after which RUN requests in a row are the same again. It keeps one position a diagonal and no
 * path, so the memory is linear in the requests; the counts follow from the diagonal.
 */
#include "search/trace_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/repeated_marks.h"

#define RUN 8                   /* requests in a row that end a gap */
#define EDITS_MAX 512           /* insertions and deletions of one gap */

/* The requests of a side on the device that is compared. */
struct request_list {
	uint64_t *keys;                 /* of size and tag, without numbers in the tag */
	uint32_t count, capacity;
	struct frag_lasting_marks marks;        /* at: the requests before it */
	uint64_t *of_tag;               /* the part of a key that is a tag's; 0: not seen yet */
	uint32_t tag_count, tag_capacity;
};

static void request_list_fini(struct request_list *l)
{
	free(l->keys);
	free(l->marks.mark);
	free(l->of_tag);
}

/* False: out of memory. */
static bool request_list_tag_key(struct request_list *l, const struct frag_symbols *symbols,
				 uint32_t tag, uint64_t *key)
{
	struct frag_text text;
	char *kind;

	if (!frag_grow(&l->of_tag, &l->tag_capacity, (uint64_t)tag + 1, sizeof(*l->of_tag)))
		return false;
	while (l->tag_count <= tag)
		l->of_tag[l->tag_count++] = 0;
	if (!l->of_tag[tag] && tag) {
		text = frag_symbols_tag(symbols, tag);
		kind = frag_mark_kind(text.text, text.length);
		if (!kind)
			return false;
		l->of_tag[tag] = frag_hash_text(kind, strlen(kind), 1) | 1;
		free(kind);
	}
	*key = l->of_tag[tag];
	return true;
}

static bool request_list_add(struct request_list *l, const struct frag_symbols *symbols,
			     const struct frag_event *ev)
{
	uint64_t key;

	if (!request_list_tag_key(l, symbols, ev->tag, &key)
	    || !frag_grow(&l->keys, &l->capacity, (uint64_t)l->count + 1, sizeof(*l->keys)))
		return false;
	l->keys[l->count++] = frag_hash_mix(ev->bytes + 1) ^ key;
	return true;
}

/* Reads the requests of the device, and the marks that begin iterations. */
static bool request_list_read(struct request_list *l, const struct frag_tape *tape, uint32_t device)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	const struct frag_symbols *symbols = frag_tape_symbols(tape);
	struct frag_batch batch = { .count = 0 };
	bool good = reader;

	do {
		if (good)
			frag_tape_next(reader, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count && good; i++) {
			const struct frag_event *ev = &batch.events[i];

			if (ev->op == FRAG_OP_MARK)
				good = frag_lasting_note(&l->marks, l->count, ev->text.text,
							 ev->text.length);
			else if (ev->op == FRAG_OP_ALLOC && ev->device == device)
				good = request_list_add(l, symbols, ev);
		}
	} while (batch.count && good);
	frag_tape_reader_del(reader);
	return good && frag_lasting_find(&l->marks);
}

/* Parts of both lists that are aligned with each other. */
struct part {
	const uint64_t *old, *now;      /* keys */
	uint32_t old_count, now_count;
};

/* The end of a gap: requests of each side that are passed, and how many of them are the same. */
struct gap {
	uint32_t old, now, same;
};

/*
 * Finds the nearest place after the beginning of `p` at which RUN requests, or all that are left
 * of both, are the same. furthest[k + EDITS_MAX + 1]: the position in OLD that d edits reach on
 * diagonal k, which is positions in OLD less positions in NEW. False: none within EDITS_MAX.
 */
static bool find_gap_end(const struct part *p, int64_t *furthest, struct gap *gap)
{
	const int64_t n = p->old_count, m = p->now_count;
	int64_t *const at = furthest + EDITS_MAX + 1;

	at[1] = 0;
	for (int64_t d = 0; d <= EDITS_MAX; d++)
		for (int64_t k = -d; k <= d; k += 2) {
			int64_t x = k == -d || (k != d && at[k - 1] < at[k + 1]) ? at[k + 1]
										  : at[k - 1] + 1;
			int64_t run = 0;

			for (; x < n && x - k < m && p->old[x] == p->now[x - k]; x++)
				run++;
			at[k] = x;
			if (x > n || x - k > m || (run < RUN && (x < n || x - k < m)))
				continue;
			*gap = (struct gap){
				.old = (uint32_t)x, .now = (uint32_t)(x - k),
				.same = (uint32_t)(x - (d + k) / 2),
			};
			return true;
		}
	return false;
}

/* Adds a part to the sums. */
static void align_part(struct part p, int64_t *furthest, struct frag_alignment *a)
{
	/* the equal end first: what is left of one side alone needs no search */
	while (p.old_count && p.now_count
	       && p.old[p.old_count - 1] == p.now[p.now_count - 1]) {
		p.old_count--;
		p.now_count--;
		a->same++;
	}
	while (p.old_count || p.now_count) {
		struct gap gap = { p.old_count, p.now_count, 0 };

		if (p.old_count && p.now_count && *p.old == *p.now)
			gap = (struct gap){ 1, 1, 1 };
		else if (p.old_count && p.now_count && !find_gap_end(&p, furthest, &gap))
			a->whole = false;
		a->same += gap.same;
		a->only_old += gap.old - gap.same;
		a->only_new += gap.now - gap.same;
		p.old += gap.old;
		p.old_count -= gap.old;
		p.now += gap.now;
		p.now_count -= gap.now;
	}
}

/* The first request of iteration i, of those of a list; of i = 0 what is before the first. */
static uint32_t iteration_begin(const struct request_list *l, uint32_t i)
{
	if (!i)
		return 0;
	return i <= l->marks.count ? (uint32_t)l->marks.mark[i - 1].at : l->count;
}

/* Aligns the requests of both recordings, iteration by iteration if both have marks. */
int frag_change_align(struct frag_change_found *c, struct frag_error *err)
{
	struct frag_alignment *a = &c->alignment;
	struct request_list old = { .count = 0 }, now = { .count = 0 };
	int64_t *furthest = calloc(2 * EDITS_MAX + 3, sizeof(*furthest));
	const bool good = furthest && request_list_read(&old, c->old.tape, c->device)
			  && request_list_read(&now, c->now.tape, c->device);

	*a = (struct frag_alignment){ .whole = true };
	if (good && old.marks.count && now.marks.count) {
		a->old_iterations = old.marks.count;
		a->new_iterations = now.marks.count;
	} else {
		old.marks.count = now.marks.count = 0;
	}
	for (uint32_t i = 0; good && (i <= a->old_iterations || i <= a->new_iterations); i++) {
		const uint32_t from = iteration_begin(&old, i), begin = iteration_begin(&now, i);
		const struct part part = {
			.old = old.keys + from, .now = now.keys + begin,
			.old_count = iteration_begin(&old, i + 1) - from,
			.now_count = iteration_begin(&now, i + 1) - begin,
		};

		align_part(part, furthest, a);
	}
	free(furthest);
	request_list_fini(&old);
	request_list_fini(&now);
	return good ? 0 : frag_fail_nomem(err);
}
