/* stream_work.c - uses on streams, whose ends are waited for, and bytes that must remain. */
#include "replay/stream_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/format.h"
#include "events/id_map.h"
#include "base/array_grow.h"
#include "base/hash.h"

/* Freed ranges with an event that has not been waited for. More would slow each allocation; the
 * oldest have long completed when there are this many. */
#define MARKS_MAX 256
#define WORD ((uint64_t)sizeof(uint32_t))
#define CHUNKS 64               /* ranges of one block, each filled with another pattern word */
#define CHUNK_MIN 512           /* bytes */
#define WINDOW 64               /* bytes checked in one place */
#define WINDOWS 8

/* A run of device memory. */
struct run {
	uint32_t gpu;
	frag_addr addr;
	uint64_t offset, bytes;
};

struct block {
	struct run run;
	uint64_t birth;         /* step: no two blocks of a trace have the same */
	uint32_t *streams;      /* where it is used; the first is where it was allocated */
	uint32_t stream_count, stream_capacity;
	char *id;               /* as JSON; only with verify */
	bool live;
};

struct mark {
	struct run run;
	uint32_t event;
};

struct frag_work {
	struct frag_sim *sim;
	struct frag_gpu *const *gpus;
	uint32_t gpu_count;
	bool verify;
	struct block *blocks;           /* by slot */
	uint32_t block_count, block_capacity;
	struct mark marks[MARKS_MAX];   /* a ring, the oldest first */
	uint32_t first_mark, mark_count;
};

void frag_work_del(struct frag_work *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->block_count; i++) {
		free(w->blocks[i].streams);
		free(w->blocks[i].id);
	}
	free(w->blocks);
	free(w);
}

/* Waiting ------------------------------------------------------------------ */

static struct mark *stream_work_mark_at(struct frag_work *w, uint32_t i)
{
	FRAG_ASSERT(i < MARKS_MAX);
	return &w->marks[(w->first_mark + i) % MARKS_MAX];
}

static int wait_for_oldest(struct frag_work *w, struct frag_error *err)
{
	struct mark m = *stream_work_mark_at(w, 0);

	FRAG_ASSERT(w->mark_count > 0);
	w->first_mark = (w->first_mark + 1) % MARKS_MAX;
	w->mark_count--;
	return frag_gpu_wait(w->gpus[m.run.gpu], m.event, err);
}

static bool stream_work_overlap(const struct run *a, const struct run *b)
{
	return a->gpu == b->gpu && a->addr == b->addr && a->offset < b->offset + b->bytes
	       && b->offset < a->offset + a->bytes;
}

/* Whoever used these bytes before must be done with them. */
static int wait_for_run(struct frag_work *w, const struct run *run, struct frag_error *err)
{
	uint32_t kept = 0, count = w->mark_count;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct mark m = *stream_work_mark_at(w, i);
		int now = 0;

		if (stream_work_overlap(&m.run, run))
			now = frag_gpu_wait(w->gpus[m.run.gpu], m.event, rc ? NULL : err);
		else
			*stream_work_mark_at(w, kept++) = m;
		rc = rc ? rc : now;
	}
	w->mark_count = kept;
	return rc;
}

/* Marks the end of what is queued on each stream of the block. */
static int mark_block(struct frag_work *w, const struct block *b, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < b->stream_count && !rc; i++) {
		struct mark m = { .run = b->run };

		if (w->mark_count == MARKS_MAX)
			rc = wait_for_oldest(w, err);
		rc = rc ? rc : frag_gpu_mark(w->gpus[b->run.gpu], b->streams[i], &m.event, err);
		if (!rc)
			*stream_work_mark_at(w, w->mark_count++) = m;
	}
	return rc;
}

/* Verifying ---------------------------------------------------------------- */

/* The part of the block in whole words, and the bytes that have one word. */
struct pattern {
	uint64_t birth, from, end, chunk;
};

static struct pattern pattern_of(const struct block *b)
{
	struct pattern p = { .birth = b->birth };

	p.from = (b->run.offset + WORD - 1) / WORD * WORD;
	p.end = (b->run.offset + b->run.bytes) / WORD * WORD;
	p.end = p.end > p.from ? p.end : p.from;
	p.chunk = (p.end - p.from) / CHUNKS / WORD * WORD + WORD;
	p.chunk = p.chunk > CHUNK_MIN ? p.chunk : CHUNK_MIN;
	return p;
}

