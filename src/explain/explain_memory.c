/* explain_memory.c - explains a memory state by segments, blocking blocks, tags and pools. */
#include "explain/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "live_blocks/live_blocks.h"

/*
 * What the pending blocks of a moment wait for.
 *
 * A stream that was recorded for a block is waited for from its free on, until the next sync of
 * it; so of each stream the last sync is enough.
 */

/* A pending block, and one thing that it waits for. */
struct wait {
	uint32_t block;         /* index into the memory state's */
	uint32_t stream;        /* dense; FRAG_ALL: its `complete`, whatever stream that is of */
};

/* By block, then by stream. */
struct waits {
	struct wait *of;
	uint32_t count, capacity;
};

/* A pending block on its way to the moment. */
struct pending {
	uint64_t freed;         /* step; 0: not yet */
	uint32_t block, stream; /* stream: on which it was allocated */
	bool born, recorded;    /* recorded: a stream so far */
};

struct survey {
	struct waits *out;
	const struct frag_memory_state *memory;
	uint32_t device;
	struct pending *blocks;
	uint32_t *at;           /* by slot: one more than the index into blocks; 0: none */
	uint64_t *synced;       /* by stream: one more than the step of its last sync; 0: none */
	uint32_t count, slot_count, slot_capacity, stream_count, stream_capacity;
	uint64_t all_synced;    /* likewise, of all streams */
};

/* False: out of memory. */
static bool list_pending(struct survey *s)
{
	s->blocks = calloc((size_t)s->memory->block_count + 1, sizeof(*s->blocks));
	for (uint32_t i = 0; s->blocks && i < s->memory->block_count; i++) {
		const struct frag_state_block *b = &s->memory->blocks[i];

		if (b->state != FRAG_PENDING || b->slot == FRAG_NO_SLOT)
			continue;
		if (!FRAG_EXTEND(s->at, s->slot_capacity, s->slot_count, b->slot))
			return false;
		s->blocks[s->count] = (struct pending){ .block = i };
		s->at[b->slot] = ++s->count;
	}
	return s->blocks != NULL;
}

static bool add_wait(struct survey *s, struct pending *p, uint32_t stream)
{
	struct waits *w = s->out;

	if (!FRAG_GROW(w->of, w->capacity, w->count))
		return false;
	w->of[w->count++] = (struct wait){ p->block, stream };
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
	if (!FRAG_EXTEND(s->synced, s->stream_capacity, s->stream_count, ev->stream))
		return false;
	s->synced[ev->stream] = ev->step + 1;
	return true;
}

