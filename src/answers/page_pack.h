/*
 * page_pack.h - columns of numbers for the script of a page.
 *
 * A column is planes of bytes, the lowest byte of each value first, then the next of each: so many
 * of them as its largest value needs. Values may be differences to the one before, folded so that
 * small ones of both signs are small (0, -1, 1, -2, ...), and may have been divided by a power of 2
 * that divides all of them. All columns together go through gzip and base64.
 */
#ifndef ANSWERS_PAGE_PACK_H
#define ANSWERS_PAGE_PACK_H

#include "base/json.h"

struct frag_page_pack {
	unsigned char *bytes;
	uint32_t used, capacity;
	bool failed;            /* memory was short */
};

/*
 * Adds a column, and says in the node where it is: [offset, count, planes, shift, differences].
 * The values are changed.
 */
void frag_page_column(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		      uint64_t *values, uint32_t count, bool differences);
/* Bytes as they are: [offset, length]. */
void frag_page_bytes(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		     const void *bytes, uint32_t length);

/* Text that is gathered for that. */
void frag_page_text(struct frag_page_pack *pack, const char *text);

/* All of it, packed, as a text of JSON in base64; the caller's. NULL: out of memory. */
char *frag_page_base64(const struct frag_page_pack *pack, size_t *length);

#endif
