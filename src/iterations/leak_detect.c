/* leak_detect.c - finds the memory that each iteration of a program leaves allocated. */
#include "iterations/leak_detect.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/parse.h"
#include "events/repeated_marks.h"
#include "events/tape.h"
#include "fragsim/trace.h"
#include "live_blocks/live_blocks.h"

/*
 * Tags that end with the name of a mark, as recorders write them.
 *
 * "linear | step 3 fwd", of a block that is allocated after the mark "step 3 fwd", counts as the
 * same tag as "linear | step 4 fwd": the first of them stands for both, and is printed as
 * "linear | step # fwd".
 */
struct frag_marked_tags {
	const struct frag_symbols *symbols;     /* of a tape: texts stay where they are */
	struct frag_text mark;          /* the last one */
	struct frag_map of_text;        /* hash -> the first of these tags */
	struct frag_marked_tag {
		uint32_t tag;           /* by which it is known; 0: not seen so far */
		uint32_t end;           /* bytes of the tag that are a mark's name */
	} *of;                          /* by tag */
	uint32_t count, capacity;
};

static bool is_word(char c)
{
	return frag_is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* A name without a letter is a number, and could belong to any tag. */
static void marked_tags_mark(struct frag_marked_tags *o, struct frag_text mark)
{
	bool letter = false;

	for (uint32_t i = 0; i < mark.length && !letter; i++)
		letter = frag_is_letter(mark.text[i]);
	o->mark = letter ? mark : (struct frag_text){ .text = NULL };
}

static bool ends_with_mark(const struct frag_marked_tags *o, const struct frag_text *tag)
{
	const uint32_t length = o->mark.length;

	if (!o->mark.text || tag->length < length
	    || memcmp(tag->text + tag->length - length, o->mark.text, length) != 0)
		return false;
	return tag->length == length || !is_word(tag->text[tag->length - length - 1]);
}

/* The tag with the mark's kind instead of its name; NULL: out of memory. */
static char *marked_tags_text_of(const struct frag_text *tag, uint32_t end)
{
	char *kind = frag_mark_kind(tag->text + tag->length - end, end);
	const size_t length = kind ? strlen(kind) : 0;
	char *text = kind ? malloc(tag->length - end + length + 1) : NULL;

	if (text) {
		memcpy(text, tag->text, tag->length - end);
		memcpy(text + tag->length - end, kind, length + 1);
	}
	free(kind);
	return text;
}

/* Tags may have a NUL, kinds have none. */
static size_t marked_tags_length_of(const struct frag_text *tag, uint32_t end, const char *text)
{
	return tag->length - end + strlen(text + tag->length - end);
}

/* The first tag of this text, except the numbers of the mark. */
static bool marked_tags_find_first(struct frag_marked_tags *o, const struct frag_text *tag,
				   uint32_t own, uint32_t *first)
{
	char *text = marked_tags_text_of(tag, o->mark.length);
	uint64_t key;

	if (!text)
		return false;
	key = frag_hash_text(text, marked_tags_length_of(tag, o->mark.length, text),
			     o->of_text.seed);
	free(text);
	*first = frag_map_get(&o->of_text, key);
	if (*first != FRAG_MAP_NONE)
		return true;
	*first = own;
	return frag_map_add(&o->of_text, key, own);
}

static bool marked_tags_new(struct frag_marked_tags *o, uint32_t tag, uint32_t *owner)
{
	const struct frag_text text = frag_symbols_tag(o->symbols, tag);

	if (!FRAG_EXTEND(o->of, o->capacity, o->count, tag))
		return false;
	o->of[tag].tag = tag;
	if (text.text && ends_with_mark(o, &text)) {
		o->of[tag].end = o->mark.length;
		if (!marked_tags_find_first(o, &text, tag, &o->of[tag].tag))
			return false;
	}
	*owner = o->of[tag].tag;
	return true;
}

/* Stores the tag that stands for all tags of its kind; 0: no tag. False: out of memory. */
static inline bool marked_tags_find(struct frag_marked_tags *tags, uint32_t tag,
					 uint32_t *owner)
{
	*owner = tag < tags->count ? tags->of[tag].tag : 0;
	return !tag || *owner || marked_tags_new(tags, tag, owner);
}
static bool marked_tags_json(const struct frag_marked_tags *o, uint32_t owner, char **out)
{
	const struct frag_text tag = frag_symbols_tag(o->symbols, owner);
	uint32_t end = 0;
	size_t length;
	char *text;

	*out = NULL;
	if (!owner || !tag.text)
		return true;
	if (owner < o->count)
		end = o->of[owner].end;
	text = marked_tags_text_of(&tag, end);
	if (!text)
		return false;
	length = marked_tags_length_of(&tag, end, text);
	*out = frag_new_json(text, length);
	free(text);
	return *out != NULL;
}

#define POINTS 200              /* of a growth */

/* What a slot of the trace holds: little, as every alloc writes it. */
struct slot {
	uint64_t bytes;
	uint32_t event, site;   /* of the tape; event UINT32_MAX: nothing is live */
};
#define NOT_LIVE UINT32_MAX

/* A block that stays allocated. */
struct held {
	uint64_t bytes, step, stack;
	uint32_t device, tag, iteration;
};

struct walk {
	struct frag_leaks *out;
	struct frag_marked_tags tags;
	uint32_t devices;
	uint32_t at;            /* the iteration, from 1; 0: before the first */
	const struct frag_tape *tape;
	struct slot *slots;
	uint32_t slot_count, slot_capacity;
	bool *seen;             /* by site: its tag is known */
	struct held *left;      /* at the end */
	uint64_t *now;          /* live bytes, one a device */
	uint64_t *starts;       /* likewise at points, device by device */
	uint32_t point, points;
	uint32_t rare;          /* of the tape: the next one */
};

/* Starts, from that of iteration 1 to that of the last, that lie evenly among all. */
static uint32_t points_of(const struct frag_iterations *it)
{
	return it->count - 1 < POINTS ? it->count - 1 : POINTS;
}

static uint32_t iteration_at(const struct frag_iterations *it, uint32_t point)
{
	return 1 + (uint32_t)((uint64_t)point * (it->count - 2) / (points_of(it) - 1));
}

/* Grows the slots. The tag depends on the mark at which it first occurs. */
__attribute__((cold, noinline)) static bool leak_detect_make_room(struct walk *w, uint32_t slot,
								  uint32_t site)
{
	uint32_t owner;

	if (!marked_tags_find(&w->tags, w->tape->sites[site].tag, &owner)
	    || !FRAG_GROW(w->slots, w->slot_capacity, slot))
		return false;
	while (w->slot_count <= slot)
		w->slots[w->slot_count++].event = NOT_LIVE;
	w->seen[site] = true;
	return true;
}

/* Iteration w->at begins. */
static void leak_detect_begin(struct walk *w)
{
	if (w->point < w->points && w->at == iteration_at(&w->out->iterations, w->point)) {
		memcpy(w->starts + (size_t)w->point * w->devices, w->now,
		       w->devices * sizeof(*w->now));
		w->point++;
	}
	w->at++;
}

/* Of a mark; all rare events before it go by. */
static struct frag_text leak_detect_text_at(struct walk *w, uint32_t event)
{
	while (w->tape->rare[w->rare].event < event)
		w->rare++;
	return frag_tape_text(w->tape->texts, &w->tape->rare[w->rare]);
}

static bool hold(struct walk *w, const struct frag_tape_event *e, uint32_t event, uint64_t *live)
{
	const uint64_t bytes = e->word >> FRAG_TAPE_VALUE_SHIFT;

	if ((e->slot >= w->slot_count || !w->seen[e->site])
	    && !leak_detect_make_room(w, e->slot, e->site))
		return false;
	w->slots[e->slot] = (struct slot){ bytes, event, e->site };
	*live += bytes;
	return true;
}

/* Reads the few words of each event. peaks: whether to find that of each device. */
static bool walk_events(struct walk *w, uint32_t from, uint32_t to, bool peaks)
{
	const struct frag_tape_event *events = w->tape->events;
	const struct frag_tape_site *sites = w->tape->sites;

	for (uint32_t i = from; i < to; i++) {
		const struct frag_tape_event *e = &events[i];
		const uint32_t device = sites[e->site].device;
		struct slot *slot = e->slot < w->slot_count ? &w->slots[e->slot] : NULL;

		if (frag_tape_op(e) == FRAG_OP_FREE && slot && slot->event != NOT_LIVE) {
			w->now[device] -= slot->bytes;
			slot->event = NOT_LIVE;
		} else if (frag_tape_op(e) == FRAG_OP_ALLOC) {
			if (!hold(w, e, i, &w->now[device]))
				return false;
			if (peaks && w->now[device] > w->out->devices[device].peak)
				w->out->devices[device].peak = w->now[device];
		} else if (frag_tape_op(e) == FRAG_OP_MARK) {
			marked_tags_mark(&w->tags, leak_detect_text_at(w, i));
		}
	}
	return true;
}

/* As far as the start of the last iteration. */
static bool walk_tape(struct walk *w)
{
	const struct frag_iterations *it = &w->out->iterations;
	uint32_t from = 0;
	bool good = true;

	while (w->at < it->count && good) {
		good = walk_events(w, from, (uint32_t)it->start[w->at], w->at + 1 == it->count);
		from = (uint32_t)it->start[w->at];
		leak_detect_begin(w);
	}
	return good;
}

/* Who left them: by device, then tag, else stack, else size; then iteration, then step. */
static int leak_detect_by_owner(const void *one, const void *other)
{
	const struct held *a = one, *b = other;

	if (a->device != b->device || a->tag || b->tag)
		return frag_order_two(a->device, b->device, a->tag, b->tag);
	return frag_order_two(a->stack, b->stack, a->stack ? 0 : a->bytes, b->stack ? 0 : b->bytes);
}

static int by_owner_and_step(const void *one, const void *other)
{
	const struct held *a = one, *b = other;
	const int order = leak_detect_by_owner(a, b);

	return order ? order : a->step < b->step ? -1 : a->step > b->step;
}

static int leak_detect_by_bytes(const void *one, const void *other)
{
	const struct frag_leak *a = one, *b = other;

	if (a->an_iteration != b->an_iteration)
		return a->an_iteration > b->an_iteration ? -1 : 1;
	return frag_order_two(a->device, b->device, a->first_step, b->first_step);
}

/* Those of one owner: a leak where each iteration has left some. */
static bool leak_detect_judge(const struct walk *w, const struct held *first, uint32_t count)
{
	struct frag_leaks *out = w->out;
	const uint32_t looked_at = out->iterations.count - 3;
	struct frag_leak leak = {
		.device = first->device,
		.size = first->tag || first->stack ? 0 : first->bytes, .blocks = count,
		.first_step = first->step,
	};
	uint32_t iterations = 0;

	for (uint32_t i = 0; i < count; i++) {
		iterations += !i || first[i].iteration != first[i - 1].iteration;
		leak.bytes += first[i].bytes;
	}
	if (iterations < looked_at || !leak.bytes)
		return true;
	leak.an_iteration = leak.bytes / looked_at;
	leak.an_iteration += !leak.an_iteration;
	out->devices[leak.device].leak += leak.an_iteration;
	if ((first->stack && !frag_frames_json(w->tags.symbols, first->stack, &leak.frames))
	    || !marked_tags_json(&w->tags, first->tag, &leak.tag)) {
		free(leak.frames);
		return false;
	}
	out->leaks[out->leak_count++] = leak;
	return true;
}

/* Its step: the last gap before it has the difference between steps and events. */
static uint64_t step_of(const struct frag_tape *tape, uint32_t event)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, tape->gap_count, tape->gaps[low].event <= event);
	return low ? event + (tape->gaps[low - 1].step - tape->gaps[low - 1].event) : event;
}

