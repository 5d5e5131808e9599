/* groups.h - equal messages, counted: eight ranks that fail a hundred times each say one thing. */
#ifndef MESSAGES_GROUPS_H
#define MESSAGES_GROUPS_H

#include "messages/finder.h"
#include "messages/message.h"

#define FRAG_MESSAGE_GROUPS_MAX 4096
#define FRAG_MESSAGE_GPUS 64    /* ordinals from here on are counted only */

/* Messages of one wording with the same values, anywhere in the input. */
struct frag_message_group {
	struct frag_message first;
	uint64_t count;
	uint64_t gpus;          /* a bit for each GPU ordinal that printed it */
};

struct frag_message_groups {
	struct frag_message_group *groups;      /* in the order of their first messages */
	uint32_t count, capacity;
	uint32_t *slots;        /* hashed: which group, plus 1 */
	uint64_t messages;
	uint64_t others;        /* messages of yet more groups than are kept */
};

/* False: out of memory. */
bool frag_message_groups_add(struct frag_message_groups *groups, const struct frag_message *m);
void frag_message_groups_fini(struct frag_message_groups *groups);

/* The out-of-memory messages of a file. */
/*
 * Reads all of the input, "-" for standard input, and unpacks it, while stop(ctx) is false.
 * *bare is that of frag_finder_bare(). -FRAG_ETRACE, -FRAG_EINTERRUPTED, -FRAG_ENOMEM
 */
struct frag_message_log {
	const char *path;
	bool (*stop)(void *ctx);
	int (*found)(void *ctx, const struct frag_message *m);
	void *ctx;
	uint64_t bare, bare_line;
};
int frag_message_log_read(struct frag_message_log *log, struct frag_error *err);

#endif
