/* trace_stats.c - what a trace is, before any policy. */
#include "events/trace_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/parse.h"

struct frag_survey_block {
	uint64_t birth, bytes;
	uint32_t device;
};

/* Bin 0 is for 0, others by the place of the highest bit. */
static void count(struct frag_survey_bin *bins, uint64_t value, uint64_t bytes)
{
	uint64_t bin = value ? 64 - (uint64_t)__builtin_clzll(value) : 0;

	bin = frag_min(bin, FRAG_SURVEY_BINS - 1);
	bins[bin].count++;
	bins[bin].bytes += bytes;
}

/* Counts a stream (1) or a pool (2) the first time that it is seen. */
static bool trace_stats_see(struct frag_survey *s, uint32_t index, uint8_t what, uint32_t *sum)
{
	if (!FRAG_EXTEND(s->seen, s->seen_capacity, s->seen_count, index))
		return false;
	*sum += !(s->seen[index] & what);
	s->seen[index] |= what;
	return true;
}

/* A slot has one live block at once, so an array by slot holds every block that a free may end. */
static bool trace_stats_note_alloc(struct frag_survey *s, const struct frag_event *ev)
{
	struct frag_survey_device *d;

	FRAG_ASSERT(ev->device < s->device_count);
	d = &s->devices[ev->device];
	if (!FRAG_GROW(s->blocks, s->block_capacity, ev->slot)
	    || !trace_stats_see(s, ev->stream, 1, &s->streams)
	    || !trace_stats_see(s, ev->pool, 2, &s->pools))
		return false;
	if (frag_map_get(&s->sizes_seen, ev->bytes) == FRAG_MAP_NONE
	    && !frag_map_add(&s->sizes_seen, ev->bytes, 0))
		return false;
	s->blocks[ev->slot] = (struct frag_survey_block){
		.birth = ev->step, .bytes = ev->bytes, .device = ev->device,
	};
	count(s->sizes, ev->bytes, ev->bytes);
	d->allocs++;
	d->live++;
	d->live_bytes += ev->bytes;
	if (d->live_bytes > d->peak_bytes) {
		d->peak_bytes = d->live_bytes;
		d->peak_blocks = d->live;
		d->peak_step = ev->step;
	}
	return true;
}

static void note_free(struct frag_survey *s, const struct frag_event *ev)
{
	const struct frag_survey_block *b;
	struct frag_survey_device *d;

	FRAG_ASSERT(ev->slot < s->block_capacity);
	b = &s->blocks[ev->slot];
	d = &s->devices[b->device];
	d->live--;
	d->live_bytes -= b->bytes;
	count(s->lives, ev->step - b->birth, b->bytes);
	s->freed_at_once += ev->step - b->birth == 1;
	s->waiting_frees += ev->waits;
}

static void trace_stats_note_mark(struct frag_survey *s, const struct frag_event *ev)
{
	struct frag_survey_mark *m;
	size_t n;

	if (s->ops[FRAG_OP_MARK] > FRAG_SURVEY_MARKS)
		return;
	m = &s->marks[s->ops[FRAG_OP_MARK] - 1];
	n = frag_text_cut(ev->text.text, ev->text.length, sizeof(m->name) - 1);
	m->step = ev->step;
	memcpy(m->name, ev->text.text, n);
	m->name[n] = '\0';
}

static bool trace_stats_note(struct frag_survey *s, const struct frag_event *ev)
{
	s->ops[ev->op]++;
	if (ev->members & FRAG_HAS_T) {
		s->first_t = s->with_t ? s->first_t : ev->t;
		s->backwards += s->with_t && ev->t < s->last_t;
		s->last_t = ev->t;
		s->with_t++;
	}
	if (ev->op == FRAG_OP_ALLOC)
		return trace_stats_note_alloc(s, ev);
	if (ev->op == FRAG_OP_FREE)
		note_free(s, ev);
	if (ev->op == FRAG_OP_MARK)
		trace_stats_note_mark(s, ev);
	return true;
}

int frag_survey_read(struct frag_survey *s, struct frag_trace *trace, struct frag_tape_writer *tape,
		     bool (*stop)(void *ctx), struct frag_error *err)
{
	const uint32_t count = frag_trace_info(trace)->device_count;
	struct frag_batch batch;
	int rc = 0;

	*s = (struct frag_survey){ .device_count = count };
	s->devices = calloc(count, sizeof(*s->devices));
	if (!frag_map_init(&s->sizes_seen, frag_hash_seed()) || !s->devices)
		return frag_fail_nomem(err);
	do {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; i < batch.count && !rc; i++)
			if (!trace_stats_note(s, &batch.events[i]))
				rc = frag_fail_nomem(err);
		if (!rc && tape)
			rc = frag_tape_write(tape, &batch, err);
		if (!rc && stop(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	} while (!rc && batch.count);
	return rc;
}

void frag_survey_fini(struct frag_survey *s)
{
	frag_map_fini(&s->sizes_seen);
	free(s->devices);
	free(s->blocks);
	free(s->seen);
}
