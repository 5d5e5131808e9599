/* trace_change.c - why one recording reserves more than another. */
#include "search/trace_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "engine/tape_run.h"
#include "events/repeated_marks.h"
#include "events/tape.h"
#include "trace/reader.h"
#include "policy/choice.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"
#include "search/recommend.h"

/*
 * Which requests of two recordings are the same, in the same order.
 *
 * Equal requests are taken one after the other. Where two differ, a greedy search (Myers, "An O(ND)
 * Difference Algorithm and Its Variations", 1986) looks for the fewest insertions and deletions
 * after which RUN requests in a row are the same again. It keeps one position a diagonal and no
 * path, so the memory is linear in the requests; the counts follow from the diagonal.
 */

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

	if (!FRAG_EXTEND(l->of_tag, l->tag_capacity, l->tag_count, tag))
		return false;
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
	    || !FRAG_GROW(l->keys, l->capacity, l->count))
		return false;
	l->keys[l->count++] = frag_hash_mix(ev->bytes + 1) ^ key;
	return true;
}

/* Reads the requests of the device, and the marks that begin iterations. */
static bool request_list_read(struct request_list *l, const struct frag_tape *tape, uint32_t device)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;
	bool good = w.reader;

	while (good && (ev = frag_tape_walk_next(&w))) {
		if (ev->op == FRAG_OP_MARK)
			good = frag_lasting_note(&l->marks, l->count, ev->text.text,
						 ev->text.length);
		else if (ev->op == FRAG_OP_ALLOC && ev->device == device)
			good = request_list_add(l, frag_tape_symbols(tape), ev);
	}
	frag_tape_reader_del(w.reader);
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
static int change_align(struct frag_change_found *c, struct frag_error *err)
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

const char *const frag_change_part_names[FRAG_PARTS] = {
	"version", "settings", "requested", "rounding", "fragmentation",
};

/* A run of the whole tape on devices without a limit. *out is the caller's, also on failure. */
static int change_run(const struct frag_change_found *c, const struct frag_change_side *side,
		      const struct frag_choice *choice, enum frag_level level,
		      struct frag_sim **out, struct frag_error *err)
{
	const struct frag_sim_options options = { .level = level, .devices = side->devices };

	return frag_tape_run(out, choice, side->tape, &options, &c->job, err);
}

static struct frag_change_peaks change_peaks(const struct frag_result *run)
{
	return (struct frag_change_peaks){
		.reserved = run->peak.reserved, .requested = run->peak.requested,
		.active = run->peak.active, .fits = run->status == FRAG_RUN_OK,
	};
}

/* The peaks of OLD on each device under other settings; *out is the caller's, also on failure. */
static int change_run_peaks(const struct frag_change_found *c, const struct frag_change_side *side,
			    const struct frag_choice *choice, struct frag_sim **out,
			    const struct frag_result **results, struct frag_error *err)
{
	uint32_t count;
	const int rc = change_run(c, side, choice, FRAG_LEVEL_PEAKS, out, err);

	if (!rc)
		*results = frag_sim_results(*out, false, &count);
	return rc;
}

/* Both runs, and the device whose reserved bytes change most: the first of equal ones. */
static int change_find_device(struct frag_change_found *c, struct frag_error *err)
{
	const struct frag_result *old, *now;
	uint32_t old_count, now_count;
	uint64_t most = 0;
	int rc = change_run(c, &c->old, c->old.choice, FRAG_LEVEL_ALL, &c->old.sim, err);

	rc = rc ? rc : change_run(c, &c->now, c->now.choice, FRAG_LEVEL_ALL, &c->now.sim, err);
	if (rc)
		return rc;
	old = frag_sim_results(c->old.sim, false, &old_count);
	now = frag_sim_results(c->now.sim, false, &now_count);
	for (uint32_t d = 0; d < old_count && d < now_count; d++) {
		const uint64_t change = frag_gap_of(old[d].peak.reserved, now[d].peak.reserved);

		if (change <= most)
			continue;
		most = change;
		c->device = d;
	}
	c->alone = (uint32_t)frag_gap_of(old_count, now_count);
	c->old.run = &old[c->device];
	c->now.run = &now[c->device];
	return 0;
}

