/* leak_detect.c - finds live memory that rises from iteration to iteration. */
#include "iterations/leak_detect.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/hash.h"
#include "events/recording_info.h"
#include "events/resolve.h"
#include "events/tape.h"
#include "iterations/levels.h"
#include "iterations/marked_tags.h"
#include "iterations/rounds.h"
#include "live_blocks/live_blocks.h"
#include "snapshot/snapshot.h"

#define NOT_LIVE UINT32_MAX
#define BLOCK_MIN 512           /* bytes that a block takes */
#define KEPT_MIN 3              /* a leak keeps blocks of as many rounds */

const char *const frag_leak_verdicts[] = { "none", "unknown", "grows", "leak", NULL };

/* What a slot of the trace holds: little, as every alloc writes it. */
struct slot {
	uint64_t bytes;
	uint32_t event, owner;  /* event NOT_LIVE: nothing is live */
};

/* A device, a tag on it, or of blocks without a tag a stack or a size. */
struct owner {
	uint64_t bytes, min_bytes;      /* live now; the minimum in this round */
	uint32_t blocks, min_blocks;
	uint32_t round;                 /* that it was last looked at in */
	uint32_t levels;                /* in the list of changes */
	uint64_t last_bytes;            /* the last of them */
	uint32_t last_blocks;
	uint32_t peak_blocks;           /* before the rounds after the last mark */
	uint32_t device, tag;
	uint64_t size;                  /* of blocks without tag and stack; else 0 */
	/* what is live after the last whole round, of the rounds after the first */
	uint64_t kept_bytes;
	uint32_t kept_blocks, oldest;   /* event */
	uint32_t kept_rounds, kept_round[KEPT_MIN];     /* some that differ */
};

/* A level of an owner that differs from its last one. */
struct change {
	uint64_t bytes;
	uint32_t owner, round, blocks;
};

struct walk {
	struct frag_leaks *out;
	const struct frag_tape *tape;
	uint32_t end;           /* events from here on do not count */
	uint64_t since;         /* rounds after the last mark: its event; else 0 */
	struct frag_marked_tags tags;
	uint32_t *of_site;      /* owner of the blocks with a tag; 0: not known yet */
	struct frag_map of_key; /* other owners */
	struct owner *owners;   /* those of the devices are the first ones */
	uint32_t owner_count, owner_capacity, devices;
	struct slot *slots;
	uint32_t slot_count, slot_capacity;
	struct change *changes;
	uint32_t change_count, change_capacity;
	uint32_t round;         /* from 1; 0: before the first */
	bool over;              /* later events have no levels */
	uint32_t rare;          /* of the tape: the next one */
	/* the changes by owner */
	uint32_t *first;
	struct frag_level_change *bytes, *blocks;
	struct frag_rising *totals;     /* one a device */
};

static bool add_level(struct walk *w, uint32_t owner, uint32_t round, uint64_t bytes,
		       uint32_t blocks)
{
	struct owner *o = &w->owners[owner];

	if (o->levels && o->last_bytes == bytes && o->last_blocks == blocks)
		return true;
	if (!FRAG_GROW(w->changes, w->change_capacity, w->change_count))
		return false;
	w->changes[w->change_count++] = (struct change){ bytes, owner, round - 1, blocks };
	o->last_bytes = bytes;
	o->last_blocks = blocks;
	o->levels++;
	return true;
}

/* The rounds from the one that it was last looked at in are over. False: out of memory. */
static bool settle_levels(struct walk *w, uint32_t owner)
{
	struct owner *o = &w->owners[owner];
	const uint32_t round = o->round;

	if (w->over)
		return true;
	if (round && !add_level(w, owner, round, o->min_bytes, o->min_blocks))
		return false;
	if (w->round > round + 1 && !add_level(w, owner, round + 1, o->bytes, o->blocks))
		return false;
	o->round = w->round;
	o->min_bytes = o->bytes;
	o->min_blocks = o->blocks;
	return true;
}

/* No rounds that are over have no levels. */
static uint32_t add_owner(struct walk *w, struct owner owner)
{
	if (!FRAG_GROW(w->owners, w->owner_capacity, w->owner_count))
		return FRAG_MAP_NONE;
	w->owners[w->owner_count] = owner;
	return w->owner_count++;
}

