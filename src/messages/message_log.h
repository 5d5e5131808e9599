/* message_log.h - the messages of a whole text, counted by wording and verdict. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"
#include "messages/finder.h"

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
	struct frag_message_value total, free;  /* see frag_finder_given() */
	uint64_t lines;                 /* of the last text that was read */
	struct frag_error *err;         /* its own */
};
int frag_message_log_read(struct frag_message_log *log, struct frag_error *err);

/* White space, and no file: a text that was pasted as an argument. */
bool frag_is_pasted(const char *path);