static void change_parts_of(int64_t parts[FRAG_PARTS], const struct frag_change_peaks *old,
			    const struct frag_change_peaks *version,
			    const struct frag_change_peaks *both, const struct frag_change_peaks *now)
{
	parts[FRAG_PART_VERSION] = (int64_t)version->reserved - (int64_t)old->reserved;
	parts[FRAG_PART_SETTINGS] = (int64_t)both->reserved - (int64_t)version->reserved;
	parts[FRAG_PART_REQUESTED] = (int64_t)now->requested - (int64_t)both->requested;
	parts[FRAG_PART_ROUNDING] = (int64_t)(now->active - now->requested)
				    - (int64_t)(both->active - both->requested);
	parts[FRAG_PART_FRAGMENTATION] = (int64_t)(now->reserved - now->active)
					 - (int64_t)(both->reserved - both->active);
}

/* The parts of each device: the answer has those of one, conditions the highest. */
static int change_find_parts(struct frag_change_found *c, struct frag_error *err)
{
	struct frag_sim *sims[2] = { NULL, NULL };
	uint32_t old_count, now_count;
	const struct frag_result *old = frag_sim_results(c->old.sim, false, &old_count);
	const struct frag_result *now = frag_sim_results(c->now.sim, false, &now_count);
	const struct frag_result *version = old, *both;
	int rc = 0;

	if (c->as_version)
		rc = change_run_peaks(c, &c->old, c->as_version, &sims[0], &version, err);
	both = version;
	if (c->as_both)
		rc = rc ? rc : change_run_peaks(c, &c->old, c->as_both, &sims[1], &both, err);
	for (uint32_t d = 0; d < old_count && d < now_count && !rc; d++) {
		const struct frag_change_peaks peaks[] = {
			change_peaks(&old[d]), change_peaks(&version[d]), change_peaks(&both[d]),
			change_peaks(&now[d]),
		};
		int64_t values[FRAG_PARTS + 1] = {
			(int64_t)peaks[3].reserved - (int64_t)peaks[0].reserved,
		};

		change_parts_of(values + 1, &peaks[0], &peaks[1], &peaks[2], &peaks[3]);
		for (uint32_t i = 0; i <= FRAG_PARTS; i++)
			if (!d || values[i] > c->highest[i])
				c->highest[i] = values[i];
		c->ended |= !peaks[0].fits || !peaks[3].fits;
		if (d != c->device)
			continue;
		c->reserved = values[0];
		memcpy(c->parts, values + 1, sizeof(c->parts));
	}
	frag_sim_del(sims[0]);
	frag_sim_del(sims[1]);
	return rc;
}

/* What is live in a slot. */
struct live {
	uint64_t bytes;
	uint32_t tag;
	bool there;                     /* on the device that is compared */
};

struct live_list {
	struct live *slots;
	uint32_t count, capacity;
	uint64_t bytes;                 /* of all */
};

/*
 * The blocks after one event more. A block that is freed, pending or not, is no longer requested.
 */
static bool live_list_follow(struct live_list *l, const struct frag_event *ev, uint32_t device)
{
	struct live *slot;

	if (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE)
		return true;
	if (!FRAG_EXTEND(l->slots, l->capacity, l->count, ev->slot))
		return false;
	slot = &l->slots[ev->slot];
	if (slot->there)
		l->bytes -= slot->bytes;
	*slot = (struct live){ .there = false };
	if (ev->op == FRAG_OP_ALLOC && ev->device == device) {
		*slot = (struct live){ .bytes = ev->bytes, .tag = ev->tag, .there = true };
		l->bytes += ev->bytes;
	}
	return true;
}