enum owner_kind { BY_TAG, BY_STACK, BY_SIZE };

static uint32_t owner_of(struct walk *w, uint32_t device, enum owner_kind kind, uint64_t value)
{
	const uint64_t key = frag_hash_key(value, w->of_key.seed + ((uint64_t)device << 2 | kind));
	uint32_t owner = frag_map_get(&w->of_key, key);

	if (owner != FRAG_MAP_NONE)
		return owner;
	owner = add_owner(w, (struct owner){
		.device = device, .tag = kind == BY_TAG ? (uint32_t)value : 0,
		.size = kind == BY_SIZE ? value : 0, .oldest = UINT32_MAX,
	});
	return owner != FRAG_MAP_NONE && frag_map_add(&w->of_key, key, owner) ? owner
									      : FRAG_MAP_NONE;
}

/*
 * The tag depends on the mark at which it first occurs. Of so few rounds that no owner is judged, the
 * blocks of a device have one, as there may be as many sizes as blocks.
 */
static uint32_t owner_of_alloc(struct walk *w, const struct frag_tape_event *e)
{
	const struct frag_tape_site *site = &w->tape->sites[e->site];
	uint32_t tag, owner = w->of_site[e->site];

	if (owner)
		return owner;
	if (w->out->rounds < FRAG_ROUNDS_MIN)
		return owner_of(w, site->device, BY_SIZE, 0);
	if (!site->tag)
		return site->whole ? owner_of(w, site->device, BY_STACK, site->whole)
				   : owner_of(w, site->device, BY_SIZE,
					      e->word >> FRAG_TAPE_VALUE_SHIFT);
	if (!frag_marked_tags_find(&w->tags, site->tag, &tag))
		return FRAG_MAP_NONE;
	owner = owner_of(w, site->device, BY_TAG, tag);
	if (owner != FRAG_MAP_NONE)
		w->of_site[e->site] = owner;
	return owner;
}

static bool walk_grow_slots(struct walk *w, uint32_t slot)
{
	if (!FRAG_GROW(w->slots, w->slot_capacity, slot))
		return false;
	while (w->slot_count <= slot)
		w->slots[w->slot_count++].event = NOT_LIVE;
	return true;
}

static bool note_alloc(struct walk *w, uint32_t event)
{
	const struct frag_tape_event *e = &w->tape->events[event];
	const uint64_t bytes = e->word >> FRAG_TAPE_VALUE_SHIFT;
	const uint32_t owner = owner_of_alloc(w, e), device = w->tape->sites[e->site].device;
	struct owner *o, *d;

	if (owner == FRAG_MAP_NONE || (e->slot >= w->slot_count && !walk_grow_slots(w, e->slot))
	    || (w->owners[owner].round != w->round && !settle_levels(w, owner))
	    || (w->owners[device].round != w->round && !settle_levels(w, device)))
		return false;
	o = &w->owners[owner];
	d = &w->owners[device];
	w->slots[e->slot] = (struct slot){ bytes, event, owner };
	o->bytes += bytes;
	d->bytes += bytes;
	o->blocks++;
	d->blocks++;
	if (event < w->since && o->blocks > o->peak_blocks)
		o->peak_blocks = o->blocks;
	if (w->round == w->out->rounds && d->bytes > w->out->devices[device].peak)
		w->out->devices[device].peak = d->bytes;
	return true;
}

static void take_block(struct owner *o, uint64_t bytes)
{
	o->bytes -= bytes;
	o->blocks--;
	o->min_bytes = frag_min(o->min_bytes, o->bytes);
	if (o->blocks < o->min_blocks)
		o->min_blocks = o->blocks;
}

static bool note_free(struct walk *w, const struct frag_tape_event *e)
{
	struct slot *slot = e->slot < w->slot_count ? &w->slots[e->slot] : NULL;
	uint32_t device;

	if (!slot || slot->event == NOT_LIVE)
		return true;
	device = w->owners[slot->owner].device;
	if ((w->owners[slot->owner].round != w->round && !settle_levels(w, slot->owner))
	    || (w->owners[device].round != w->round && !settle_levels(w, device)))
		return false;
	take_block(&w->owners[slot->owner], slot->bytes);
	take_block(&w->owners[device], slot->bytes);
	slot->event = NOT_LIVE;
	return true;
}

