/*
 * unpack_ahead.h - a packed file, unpacked in a thread of its own some pieces ahead of who reads
 * it.
 */
#ifndef INPUT_UNPACK_AHEAD_H
#define INPUT_UNPACK_AHEAD_H

#include "input/unpack.h"

struct frag_unpack_ahead;

/*
 * The unpacker, which is borrowed, belongs to the thread until the end of this; it must read a
 * file, as nothing wakes a thread that waits for a pipe. NULL where memory is short or there is
 * no thread to be had: it can go on to be read as it was.
 */
struct frag_unpack_ahead *frag_unpack_ahead_new(struct frag_unpacker *u);

/* As frag_unpacker_read() and frag_unpacker_amount(), of what has been taken from here. */
int frag_unpack_ahead_read(struct frag_unpack_ahead *a, char *to, size_t room, size_t *got,
			   struct frag_error *err);
void frag_unpack_ahead_amount(const struct frag_unpack_ahead *a, uint64_t *read, uint64_t *total);

/* Ends the thread; what it was ahead is lost. NULL is fine. */
void frag_unpack_ahead_del(struct frag_unpack_ahead *a);

#endif
