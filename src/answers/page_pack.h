/* page_pack.h - the columns of a page: numbers and texts, packed by gzip and base64 into its data. */
#pragma once

#include "base/json.h"
#include "html_report/areas.h"

/*
 * A column is planes of bytes, the lowest byte of each value first, then the next of each: as many
 * planes as its largest value needs. Values may be differences from the previous value, folded so
 * that small ones of both signs are small (0, -1, 1, -2, ...), and may have been divided by a power
 * of 2 that divides all of them. All columns together go through gzip and base64.
 */
struct frag_page_pack {
	unsigned char *bytes;
	uint32_t used, capacity;
	bool failed;            /* out of memory */
};

/*
 * Adds a column, and says in the node where it is: [offset, count, planes, shift, differences].
 * The values are changed.
 */
void frag_pack_column(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		      uint64_t *values, uint32_t count, bool differences);
/* Adds unchanged bytes: [offset, length]. */
void frag_pack_bytes(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		     const void *bytes, uint32_t length);
/* Adds bytes that nothing names; the ctx of frag_gzip(). */
void frag_pack_take(void *pack, const char *bytes, size_t n);
/* All of it, packed, as a text of JSON in base64; the caller's. NULL: out of memory. */
char *frag_pack_base64(const struct frag_page_pack *pack, size_t *length);

/*
 * Adds rectangles, which are sorted by the event of their allocation, as columns of the node: that
 * event, how many events later it is freed, pending, who; `size` counts in `sizes`, the different ones in the order in which they
 * come; `place` is where each is, in units of 1 << place_shift bytes:
 *
 *     0          where the rectangle of this size was that ended last and was not replaced yet
 *     1 + d      d folded as the differences of a column: so far from the end of the one before
 *
 * One of the last FRAG_PLACES_BACK of its size that were where it is now is replaced by it, too. sum_step and sum_most are
 * the sums of the dropped. values: as long as the longest of these columns.
 */
#define FRAG_PLACES_BACK 16
void frag_pack_areas(struct frag_page_pack *pack, struct frag_node_ref in, const struct frag_areas *areas, uint64_t *values);
/* On the map, as the column of places has it. */
uint64_t frag_area_place(const struct frag_areas *areas, uint32_t i);