/* Of a mark; all rare events before it go by. */
static struct frag_text leak_detect_text_at(struct walk *w, uint32_t event)
{
	while (w->tape->rare[w->rare].event < event)
		w->rare++;
	return frag_tape_text(w->tape->texts, &w->tape->rare[w->rare]);
}

static bool walk_events(struct walk *w, uint32_t from, uint32_t to)
{
	bool good = true;

	for (uint32_t i = from; i < to && good; i++) {
		const struct frag_tape_event *e = &w->tape->events[i];
		const enum frag_op op = frag_tape_op(e);

		if (op == FRAG_OP_ALLOC)
			good = note_alloc(w, i);
		else if (op == FRAG_OP_FREE)
			good = note_free(w, e);
		else if (op == FRAG_OP_MARK)
			frag_marked_tags_mark(&w->tags, leak_detect_text_at(w, i));
	}
	return good;
}

/* How many have begun at an event. */
static uint32_t iterations_at(const struct frag_iterations *it, uint32_t event)
{
	uint32_t begun;

	FRAG_COUNT_WHILE(begun, it->count, it->start[begun] <= event);
	return begun;
}

/* Adds the blocks that are live when the last whole round is over to their owners. */
static void note_kept(struct walk *w)
{
	for (uint32_t i = 0; i < w->slot_count; i++) {
		const struct slot *slot = &w->slots[i];
		struct owner *o = &w->owners[slot->owner];
		uint32_t round, seen = 0;

		if (slot->event == NOT_LIVE)
			continue;
		round = iterations_at(&w->out->iterations, slot->event);
		if (round < 2 || round > w->out->rounds)
			continue;
		o->kept_bytes += slot->bytes;
		o->kept_blocks++;
		o->oldest = slot->event < o->oldest ? slot->event : o->oldest;
		while (seen < o->kept_rounds && o->kept_round[seen] != round)
			seen++;
		if (seen == o->kept_rounds && seen < KEPT_MIN)
			o->kept_round[o->kept_rounds++] = round;
	}
}

/* The whole rounds and their levels, what they kept, and then the later events. */
static bool walk_tape(struct walk *w)
{
	const struct frag_iterations *it = &w->out->iterations;
	uint32_t from = 0;
	bool good = true;

	for (; w->round < w->out->rounds + 1 && w->round < it->count && good; w->round++) {
		good = walk_events(w, from, (uint32_t)it->start[w->round]);
		from = (uint32_t)it->start[w->round];
	}
	for (uint32_t i = 0; i < w->owner_count && good; i++)
		good = w->owners[i].round == w->round || settle_levels(w, i);
	note_kept(w);
	w->over = true;
	return good && walk_events(w, from, w->end);
}

/* The changes of each owner become two lists, which begin at first[owner]. */
static bool sort_changes(struct walk *w)
{
	uint32_t *next = malloc(((size_t)w->owner_count + 1) * sizeof(*next));

	w->first = malloc(((size_t)w->owner_count + 1) * sizeof(*w->first));
	w->bytes = malloc(((size_t)w->change_count + 1) * sizeof(*w->bytes));
	w->blocks = malloc(((size_t)w->change_count + 1) * sizeof(*w->blocks));
	if (!next || !w->first || !w->bytes || !w->blocks) {
		free(next);
		return false;
	}
	for (uint32_t i = 0, at = 0; i < w->owner_count; i++) {
		next[i] = w->first[i] = at;
		at += w->owners[i].levels;
	}
	for (uint32_t i = 0; i < w->change_count; i++) {
		const struct change *c = &w->changes[i];

		w->bytes[next[c->owner]] = (struct frag_level_change){ c->bytes, c->round };
		w->blocks[next[c->owner]++] = (struct frag_level_change){ c->blocks, c->round };
	}
	free(next);
	return true;
}

static uint64_t level_at(const struct walk *w, uint32_t owner, uint32_t round)
{
	return frag_levels_at(w->bytes + w->first[owner], w->owners[owner].levels, round);
}

static uint64_t last_level(const struct walk *w, uint32_t owner)
{
	return w->out->rounds ? level_at(w, owner, w->out->rounds - 1) : 0;
}

/*
 * From the middle to the last round: a rise that counts is larger than the contract's minimum. A block
 * takes 512 bytes at least.
 */