/* How many have begun at an event. */
static uint32_t iterations_at(const struct frag_iterations *it, uint32_t event)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, it->count, it->start[low] <= event);
	return low;
}

static struct held leak_detect_held_of(struct walk *w, const struct slot *slot)
{
	const struct frag_tape_site *site = &w->tape->sites[slot->site];
	struct held held = {
		.bytes = slot->bytes, .step = step_of(w->tape, slot->event), .stack = site->stack,
		.device = site->device,
		.iteration = iterations_at(&w->out->iterations, slot->event),
	};

	/* it has been seen, so nothing can fail */
	(void)marked_tags_find(&w->tags, site->tag, &held.tag);
	return held;
}

/* What of iterations 1 to n - 3 is live still. False: out of memory. */
static bool keep_left(struct walk *w, uint32_t *count)
{
	/* the second one is iteration 1, at which two have begun */
	const uint64_t from = w->out->iterations.start[1];
	const uint64_t to = w->out->iterations.start[w->out->iterations.count - 2];

	*count = 0;
	w->left = malloc(((size_t)w->slot_count + 1) * sizeof(*w->left));
	for (uint32_t i = 0; w->left && i < w->slot_count; i++)
		if (w->slots[i].event != NOT_LIVE && w->slots[i].event >= from
		    && w->slots[i].event < to)
			w->left[(*count)++] = leak_detect_held_of(w, &w->slots[i]);
	return w->left != NULL;
}

