/* fsb_cursor.h - the values that a payload of the fsb format begins with, one after the other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is left of a payload; p is past end where more was read than there is. */
struct frag_fsb_cursor {
	const unsigned char *p, *end;
};

/* A varint: seven bits a byte, the lowest first; at most ten bytes. */
uint64_t frag_fsb_take(struct frag_fsb_cursor *c);

/* Are there n bytes more, and are they text? */
bool frag_fsb_has_text(const struct frag_fsb_cursor *c, uint64_t n);

/* A length, one more than it is, or 0 for no text; then the text. */
bool frag_fsb_take_optional(struct frag_fsb_cursor *c, char **out, uint64_t *length, bool *nomem);

/*
 * A JSON object as text; it is printed unchanged, so it must be one. Both: false where it is not
 * there so, or, with *nomem, on out of memory; *out is owned by the caller.
 */
bool frag_fsb_take_object(struct frag_fsb_cursor *c, char **out, uint32_t *length, bool *nomem);
