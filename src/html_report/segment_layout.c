/* segment_layout.c - where each segment is on the map of a report. */
#include "html_report/segment_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

#define HEIGHT (UINT64_C(1) << 61)      /* of all segments together; others are at its foot */

int frag_layout_init(struct frag_segment_layout *f)
{
	struct frag_error err;
	frag_block all;
	int rc = frag_device_open(&f->device, &frag_device_simulated, 0, 0, 0, 1, &err);

	if (rc)
		return rc;
	f->heap = frag_heap_new(&f->device, FRAG_ORDER_ADDRESS);
	if (!f->heap || !frag_map_init(&f->by_ordinal, frag_hash_seed()))
		return -FRAG_ENOMEM;
	rc = frag_heap_list(f->heap, 0, 0, &f->list);
	f->unused = UINT32_MAX;
	f->lanes = 1;
	return rc ? rc : frag_heap_grow(f->heap, f->list, HEIGHT, &all);
}

void frag_layout_fini(struct frag_segment_layout *f)
{
	for (uint32_t i = 0; i < f->place_count; i++)
		free(f->places[i].pieces);
	free(f->places);
	free(f->taken);
	frag_map_fini(&f->by_ordinal);
	if (f->heap) {
		frag_heap_del(f->heap);
		frag_device_close(&f->device);
	}
}

/* The lowest lane that no range is in. */
static bool find_lane(struct frag_segment_layout *f, uint32_t *out)
{
	uint32_t lane = 1;

	while (lane < f->lanes && f->taken[lane])
		lane++;
	*out = lane;
	if (!FRAG_GROW(f->taken, f->lane_capacity, lane))
		return false;
	f->taken[lane] = true;
	if (lane == f->lanes)
		f->lanes++;
	return true;
}

static struct frag_layout_place *new_place(struct frag_segment_layout *f, uint32_t ordinal)
{
	uint32_t i = f->unused;

	if (i == UINT32_MAX) {
		if (!FRAG_GROW(f->places, f->place_capacity, f->place_count))
			return NULL;
		i = f->place_count++;
		f->places[i] = (struct frag_layout_place){ .used = false };
	} else {
		f->unused = f->places[i].ordinal;
	}
	if (!frag_map_add(&f->by_ordinal, ordinal, i))
		return NULL;
	f->places[i].ordinal = ordinal;
	f->places[i].used = true;
	return &f->places[i];
}

/* The number of pieces that end at or before the offset. */
static uint32_t pieces_before(const struct frag_layout_place *place, uint64_t offset)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, place->piece_count,
				 place->pieces[low].offset + place->pieces[low].bytes <= offset);
	return low;
}

int frag_layout_map(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
		      uint64_t step)
{
	const uint32_t at = pieces_before(place, offset);

	if (!FRAG_GROW(place->pieces, place->piece_capacity, place->piece_count))
		return -FRAG_ENOMEM;
	memmove(&place->pieces[at + 1], &place->pieces[at],
		(place->piece_count - at) * sizeof(*place->pieces));
	place->piece_count++;
	place->pieces[at] = (struct frag_layout_piece){ offset, bytes, step };
	return 0;
}

int frag_layout_add(struct frag_segment_layout *f, uint32_t ordinal, uint64_t bytes, bool range,
		      uint64_t step)
{
	struct frag_layout_place *place = new_place(f, ordinal);
	int rc = 0;

	if (!place)
		return -FRAG_ENOMEM;
	place->lane = 0;
	place->y = 0;
	place->piece_count = 0;
	if (range)
		return find_lane(f, &place->lane) ? 0 : -FRAG_ENOMEM;
	place->block = frag_heap_find(f->heap, f->list, bytes);
	if (place->block != FRAG_NO_BLOCK) {
		rc = frag_heap_take(f->heap, &place->block, bytes, bytes);
		place->y = frag_heap_look(f->heap, place->block).offset;
	}
	return rc ? rc : frag_layout_map(place, 0, bytes, step);
}

struct frag_layout_place *frag_layout_look_up(struct frag_segment_layout *f, uint32_t ordinal)
{
	const uint32_t i = frag_map_get(&f->by_ordinal, ordinal);

	if (i == FRAG_MAP_NONE)
		return NULL;
	f->recent[ordinal % FRAG_LAYOUT_RECENT] = i;
	return &f->places[i];
}

int frag_layout_unmap(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
			uint64_t step, struct frag_areas *areas)
{
	const uint64_t end = offset + bytes;
	uint32_t i = pieces_before(place, offset), gone = i;
	struct frag_layout_piece before = { .bytes = 0 }, after = { .bytes = 0 };
	int rc = 0;

	if (gone == place->piece_count)
		return 0;
	for (; i < place->piece_count && place->pieces[i].offset < end && !rc; i++) {
		const struct frag_layout_piece p = place->pieces[i];
		const uint64_t p_end = p.offset + p.bytes;
		const uint64_t from = p.offset > offset ? p.offset : offset;

		if (p.offset < offset)
			before = (struct frag_layout_piece){ p.offset, offset - p.offset, p.birth };
		if (p_end > end)
			after = (struct frag_layout_piece){ end, p_end - end, p.birth };
		rc = frag_areas_add(areas, &(struct frag_area){
			.birth = p.birth, .freed = step, .end = step, .y = place->y + from,
			.bytes = (p_end < end ? p_end : end) - from, .lane = place->lane,
			.who = place->ordinal,
		});
	}
	memmove(&place->pieces[gone], &place->pieces[i],
		(place->piece_count - i) * sizeof(*place->pieces));
	place->piece_count -= i - gone;
	if (!rc && before.bytes)
		rc = frag_layout_map(place, before.offset, before.bytes, before.birth);
	if (!rc && after.bytes)
		rc = frag_layout_map(place, after.offset, after.bytes, after.birth);
	return rc;
}

int frag_layout_remove(struct frag_segment_layout *f, struct frag_layout_place *place,
			 uint64_t step, struct frag_areas *areas)
{
	const uint32_t i = (uint32_t)(place - f->places);
	const int rc = frag_layout_unmap(place, 0, UINT64_MAX, step, areas);

	frag_map_remove(&f->by_ordinal, place->ordinal, i);
	if (place->lane)
		f->taken[place->lane] = false;
	else if (place->block != FRAG_NO_BLOCK)
		(void)frag_heap_give(f->heap, place->block, NULL);
	place->used = false;
	place->ordinal = f->unused;
	f->unused = i;
	return rc;
}
