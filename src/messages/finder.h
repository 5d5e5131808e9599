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

#include "fragsim/error.h"
#include "messages/message.h"
#include "messages/surroundings.h"

#define FRAG_MESSAGE_MOST ((size_t)16 << 10)

struct frag_finder;

/* found is called for each message, judged, in their order. What it returns, unless 0, ends all. */
struct frag_finder *frag_finder_new(int (*found)(void *ctx, const struct frag_message *m),
				    void *ctx);
void frag_finder_del(struct frag_finder *f);

/* Also collects what is around the messages. */
void frag_finder_look_around(struct frag_finder *f, struct frag_surroundings *around);

/* More bytes; the second one: nothing comes behind them. What `found` returned, or 0. */
int frag_finder_feed(struct frag_finder *f, const char *bytes, size_t n);
int frag_finder_end(struct frag_finder *f);

#define FRAG_MESSAGE_GROUPS_MAX 512
#define FRAG_MESSAGE_GPUS 64    /* ordinals from here on are counted only */

/* Messages of one wording with the same verdict, anywhere in the input. */
struct frag_message_group {
	struct frag_message first;
	struct frag_message worst;      /* the one whose request exceeds the free bytes the most */
	uint64_t count;
	uint64_t gpus;          /* a bit for each GPU ordinal that printed it */
	uint64_t ranks;         /* likewise for each rank */
	uint64_t least, most;   /* requested bytes of any of them */
	const struct frag_surroundings *around; /* of all texts */
};

#define FRAG_ACCOUNTS_MAX 256
#define FRAG_ACCOUNT_ROOM 80

/* Bytes of a process, a phase or a purpose, by the text. */
struct frag_account {
	char who[FRAG_ACCOUNT_ROOM];
	uint64_t bytes;
};

struct frag_accounts {
	struct frag_account *of;        /* owned */
	uint32_t count, capacity;
};

struct frag_message_groups {
	struct frag_message_group *groups;      /* in the order of their first messages; owned */
	uint32_t count, capacity;
	uint64_t messages;
	struct frag_surroundings around;
	struct frag_accounts accounts;
};

/*
 * Finds the messages of a file: reads all of it, "-" for standard input, and unpacks it, while
 * stop(ctx) is false. -FRAG_ETRACE, -FRAG_EINTERRUPTED,
 * -FRAG_ENOMEM
 */
struct frag_message_log {
	const char *path;       /* or a text: white space, and no file; then it becomes "the text" */
	bool (*stop)(void *ctx);
	void *ctx;
	struct frag_message_groups *groups;     /* get each message */
	uint64_t lines;                 /* of the last text that was read */
	struct frag_error *err;         /* its own */
};
int frag_message_log_read(struct frag_message_log *log, struct frag_error *err);

/* White space, and no file: a text that was pasted as an argument. */
bool frag_is_pasted(const char *path);