/* The first step with the most live requested bytes. */
static int change_find_peak_step(struct frag_change_side *side, uint32_t device,
				 struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(side->tape) };
	struct live_list l = { .count = 0 };
	const struct frag_event *ev;
	uint64_t most = 0;
	bool good = w.reader;

	while (good && (ev = frag_tape_walk_next(&w))) {
		good = live_list_follow(&l, ev, device);
		if (l.bytes > most) {
			most = l.bytes;
			side->peak_step = ev->step;
		}
	}
	frag_tape_reader_del(w.reader);
	free(l.slots);
	return good ? 0 : frag_fail_nomem(err);
}

/* False: out of memory. *out is NULL where there is none. */
static bool change_tag_text(const struct frag_tape *tape, uint32_t tag, char **out)
{
	const struct frag_text text = tag ? frag_symbols_tag(frag_tape_symbols(tape), tag)
					  : (struct frag_text){ .length = 0 };

	*out = NULL;
	if (!tag || !text.text)
		return true;
	*out = malloc((size_t)text.length + 1);
	if (!*out)
		return false;
	memcpy(*out, text.text, text.length);
	(*out)[text.length] = '\0';
	return true;
}

/* Records the bytes that are live now as those of the peak. */
static void change_note_peak(struct frag_change_sum *sums, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		sums[i].at_peak = sums[i].live;
}

/* One request more of a tag, which is live from now on. */
static void change_count_request(struct frag_change_sum *sum, uint64_t bytes)
{
	sum->requests++;
	sum->bytes += bytes;
	sum->live += bytes;
	sum->highest = frag_max(sum->highest, sum->live);
}

struct tag_sums {
	struct frag_change_sum *of;     /* by the tag's number */
	uint32_t count, capacity;
};

/* The sums of each tag of a side over the whole recording. False: out of memory. */
static bool change_sum_tags(struct tag_sums *sums, const struct frag_change_side *side,
			    uint32_t device)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(side->tape) };
	struct live_list l = { .count = 0 };
	const struct frag_event *ev;
	bool good = w.reader, past = false;

	while (good && (ev = frag_tape_walk_next(&w))) {
		if (!past && ev->step > side->peak_step) {
			change_note_peak(sums->of, sums->count);
			past = true;
		}
		if (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE)
			continue;
		if (ev->slot < l.count && l.slots[ev->slot].there)
			sums->of[l.slots[ev->slot].tag].live -= l.slots[ev->slot].bytes;
		good = live_list_follow(&l, ev, device)
		       && FRAG_EXTEND(sums->of, sums->capacity, sums->count, ev->tag);
		if (good && l.slots[ev->slot].there)
			change_count_request(&sums->of[ev->tag], ev->bytes);
	}
	if (!past)
		change_note_peak(sums->of, sums->count);
	frag_tape_reader_del(w.reader);
	free(l.slots);
	return good;
}

/* One more row for each tag of a side. Both sides' rows are merged by text later. */
static int change_add_tags(struct frag_change_found *c, const struct frag_change_side *side,
			   bool now, uint32_t *capacity, struct frag_error *err)
{
	struct tag_sums sums = { .count = 0 };
	bool good = change_sum_tags(&sums, side, c->device);

	for (uint32_t i = 0; i < sums.count && good; i++) {
		struct frag_change_row *t;

		if (!sums.of[i].requests)
			continue;
		good = frag_grow(&c->tags, capacity, (uint64_t)c->tag_count + 1,
				 sizeof(*c->tags));
		if (!good)
			break;
		t = &c->tags[c->tag_count++];
		*t = (struct frag_change_row){ .tag = NULL };
		*(now ? &t->now : &t->old) = sums.of[i];
		good = change_tag_text(side->tape, i, &t->tag);
	}
	free(sums.of);
	return good ? 0 : frag_fail_nomem(err);
}

static int change_compare_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !a - !b;
}

static int change_by_text(const void *a, const void *b)
{
	const struct frag_change_row *x = a, *y = b;

	return change_compare_text(x->tag, y->tag);
}

