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

#endif
