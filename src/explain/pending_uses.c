/* pending_uses.c - the pending blocks of a moment: how many, and a row for each stream that they wait for. */
#include "explain/pending_uses.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/recording_info.h"
#include "events/tape.h"

struct use_rows {
	struct frag_explained *m;
	const struct frag_memory_state *memory;
	const struct frag_tape *tape;
	const struct frag_lifetimes *lifetimes;
	const struct frag_waits *waits;
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
static bool add_up(const struct use_rows *a, struct frag_map *rows)
{
	struct frag_explained *m = a->m;

	for (uint32_t i = 0; i < a->waits->count; i++) {
		const struct frag_wait *w = &a->waits->of[i];
		const uint64_t freed = a->lifetimes->of[w->block].freed;
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
static bool name_uses(const struct use_rows *a)
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
	for (uint32_t i = 0; i < a->waits->count && good; i++)
		m->waits[m->wait_count++] = frag_map_get(&rows, a->waits->of[i].stream);
	frag_map_fini(&rows);
	return good;
}

bool frag_pending_uses_fill(struct frag_explained *m, const struct frag_memory_state *memory,
			    const struct frag_tape *tape, const struct frag_lifetimes *lifetimes,
			    const struct frag_waits *waits)
{
	const struct use_rows a = {
		.m = m, .memory = memory, .tape = tape, .lifetimes = lifetimes, .waits = waits,
	};
	struct frag_map rows;
	bool good = frag_map_init(&rows, frag_hash_seed());

	count_pending(m, memory);
	m->uses = calloc((size_t)waits->count + 1, sizeof(*m->uses));
	m->waits = calloc((size_t)waits->count + 1, sizeof(*m->waits));
	good = good && m->uses && m->waits && add_up(&a, &rows) && name_uses(&a);
	frag_map_fini(&rows);
	return good;
}