static bool leak_detect_find_leaks(struct walk *w)
{
	uint32_t count, end;
	bool good = true;

	if (!keep_left(w, &count))
		return false;
	if (!count)
		return true;
	FRAG_SORT(w->left, count, by_owner_and_step);
	/* an owner has a block of each iteration at least */
	w->out->leaks = calloc(count, sizeof(*w->out->leaks));
	if (!w->out->leaks)
		return false;
	for (uint32_t i = 0; i < count && good; i = end) {
		for (end = i + 1; end < count && !leak_detect_by_owner(&w->left[i], &w->left[end]);)
			end++;
		good = leak_detect_judge(w, &w->left[i], end - i);
	}
	FRAG_SORT(w->out->leaks, w->out->leak_count, leak_detect_by_bytes);
	return good;
}

static int leak_detect_by_value(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static double start_at(const struct walk *w, uint32_t point, uint32_t device)
{
	return (double)w->starts[(size_t)point * w->devices + device];
}

/* The median of the slopes between any two points. */
static bool leak_detect_find_growth(const struct walk *w, uint32_t device, double *growth)
{
	const struct frag_iterations *it = &w->out->iterations;
	double *slopes = malloc((size_t)w->points * w->points / 2 * sizeof(*slopes));
	uint32_t count = 0;

	if (!slopes)
		return false;
	for (uint32_t i = 0; i < w->points; i++)
		for (uint32_t k = 0; k < i; k++)
			slopes[count++] = (start_at(w, i, device) - start_at(w, k, device))
					  / (iteration_at(it, i) - iteration_at(it, k));
	FRAG_SORT(slopes, count, leak_detect_by_value);
	*growth = count % 2 ? slopes[count / 2] : (slopes[count / 2 - 1] + slopes[count / 2]) / 2;
	free(slopes);
	return true;
}

static bool look_at_device(const struct walk *w, uint32_t device, uint64_t room)
{
	struct frag_leaking *d = &w->out->devices[device];

	d->first = w->starts[device];
	d->last = w->starts[(size_t)(w->points - 1) * w->devices + device];
	d->full_in = UINT64_MAX;
	if (room && d->leak)
		d->full_in = room > d->peak ? (room - d->peak) / d->leak : 0;
	return leak_detect_find_growth(w, device, &d->growth);
}

/* Reads the tape once, and judges the blocks that are live when the last iteration starts. */
int frag_leaks_find(struct frag_leaks *leaks, const struct frag_tape *tape, const char *mark,
		    const uint64_t *rooms, struct frag_error *err)
{
	struct walk w = {
		.out = leaks, .tape = tape, .devices = frag_tape_info(tape)->device_count,
		.tags = { .symbols = frag_tape_symbols(tape) },
	};
	const struct frag_iterations *it = &leaks->iterations;
	bool good;
	int rc;

	*leaks = (struct frag_leaks){ .leak_count = 0 };
	rc = frag_iterations_find(&leaks->iterations, tape, mark, false, err);
	if (rc)
		return rc;
	leaks->steps = (it->start[it->count - 1] - it->start[0]) / (it->count - 1);
	leaks->devices = calloc(w.devices, sizeof(*leaks->devices));
	w.now = calloc(w.devices, sizeof(*w.now));
	w.points = points_of(it);
	w.starts = calloc((size_t)w.points * w.devices, sizeof(*w.starts));
	w.seen = calloc((size_t)tape->site_count + 1, sizeof(*w.seen));
	good = frag_map_init(&w.tags.of_text, frag_hash_seed()) && leaks->devices && w.now
	       && w.starts && w.seen && walk_tape(&w) && leak_detect_find_leaks(&w);
	for (uint32_t d = 0; d < w.devices && good; d++)
		good = look_at_device(&w, d, rooms[d]);
	frag_map_fini(&w.tags.of_text);
	free(w.tags.of);
	free(w.slots);
	free(w.seen);
	free(w.left);
	free(w.now);
	free(w.starts);
	return good ? 0 : frag_fail_nomem(err);
}

void frag_leaks_fini(struct frag_leaks *leaks)
{
	frag_iterations_fini(&leaks->iterations);
	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		free(leaks->leaks[i].tag);
		free(leaks->leaks[i].frames);
	}
	free(leaks->leaks);
	free(leaks->devices);
}