/* An event of a block that will be pending at the moment; its slot was others' before. */
static bool note_block(struct survey *s, struct pending *p, const struct frag_event *ev)
{
	if (ev->op == FRAG_OP_ALLOC && ev->step == s->memory->blocks[p->block].birth) {
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
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;
	uint64_t left = frag_tape_event(tape, until) + 1;
	bool good = w.reader;

	while (good && left-- && (ev = frag_tape_walk_next(&w)))
		good = pending_waits_note_event(s, ev);
	frag_tape_reader_del(w.reader);
	return good;
}

/* Has the stream been synchronised after the block's free? */
static bool pending_waits_is_over(const struct survey *s, const struct wait *wait)
{
	const uint64_t freed =
		s->blocks[s->at[s->memory->blocks[wait->block].slot] - 1].freed;

	if (wait->stream == FRAG_ALL)
		return false;
	return s->all_synced > freed
	       || (wait->stream < s->stream_count && s->synced[wait->stream] > freed);
}

static int by_block(const void *one, const void *other)
{
	const struct wait *a = one, *b = other;

	return frag_order_two(a->block, b->block, a->stream, b->stream);
}

/* Those that still hold, each once. */
static void pending_waits_settle(struct survey *s)
{
	struct waits *w = s->out;
	uint32_t n = 0;

	FRAG_SORT(w->of, w->count, by_block);
	for (uint32_t i = 0; i < w->count; i++)
		if (!pending_waits_is_over(s, &w->of[i])
		    && (!n || by_block(&w->of[n - 1], &w->of[i]) != 0))
			w->of[n++] = w->of[i];
	w->count = n;
}

/*
 * Finds the waits in a memory state after step `until`. Reads the tape up to there if a block is
 * pending. False: out of memory.
 */
static bool find_waits(struct waits *waits, const struct frag_memory_state *memory,
		       uint32_t device, const struct frag_tape *tape, uint64_t until)
{
	struct survey s = { .out = waits, .memory = memory, .device = device };
	bool good = list_pending(&s);

	if (good && s.count)
		good = pending_waits_read_tape(&s, tape, until);
	if (good)
		pending_waits_settle(&s);
	free(s.blocks);
	free(s.at);
	free(s.synced);
	return good;
}

struct account {
	struct frag_explained *m;
	const struct frag_memory_state *memory;
	const struct frag_tape *tape;
	const struct frag_symbols *symbols;
	struct frag_lifetimes lifetimes;
	struct waits waits;
	uint32_t held_capacity, folded_capacity, pool_capacity;
};

static void count_pending(struct frag_explained *m, const struct frag_memory_state *memory)
{
	for (uint32_t k = 0; k < memory->block_count; k++) {
		if (memory->blocks[k].state != FRAG_PENDING)
			continue;
		m->pending += memory->blocks[k].bytes;
		m->pending_blocks++;
		if (memory->blocks[k].slot == FRAG_NO_SLOT) {
			m->over += memory->blocks[k].bytes;
			m->over_blocks++;
		}
	}
}

/*
 * Adds the waits to one row for each stream, found by the map. The caller has allocated the
 * rows.
 */
static bool add_up(const struct account *a, struct frag_map *rows)
{
	struct frag_explained *m = a->m;

	for (uint32_t i = 0; i < a->waits.count; i++) {
		const struct wait *w = &a->waits.of[i];
		const uint64_t freed = a->lifetimes.of[w->block].freed;
		uint32_t at = frag_map_get(rows, w->stream);
		struct frag_pending_use *row;

		if (at == FRAG_MAP_NONE) {
			at = m->use_count++;
			m->uses[at] = (struct frag_pending_use){
				.number = w->stream, .since = freed,
			};
			if (!frag_map_add(rows, w->stream, at))
				return false;
		}
		row = &m->uses[at];
		row->bytes += a->memory->blocks[w->block].bytes;
		row->blocks++;
		row->since = freed < row->since ? freed : row->since;
	}
	return true;
}

static int by_since(const void *a, const void *b)
{
	const struct frag_pending_use *x = a, *y = b;

	return frag_order_two(x->since, y->since, x->number, y->number);
}

/* Sorts the rows, names them, and stores the row of each wait. */
static bool name_uses(const struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_map rows;
	bool good = frag_map_init(&rows, frag_hash_seed());

	FRAG_SORT(m->uses, m->use_count, by_since);
	for (uint32_t i = 0; i < m->use_count && good; i++) {
		struct frag_pending_use *row = &m->uses[i];

		good = frag_map_add(&rows, row->number, i);
		if (row->number == FRAG_ALL || !good)
			continue;
		row->stream = frag_stream_json(a->tape, row->number);
		good = row->stream != NULL;
	}
	for (uint32_t i = 0; i < a->waits.count && good; i++)
		m->waits[m->wait_count++] = frag_map_get(&rows, a->waits.of[i].stream);
	frag_map_fini(&rows);
	return good;
}

static bool fill_pending(const struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_map rows;
	bool good = frag_map_init(&rows, frag_hash_seed());

	count_pending(m, a->memory);
	m->uses = calloc((size_t)a->waits.count + 1, sizeof(*m->uses));
	m->waits = calloc((size_t)a->waits.count + 1, sizeof(*m->waits));
	good = good && m->uses && m->waits && add_up(a, &rows) && name_uses(a);
	frag_map_fini(&rows);
	return good;
}

/* Lists the live blocks of a segment with their tags and lifetimes. False: out of memory. */
static bool fill_blocking(const struct account *a, const struct frag_state_segment *seg,
			  struct frag_blocked_segment *to)
{
	to->blocking = calloc(seg->live_blocks, sizeof(*to->blocking));
	for (uint32_t k = seg->first; to->blocking && k < seg->first + seg->count; k++) {
		const struct frag_state_block *b = &a->memory->blocks[k];
		const struct frag_lifetime *life = &a->lifetimes.of[k];
		struct frag_blocking_block *blocking;

		if (!frag_is_live(b))
			continue;
		blocking = &to->blocking[to->blocking_count++];
		*blocking = (struct frag_blocking_block){
			.bytes = b->bytes, .offset = b->offset, .born = b->birth,
			.freed = life->freed, .life = life->life,
			.pending = b->state == FRAG_PENDING, .initial = life->initial,
		};
		FRAG_COUNT_WHILE(blocking->waits, a->waits.count,
				 a->waits.of[blocking->waits].block < k);
		while (blocking->waits + blocking->wait_count < a->waits.count
		       && a->waits.of[blocking->waits + blocking->wait_count].block == k)
			blocking->wait_count++;
		blocking->id = life->id ? strdup(life->id) : NULL;
		if (!blocking->id != !life->id
		    || !frag_tag_json(a->symbols, b->tag, &blocking->tag))
			return false;
	}
	return to->blocking != NULL;
}

static int by_non_releasable(const void *a, const void *b)
{
	const struct frag_blocked_segment *x = a, *y = b;

	return frag_order_two(y->non_releasable, x->non_releasable, x->ordinal, y->ordinal);
}

/*
 * Segments are reserved in the order of their ordinals, so each existed when the oldest block
 * was allocated that is in this or in a later segment.
 */
static void find_reservations(const struct account *a)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t k = a->m->segment_count;

	for (uint32_t i = a->memory->segment_count; i-- > 0;) {
		const struct frag_state_segment *seg = &a->memory->segments[i];

		for (uint32_t b = seg->first; b < seg->first + seg->count; b++)
			if (frag_is_live(&a->memory->blocks[b])
			    && a->memory->blocks[b].slot != FRAG_NO_SLOT
			    && frag_birth(&a->lifetimes, a->memory, b) < oldest)
				oldest = frag_birth(&a->lifetimes, a->memory, b);
		if (k && a->m->segments[k - 1].ordinal == seg->ordinal)
			a->m->segments[--k].obtained_by = oldest;
	}
}

