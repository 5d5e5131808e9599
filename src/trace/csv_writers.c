/*
 * csv_writers.c - traces written as the CSV of other programs: RMM's log, and minimalloc's buffers.
 *
 * Neither has names of blocks: pointers and ids are numbers in the order of allocation.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/bug.h"
#include "base/format.h"

#define DAY_US INT64_C(86400000000)

/* A live block, by slot. */
struct block {
	uint64_t number, size, begin;
};

struct csv {
	struct block *blocks;
	uint32_t count, capacity;
	uint64_t allocs;
	uint64_t step;          /* of the next event */
	uint64_t micros;        /* of the last time */
};

static int csv_begin(struct frag_sink *s, const struct frag_trace_info *info, const char *header,
		     struct frag_error *err)
{
	if (info->device_count > 1)
		return frag_fail(err, FRAG_EUSAGE, "%s: the form %s has one device, and the trace"
				 " has %u; fragsim trace slice --only-device takes one of them",
				 frag_input_name(info->path), s->ops->name, info->device_count);
	s->state = calloc(1, sizeof(struct csv));
	if (!s->state)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < info->device_count; i++) {
		const struct frag_device_figures *d = &info->devices[i];

		s->lost[FRAG_LOSS_DEVICES] += (uint64_t)(d->name != NULL) + (d->total != 0)
					      + (d->context != 0) + (d->other != 0)
					      + (d->granularity != FRAG_GRANULARITY);
	}
	s->lost[FRAG_LOSS_META] += info->meta.text != NULL;
	s->lost[FRAG_LOSS_BEGINNING] += info->beginning != NULL && info->beginning->segment_count;
	frag_outfile_write(s->out, header, strlen(header));
	return frag_outfile_status(s->out, err);
}

static void csv_fini(struct frag_sink *s)
{
	struct csv *c = s->state;

	if (c)
		free(c->blocks);
	free(c);
}

static void lose(struct frag_sink *s, const struct frag_record *rec, bool streams, bool times)
{
	bool alloc = rec->op == FRAG_OP_ALLOC, block = alloc || rec->op == FRAG_OP_FREE;

	s->lost[FRAG_LOSS_IDS] += alloc;
	s->lost[FRAG_LOSS_POOLS] += alloc && rec->members & FRAG_HAS_POOL;
	s->lost[FRAG_LOSS_TAGS] += (rec->members & FRAG_HAS_TAG) != 0;
	s->lost[FRAG_LOSS_STACKS] += (rec->members & FRAG_HAS_STACK) != 0;
	s->lost[FRAG_LOSS_STREAMS] += block && rec->members & FRAG_HAS_STREAM
				      && (!streams || rec->stream.text);
	s->lost[FRAG_LOSS_TIMES] += block && rec->members & FRAG_HAS_T && !times;
	s->lost[FRAG_LOSS_PENDING] += rec->op == FRAG_OP_FREE && rec->members & FRAG_HAS_PENDING
				      && rec->pending;
	s->lost[FRAG_LOSS_MARKS] += rec->op == FRAG_OP_MARK;
	s->lost[FRAG_LOSS_OTHERS] += !block && rec->op != FRAG_OP_MARK;
}

/* The block of the event's slot, a new one for an alloc. NULL: out of memory. */
static struct block *csv_block_of(struct csv *c, const struct frag_event *ev)
{
	FRAG_ASSERT(ev->op == FRAG_OP_ALLOC || ev->slot < c->count);
	if (ev->op != FRAG_OP_ALLOC)
		return &c->blocks[ev->slot];
	if (!FRAG_GROW(c->blocks, c->capacity, ev->slot))
		return NULL;
	for (; c->count <= ev->slot; c->count++)
		c->blocks[c->count].begin = UINT64_MAX;
	c->blocks[ev->slot] = (struct block){
		.number = ++c->allocs, .size = ev->bytes, .begin = ev->step,
	};
	return &c->blocks[ev->slot];
}

static int rmm_begin(struct frag_sink *s, const struct frag_trace_info *info,
		     struct frag_error *err)
{
	return csv_begin(s, info, FRAG_RMM_HEADER "\n", err);
}

