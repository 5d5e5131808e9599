/*
 * pending_waits.c - what the pending blocks of a moment wait for.
 *
 * A stream that was recorded for a block is waited for from its free on, until the next sync of
 * it; so of each stream the last sync is enough.
 */
#include "search/pending_waits.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/recording_info.h"

/* A pending block on its way to the moment. */
struct pending {
	uint64_t freed;         /* step; 0: not yet */
	uint32_t block, stream; /* stream: on which it was allocated */
	bool born, recorded;    /* recorded: a stream so far */
};

struct survey {
	struct frag_waits *out;
	const struct frag_memory_state *scene;
	uint32_t device;
	struct pending *blocks;
	uint32_t *at;           /* by slot: one more than the index into blocks; 0: none */
	uint64_t *synced;       /* by stream: one more than the step of its last sync; 0: none */
	uint32_t count, slot_count, slot_capacity, stream_count, stream_capacity;
	uint64_t all_synced;    /* likewise, of all streams */
};

static bool grow_numbers(uint32_t **array, uint32_t *count, uint32_t *capacity, uint32_t at)
{
	if (!frag_grow(array, capacity, (uint64_t)at + 1, sizeof(**array)))
		return false;
	while (*count <= at)
		(*array)[(*count)++] = 0;
	return true;
}

/* False: out of memory. */
static bool list_pending(struct survey *s)
{
	s->blocks = calloc((size_t)s->scene->block_count + 1, sizeof(*s->blocks));
	for (uint32_t i = 0; s->blocks && i < s->scene->block_count; i++) {
		const struct frag_scene_block *b = &s->scene->blocks[i];

		if (b->state != FRAG_PENDING || b->slot == FRAG_NO_SLOT)
			continue;
		if (!grow_numbers(&s->at, &s->slot_count, &s->slot_capacity, b->slot))
			return false;
		s->blocks[s->count] = (struct pending){ .block = i };
		s->at[b->slot] = ++s->count;
	}
	return s->blocks != NULL;
}

static bool add_wait(struct survey *s, struct pending *p, uint32_t stream)
{
	struct frag_waits *w = s->out;

	if (!frag_grow(&w->of, &w->capacity, (uint64_t)w->count + 1, sizeof(*w->of)))
		return false;
	w->of[w->count++] = (struct frag_wait){ p->block, stream };
	p->recorded = true;
	return true;
}

static bool pending_waits_note_sync(struct survey *s, const struct frag_event *ev)
{
	if (ev->device != FRAG_ALL && ev->device != s->device)
		return true;
	if (ev->stream == FRAG_ALL) {
		s->all_synced = ev->step + 1;
		return true;
	}
	if (!frag_grow(&s->synced, &s->stream_capacity, (uint64_t)ev->stream + 1,
		       sizeof(*s->synced)))
		return false;
	while (s->stream_count <= ev->stream)
		s->synced[s->stream_count++] = 0;
	s->synced[ev->stream] = ev->step + 1;
	return true;
}

/* An event of a block that will be pending at the moment; its slot was others' before. */
static bool note_block(struct survey *s, struct pending *p, const struct frag_event *ev)
{
	if (ev->op == FRAG_OP_ALLOC && ev->step == s->scene->blocks[p->block].birth) {
		p->born = true;
		p->stream = ev->stream;
	}
	if (!p->born || p->freed)
		return true;
	if (ev->op == FRAG_OP_RECORD_STREAM)
		return ev->stream == p->stream || add_wait(s, p, ev->stream);
	if (ev->op != FRAG_OP_FREE)
		return true;
	p->freed = ev->step;
	return (!(ev->members & FRAG_HAS_PENDING) && p->recorded) || add_wait(s, p, FRAG_ALL);
}

static bool pending_waits_note_event(struct survey *s, const struct frag_event *ev)
{
	if (ev->op == FRAG_OP_SYNC)
		return pending_waits_note_sync(s, ev);
	if ((ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE && ev->op != FRAG_OP_RECORD_STREAM)
	    || ev->slot >= s->slot_count || !s->at[ev->slot])
		return true;
	return note_block(s, &s->blocks[s->at[ev->slot] - 1], ev);
}

static bool pending_waits_read_tape(struct survey *s, const struct frag_tape *tape, uint64_t until)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	const uint64_t end = frag_tape_event(tape, until) + 1;
	struct frag_batch batch = { .count = 1 };
	bool good = reader != NULL;

	while (good && batch.count) {
		frag_tape_next(reader, end, &batch);
		for (uint32_t i = 0; i < batch.count && good; i++)
			good = pending_waits_note_event(s, &batch.events[i]);
	}
	frag_tape_reader_del(reader);
	return good;
}

/* Has the stream been synchronised after the block's free? */
static bool pending_waits_is_over(const struct survey *s, const struct frag_wait *wait)
{
	const uint64_t freed =
		s->blocks[s->at[s->scene->blocks[wait->block].slot] - 1].freed;

	if (wait->stream == FRAG_ALL)
		return false;
	return s->all_synced > freed
	       || (wait->stream < s->stream_count && s->synced[wait->stream] > freed);
}