static uint64_t change_magnitude(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int change_by_size(const void *a, const void *b)
{
	const struct frag_change_row *x = a, *y = b;
	const uint64_t p = change_magnitude(frag_change_of(x)), q = change_magnitude(frag_change_of(y));

	return p != q ? (p > q ? -1 : 1) : change_compare_text(x->tag, y->tag);
}

/* The two rows of a tag become one. */
static void change_merge_tags(struct frag_change_found *c)
{
	uint32_t n = 0;

	FRAG_SORT(c->tags, c->tag_count, change_by_text);
	for (uint32_t i = 0, k; i < c->tag_count; i = k) {
		struct frag_change_row t = c->tags[i];

		for (k = i + 1; k < c->tag_count && !change_by_text(&t, &c->tags[k]); k++) {
			if (c->tags[k].now.requests)
				t.now = c->tags[k].now;
			else
				t.old = c->tags[k].old;
			free(c->tags[k].tag);
		}
		c->tags[n++] = t;
	}
	c->tag_count = n;
}

/* Drops the tags without live bytes at either peak, and sorts the others. */
static void change_keep_live(struct frag_change_found *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->tag_count; i++) {
		if (c->tags[i].old.at_peak || c->tags[i].now.at_peak)
			c->tags[n++] = c->tags[i];
		else
			free(c->tags[i].tag);
	}
	c->tag_count = n;
	FRAG_SORT(c->tags, n, change_by_size);
}

/* The tag without its line numbers: digits after a colon. The caller frees it. */
static char *change_without_lines(const char *tag)
{
	char *text = malloc(strlen(tag) + 1), *to = text;
	bool line = false;

	for (const char *p = tag; text && *p; p++) {
		const bool digit = *p >= '0' && *p <= '9';

		line = digit && (line || (p > tag && p[-1] == ':'));
		if (!line)
			*to++ = *p;
	}
	if (text)
		*to = '\0';
	return text;
}

/* A tag and the same without line numbers. */
struct placed_tag {
	const struct frag_change_row *tag;
	char *place;                    /* owned; NULL: no tag */
};

static int change_by_place(const void *a, const void *b)
{
	const struct placed_tag *x = a, *y = b;
	const int order = change_compare_text(x->place, y->place);

	return order ? order : change_compare_text(x->tag->tag, y->tag->tag);
}

static void change_add_sum(struct frag_change_sum *to, const struct frag_change_sum *more)
{
	to->at_peak += more->at_peak;
	to->requests += more->requests;
	to->bytes += more->bytes;
	to->highest += more->highest;
}

/* Adds a row of these tags, unless they have no live bytes in either peak. */
static bool change_add_row(struct frag_change_found *c, const struct placed_tag *tags,
			   uint32_t count)
{
	const char *text = count > 1 ? tags->place : tags->tag->tag;
	struct frag_change_row row = { .tag = NULL };

	for (uint32_t i = 0; i < count; i++) {
		change_add_sum(&row.old, &tags[i].tag->old);
		change_add_sum(&row.now, &tags[i].tag->now);
	}
	if (!row.old.at_peak && !row.now.at_peak)
		return true;
	/* the peaks of several tags need not coincide, so their sum proves nothing */
	if (count > 1)
		row.old.highest = row.now.highest = 0;
	row.tag = text ? strdup(text) : NULL;
	c->rows[c->row_count++] = row;
	return !text || row.tag;
}

/*
 * Each tag has a row. The tags of a function share one if only one side requests some of them:
 * lines move when a file is edited, so a line number does not identify a tag.
 */
