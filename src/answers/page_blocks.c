/* page_blocks.c - request, class, stream, pool, stacks, recorded address and time of each block of a page. */
#include "answers/page_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "base/format.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "explain/class_survey.h"

/* There are few. False: out of memory. */
static bool page_queue_of(struct frag_page_allocs *a, const struct frag_event *ev, uint32_t *queue)
{
	for (uint32_t i = a->queue_count; i-- > 0;)
		if (a->queues[i].stream == ev->stream && a->queues[i].pool == ev->pool) {
			*queue = i;
			return true;
		}
	if (!FRAG_GROW(a->queues, a->queue_capacity, a->queue_count))
		return false;
	a->queues[a->queue_count] = (struct frag_page_queue){ ev->stream, ev->pool };
	*queue = a->queue_count++;
	return true;
}

static bool read_allocs(struct frag_page_allocs *a)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(a->tape) };
	const struct frag_event *ev;
	bool good = w.reader;

	a->at = malloc(((size_t)a->tape->alloc_count + 1) * sizeof(*a->at));
	good = good && a->at;
	while (good && (ev = frag_tape_walk_next(&w))) {
		if (ev->op != FRAG_OP_ALLOC)
			continue;
		a->at[a->count] = (struct frag_page_alloc){
			.step = ev->step, .requested = ev->bytes,
			.whole = w.batch.whole ? w.batch.whole[w.at - 1] : 0,
		};
		good = page_queue_of(a, ev, &a->at[a->count].queue);
		a->count++;
	}
	frag_tape_reader_del(w.reader);
	return good;
}

int frag_page_allocs_init(struct frag_page_allocs *a, const struct frag_tape *tape, struct frag_error *err)
{
	*a = (struct frag_page_allocs){ .tape = tape };
	if (!tape)
		return 0;
	if (!tape->resized && !tape->part)
		a->snapshot = frag_trace_snapshot(tape->trace);
	if (!read_allocs(a))
		return frag_fail_nomem(err);
	return frag_alloc_classes(&a->classes, tape, err);
}

void frag_page_allocs_fini(struct frag_page_allocs *a)
{
	free(a->at);
	free(a->classes);
	free(a->queues);
}

void frag_page_allocs_put_names(const struct frag_page_allocs *a, struct frag_node_ref in)
{
	struct frag_node_ref list;
	char settings[4096];

	if (a->snapshot && frag_snapshot_settings_values(a->snapshot, settings, sizeof(settings)))
		frag_json_text(in, "recorded_settings", settings);
	if (a->snapshot)
		frag_snapshot_put_settings(a->snapshot, in, "allocator_settings");
	if (!a->count)
		return;
	list = frag_json_array(in, "classes");
	for (int i = 0; i < FRAG_LIFE_CLASSES; i++)
		frag_json_text(list, NULL, frag_life_class_names[i]);
	list = frag_json_array(in, "queues");
	for (uint32_t i = 0; i < a->queue_count; i++) {
		struct frag_node_ref one = frag_json_array(list, NULL);
		char *const names[] = { frag_stream_json(a->tape, a->queues[i].stream),
					frag_pool_json(a->tape, a->queues[i].pool) };

		for (int k = 0; k < 2; k++) {
			in.doc->failed |= !names[k];
			frag_json_raw(one, NULL, names[k]);
			free(names[k]);
		}
	}
}

/* A text of JSON; what is no text is an empty one. */
static void put_text(struct frag_page_pack *lines, const char *before, const struct frag_value *text)
{
	char *json = frag_is(text, FRAG_STRING) ? frag_new_json(text->as.text, text->length) : frag_new_json("", 0);

	lines->failed |= !json;
	frag_pack_take(lines, before, strlen(before));
	frag_pack_take(lines, json ? json : "", json ? strlen(json) : 0);
	free(json);
}

void frag_page_put_origins(const struct frag_page_allocs *a, struct frag_page_pack *pack, struct frag_node_ref in)
{
	const struct frag_snapshot *s = a->snapshot;
	struct frag_page_pack lines = { .used = 0 };

	for (uint32_t i = 0; s && i < s->origin_count && lines.used < FRAG_PAGE_ORIGINS; i++) {
		const struct frag_event_origin *o = &s->origins[i];
		const struct frag_value *line, *forward = o->forward ? &s->values.table[o->forward - 1] : NULL;

		put_text(&lines, "[", o->context ? &s->values.table[o->context - 1] : NULL);
		for (uint32_t k = 0; k < FRAG_FRAMES_MAX && lines.used < FRAG_PAGE_ORIGINS
		     && (line = frag_list_at(&s->values, forward, k)) != NULL; k++)
			put_text(&lines, ",", line);
		frag_pack_take(&lines, "]\n", 2);
	}
	pack->failed |= lines.failed;
	if (lines.used)
		frag_pack_bytes(pack, in, "origins", lines.bytes, lines.used);
	free(lines.bytes);
}

/* The first alloc, from one on, that is not before a step. */
static uint32_t alloc_at(const struct frag_page_allocs *a, uint32_t from, uint64_t step)
{
	while (from < a->count && a->at[from].step < step)
		from++;
	return from;
}

static uint64_t alloc_value(const struct frag_page_allocs *a, struct frag_page_stacks *stacks, uint32_t alloc,
			    const struct frag_area *block, int column)
{
	switch (column) {
	case 0:
		return block->bytes > a->at[alloc].requested ? block->bytes - a->at[alloc].requested : 0;
	case 1:
		return a->classes[alloc];
	case 2:
		return a->at[alloc].queue;
	default:
		return frag_page_stack_whole(stacks, a->at[alloc].whole);
	}
}

