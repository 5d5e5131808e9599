/*
 * input.h - the bytes of a file or of standard input, decompressed, through a
 * window that moves forward.
 *
 * The window's bytes are buf[0..end); buf[end] and some bytes after it are 0,
 * so that a scanner may stop at a 0 and may read a word too far.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fragsim/error.h"

#define FRAG_WINDOW_FIRST ((size_t)256 << 10)
#define FRAG_INPUT_WINDOW_MAX ((size_t)64 << 20)      /* longest thing that must be seen whole */
#define FRAG_WINDOW_SLACK 16

struct frag_unpacker;

struct frag_input {
	char    *path;          /* as given; "-" is standard input */
	char    *buf;
	size_t   end, capacity;
	uint64_t before;        /* bytes that have left the window */
	uint64_t lines_before;  /* line ends among them */
	uint64_t line_start;    /* offset of the first byte after the last of these */
	size_t   counted;       /* of the window: bytes that the next two include as well */
	uint64_t lines, start;  /* as lines_before and line_start */
	bool     eof;           /* nothing comes after the window */
	bool     rewindable;
	bool     by_byte;       /* lines are not counted, because no caller requests a place */
	struct frag_unpacker *unpacker; /* NULL: all bytes are in the window */
};

/*
 * An input that is kept open is opened again, with the bytes of its window: those of a pipe
 * cannot be read a second time.
 */
int  frag_input_open(struct frag_input *in, const char *path, struct frag_error *err);
void frag_input_keep_open(struct frag_input *in);
void frag_input_close(struct frag_input *in);

/*
 * Drops the first `used` bytes of the window and reads more; the window grows
 * where nothing could be dropped. 1: more bytes came; 0: eof. -FRAG_ETRACE
 */
int frag_input_fill(struct frag_input *in, size_t used, struct frag_error *err);

/*
 * Starts reading ahead: a compressed file is unpacked in its own thread, if one can be started,
 * and any thread may end the wait for a pipe. False: neither is possible.
 */
bool frag_input_hurry(struct frag_input *in);

/* Back to the first byte; the window is empty afterwards. False where it cannot be. */
bool frag_input_rewind(struct frag_input *in);

/*
 * The memory that a reader may keep of one input: FRAG_KEPT_MIN, plus FRAG_KEPT_A_BYTE for each
 * byte of the compressed file, at most FRAG_KEPT_MAX. A few bytes can unpack to any size; real
 * snapshots need 85 times their file under gzip, and 220 times under zstd -19.
 */
#define FRAG_KEPT_MIN ((uint64_t)256 << 20)
#define FRAG_KEPT_A_BYTE 1024
#define FRAG_KEPT_MAX ((uint64_t)16 << 30)
uint64_t frag_kept_max(uint64_t file);
/* -FRAG_ETRACE, for what would need more than that. */
int frag_kept_too_much(const char *path, uint64_t file, struct frag_error *err);

/* Bytes of the file; of a pipe those that were read so far. */
uint64_t frag_input_bytes(const struct frag_input *in);
/* Returns 0 if `bytes` of memory may be kept of the input, else -FRAG_ETRACE. */
int frag_input_afford(const struct frag_input *in, uint64_t bytes, struct frag_error *err);

/* Compressed bytes read so far, and the size of the file (0: unknown). */
void frag_input_amount(const struct frag_input *in, uint64_t *read, uint64_t *total);

/*
 * "PATH:LINE:COLUMN" of window byte `at`; in a file of one line "PATH: byte N".
 * Asked for in order, places cost no more than the bytes between them.
 */
void frag_input_where(struct frag_input *in, size_t at, bool by_line, char *buf, uint32_t size);

/* Whole inputs in memory: a decompressed input, or a file unchanged. */

#define FRAG_WHOLE_MAX ((uint64_t)4 << 30)      /* bytes, decompressed */

struct frag_whole {
	char  *path;
	char  *bytes;           /* FRAG_WINDOW_SLACK bytes of 0 follow */
	size_t length;
	uint64_t read, total;   /* of the file, as frag_input_amount() says */
};

/* Takes the input over, also where it fails. -FRAG_ETRACE, -FRAG_ENOMEM */
int  frag_whole_read(struct frag_whole *w, struct frag_input *in, struct frag_error *err);
void frag_whole_fini(struct frag_whole *w);

/* Bytes of a file descriptor, gunzipped or unzstd'ed where they are packed. */

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
 * Unpacks the file in a separate thread from here on, some parts ahead of the reader, up to a
 * rewind; it must be a file, because a thread that waits for a pipe cannot be woken. False: one
 * does so already, or could not be started; reading goes on without.
 */
bool frag_unpacker_ahead(struct frag_unpacker *u);
