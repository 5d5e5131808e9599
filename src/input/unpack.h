/* unpack.h - bytes of a file descriptor, gunzipped or unzstd'ed where they are packed. */
#ifndef INPUT_UNPACK_H
#define INPUT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fragsim/error.h"

struct frag_unpacker;

/* The descriptor is the unpacker's from now on, also on failure. */
int  frag_unpacker_new(struct frag_unpacker **out, int fd, const char *path,
		       struct frag_error *err);
void frag_unpacker_del(struct frag_unpacker *u);

/*
 * Up to `room` bytes; *got 0 at the end only. -FRAG_ETRACE where damaged or
 * unreadable, -FRAG_EINTERRUPTED where a signal ended the wait for more.
 */
int frag_unpacker_read(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		       struct frag_error *err);
/* A zstd stream that ends in the middle of a frame ends the input there; else it is damaged. */
void frag_unpacker_allow_torn(struct frag_unpacker *u);

/* Are its bytes packed? Known once the first one has been read. */
bool frag_unpacker_packed(const struct frag_unpacker *u);

/*
 * Makes ready for the second one, which any thread may call: a wait for more of a pipe, now or
 * later, then ends with -FRAG_EINTERRUPTED. Of a file nobody waits. False: it cannot be.
 */
bool frag_unpacker_abandonable(struct frag_unpacker *u);
void frag_unpacker_abandon(struct frag_unpacker *u);

bool frag_unpacker_rewind(struct frag_unpacker *u);
bool frag_unpacker_rewindable(const struct frag_unpacker *u);
void frag_unpacker_amount(const struct frag_unpacker *u, uint64_t *read, uint64_t *total);

/*
 * A packed file, unpacked in a thread of its own some pieces ahead of who reads
 * it.
 */
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