/* Where the recording had the block that an event of its allocates; 0: it does not say. */
static uint64_t recorded_address(const struct frag_snapshot *s, uint64_t step)
{
	const struct frag_snapshot_plan *p = &s->plan[step];

	if (p->kind == FRAG_PLAN_INITIAL)
		return s->devices[p->device].first_live[p->index].addr;
	return p->kind == FRAG_PLAN_ALLOC ? s->devices[p->device].log[p->index].addr : 0;
}

/* What the log says at an event, but a device call; NULL: nothing. */
static const struct frag_logged *logged_at(const struct frag_snapshot *s, uint64_t step)
{
	const struct frag_snapshot_plan *p;

	if (step >= s->plan_count)
		return NULL;
	p = &s->plan[step];
	switch (p->kind) {
	case FRAG_PLAN_ALLOC:
	case FRAG_PLAN_FREE:
	case FRAG_PLAN_DEFER:
	case FRAG_PLAN_OOM:
		return &s->devices[p->device].log[p->index];
	default:
		return NULL;
	}
}

uint32_t frag_page_event_stack(const struct frag_page_allocs *a, struct frag_page_stacks *stacks, uint64_t step)
{
	const struct frag_logged *e = a->snapshot ? logged_at(a->snapshot, step) : NULL;

	return e ? frag_page_stack_frames(stacks, e->frames) : 0;
}

/* What the recording alone says. */
static uint64_t event_value(const struct frag_page_allocs *a, struct frag_page_stacks *stacks, const struct frag_area *block,
			    int column)
{
	const struct frag_logged *e = column ? logged_at(a->snapshot, block->birth) : NULL;

	if (column)
		return e ? e->origin : 0;
	return frag_page_event_stack(a, stacks, block->freed);
}

static uint64_t recorded_ms(const struct frag_snapshot *s, uint64_t step)
{
	const double us = frag_snapshot_time(s, &s->plan[step]) - s->first_time;

	return us > 0 ? (uint64_t)(us / 1000) : 0;
}

/* Offsets of addresses from places, each as the difference from the one that is expected. False: out of memory. */
static bool code_addresses(const struct frag_areas *blocks, uint32_t shift, uint64_t *values)
{
	struct frag_map units;          /* of the map -> the last block there */
	int64_t *above = malloc(((size_t)blocks->count + 1) * sizeof(*above));
	bool good = frag_map_init(&units, frag_hash_seed()) && above;

	for (uint32_t i = 0; i < blocks->count && good; i++) {
		const uint64_t place = frag_area_place(blocks, i), unit = place >> FRAG_ADDRESS_UNIT;
		const uint32_t last = frag_map_get(&units, unit);
		const uint32_t like = last != FRAG_MAP_NONE ? last : i - 1;
		int64_t by;

		above[i] = (int64_t)(values[i] >> shift) - (int64_t)(place >> shift);
		by = above[i] - (i ? above[like] : 0);
		values[i] = by >= 0 ? 2 * (uint64_t)by : 2 * (uint64_t)-by - 1;
		if (last != FRAG_MAP_NONE)
			frag_map_remove(&units, unit, last);
		good = frag_map_add(&units, unit, i);
	}
	frag_map_fini(&units);
	free(above);
	return good;
}

static void pack_addresses(struct frag_page_pack *pack, struct frag_node_ref in, const struct frag_areas *blocks,
			   uint64_t *values)
{
	uint64_t all = 0;
	uint32_t shift = 0;

	for (uint32_t i = 0; i < blocks->count; i++)
		all |= values[i] | frag_area_place(blocks, i);
	while (all && !(all >> shift & 1))
		shift++;
	pack->failed |= !code_addresses(blocks, shift, values);
	frag_json_u64(in, "address_shift", shift);
	frag_pack_column(pack, in, "address", values, blocks->count, false);
}

void frag_page_allocs_pack(const struct frag_page_allocs *a, struct frag_page_stacks *stacks,
			   struct frag_page_pack *pack, struct frag_node_ref in, const struct frag_areas *blocks,
			   uint64_t *values)
{
	static const char *const names[] = { "rounding", "life_class", "queue", "made_by" };
	static const char *const event_names[] = { "freed_by", "origin" };
	const struct frag_snapshot *s = a->snapshot;

	for (int k = 0; k < 4 && a->count; k++) {
		for (uint32_t i = 0, at = 0; i < blocks->count; i++) {
			at = alloc_at(a, at, blocks->area[i].birth);
			values[i] = at < a->count ? alloc_value(a, stacks, at, &blocks->area[i], k) : 0;
		}
		frag_pack_column(pack, in, names[k], values, blocks->count, false);
	}
	if (!s)
		return;
	for (uint32_t i = 0; i < blocks->count; i++)
		values[i] = blocks->area[i].birth < s->plan_count ? recorded_address(s, blocks->area[i].birth) : 0;
	pack_addresses(pack, in, blocks, values);
	for (int k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < blocks->count; i++)
			values[i] = event_value(a, stacks, &blocks->area[i], k);
		frag_pack_column(pack, in, event_names[k], values, blocks->count, false);
	}
	if (!s->has_times || !s->has_history)
		return;
	for (uint32_t i = 0; i < blocks->count; i++)
		values[i] = blocks->area[i].birth < s->plan_count ? recorded_ms(s, blocks->area[i].birth) : 0;
	frag_json_u64(in, "first_time", s->first_time > 0 ? (uint64_t)s->first_time : 0);
	frag_pack_column(pack, in, "time", values, blocks->count, true);
}