static uint64_t gain_of(const struct walk *w, uint32_t owner)
{
	const struct frag_level_change *blocks = w->blocks + w->first[owner];
	const uint32_t levels = w->owners[owner].levels, rounds = w->out->rounds;
	const uint64_t middle = level_at(w, owner, rounds / 2), last = last_level(w, owner);
	const uint64_t more = rounds ? frag_levels_at(blocks, levels, rounds - 1) : 0;
	const uint64_t before = frag_levels_at(blocks, levels, rounds / 2);

	return frag_max(last > middle ? last - middle : 0,
			more > before ? (more - before) * BLOCK_MIN : 0);
}

static uint64_t least_gain(const struct walk *w, uint32_t device)
{
	return frag_max(FRAG_LEVEL_MIN, last_level(w, device) / FRAG_LEVEL_SHARE);
}

/* Bytes between two rounds, by their number; between the ends where noise leaves nothing. */
static double pace_of(const struct walk *w, uint32_t owner, uint32_t first, uint32_t last)
{
	uint64_t from = level_at(w, owner, first), to = level_at(w, owner, last);

	if (to <= from || last == first) {
		first = 1;
		last = w->out->rounds - 1;
		from = level_at(w, owner, first);
		to = level_at(w, owner, last);
	}
	return to > from && last > first ? (double)(to - from) / (last - first) : 0;
}

/* The frames of the program; or where there are none of packages, of PyTorch, of native code. */
struct own_frames {
	const struct frag_symbols *symbols;
	enum frag_origin best;
};

static enum frag_origin own_origin(const struct frag_frame *f)
{
	const enum frag_origin origin = frag_frame_origin(f->file, f->line);

	return origin == FRAG_ORIGIN_PYTHON ? FRAG_ORIGIN_PACKAGE : origin;
}

static bool own_frame(const void *of, uint64_t *at, struct frag_frame *frame)
{
	const struct own_frames *own = of;

	while (frag_symbols_whole(own->symbols, at, frame))
		if (own_origin(frame) == own->best)
			return true;
	return false;
}

/* NULL where the block has no stack. */
static bool own_frames_json(const struct frag_tape *tape, uint32_t event, char **text)
{
	const uint32_t stack = tape->sites[tape->events[event].site].whole;
	struct own_frames own = { frag_tape_symbols(tape), FRAG_ORIGIN_NATIVE };
	const struct frag_symbols symbols = { .of = &own, .frame = own_frame };
	struct frag_frame frame;
	uint64_t at = stack;

	*text = NULL;
	if (!stack)
		return true;
	while (frag_symbols_whole(own.symbols, &at, &frame))
		own.best = own_origin(&frame) > own.best ? own_origin(&frame) : own.best;
	return frag_frames_json(&symbols, stack, text);
}

/* Blocks between two rounds, by their number. */
static double blocks_pace_of(const struct walk *w, uint32_t owner, uint32_t first, uint32_t last)
{
	const struct frag_level_change *blocks = w->blocks + w->first[owner];
	const uint64_t from = frag_levels_at(blocks, w->owners[owner].levels, first);
	const uint64_t to = frag_levels_at(blocks, w->owners[owner].levels, last);

	return to > from && last > first ? (double)(to - from) / (last - first) : 0;
}

/* A tag that rises joins the list, which has space for it. False: out of memory. */
static bool add_leak(struct walk *w, uint32_t owner, const struct frag_rising *rising, bool larger)
{
	const struct owner *o = &w->owners[owner];
	const double pace = pace_of(w, owner, rising->first, rising->last);
	struct frag_leak leak = {
		.device = o->device, .size = o->size, .number = o->tag, .larger = larger,
		.proven = !larger && o->kept_rounds == KEPT_MIN,
		.rise = last_level(w, owner) - level_at(w, owner, 1), .period = rising->period,
		.an_iteration = pace < 1 ? 1 : (uint64_t)(pace + 0.5),
		.rounded = (uint64_t)(blocks_pace_of(w, owner, rising->first, rising->last) * BLOCK_MIN
				      + 0.5),
		.blocks = o->kept_blocks, .bytes = o->kept_bytes,
	};

	if (o->kept_blocks)
		leak.first_step = frag_tape_step(w->tape, o->oldest);
	if (!frag_marked_tags_json(&w->tags, o->tag, &leak.tag)
	    || (o->kept_blocks && !own_frames_json(w->tape, o->oldest, &leak.frames))) {
		free(leak.tag);
		return false;
	}
	w->out->leaks[w->out->leak_count++] = leak;
	w->out->proven_count += leak.proven;
	return true;
}

