/*
 * finder.h - finds out-of-memory messages among any bytes, a paste or a log of any size, and
 * counts equal ones.
 *
 * The input comes in pieces, and the memory kept of it does not grow: a message has at most
 * FRAG_MESSAGE_MOST bytes of text without white space, except the dump of a BFC allocator,
 * whose sums are kept.
 */
#pragma once

#include <stddef.h>

#include "base/hash.h"
#include "fragsim/error.h"
#include "messages/message.h"

#define FRAG_MESSAGE_MOST ((size_t)16 << 10)

struct frag_finder;

/* found is called for each message, judged, in their order. What it returns, unless 0, ends all. */
struct frag_finder *frag_finder_new(int (*found)(void *ctx, const struct frag_message *m),
				    void *ctx);
void frag_finder_del(struct frag_finder *f);

/* More bytes; the second one: nothing comes behind them. What `found` returned, or 0. */
int frag_finder_feed(struct frag_finder *f, const char *bytes, size_t n);
int frag_finder_end(struct frag_finder *f);

/* How many say only that memory ran out, and the line of the first. */
uint64_t frag_finder_bare(const struct frag_finder *f, uint64_t *line);

#define FRAG_MESSAGE_GROUPS_MAX 4096
#define FRAG_MESSAGE_GPUS 64    /* ordinals from here on are counted only */

/* Messages of one wording with the same values, anywhere in the input. */
struct frag_message_group {
	struct frag_message first;
	uint64_t count;
	uint64_t gpus;          /* a bit for each GPU ordinal that printed it */
};

struct frag_message_groups {
	struct frag_message_group *groups;      /* in the order of their first messages; owned */
	uint32_t count, capacity;
	struct frag_map places; /* by a hash of the values: which group */
	uint64_t messages;
	uint64_t others;        /* messages of yet more groups than are kept */
};

/*
 * Finds the messages of a file: reads all of it, "-" for standard input, and unpacks it, while
 * stop(ctx) is false. *bare is that of frag_finder_bare(). -FRAG_ETRACE, -FRAG_EINTERRUPTED,
 * -FRAG_ENOMEM, or what `found` returned
 */
struct frag_message_log {
	const char *path;       /* or a text: white space, and no file; then it becomes "the text" */
	bool (*stop)(void *ctx);
	int (*found)(void *ctx, const struct frag_message *m, struct frag_error *err);
	void *ctx;
	struct frag_message_groups *groups;     /* get each message before `found` does */
	uint64_t bare, bare_line;
	struct frag_error *err;         /* its own */
};
int frag_message_log_read(struct frag_message_log *log, struct frag_error *err);

/*
 * Is it a text, or does the file look like a log with an out-of-memory message? Traces and
 * snapshots begin with a bracket or a byte that is no text; a log contains the words. A file that
 * cannot be read is none. -FRAG_ENOMEM
 */
int frag_is_message(const char *path, bool *is, struct frag_error *err);
