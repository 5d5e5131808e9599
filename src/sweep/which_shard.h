/* which_shard.h - which shard a task of an array is, as an option or its scheduler says. */
#pragma once

#include <stdint.h>

#include "fragsim/error.h"

/* Which of the shards a task is. */
struct frag_shard {
	uint32_t index, count;
	const char *from;       /* the variable that contains the index; NULL: from an option */
};

#define FRAG_SHARDS_MAX 1000000

extern const char *const frag_shard_words[];    /* those that stand for one, ended by NULL */

/*
 * "I/N", "auto", which takes both from the scheduler's variables, or "auto/N": its number,
 * modulo N. -FRAG_EUSAGE
 */
int frag_shard_parse(struct frag_shard *shard, const char *text, struct frag_error *err);
