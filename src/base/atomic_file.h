/*
 * atomic_file.h - files that are whole or not there.
 *
 * A file is written to a temporary name in its destination's folder, and renamed when it is
 * complete and on the disk. A failure leaves an existing file unchanged. Several files can be
 * renamed together. The folder is not synced: after a crash a name leads to the old bytes or to
 * the new ones. Other destinations (standard output, a device, a pipe, a descriptor such as
 * /dev/fd/3) are written directly. The first failure is kept: later calls do nothing, and
 * frag_outfile_commit() returns it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/bug.h"
#include "fragsim/error.h"

/* Bytes through gzip or zstd, on their way into a file. */

enum frag_packing { FRAG_PLAIN, FRAG_GZIP, FRAG_ZSTD };

/* By the name's ending: .gz, .zst. *length: of the name without it. */
enum frag_packing frag_packing_of(const char *path, size_t *length);

/* The version of the library that packs so; not for FRAG_PLAIN. */
const char *frag_packing_library(enum frag_packing packing);

struct frag_packer;

/* Passes the bytes to out(), compressed, the same each time. False: out of memory. */
bool frag_gzip(const void *bytes, size_t n, void (*out)(void *ctx, const char *bytes, size_t n),
	       void *ctx);

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

/* Compresses all further output. Call it before the first byte. -FRAG_ENOMEM */
int frag_outfile_pack(struct frag_outfile *f, enum frag_packing packing, struct frag_error *err);

/* A nameless file for what is appended to `f` later. */
int frag_outfile_spool(struct frag_outfile *spool, const struct frag_outfile *f,
		       struct frag_error *err);

/* Returns space for n bytes; frag_outfile_used() reports where the caller's writing ended. */
char *frag_outfile_room(struct frag_outfile *f, size_t n);

static inline void frag_outfile_used(struct frag_outfile *f, const char *end)
{
	FRAG_ASSERT(end >= f->buf && (size_t)(end - f->buf) <= f->capacity);
	f->used = (size_t)(end - f->buf);
}

void frag_outfile_write(struct frag_outfile *f, const void *bytes, size_t n);

/*
 * Returns the file as a stream. Other functions must not write before
 * frag_outfile_stream_end(), which records a failure. NULL: frag_outfile_status() has the
 * error.
 */
FILE *frag_outfile_stream(struct frag_outfile *f);
void frag_outfile_stream_end(struct frag_outfile *f, FILE *stream);

/* The failure so far: 0, -FRAG_EPIPE or -FRAG_EOUTPUT. */
int frag_outfile_status(const struct frag_outfile *f, struct frag_error *err);

/* Appends all of the spool, and closes that. */
int frag_outfile_append(struct frag_outfile *f, struct frag_outfile *spool,
			struct frag_error *err);

/* Flushes and closes; afterwards only the rename can fail. */
int frag_outfile_finish(struct frag_outfile *f, struct frag_error *err);

/* Finishes what is not finished, and renames it into place. On failure nothing is left. */
int frag_outfile_commit(struct frag_outfile *f, struct frag_error *err);

/*
 * The same for several files; a zeroed one is skipped. Either all are renamed or none is: after
 * a failure the earlier ones get their old files back, unless the file system lacks hard links.
 */
int frag_outfile_commit_all(struct frag_outfile *const *files, uint32_t count,
			    struct frag_error *err);

/* For a signal handler: nothing is left that is not whole. */
void frag_outfile_drop(const struct frag_outfile *f);

/* Closes without a trace; fine on a zeroed or a committed file. */
void frag_outfile_abandon(struct frag_outfile *f);

/* Where the name of an output leads. */

struct frag_output_path {
	char *name;             /* behind all links; the caller's to free */
	int   fd;               /* our own descriptor that the name stands for, as
				 * /dev/stdout and /dev/fd/3 do; -1: for none */
	bool  there;            /* there is something of that name, and this is it: */
	struct stat now;
};

/*
 * The number of the error, or 0. A link to nothing leads to the name where a file
 * would be created.
 */
int frag_destination_find(struct frag_output_path *d, const char *path);

/* Paths as messages show them. */
/* "standard input" for "-", two quotes for no name at all; else the path itself. */
const char *frag_input_name(const char *path);

/* Returns the part after the last slash, inside the path. */
const char *frag_file_name(const char *path);

/*
 * *bytes: the content of the regular file, `max` bytes at most; the caller's to free, and never
 * NULL. -FRAG_EUSAGE, the message without the path; -FRAG_ENOMEM
 */
int frag_read_whole_file(const char *path, uint64_t max, void **bytes, uint64_t *length,
		      struct frag_error *err);

/*
 * A file of a folder that is fragsim's own: opening a pipe there would wait for ever. 0 also where
 * there is none; -FRAG_ETRACE
 */
int frag_require_regular_file(const char *path, struct frag_error *err);

/*
 * "-" is standard input. The text, the caller's to free, is followed by zeros enough
 * for the scanner. -FRAG_ETRACE or -FRAG_ENOMEM; *text is NULL then.
 */
int frag_text_file(char **text, size_t *length, const char *path, struct frag_error *err);
