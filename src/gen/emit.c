/* emit.c - what a scenario says, as records of the trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "gen/gen.h"

bool frag_gen_going(const struct frag_gen *g)
{
	return !g->no_memory && !g->writer.out->failed && !(g->stop && g->stop(g->ctx));
}

static void write_record(struct frag_gen *g, const struct frag_record *rec)
{
	if (!g->no_memory && !g->writer.out->failed)
		frag_writer_event(&g->writer, rec);
}

/* Device, stream and pool are written where they are not 0. */
static struct frag_record emit_record_of(const struct frag_gen *g, enum frag_op op)
{
	struct frag_record rec = { .members = FRAG_HAS_OP, .op = op, .device = g->device };

	if (g->device)
		rec.members |= FRAG_HAS_DEVICE;
	return rec;
}

/*
 * Ids count up and are never reused, so a scenario may keep one for as long as it
 * likes.
 */
uint64_t frag_gen_alloc(struct frag_gen *g, uint64_t bytes, const char *tag)
{
	struct frag_record rec = emit_record_of(g, FRAG_OP_ALLOC);

	if (bytes > FRAG_GEN_MAX)
		FRAG_BUG("a scenario's option lets a block grow too large");
	rec.members |= FRAG_HAS_ID | FRAG_HAS_SIZE;
	rec.id.number = g->next_id;
	rec.size = bytes;
	if (g->stream) {
		rec.members |= FRAG_HAS_STREAM;
		rec.stream.number = g->stream;
	}
	if (g->pool) {
		rec.members |= FRAG_HAS_POOL;
		rec.pool.number = g->pool;
	}
	if (tag) {
		rec.members |= FRAG_HAS_TAG;
		rec.tag = (struct frag_text){ .text = tag, .length = (uint32_t)strlen(tag) };
	}
	write_record(g, &rec);
	return g->next_id++;
}

static void emit_of_block(struct frag_gen *g, enum frag_op op, uint64_t id)
{
	const struct frag_record rec = {
		.members = FRAG_HAS_OP | FRAG_HAS_ID, .op = op, .id.number = id,
	};

	write_record(g, &rec);
}

void frag_gen_free(struct frag_gen *g, uint64_t id)
{
	emit_of_block(g, FRAG_OP_FREE, id);
}

void frag_gen_record_stream(struct frag_gen *g, uint64_t id, uint64_t stream)
{
	const struct frag_record rec = {
		.members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_STREAM,
		.op = FRAG_OP_RECORD_STREAM, .id.number = id, .stream.number = stream,
	};

	write_record(g, &rec);
}

void frag_gen_sync(struct frag_gen *g)
{
	const struct frag_record rec = emit_record_of(g, FRAG_OP_SYNC);

	write_record(g, &rec);
}

void frag_gen_empty_cache(struct frag_gen *g)
{
	const struct frag_record rec = emit_record_of(g, FRAG_OP_EMPTY_CACHE);

	write_record(g, &rec);
}

void frag_gen_mark(struct frag_gen *g, const char *word, uint64_t number)
{
	struct frag_record rec = { .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK };
	char name[64];

	rec.text.length = (uint32_t)snprintf(name, sizeof(name), "%.40s %llu", word,
					     (unsigned long long)number);
	rec.text.text = name;
	write_record(g, &rec);
}

void frag_gen_push(struct frag_gen *g, struct frag_gen_ids *ids, uint64_t id)
{
	if (!FRAG_GROW(ids->ids, ids->capacity, ids->count))
		g->no_memory = true;
	else
		ids->ids[ids->count++] = id;
}

uint64_t frag_gen_pop(struct frag_gen_ids *ids)
{
	return ids->count ? ids->ids[--ids->count] : 0;
}

void frag_gen_free_all(struct frag_gen *g, struct frag_gen_ids *ids)
{
	while (ids->count)
		frag_gen_free(g, frag_gen_pop(ids));
	free(ids->ids);
	*ids = (struct frag_gen_ids){ .ids = NULL };
}