/*
 * A tag rises where its number of blocks does, or their bytes. After the last mark it must have
 * more blocks than it ever had before. False: out of memory.
 */
static bool judge_owner(struct walk *w, uint32_t owner)
{
	const struct owner *o = &w->owners[owner];
	const struct frag_level_change *blocks = w->blocks + w->first[owner];
	struct frag_rising more, larger;

	/* three cuts are four levels */
	if (o->levels <= FRAG_CUTS_MIN || gain_of(w, owner) <= least_gain(w, o->device)
	    || (w->since && frag_levels_at(blocks, o->levels, w->out->rounds - 1) <= o->peak_blocks))
		return true;
	if (!frag_levels_judge(blocks, o->levels, w->out->rounds, &more)
	    || !frag_levels_judge(w->bytes + w->first[owner], o->levels, w->out->rounds, &larger))
		return false;
	if (larger.rise == FRAG_RISE_STOPPED
	    || (more.rise != FRAG_RISE_ON && larger.rise != FRAG_RISE_ON))
		return true;
	return more.rise == FRAG_RISE_ON ? add_leak(w, owner, &more, false)
					 : add_leak(w, owner, &larger, true);
}

static void note_levels(const struct walk *w, uint32_t device, struct frag_leaking *d)
{
	const struct frag_level_change *levels = w->bytes + w->first[device];

	d->first = level_at(w, device, 1);
	d->last = last_level(w, device);
	d->low = d->high = d->first;
	for (uint32_t i = 0; i < w->owners[device].levels; i++) {
		if (levels[i].round < 2 || levels[i].round >= w->out->rounds)
			continue;
		d->low = frag_min(d->low, levels[i].value);
		d->high = frag_max(d->high, levels[i].value);
	}
	d->peak = frag_max(d->peak, d->last);
}

/* After the tags of the device. */
static void judge_device(struct walk *w, uint32_t device, uint64_t room)
{
	struct frag_leaking *d = &w->out->devices[device];
	const struct frag_rising total = w->totals[device];
	const uint64_t least = least_gain(w, device);
	double rising = 0;

	note_levels(w, device, d);
	d->end = w->owners[device].bytes;
	d->full_in = UINT64_MAX;
	d->verdict = FRAG_LEAK_NONE;
	for (uint32_t i = 0; i < w->out->leak_count; i++) {
		const struct frag_leak *k = &w->out->leaks[i];

		if (k->device != device)
			continue;
		rising += (double)k->an_iteration;
		d->leak += k->proven ? k->an_iteration : 0;
		d->verdict = k->proven || d->verdict == FRAG_LEAK_FOUND ? FRAG_LEAK_FOUND
									 : FRAG_LEAK_GROWS;
	}
	if (total.rise == FRAG_RISE_ON && gain_of(w, device) > least) {
		d->verdict = d->verdict == FRAG_LEAK_FOUND ? d->verdict : FRAG_LEAK_GROWS;
		rising = pace_of(w, device, total.first, total.last);
	} else if (total.rise == FRAG_RISE_STOPPED && d->verdict == FRAG_LEAK_NONE
		   && d->last > level_at(w, device, total.first - 1) + least) {
		d->verdict = FRAG_LEAK_UNKNOWN;
		d->stopped = total.last;
		d->stopped_bytes = d->last - level_at(w, device, total.first - 1);
	}
	d->growth = d->verdict >= FRAG_LEAK_GROWS ? rising : 0;
	if (room && d->growth > 0)
		d->full_in = room > d->peak ? (uint64_t)((double)(room - d->peak) / d->growth) : 0;
}

static int leak_detect_by_bytes(const void *one, const void *other)
{
	const struct frag_leak *a = one, *b = other;

	if (a->proven != b->proven)
		return a->proven ? -1 : 1;
	if (a->an_iteration != b->an_iteration)
		return a->an_iteration > b->an_iteration ? -1 : 1;
	return a->rise != b->rise ? (a->rise > b->rise ? -1 : 1)
				  : frag_order_two(a->device, b->device, a->first_step, b->first_step);
}

