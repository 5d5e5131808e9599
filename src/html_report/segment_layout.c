/* segment_layout.c - where a segment is on the map. */
#include "html_report/segment_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

#define HEIGHT (UINT64_C(1) << 61)      /* of all segments together; others are at its foot */

/* The one segment of a heap whose free blocks are sorted by address: a find is a first fit. */
int frag_floor_init(struct frag_segment_layout *f)
{
	struct frag_error err;
	frag_block all;
	int rc = frag_device_open(&f->device, &frag_device_simulated, 0, 0, 0, 1, &err);

	if (rc)
		return rc;
	f->heap = frag_heap_new(&f->device, &frag_index_address);
	if (!f->heap || !frag_map_init(&f->by_ordinal, frag_hash_seed()))
		return -FRAG_ENOMEM;
	rc = frag_heap_list(f->heap, 0, 0, &f->list);
	f->unused = UINT32_MAX;
	f->lanes = 1;
	return rc ? rc : frag_heap_grow(f->heap, f->list, HEIGHT, &all);
}

void frag_floor_fini(struct frag_segment_layout *f)
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
	if (!frag_grow(&f->taken, &f->lane_capacity, (uint64_t)lane + 1, sizeof(*f->taken)))
		return false;
	f->taken[lane] = true;
	if (lane == f->lanes)
		f->lanes++;
	return true;
}

static int stack(struct frag_segment_layout *f, struct frag_floor_place *place, uint64_t bytes)
{
	int rc;

	place->block = frag_heap_find(f->heap, f->list, bytes);
	if (place->block == FRAG_NO_BLOCK)
		return 0;
	rc = frag_heap_take(f->heap, &place->block, bytes, bytes);
	place->y = frag_heap_look(f->heap, place->block).offset;
	return rc;
}

static struct frag_floor_place *new_place(struct frag_segment_layout *f, uint32_t ordinal)
{
	uint32_t i = f->unused;

	if (i == UINT32_MAX) {
		if (!frag_grow(&f->places, &f->place_capacity, (uint64_t)f->place_count + 1,
			       sizeof(*f->places)))
			return NULL;
		i = f->place_count++;
		f->places[i] = (struct frag_floor_place){ .used = false };
	} else {
		f->unused = f->places[i].ordinal;
	}
	if (!frag_map_add(&f->by_ordinal, ordinal, i))
		return NULL;
	f->places[i].ordinal = ordinal;
	f->places[i].used = true;
	return &f->places[i];
}

int frag_floor_add(struct frag_segment_layout *f, uint32_t ordinal, uint64_t bytes, bool range,
		   uint64_t step)
{
	struct frag_floor_place *place = new_place(f, ordinal);
	int rc;

	if (!place)
		return -FRAG_ENOMEM;
	place->lane = 0;
	place->y = 0;
	place->piece_count = 0;
	if (range)
		return find_lane(f, &place->lane) ? 0 : -FRAG_ENOMEM;
	rc = stack(f, place, bytes);
	return rc ? rc : frag_floor_map(place, 0, bytes, step);
}

struct frag_floor_place *frag_floor_look_up(struct frag_segment_layout *f, uint32_t ordinal)
{
	const uint32_t i = frag_map_get(&f->by_ordinal, ordinal);

	if (i == FRAG_MAP_NONE)
		return NULL;
	f->recent[ordinal % FRAG_FLOOR_RECENT] = i;
	return &f->places[i];
}

/* Its pieces have ended before. */
void frag_floor_remove(struct frag_segment_layout *f, struct frag_floor_place *place)
{
	const uint32_t i = (uint32_t)(place - f->places);

	frag_map_remove(&f->by_ordinal, place->ordinal, i);
	if (place->lane)
		f->taken[place->lane] = false;
	else if (place->block != FRAG_NO_BLOCK)
		(void)frag_heap_give(f->heap, place->block, NULL);
	place->used = false;
	place->ordinal = f->unused;
	f->unused = i;
}

/* The number of pieces that end at or before the offset. */
static uint32_t pieces_before(const struct frag_floor_place *place, uint64_t offset)
{
	uint32_t low = 0, high = place->piece_count;

	while (low < high) {
		const uint32_t i = low + (high - low) / 2;

		if (place->pieces[i].offset + place->pieces[i].bytes <= offset)
			low = i + 1;
		else
			high = i;
	}
	return low;
}

int frag_floor_map(struct frag_floor_place *place, uint64_t offset, uint64_t bytes, uint64_t step)
{
	const uint32_t at = pieces_before(place, offset);

	if (!frag_grow(&place->pieces, &place->piece_capacity, (uint64_t)place->piece_count + 1,
		       sizeof(*place->pieces)))
		return -FRAG_ENOMEM;
	memmove(&place->pieces[at + 1], &place->pieces[at],
		(place->piece_count - at) * sizeof(*place->pieces));
	place->piece_count++;
	place->pieces[at] = (struct frag_layout_piece){ offset, bytes, step };
	return 0;
}

/* Of one that is cut in its middle, what is left on both sides stays as old as it was. */
int frag_floor_unmap(struct frag_floor_place *place, uint64_t offset, uint64_t bytes, void *ctx,
		     frag_piece_fn *ended)
{
	const uint64_t end = offset + bytes;
	uint32_t i = pieces_before(place, offset), gone = i;
	struct frag_layout_piece before = { .bytes = 0 }, after = { .bytes = 0 };
	int rc = 0;

	if (gone == place->piece_count)
		return 0;
	for (; i < place->piece_count && place->pieces[i].offset < end && !rc; i++) {
		struct frag_layout_piece p = place->pieces[i];
		const uint64_t p_end = p.offset + p.bytes;

		if (p.offset < offset)
			before = (struct frag_layout_piece){ p.offset, offset - p.offset, p.birth };
		if (p_end > end)
			after = (struct frag_layout_piece){ end, p_end - end, p.birth };
		p.bytes = (p_end < end ? p_end : end) - (p.offset > offset ? p.offset : offset);
		p.offset = p.offset > offset ? p.offset : offset;
		rc = ended(ctx, place, &p);
	}
	memmove(&place->pieces[gone], &place->pieces[i],
		(place->piece_count - i) * sizeof(*place->pieces));
	place->piece_count -= i - gone;
	if (!rc && before.bytes)
		rc = frag_floor_map(place, before.offset, before.bytes, before.birth);
	if (!rc && after.bytes)
		rc = frag_floor_map(place, after.offset, after.bytes, after.birth);
	return rc;
}
