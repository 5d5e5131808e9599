/* groups.h - equal messages, counted: eight ranks that fail a hundred times each say one thing. */
#ifndef MESSAGES_GROUPS_H
#define MESSAGES_GROUPS_H

#include "messages/message.h"

#define FRAG_MESSAGE_GROUPS_MAX 4096
#define FRAG_MESSAGE_GPUS 64    /* ordinals from here on are counted only */

/* Messages of one wording whose figures are the same, wherever they were said. */
struct frag_message_group {
	struct frag_message first;
	uint64_t count;
	uint64_t gpus;          /* a bit for each that says so */
};

struct frag_message_groups {
	struct frag_message_group *groups;      /* in the order of their first messages */
	uint32_t count, capacity;
	uint32_t *slots;        /* hashed: which group, plus 1 */
	uint64_t messages;
	uint64_t others;        /* messages of yet more groups than are kept */
};

/* False: memory is short. */
bool frag_message_groups_add(struct frag_message_groups *groups, const struct frag_message *m);
void frag_message_groups_fini(struct frag_message_groups *groups);

#endif