static int by_block(const void *one, const void *other)
{
	const struct frag_wait *a = one, *b = other;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

/* Those that still hold, each once. */
static void pending_waits_settle(struct survey *s)
{
	struct frag_waits *w = s->out;
	uint32_t n = 0;

	if (w->count)
		qsort(w->of, w->count, sizeof(*w->of), by_block);
	for (uint32_t i = 0; i < w->count; i++)
		if (!pending_waits_is_over(s, &w->of[i])
		    && (!n || by_block(&w->of[n - 1], &w->of[i]) != 0))
			w->of[n++] = w->of[i];
	w->count = n;
}

int frag_waits_find(struct frag_waits *waits, const struct frag_memory_state *scene,
		    uint32_t device, const struct frag_tape *tape, uint64_t until,
		    struct frag_error *err)
{
	struct survey s = { .out = waits, .scene = scene, .device = device };
	bool good;

	*waits = (struct frag_waits){ .count = 0 };
	good = list_pending(&s);
	if (good && s.count)
		good = pending_waits_read_tape(&s, tape, until);
	if (good)
		pending_waits_settle(&s);
	free(s.blocks);
	free(s.at);
	free(s.synced);
	return good ? 0 : frag_fail_nomem(err);
}

void frag_waits_fini(struct frag_waits *waits)
{
	free(waits->of);
	*waits = (struct frag_waits){ .count = 0 };
}

static void count_pending(struct frag_explained *m, const struct frag_memory_state *scene,
			  const struct frag_lifetimes *lifetimes)
{
	m->pending_since = UINT64_MAX;
	for (uint32_t k = 0; k < scene->block_count; k++) {
		if (scene->blocks[k].state != FRAG_PENDING)
			continue;
		if (lifetimes->of[k].freed < m->pending_since)
			m->pending_since = lifetimes->of[k].freed;
		m->pending += scene->blocks[k].bytes;
		m->pending_blocks++;
		if (scene->blocks[k].slot == FRAG_NO_SLOT) {
			m->over += scene->blocks[k].bytes;
			m->over_blocks++;
		}
	}
}

/*
 * Adds the waits to one row for each stream, found by the map. The caller has allocated the
 * rows.
 */
static bool add_up(struct frag_explained *m, const struct frag_memory_state *scene,
		   const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		   struct frag_map *rows)
{
	for (uint32_t i = 0; i < waits->count; i++) {
		const struct frag_wait *w = &waits->of[i];
		const uint64_t freed = lifetimes->of[w->block].freed;
		uint32_t at = frag_map_get(rows, w->stream);
		struct frag_awaited *row;

		if (at == FRAG_MAP_NONE) {
			at = m->awaited_count++;
			m->awaited[at] = (struct frag_awaited){
				.number = w->stream, .since = freed,
			};
			if (!frag_map_add(rows, w->stream, at))
				return false;
		}
		row = &m->awaited[at];
		row->bytes += scene->blocks[w->block].bytes;
		row->blocks++;
		row->since = freed < row->since ? freed : row->since;
	}
	return true;
}

static int by_since(const void *a, const void *b)
{
	const struct frag_awaited *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Sorts the rows, names them, and stores the row of each wait. */
static bool explain_pending_settle(struct frag_explained *m, const struct frag_waits *waits,
				   const struct frag_tape *tape)
{
	struct frag_map rows;
	bool good = frag_map_init(&rows, frag_hash_seed());

	if (m->awaited_count)
		qsort(m->awaited, m->awaited_count, sizeof(*m->awaited), by_since);
	for (uint32_t i = 0; i < m->awaited_count && good; i++) {
		struct frag_awaited *row = &m->awaited[i];

		good = frag_map_add(&rows, row->number, i);
		if (row->number == FRAG_ALL || !good)
			continue;
		row->stream = frag_stream_json(tape, row->number);
		good = row->stream != NULL;
	}
	for (uint32_t i = 0; i < waits->count && good; i++)
		m->waits[m->wait_count++] = frag_map_get(&rows, waits->of[i].stream);
	frag_map_fini(&rows);
	return good;
}

int frag_explain_pending(struct frag_explained *m, const struct frag_memory_state *scene,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, struct frag_error *err)
{
	struct frag_map rows;
	bool good = frag_map_init(&rows, frag_hash_seed());

	count_pending(m, scene, lifetimes);
	m->awaited = calloc((size_t)waits->count + 1, sizeof(*m->awaited));
	m->waits = calloc((size_t)waits->count + 1, sizeof(*m->waits));
	good = good && m->awaited && m->waits && add_up(m, scene, lifetimes, waits, &rows)
	       && explain_pending_settle(m, waits, tape);
	frag_map_fini(&rows);
	return good ? 0 : frag_fail_nomem(err);
}

void frag_awaited_pin(struct frag_blocking_block *pin, const struct frag_waits *waits,
		      uint32_t block)
{
	uint32_t low = 0, high = waits->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (waits->of[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	pin->waits = low;
	while (low < waits->count && waits->of[low].block == block)
		low++;
	pin->wait_count = low - pin->waits;
}

void frag_awaited_fini(struct frag_explained *m)
{
	for (uint32_t i = 0; i < m->awaited_count; i++)
		free(m->awaited[i].stream);
	free(m->awaited);
	free(m->waits);
}