static int change_make_rows(struct frag_change_found *c, struct frag_error *err)
{
	struct placed_tag *tags = calloc((size_t)c->tag_count + 1, sizeof(*tags));
	bool good = tags;

	c->rows = calloc((size_t)c->tag_count + 1, sizeof(*c->rows));
	good = good && c->rows;
	for (uint32_t i = 0; i < c->tag_count && good; i++) {
		tags[i].tag = &c->tags[i];
		tags[i].place = c->tags[i].tag ? change_without_lines(c->tags[i].tag) : NULL;
		good = tags[i].place || !c->tags[i].tag;
	}
	if (good)
		FRAG_SORT(tags, c->tag_count, change_by_place);
	for (uint32_t i = 0, end; i < c->tag_count && good; i = end) {
		bool moved = false;

		for (end = i; end < c->tag_count
			      && !change_compare_text(tags[i].place, tags[end].place); end++)
			moved = moved || !tags[end].tag->old.requests
				|| !tags[end].tag->now.requests;
		for (uint32_t k = i; k < end && good; k += moved ? end - i : 1)
			good = change_add_row(c, &tags[k], moved ? end - i : 1);
	}
	for (uint32_t i = 0; tags && i < c->tag_count; i++)
		free(tags[i].place);
	free(tags);
	if (!good)
		return frag_fail_nomem(err);
	FRAG_SORT(c->rows, c->row_count, change_by_size);
	return 0;
}

static int change_find_tags(struct frag_change_found *c, struct frag_error *err)
{
	uint32_t capacity = 0;
	int rc = change_add_tags(c, &c->old, false, &capacity, err);

	rc = rc ? rc : change_add_tags(c, &c->now, true, &capacity, err);
	if (rc)
		return rc;
	change_merge_tags(c);
	rc = change_make_rows(c, err);
	change_keep_live(c);
	return rc;
}

/* The next request of the device; NULL: there is none. */
static const struct frag_event *walk_to_request(struct frag_tape_walk *w, uint32_t device)
{
	const struct frag_event *ev;

	do
		ev = frag_tape_walk_next(w);
	while (ev && (ev->op != FRAG_OP_ALLOC || ev->device != device));
	return ev;
}

static bool change_same_request(const struct frag_change_found *c, const struct frag_event *a,
				const struct frag_event *b)
{
	struct frag_text x, y;

	if (a->bytes != b->bytes || !a->tag != !b->tag)
		return false;
	if (!a->tag)
		return true;
	x = frag_symbols_tag(frag_tape_symbols(c->old.tape), a->tag);
	y = frag_symbols_tag(frag_tape_symbols(c->now.tape), b->tag);
	return x.length == y.length && memcmp(x.text, y.text, x.length) == 0;
}

static int change_note_request(struct frag_change_request *out, const struct frag_change_side *side,
			       const struct frag_event *ev, struct frag_error *err)
{
	*out = (struct frag_change_request){
		.step = ev ? ev->step : side->trace->events + side->trace->skipped,
		.bytes = ev ? ev->bytes : UINT64_MAX,
	};
	return !ev || change_tag_text(side->tape, ev->tag, &out->tag) ? 0 : frag_fail_nomem(err);
}

/* The first request that differs in size or tag from the one at the same place of the other. */
static int change_find_first(struct frag_change_found *c, struct frag_error *err)
{
	struct frag_tape_walk old = { .reader = frag_tape_reader_new(c->old.tape) };
	struct frag_tape_walk now = { .reader = frag_tape_reader_new(c->now.tape) };
	const struct frag_event *a = NULL, *b = NULL;
	int rc = old.reader && now.reader ? 0 : frag_fail_nomem(err);

	while (!rc) {
		a = walk_to_request(&old, c->device);
		b = walk_to_request(&now, c->device);
		if (!a || !b || !change_same_request(c, a, b))
			break;
	}
	c->differs = a || b;
	if (!rc && c->differs) {
		rc = change_note_request(&c->old_first, &c->old, a, err);
		rc = rc ? rc : change_note_request(&c->now_first, &c->now, b, err);
	}
	frag_tape_reader_del(old.reader);
	frag_tape_reader_del(now.reader);
	return rc;
}

