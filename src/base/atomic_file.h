/*
 * atomic_file.h - files that are whole or not there.
 *
 * A file is written beside its destination and renamed into place when it is
 * whole and on the disk; an existing one is never harmed by a failure. Several take
 * their places together. The folder is not synced: after a crash a name leads to the
 * old bytes or to the new ones. What is no regular file (standard output, a device, a
 * pipe), and an open descriptor (/dev/fd/3), is written as it comes. The first failure
 * sticks: later calls do nothing, and frag_outfile_commit() returns it.
 */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bug.h"
#include "base/compress.h"
#include "fragsim/error.h"

#define FRAG_OUT_BUFFER ((size_t)256 << 10)

struct frag_outfile {
	char  *path;            /* as given, for messages */
	char  *final;           /* behind all links; NULL where it is written as it comes */
	char  *volatile temporary;      /* NULL where nothing is to be removed; a signal
					 * handler may read it, and the next one */
	char  *volatile aside;          /* the old file's second name while others of a
					 * commit take their places; or NULL */
	bool   fresh;                   /* it took its place, and there was no file */
	bool   only_new;                /* a file in its place stays: the commit fails by EEXIST */
	char  *buf;
	size_t used, capacity;
	int    fd;
	int    failed;          /* errno of the first failure, or 0 */
	struct frag_packer *packer;     /* NULL: plain bytes */
};

/* "-" is standard output. -FRAG_EOUTPUT */
int frag_outfile_open(struct frag_outfile *f, const char *path, struct frag_error *err);

/* What is written from now on goes out packed; before the first byte. -FRAG_ENOMEM */
int frag_outfile_pack(struct frag_outfile *f, enum frag_packing packing, struct frag_error *err);

/* A nameless file for what is appended to `f` later. */
int frag_outfile_spool(struct frag_outfile *spool, const struct frag_outfile *f,
		       struct frag_error *err);

/* Room for n bytes, written at will; frag_outfile_used() says where writing ended. */
char *frag_outfile_room(struct frag_outfile *f, size_t n);

static inline void frag_outfile_used(struct frag_outfile *f, const char *end)
{
	FRAG_ASSERT(end >= f->buf && (size_t)(end - f->buf) <= f->capacity);
	f->used = (size_t)(end - f->buf);
}

void frag_outfile_write(struct frag_outfile *f, const void *bytes, size_t n);

/*
 * The file as a stream, for who prints; nothing else writes until its end, which
 * notes what failed. NULL: frag_outfile_status() says why.
 */
FILE *frag_outfile_stream(struct frag_outfile *f);
void frag_outfile_stream_end(struct frag_outfile *f, FILE *stream);

/* The failure so far: 0, -FRAG_EPIPE or -FRAG_EOUTPUT. */
int frag_outfile_status(const struct frag_outfile *f, struct frag_error *err);

/* Appends all of the spool, and closes that. */
int frag_outfile_append(struct frag_outfile *f, struct frag_outfile *spool,
			struct frag_error *err);

/* Flushes and closes: all that can still fail is to take its place. */
int frag_outfile_finish(struct frag_outfile *f, struct frag_error *err);

/* Finishes what is not finished, and renames it into place. On failure nothing is left. */
int frag_outfile_commit(struct frag_outfile *f, struct frag_error *err);

/*
 * The same for several, of which a zeroed one is none: all take their places, or
 * none does. Where one cannot, those before it get their old files back; only a
 * file system without hard links has no way to.
 */
int frag_outfile_commit_all(struct frag_outfile *const *files, uint32_t count,
			    struct frag_error *err);

/* For a signal handler: nothing is left that is not whole. */
void frag_outfile_drop(const struct frag_outfile *f);

/* Closes without a trace; fine on a zeroed or a committed file. */
void frag_outfile_abandon(struct frag_outfile *f);

#endif
