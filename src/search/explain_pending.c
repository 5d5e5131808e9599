/* explain_pending.c - what the pending blocks of a moment wait for, in an explanation's words. */
#include "search/explain_pending.h"

#include <stdlib.h>

#include "base/hash.h"
#include "events/stream_pool_names.h"

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

/* A row for each stream, by the map. The rows have room. */
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

/* Sorts the rows, names them, and says of each wait which row it is in. */
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