/*
 * Where the recording starts late, new blocks can take the place of some from before it, which
 * have no tag: then a tag counts only if the total rises, too.
 */
static bool tags_count(const struct walk *w, uint32_t device)
{
	return !frag_tape_is_late(w->tape)
	       || (w->totals[device].rise == FRAG_RISE_ON
		   && gain_of(w, device) > least_gain(w, device));
}

static bool judge(struct walk *w, const uint64_t *rooms)
{
	struct frag_leaks *out = w->out;
	bool good = sort_changes(w);

	out->leaks = good ? calloc(w->owner_count, sizeof(*out->leaks)) : NULL;
	w->totals = good ? calloc(w->devices, sizeof(*w->totals)) : NULL;
	good = out->leaks && w->totals;
	for (uint32_t d = 0; d < w->devices && good; d++)
		good = frag_levels_judge(w->bytes + w->first[d], w->owners[d].levels, out->rounds,
					 &w->totals[d]);
	for (uint32_t i = w->devices; i < w->owner_count && good && out->rounds >= FRAG_ROUNDS_MIN; i++)
		if (tags_count(w, w->owners[i].device))
			good = judge_owner(w, i);
	FRAG_SORT(out->leaks, out->leak_count, leak_detect_by_bytes);
	out->verdict = FRAG_LEAK_NONE;
	for (uint32_t d = 0; d < w->devices && good; d++) {
		judge_device(w, d, rooms ? rooms[d] : 0);
		if (out->rounds < FRAG_ROUNDS_MIN)
			out->devices[d].verdict = FRAG_LEAK_UNKNOWN;
		if (out->devices[d].verdict > out->verdict)
			out->verdict = out->devices[d].verdict;
	}
	return good;
}

/* Reads the tape once. It takes the iterations, also where it fails. */
static int judge_rounds(struct frag_leaks *out, const struct frag_tape *tape,
			struct frag_iterations *it, uint64_t since, uint64_t until,
			const uint64_t *rooms, struct frag_error *err)
{
	struct walk w = {
		.out = out, .tape = tape, .end = (uint32_t)frag_min(until, tape->count),
		.since = since,
		.devices = frag_tape_info(tape)->device_count,
	};
	bool good;

	*out = (struct frag_leaks){
		.iterations = *it, .rounds = it->count ? it->count - 1 : 0,
		.steps = it->count > 1 ? (it->start[it->count - 1] - it->start[0]) / (it->count - 1) : 0,
	};
	*it = (struct frag_iterations){ .count = 0 };
	good = frag_marked_tags_init(&w.tags, frag_tape_symbols(tape));
	good = frag_map_init(&w.of_key, frag_hash_seed()) && good;
	out->devices = calloc(w.devices, sizeof(*out->devices));
	w.of_site = calloc((size_t)tape->site_count + 1, sizeof(*w.of_site));
	good = good && out->devices && w.of_site;
	for (uint32_t d = 0; d < w.devices && good; d++)
		good = add_owner(&w, (struct owner){ .device = d }) != FRAG_MAP_NONE;
	good = good && walk_tape(&w) && judge(&w, rooms);
	frag_marked_tags_fini(&w.tags);
	frag_map_fini(&w.of_key);
	free(w.of_site);
	free(w.owners);
	free(w.slots);
	free(w.changes);
	free(w.first);
	free(w.totals);
	free(w.bytes);
	free(w.blocks);
	return good ? 0 : frag_fail_nomem(err);
}

/* Something long came after the last mark, and left memory behind: no rounds are known in it. */
static bool leaves_after(const struct frag_leaks *leaks, const struct frag_tape *tape, uint64_t until)
{
	const struct frag_iterations *it = &leaks->iterations;
	uint64_t longest = 0;

	for (uint32_t i = 1; i < it->count; i++)
		longest = frag_max(longest, it->start[i] - it->start[i - 1]);
	if (frag_min(until, tape->count) - it->start[it->count - 1] <= 2 * longest)
		return false;
	for (uint32_t d = 0; d < frag_tape_info(tape)->device_count; d++)
		if (leaks->devices[d].end > leaks->devices[d].last
						    + frag_max(FRAG_LEVEL_MIN, leaks->devices[d].end
									       / FRAG_LEVEL_SHARE))
			return true;
	return false;
}