/* Fills in the segments with live blocks and non-releasable free bytes. */
static bool fill_segments(const struct account *a)
{
	struct frag_explained *m = a->m;

	m->segments = calloc((size_t)a->memory->segment_count + 1, sizeof(*m->segments));
	for (uint32_t i = 0; m->segments && i < a->memory->segment_count; i++) {
		const struct frag_state_segment *seg = &a->memory->segments[i];
		struct frag_blocked_segment *to = &m->segments[m->segment_count];

		if (!seg->live_blocks || !seg->non_releasable)
			continue;
		m->segment_count++;
		*to = (struct frag_blocked_segment){
			.ordinal = seg->ordinal,
			.bytes = seg->bytes,
			.non_releasable = seg->non_releasable,
			.range = seg->page != 0,
		};
		if (!fill_blocking(a, seg, to))
			return false;
	}
	find_reservations(a);
	FRAG_SORT(m->segments, m->segment_count, by_non_releasable);
	return m->segments != NULL;
}

static int by_tag_bytes(const void *a, const void *b)
{
	const struct frag_tag_memory *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return frag_order_two(x->oldest, y->oldest, x->number, y->number);
}

static bool add_held(struct account *a, struct frag_block_groups *tags)
{
	struct frag_explained *m = a->m;

	for (uint32_t k = 0; k < a->memory->block_count; k++) {
		const struct frag_state_block *b = &a->memory->blocks[k];
		const struct frag_lifetime *life = &a->lifetimes.of[k];
		struct frag_tag_memory *held;
		uint32_t i;

		if (!frag_is_live(b) || b->slot == FRAG_NO_SLOT)
			continue;
		i = frag_block_groups_find(tags, b->tag, 0, 0);
		if (i == FRAG_MAP_NONE || !FRAG_GROW(m->held, a->held_capacity, i))
			return false;
		held = &m->held[i];
		if (i == m->held_count) {
			*held = (struct frag_tag_memory){ .number = b->tag, .oldest = b->birth };
			m->held_count++;
		}
		held->bytes += b->bytes;
		held->blocks++;
		held->oldest = frag_min(held->oldest, b->birth);
		/* the program is done with it: it has no class any more */
		if (b->state == FRAG_PENDING)
			continue;
		held->of_class[life->life] += b->requested;
		held->evidence[life->life] =
			(uint8_t)frag_max(held->evidence[life->life], life->evidence);
	}
	return true;
}

static bool fill_held(struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_block_groups tags;
	bool good = frag_block_groups_init(&tags) && add_held(a, &tags);

	frag_block_groups_fini(&tags);
	FRAG_SORT(m->held, m->held_count, by_tag_bytes);
	for (uint32_t i = 0; i < m->held_count && good; i++)
		good = frag_tag_json(a->symbols, m->held[i].number, &m->held[i].tag);
	return good;
}

static int by_folded(const void *a, const void *b)
{
	const struct frag_folded *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return frag_order_two(x->tag, y->tag, x->stack, y->stack);
}