/* The recommended setting of NEW, if it reserves no more with it than OLD does. */
static int change_find_undo(struct frag_change_found *c, struct frag_error *err)
{
	const struct frag_fit_source source = {
		.tape = c->now.tape, .choices = c->now.choice, .devices = c->now.devices,
	};
	struct frag_recommendation r = { .sources = &source, .source_count = 1, .job = c->job };
	const struct frag_result *results;
	const struct frag_setting_rank *best;
	struct frag_sim *sim = NULL;
	int rc = c->reserved > 0 ? frag_recommend(&r, err) : 0;

	best = rc ? NULL : frag_recommended(&r);
	if (best)
		rc = change_run_peaks(c, &c->now, best->choices, &sim, &results, err);
	if (best && !rc) {
		const struct frag_change_peaks peaks = change_peaks(&results[c->device]);

		c->undone = peaks.fits && peaks.reserved <= c->old.run->peak.reserved;
		c->undo = *best->choices;
		c->undo_reserved = peaks.reserved;
	}
	frag_sim_del(sim);
	frag_recommend_fini(&r);
	return rc == -FRAG_EPOLICY ? 0 : rc;
}

/* Gives the choice those of OLD's settings that the version knows. */
static int keep_known_settings(struct frag_choice *out, const struct frag_choice *from,
			       uint64_t version, const struct frag_log *log,
			       struct frag_error *err)
{
	char text[FRAG_CONF_ROOM];
	int rc = frag_choose_version(out, (uint32_t)version, err);

	frag_conf_text(from, text, sizeof(text));
	for (char *one = text, *next; *one && !rc; one = next) {
		const size_t length = frag_setting_length(one);
		struct frag_choice more = *out;
		struct frag_error unknown;

		next = one + length + (one[length] == ',');
		one[length] = '\0';
		if (frag_choice_settings(&more, one, &unknown) == 0)
			*out = more;
		else
			frag_note(log, "OLD's setting %.100s is omitted: PyTorch 2.%u does not know"
				  " it", one, (unsigned)version);
	}
	return rc;
}

static bool same_params(const struct frag_choice *a, const struct frag_choice *b)
{
	return memcmp(a->param, b->param, sizeof(a->param)) == 0;
}

/* OLD under NEW's version, and under its settings too; only where that is another run. */
static int cross(struct frag_change_found *c, struct frag_error *err)
{
	const struct frag_choice *old = c->old.choice, *now = c->now.choice;
	int rc = 0;

	if (old->ops != &frag_policy_pytorch || now->ops != &frag_policy_pytorch
	    || same_params(old, now))
		return 0;
	c->crossed[0] = *old;
	if (old->param[VERSION] != now->param[VERSION]) {
		rc = keep_known_settings(&c->crossed[0], old, now->param[VERSION], &c->log, err);
		c->as_version = &c->crossed[0];
	}
	c->crossed[1] = *now;
	if (!same_params(&c->crossed[0], now))
		c->as_both = &c->crossed[1];
	return rc;
}

int frag_change_find(struct frag_change_found *c, struct frag_error *err)
{
	int rc = cross(c, err);

	rc = rc ? rc : change_find_device(c, err);
	rc = rc ? rc : change_find_parts(c, err);
	rc = rc ? rc : change_find_peak_step(&c->old, c->device, err);
	rc = rc ? rc : change_find_peak_step(&c->now, c->device, err);
	rc = rc ? rc : change_find_tags(c, err);
	rc = rc ? rc : change_find_first(c, err);
	rc = rc ? rc : change_align(c, err);
	return rc ? rc : change_find_undo(c, err);
}

void frag_change_fini(struct frag_change_found *c)
{
	frag_sim_del(c->old.sim);
	frag_sim_del(c->now.sim);
	for (uint32_t i = 0; i < c->tag_count; i++)
		free(c->tags[i].tag);
	free(c->tags);
	for (uint32_t i = 0; i < c->row_count; i++)
		free(c->rows[i].tag);
	free(c->rows);
	free(c->old_first.tag);
	free(c->now_first.tag);
}
