/* pending_waits.c - what the pending blocks of a moment wait for. */
#include "explain/pending_waits.h"

#include <stdlib.h>

#include "base/array_grow.h"

/* A pending block on its way to the moment. */
struct pending {
	uint64_t freed;         /* step; 0: not yet */
	uint32_t block, stream; /* stream: on which it was allocated */
	bool born, recorded;    /* recorded: a stream so far */
};

struct survey {
	struct frag_waits *out;
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
	struct frag_waits *w = s->out;

	if (!FRAG_GROW(w->of, w->capacity, w->count))
		return false;
	w->of[w->count++] = (struct frag_wait){ p->block, stream };
	p->recorded = true;
	return true;
}

static bool note_sync(struct survey *s, const struct frag_event *ev)
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

static bool note_event(struct survey *s, const struct frag_event *ev)
{
	if (ev->op == FRAG_OP_SYNC)
		return note_sync(s, ev);
	if ((ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE && ev->op != FRAG_OP_RECORD_STREAM)
	    || ev->slot >= s->slot_count || !s->at[ev->slot])
		return true;
	return note_block(s, &s->blocks[s->at[ev->slot] - 1], ev);
}

static bool read_tape(struct survey *s, const struct frag_tape *tape, uint64_t until)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;
	uint64_t left = frag_tape_event(tape, until) + 1;
	bool good = w.reader;

	while (good && left-- && (ev = frag_tape_walk_next(&w)))
		good = note_event(s, ev);
	frag_tape_reader_del(w.reader);
	return good;
}

/* Has the stream been synchronised after the block's free? */
static bool is_over(const struct survey *s, const struct frag_wait *wait)
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
	const struct frag_wait *a = one, *b = other;

	return frag_order_two(a->block, b->block, a->stream, b->stream);
}

/* Those that still hold, each once. */
static void settle(struct survey *s)
{
	struct frag_waits *w = s->out;
	uint32_t n = 0;

	FRAG_SORT(w->of, w->count, by_block);
	for (uint32_t i = 0; i < w->count; i++)
		if (!is_over(s, &w->of[i])
		    && (!n || by_block(&w->of[n - 1], &w->of[i]) != 0))
			w->of[n++] = w->of[i];
	w->count = n;
}

bool frag_waits_find(struct frag_waits *waits, const struct frag_memory_state *memory,
		     uint32_t device, const struct frag_tape *tape, uint64_t until)
{
	struct survey s = { .out = waits, .memory = memory, .device = device };
	bool good = list_pending(&s);

	if (good && s.count)
		good = read_tape(&s, tape, until);
	if (good)
		settle(&s);
	free(s.blocks);
	free(s.at);
	free(s.synced);
	return good;
}