/* The word at a place of the block. */
static uint32_t word_at(const struct pattern *p, uint64_t at)
{
	uint64_t key = p->birth * CHUNKS + (at - p->from) / p->chunk + 1;

	FRAG_ASSERT(at >= p->from && at < p->end);
	return (uint32_t)(frag_hash_mix(frag_hash_mix(key) * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static int stream_work_fill(struct frag_work *w, const struct block *b, uint32_t stream,
			    struct frag_error *err)
{
	const struct pattern p = pattern_of(b);
	int rc = 0;

	for (uint64_t at = p.from; at < p.end && !rc; at += p.chunk)
		rc = frag_gpu_fill(w->gpus[b->run.gpu], stream, b->run.addr, at,
				   p.end - at < p.chunk ? p.end - at : p.chunk, word_at(&p, at),
				   err);
	return rc;
}

/* The block whose pattern has this word, or NULL. */
static const struct block *find_owner(const struct frag_work *w, uint32_t word)
{
	for (uint32_t i = 0; i < w->block_count; i++) {
		struct pattern p;

		if (!w->blocks[i].live)
			continue;
		p = pattern_of(&w->blocks[i]);
		for (uint64_t at = p.from; at < p.end; at += p.chunk)
			if (word_at(&p, at) == word)
				return &w->blocks[i];
	}
	return NULL;
}

static int corrupt(const struct frag_work *w, const struct block *b, uint64_t at, uint32_t found,
		   uint32_t expected, struct frag_error *err)
{
	const struct block *other = find_owner(w, found);
	char whose[160] = "which belongs to no live block";

	if (other)
		snprintf(whose, sizeof(whose), "which belongs to the block of id %.60s, allocated "
			 "at event %" PRIu64, other->id, other->birth);
	return frag_fail(err, FRAG_EDEVICE, "corruption on device %u: the block of id %.60s, "
			 "allocated at event %" PRIu64 ", holds %08" PRIx32 " at byte %" PRIu64
			 " of %" PRIu64 " where %08" PRIx32 " was written: %s", b->run.gpu, b->id,
			 b->birth, found, at - b->run.offset, b->run.bytes, expected, whose);
}

static int look_at(struct frag_work *w, const struct block *b, const struct pattern *p,
		   uint64_t at, uint64_t bytes, struct frag_error *err)
{
	uint32_t words[WINDOW * WINDOWS / sizeof(uint32_t)];
	int rc = frag_gpu_fetch(w->gpus[b->run.gpu], b->streams[0], b->run.addr, at, bytes, words,
				err);

	FRAG_ASSERT(bytes <= WINDOW * WINDOWS && b->stream_count > 0);
	for (uint64_t i = 0; i < bytes / WORD && !rc; i++)
		if (words[i] != word_at(p, at + i * WORD))
			rc = corrupt(w, b, at + i * WORD, words[i], word_at(p, at + i * WORD),
				     err);
	return rc;
}

/* Small blocks whole; of others head, tail, and places between. */
static int stream_work_check(struct frag_work *w, const struct block *b, struct frag_error *err)
{
	const struct pattern p = pattern_of(b);
	const uint64_t bytes = p.end - p.from;
	int rc = 0;

	if (bytes == 0)
		return 0;
	if (bytes <= WINDOW * WINDOWS)
		return look_at(w, b, &p, p.from, bytes, err);
	for (uint64_t i = 0; i < WINDOWS && !rc; i++) {
		uint64_t at = p.from + (bytes - WINDOW) / (WINDOWS - 1) * i / WORD * WORD;

		if (i == WINDOWS - 1)
			at = p.end - WINDOW;
		rc = look_at(w, b, &p, at, WINDOW, err);
	}
	return rc;
}

/* Steps -------------------------------------------------------------------- */

static bool use_on(struct block *b, uint32_t stream)
{
	for (uint32_t i = 0; i < b->stream_count; i++)
		if (b->streams[i] == stream)
			return true;
	if (!FRAG_GROW(b->streams, b->stream_capacity, b->stream_count))
		return false;
	b->streams[b->stream_count++] = stream;
	return true;
}

static bool note_id(struct block *b, const struct frag_handle *id)
{
	free(b->id);
	b->id = frag_id_json(id);
	return b->id != NULL;
}

/*
 * The previous user may still use the bytes, so that is waited for first. The block is entered
 * at the end: after a failure it is not checked.
 */
static int allocated(struct frag_work *w, const struct frag_step *step, struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	struct block *b;
	int rc;

	if (!FRAG_EXTEND(w->blocks, w->block_capacity, w->block_count, ev->slot))
		return frag_fail_nomem(err);
	b = &w->blocks[ev->slot];
	b->live = false;
	if (!step->placed || step->bytes == 0)
		return 0;
	b->run = (struct run){
		.gpu = step->device, .offset = step->offset, .bytes = step->bytes,
		.addr = frag_sim_address(w->sim, step->device, ev->slot),
	};
	b->birth = ev->step;
	b->stream_count = 0;
	if (!use_on(b, ev->stream) || (w->verify && !note_id(b, &ev->id)))
		return frag_fail_nomem(err);
	rc = wait_for_run(w, &b->run, err);
	if (!rc && w->verify)
		rc = stream_work_fill(w, b, b->streams[0], err);
	b->live = !rc;
	return rc;
}

/*
 * With verify the use is a real one: the same pattern again. In a pool of the
 * driver's the block is there only once its own stream has come so far.
 */
static int used(struct frag_work *w, struct block *b, uint32_t stream, struct frag_error *err)
{
	int rc;

	if (!use_on(b, stream))
		return frag_fail_nomem(err);
	if (!w->verify)
		return 0;
	rc = frag_gpu_sync(w->gpus[b->run.gpu], b->streams[0], err);
	return rc ? rc : stream_work_fill(w, b, stream, err);
}

static int freed(struct frag_work *w, const struct frag_event *ev, struct frag_error *err)
{
	struct block *b = ev->slot < w->block_count ? &w->blocks[ev->slot] : NULL;
	int rc = 0;

	if (!b || !b->live)
		return 0;
	if (w->verify)
		rc = stream_work_check(w, b, err);
	b->live = false;
	return rc ? rc : mark_block(w, b, err);
}

/*
 * The program waited for these streams, so the real ones are waited for too, before the policy
 * relies on it; likewise an empty_cache.
 */
static int happened(struct frag_work *w, const struct frag_event *ev, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t d = 0; d < w->gpu_count && !rc; d++) {
		if (ev->device != FRAG_ALL && ev->device != d)
			continue;
		rc = ev->op == FRAG_OP_SYNC ? frag_gpu_sync(w->gpus[d], ev->stream, err)
					    : frag_gpu_pool_trim(w->gpus[d], err);
	}
	return rc;
}

/*
 * A free may reach the driver at once, so the bytes are checked before. A sync or an
 * empty_cache must have happened before the policy relies on it.
 */
int frag_work_before(struct frag_work *w, const struct frag_event *ev, struct frag_error *err)
{
	FRAG_ASSERT(ev->op != FRAG_OP_ALLOC || ev->device < w->gpu_count);
	switch ((enum frag_op)ev->op) {
	case FRAG_OP_ALLOC:
		frag_gpu_pool_on(w->gpus[ev->device], ev->stream);
		return 0;
	case FRAG_OP_FREE:
		return freed(w, ev, err);
	case FRAG_OP_SYNC:
	case FRAG_OP_EMPTY_CACHE:
		return happened(w, ev, err);
	case FRAG_OP_COMPLETE:
	case FRAG_OP_RECORD_STREAM:
	case FRAG_OP_SET_FRACTION:
	case FRAG_OP_CONFIGURE:
	case FRAG_OP_MARK:
	case FRAG_OP_RELEASE_POOL:
	case FRAG_OP_BEGIN_POOL:
	case FRAG_OP_END_POOL:
	case FRAG_OPS:
		break;
	}
	return 0;
}

/* After the policy. */
static int work_observe(void *work, const struct frag_step *step, struct frag_error *err)
{
	struct frag_work *w = work;
	const struct frag_event *ev = step->event;

	if (ev->op == FRAG_OP_ALLOC)
		return allocated(w, step, err);
	if (ev->op == FRAG_OP_RECORD_STREAM && ev->slot < w->block_count
	    && w->blocks[ev->slot].live)
		return used(w, &w->blocks[ev->slot], ev->stream, err);
	return 0;
}

struct frag_work *frag_work_new(struct frag_sim *sim, struct frag_gpu *const *gpus,
				uint32_t gpu_count, bool verify)
{
	struct frag_work *w = calloc(1, sizeof(*w));
	const struct frag_observer observer = { .step = work_observe, .ctx = w };

	if (!w || frag_sim_observe(sim, &observer)) {
		free(w);
		return NULL;
	}
	w->sim = sim;
	w->gpus = gpus;
	w->gpu_count = gpu_count;
	w->verify = verify;
	return w;
}

int frag_work_finish(struct frag_work *w, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->block_count && w->verify && !rc; i++)
		if (w->blocks[i].live)
			rc = stream_work_check(w, &w->blocks[i], err);
	while (w->mark_count && !rc)
		rc = wait_for_oldest(w, err);
	return rc;
}
