/* change_list.h - changes of a program, as the options of a command line say them. */
#pragma once

#include "cmd/command.h"
#include "policy/choice.h"
#include "transform/changed_trace.h"

struct frag_change_list {
	struct frag_program_change *list;
	char **texts;                   /* of each, as it was given */
	uint32_t count, capacity, text_capacity;
};

/* A change, or more of the last one: the row's min is its kind. at: the list */
frag_set_option frag_change_list_add;

/* Is one of this kind? */
bool frag_change_list_has(const struct frag_change_list *changes, enum frag_change_kind kind);

/* Does a change happen where an iteration begins? Is one of a class of blocks? */
bool frag_change_list_has_iterations(const struct frag_change_list *changes);
bool frag_change_list_has_classes(const struct frag_change_list *changes);

/* -FRAG_EUSAGE: PyTorch has no such setting; a change follows one that must be the last */
int frag_change_list_check(const struct frag_change_list *changes, struct frag_error *err);
void frag_change_list_fini(struct frag_change_list *changes);   /* a zeroed one is valid */

#define FRAG_SHARDS_MAX 1000000

/* Rows of a table of options, whose list is this member. */
#define FRAG_CHANGE_ROW(type, member, which)                                                   \
	.min = FRAG_CHANGE_##which, FRAG_CALL_AT(type, member, frag_change_list_add)
#define FRAG_CHANGE_ROWS(type, member)                                                         \
	{ 0, "scale-batch", "F", "activations and inputs times F: 1/2 is half the batch",        \
	  FRAG_CHANGE_ROW(type, member, SCALE) },                                                \
	{ 0, "scale-dtype", "F", "all except inputs and workspaces times F: 1/2 is bfloat16",    \
	  FRAG_CHANGE_ROW(type, member, SCALE) },                                                \
	{ 0, "scale", "F", "all sizes times F, rounded up: 0.5, 2, 1/3",                         \
	  FRAG_CHANGE_ROW(type, member, SCALE) },                                                \
	{ 0, "of", "CLASS",                                                                    \
	  "of the change before it: only activations, gradients, ..., or tags like this glob",   \
	  FRAG_CHANGE_ROW(type, member, OF) },                                                   \
	{ 0, "min-bytes", "SIZE", "of the --scale before it: only blocks from this size on",     \
	  FRAG_CHANGE_ROW(type, member, MIN_BYTES) },                                            \
	{ 0, "split", "SIZE", "larger blocks are pieces of SIZE, and a remainder",               \
	  FRAG_CHANGE_ROW(type, member, SPLIT) },                                                \
	{ 0, "shard", "K", "long-lived blocks are a K-th: one rank of K", .max = FRAG_SHARDS_MAX, \
	  FRAG_CHANGE_ROW(type, member, SHARD) },                                                \
	{ 0, "isolate", "HOW", "by=life, by=tag, by=tag:GLOB, by=size:SIZE: separate pools",     \
	  FRAG_CHANGE_ROW(type, member, ISOLATE) },                                              \
	{ 0, "hoist", NULL, "long-lived blocks are allocated first",                             \
	  FRAG_CHANGE_ROW(type, member, HOIST) },                                                \
	{ 0, "warmup", "MARK", "repeat the iteration that begins at MARK before the first",      \
	  FRAG_CHANGE_ROW(type, member, WARMUP) },                                               \
	{ 0, "preallocate", "SIZE", "SIZE is allocated and freed first",                         \
	  FRAG_CHANGE_ROW(type, member, PREALLOCATE) },                                          \
	{ 0, "prime-pool", "SIZE", "SIZE is allocated and freed first in each private pool",     \
	  FRAG_CHANGE_ROW(type, member, PRIME_POOL) },                                           \
	{ 0, "drop", "GLOB", "without the blocks of such a tag",                                 \
	  FRAG_CHANGE_ROW(type, member, DROP) },                                                 \
	{ 0, "empty-cache", "MARK",                                                            \
	  "release the cache at each mark that this glob matches, or every-iteration",           \
	  FRAG_CHANGE_ROW(type, member, EMPTY_CACHE) },                                          \
	{ 0, "set", "MARK SETTING", "change PyTorch's settings at such marks",                   \
	  FRAG_CHANGE_ROW(type, member, SET) },                                                  \
	{ 0, "park", "GLOB MARK MARK",                                                         \
	  "blocks of such a tag leave the device from one mark to the other",                    \
	  FRAG_CHANGE_ROW(type, member, PARK) }