/*
 * RMM knows blocks by pointers: the number of the alloc in units of 256 bytes,
 * RMM's own alignment, makes one that never comes twice. An event without a time
 * has that of the one before.
 */
static int rmm_event(struct frag_sink *s, const struct frag_record *rec,
		     const struct frag_event *ev, struct frag_error *err)
{
	struct csv *c = s->state;
	bool whole = rec->t >= 0 && rec->t < 1e15 && rec->t == (double)(uint64_t)rec->t;
	bool timed = rec->members & FRAG_HAS_T && rec->t >= 0 && rec->t < 1e15;
	const struct block *b;
	uint64_t stream, t;
	char *p;

	lose(s, rec, true, timed && whole);
	if (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE)
		return 0;
	b = csv_block_of(c, ev);
	p = b ? frag_outfile_room(s->out, 256) : NULL;
	if (!b)
		return frag_fail_nomem(err);
	if (!p)
		return frag_outfile_status(s->out, err);
	c->micros = timed ? (uint64_t)rec->t : c->micros;
	t = c->micros % DAY_US;         /* time of the day: it goes round as a clock does */
	stream = rec->members & FRAG_HAS_STREAM && !rec->stream.text ? rec->stream.number : 0;
	p += snprintf(p, 256, "0,%02u:%02u:%02u.%06u,%s,0x%" PRIx64 ",%" PRIu64 ",0x%" PRIx64 "\n",
		      (unsigned)(t / 3600000000), (unsigned)(t / 60000000 % 60),
		      (unsigned)(t / 1000000 % 60), (unsigned)(t % 1000000),
		      ev->op == FRAG_OP_ALLOC ? "allocate" : "free", b->number << 8, b->size,
		      stream);
	frag_outfile_used(s->out, p);
	return frag_outfile_status(s->out, err);
}

static int rmm_end(struct frag_sink *s, struct frag_error *err)
{
	return frag_outfile_status(s->out, err);
}

static int minimalloc_begin(struct frag_sink *s, const struct frag_trace_info *info,
			    struct frag_error *err)
{
	return csv_begin(s, info, "id,lower,upper,size\n", err);
}

static int csv_put_buffer(struct frag_sink *s, const struct block *b, uint64_t end,
			  struct frag_error *err)
{
	const uint64_t numbers[] = { b->number, b->begin, end, b->size };
	char *p = frag_outfile_room(s->out, 128);

	for (size_t i = 0; p && i < 4; i++) {
		p = frag_put_u64(p, numbers[i]);
		*p++ = i < 3 ? ',' : '\n';
	}
	if (p)
		frag_outfile_used(s->out, p);
	return frag_outfile_status(s->out, err);
}

/* Times are steps, so that no two things happen at once. */
static int minimalloc_event(struct frag_sink *s, const struct frag_record *rec,
			    const struct frag_event *ev, struct frag_error *err)
{
	struct csv *c = s->state;
	struct block *b;
	int rc;

	c->step = ev->step + 1;
	lose(s, rec, false, false);
	if (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE)
		return 0;
	b = csv_block_of(c, ev);
	if (!b)
		return frag_fail_nomem(err);
	if (ev->op == FRAG_OP_ALLOC)
		return 0;
	rc = csv_put_buffer(s, b, ev->step, err);
	b->begin = UINT64_MAX;
	return rc;
}

/* What is still live lives to the end. */
static int minimalloc_end(struct frag_sink *s, struct frag_error *err)
{
	struct csv *c = s->state;
	int rc = 0;

	for (uint32_t i = 0; i < c->count && !rc; i++)
		if (c->blocks[i].begin != UINT64_MAX)
			rc = csv_put_buffer(s, &c->blocks[i], c->step, err);
	return rc ? rc : frag_outfile_status(s->out, err);
}

const struct frag_sink_ops frag_sink_rmm = {
	.name = "rmm",
	.begin = rmm_begin,
	.event = rmm_event,
	.end = rmm_end,
	.fini = csv_fini,
};

const struct frag_sink_ops frag_sink_minimalloc = {
	.name = "minimalloc",
	.begin = minimalloc_begin,
	.event = minimalloc_event,
	.end = minimalloc_end,
	.fini = csv_fini,
};
