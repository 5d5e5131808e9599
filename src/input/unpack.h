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
 * Reads at most that many bytes; *got is 0 only at the end. -FRAG_ETRACE where damaged or
 * unreadable, -FRAG_EINTERRUPTED where a signal ended the wait for more.
 */
int frag_unpacker_read(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		       struct frag_error *err);
/* A zstd stream that ends in the middle of a frame ends the input there; else it is damaged. */
void frag_unpacker_allow_torn(struct frag_unpacker *u);

/* Are its bytes packed? Known once the first one has been read. */
bool frag_unpacker_packed(const struct frag_unpacker *u);

/*
 * Enables the second function, which any thread may call: a wait for a pipe, now or later, then
 * ends with -FRAG_EINTERRUPTED. Reading a file never waits. False: it cannot be enabled.
 */
bool frag_unpacker_abandonable(struct frag_unpacker *u);
void frag_unpacker_abandon(struct frag_unpacker *u);

bool frag_unpacker_rewind(struct frag_unpacker *u);
bool frag_unpacker_rewindable(const struct frag_unpacker *u);
void frag_unpacker_amount(const struct frag_unpacker *u, uint64_t *read, uint64_t *total);

/*
 * Unpacks a compressed file in a separate thread, some parts ahead of the reader.
 */
struct frag_unpack_ahead;

/*
 * The borrowed unpacker belongs to the thread until the thread is stopped; it must read a file,
 * because a thread that waits for a pipe cannot be woken. NULL: out of memory, or no thread
 * could be started; the caller can then continue without a thread.
 */
struct frag_unpack_ahead *frag_unpack_ahead_new(struct frag_unpacker *u);

/* As frag_unpacker_read() and frag_unpacker_amount(), of what has been taken from here. */
int frag_unpack_ahead_read(struct frag_unpack_ahead *a, char *to, size_t room, size_t *got,
			   struct frag_error *err);
void frag_unpack_ahead_amount(const struct frag_unpack_ahead *a, uint64_t *read, uint64_t *total);

/* Ends the thread and drops the bytes that it read ahead. NULL is fine. */
void frag_unpack_ahead_del(struct frag_unpack_ahead *a);

#endif