/* One frame in front of those that it called; false: out of memory. */
static bool put_before(char **line, const struct frag_text *frame)
{
	const size_t rest = *line ? strlen(*line) + 1 : 0;
	char *text = malloc(frame->length + rest + 1);

	if (!text)
		return false;
	/* a line of folded stacks has separators and line ends itself */
	for (size_t i = 0; i < frame->length; i++)
		text[i] = frame->text[i] == ';' ? ':'
			  : (unsigned char)frame->text[i] < ' ' ? ' ' : frame->text[i];
	if (rest) {
		text[frame->length] = ';';
		memcpy(text + frame->length + 1, *line, rest - 1);
	}
	text[frame->length + rest] = '\0';
	free(*line);
	*line = text;
	return true;
}

static bool name_folded(const struct account *a, struct frag_folded *row)
{
	static const struct frag_text none = { .text = "(no tag)", .length = 8 };
	struct frag_text tag = frag_symbols_tag(a->symbols, row->tag);
	uint64_t at = row->stack;
	struct frag_frame frame;
	uint32_t count = 0;

	while (at && count++ < FRAG_FRAMES_MAX && frag_symbols_frame(a->symbols, &at, &frame))
		if (frame.name.length && !put_before(&row->line, &frame.name))
			return false;
	return row->line || put_before(&row->line, tag.text ? &tag : &none);
}

/* A row for each stack, whatever the tags of its blocks are; without a stack for each tag. */
static bool add_folded(struct account *a, struct frag_block_groups *rows)
{
	struct frag_explained *m = a->m;

	for (uint32_t k = 0; k < a->memory->block_count; k++) {
		const struct frag_state_block *b = &a->memory->blocks[k];
		uint32_t i;

		if (!frag_is_live(b) || b->slot == FRAG_NO_SLOT)
			continue;
		i = frag_block_groups_find(rows, b->stack ? 0 : b->tag, b->stack, 0);
		if (i == FRAG_MAP_NONE
		    || !frag_grow(&m->folded, &a->folded_capacity, rows->count, sizeof(*m->folded)))
			return false;
		if (i == m->folded_count)
			m->folded[m->folded_count++] = (struct frag_folded){
				.tag = b->tag, .stack = b->stack,
			};
		m->folded[i].bytes += b->bytes;
	}
	return true;
}

static bool fill_folded(struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_block_groups rows;
	bool good = frag_block_groups_init(&rows) && add_folded(a, &rows);

	frag_block_groups_fini(&rows);
	FRAG_SORT(m->folded, m->folded_count, by_folded);
	for (uint32_t i = 0; i < m->folded_count && good; i++)
		good = name_folded(a, &m->folded[i]);
	return good;
}

static int by_pool(const void *a, const void *b)
{
	const struct frag_pool_row *x = a, *y = b;

	return x->pool < y->pool ? -1 : x->pool > y->pool;
}

/* There are few. */
static bool fill_pools(struct account *a)
{
	struct frag_explained *m = a->m;

	for (uint32_t i = 0; i < a->memory->segment_count; i++) {
		const struct frag_state_segment *seg = &a->memory->segments[i];
		uint32_t k = 0;

		if (!seg->pool)
			continue;
		while (k < m->pool_count && m->pools[k].pool != seg->pool)
			k++;
		if (!FRAG_GROW(m->pools, a->pool_capacity, k))
			return false;
		if (k == m->pool_count) {
			m->pools[m->pool_count++] = (struct frag_pool_row){
				.pool = seg->pool, .name = frag_pool_json(a->tape, seg->pool),
			};
			if (!m->pools[k].name)
				return false;
		}
		m->pools[k].segments++;
		m->pools[k].reserved += seg->bytes;
		m->pools[k].live += seg->live;
		m->pools[k].free += seg->free;
		m->pools[k].non_releasable += seg->non_releasable;
	}
	FRAG_SORT(m->pools, m->pool_count, by_pool);
	return true;
}

int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *memory,
			uint32_t device, const struct frag_tape *tape, bool folded,
			struct frag_error *err)
{
	struct account a = {
		.m = m, .memory = memory, .tape = tape, .symbols = frag_tape_symbols(tape),
	};
	int rc = frag_lifetimes_find(&a.lifetimes, memory, false, tape, err);

	if (!rc && !(find_waits(&a.waits, memory, device, tape, m->step) && fill_pending(&a)
		     && fill_segments(&a) && fill_held(&a) && fill_pools(&a)
		     && (!folded || fill_folded(&a))))
		rc = frag_fail_nomem(err);
	free(a.waits.of);
	for (uint32_t i = 0; i < a.lifetimes.count; i++)
		free(a.lifetimes.of[i].id);
	free(a.lifetimes.of);
	m->accounted = !rc;
	return rc;
}