/* The rounds after the last mark decide where they show a tag that rises. */
static int judge_after(struct frag_leaks *leaks, const struct frag_tape *tape, uint64_t until,
		       const uint64_t *rooms, struct frag_error *err)
{
	const uint64_t last = leaks->iterations.start[leaks->iterations.count - 1];
	struct frag_iterations it;
	struct frag_leaks after = { .leak_count = 0 };
	int rc = frag_rounds_after(&it, tape, last, until, err);

	if (!rc && it.count)
		rc = judge_rounds(&after, tape, &it, last, until, rooms, err);
	frag_iterations_fini(&it);
	if (!rc && after.verdict >= FRAG_LEAK_GROWS && after.leak_count) {
		const struct frag_leaks before = *leaks;

		*leaks = after;
		after = before;
	} else if (!rc && leaves_after(leaks, tape, until)) {
		/* memory from after the last mark stays */
		leaks->verdict = FRAG_LEAK_UNKNOWN;
	}
	frag_leaks_fini(&after);
	return rc;
}

int frag_leaks_find(struct frag_leaks *leaks, const struct frag_tape *tape, const char *mark,
		    uint64_t until, const uint64_t *rooms, struct frag_error *err)
{
	struct frag_iterations it;
	int rc = frag_rounds_find(&it, tape, mark, until, err);

	*leaks = (struct frag_leaks){ .leak_count = 0 };
	rc = rc ? rc : judge_rounds(leaks, tape, &it, 0, until, rooms, err);
	frag_iterations_fini(&it);
	if (!rc && leaks->verdict < FRAG_LEAK_GROWS && leaks->iterations.mark)
		rc = judge_after(leaks, tape, until, rooms, err);
	return rc;
}

uint32_t frag_leaks_worst(const struct frag_leaks *leaks, uint32_t device_count)
{
	const struct frag_leaking *d = leaks->devices;
	uint32_t worst = 0;

	for (uint32_t i = 1; i < device_count; i++)
		if (d[i].verdict > d[worst].verdict
		    || (d[i].verdict == d[worst].verdict && d[i].growth > d[worst].growth))
			worst = i;
	return worst;
}

const struct frag_leak *frag_leaks_largest(const struct frag_leaks *leaks, uint32_t device)
{
	for (uint32_t i = 0; i < leaks->leak_count; i++)
		if (leaks->leaks[i].device == device)
			return &leaks->leaks[i];
	return NULL;
}

/* The device that grows most stands for all. */
int frag_leaks_store(const struct frag_leaks *leaks, struct frag_trace *trace,
		     struct frag_error *err)
{
	static const enum frag_grows grows[] = {
		[FRAG_LEAK_NONE] = FRAG_GROWS_NO, [FRAG_LEAK_UNKNOWN] = FRAG_GROWS_UNKNOWN,
		[FRAG_LEAK_GROWS] = FRAG_GROWS_YES, [FRAG_LEAK_FOUND] = FRAG_GROWS_YES,
	};
	const uint32_t worst = frag_leaks_worst(leaks, frag_trace_info(trace)->device_count);
	const struct frag_leak *k = frag_leaks_largest(leaks, worst);
	struct frag_memory_growth growth = { .bytes = 0 };

	if (leaks->verdict >= FRAG_LEAK_GROWS) {
		growth.bytes = (uint64_t)(leaks->devices[worst].growth + 0.5);
		growth.tag = k ? k->tag : NULL;
		growth.frames = k ? k->frames : NULL;
		growth.size = k ? k->size : 0;
	}
	return frag_trace_set_growth(trace, grows[leaks->verdict], &growth, err);
}

int frag_growth_find(struct frag_trace *trace, const struct frag_tape *tape,
		     struct frag_error *err)
{
	struct frag_leaks leaks;
	int rc;

	if (trace->source->frame && (trace->options.stacks == FRAG_STACKS_TOP
				     || trace->options.stacks == FRAG_STACKS_NONE))
		return 0;
	rc = frag_leaks_find(&leaks, tape, NULL, UINT64_MAX, NULL, err);
	rc = rc ? rc : frag_leaks_store(&leaks, trace, err);
	frag_leaks_fini(&leaks);
	return rc;
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
