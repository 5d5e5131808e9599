/* play.h - a trace written down as a table of records, played under one policy. */
#pragma once

#include "fragsim/engine.h"

/* Records. Ids, streams and pools are integers. */
#define RECORD_OF(operation, more) .op = operation, .members = FRAG_HAS_OP | (more)
#define ALLOC(name, bytes)                                                    \
	{ RECORD_OF(FRAG_OP_ALLOC, FRAG_HAS_ID | FRAG_HAS_SIZE),              \
	  .id = { .number = name }, .size = bytes }
#define ALLOC_IN(name, bytes, in)                                             \
	{ RECORD_OF(FRAG_OP_ALLOC, FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_POOL), \
	  .id = { .number = name }, .size = bytes, .pool = { .number = in } }
#define ALLOC_ON(name, bytes, on)                                             \
	{ RECORD_OF(FRAG_OP_ALLOC, FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_DEVICE), \
	  .id = { .number = name }, .size = bytes, .device = on }
#define ALLOC_TAGGED(name, bytes, what)                                       \
	{ RECORD_OF(FRAG_OP_ALLOC, FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_TAG), \
	  .id = { .number = name }, .size = bytes,                            \
	  .tag = { what, sizeof(what) - 1 } }
#define FREE(name)                                                            \
	{ RECORD_OF(FRAG_OP_FREE, FRAG_HAS_ID), .id = { .number = name } }
#define FREE_PENDING(name)                                                    \
	{ RECORD_OF(FRAG_OP_FREE, FRAG_HAS_ID | FRAG_HAS_PENDING),            \
	  .id = { .number = name }, .pending = true }
#define COMPLETE(name)                                                        \
	{ RECORD_OF(FRAG_OP_COMPLETE, FRAG_HAS_ID), .id = { .number = name } }
#define RECORD_STREAM(name, on)                                               \
	{ RECORD_OF(FRAG_OP_RECORD_STREAM, FRAG_HAS_ID | FRAG_HAS_STREAM),    \
	  .id = { .number = name }, .stream = { .number = on } }
#define SYNC() { RECORD_OF(FRAG_OP_SYNC, 0) }
#define EMPTY_CACHE() { RECORD_OF(FRAG_OP_EMPTY_CACHE, 0) }
#define EMPTY_CACHE_ON(on)                                                    \
	{ RECORD_OF(FRAG_OP_EMPTY_CACHE, FRAG_HAS_DEVICE), .device = on }
#define SET_FRACTION(part)                                                    \
	{ RECORD_OF(FRAG_OP_SET_FRACTION, FRAG_HAS_VALUE), .fraction = part }
#define CONFIGURE(settings)                                                   \
	{ RECORD_OF(FRAG_OP_CONFIGURE, FRAG_HAS_VALUE),                       \
	  .text = { settings, sizeof(settings) - 1 } }
#define MARK(name)                                                            \
	{ RECORD_OF(FRAG_OP_MARK, FRAG_HAS_NAME), .text = { name, sizeof(name) - 1 } }

/* What an observer saw of one step on one device. */
struct play_row {
	uint64_t step;
	uint32_t device;
	enum frag_step_status status;
	bool placed;
	uint32_t segment;
	uint64_t offset, bytes;
	uint32_t call_count;
	struct frag_metrics metrics;
};

struct play {
	const struct frag_record *records;
	uint32_t record_count, next;
	struct frag_trace *trace;
	struct frag_sim *sim;
	struct frag_error error;
	struct play_row *rows;
	uint32_t row_count, row_capacity;
};

/*
 * Opens trace and simulation; every step is checked. options NULL: the faulty
 * device, and the run ends at an OOM. What frag_sim_new said.
 */
int play_open(struct play *p, const struct frag_choice *choice, const struct frag_record *records,
	      uint32_t record_count, const struct frag_device_figures *devices,
	      uint32_t device_count, const struct frag_sim_options *options);

/* Feeds the whole trace: what frag_sim_feed said last. The trace itself must be good. */
int play_run(struct play *p);

/* Closes everything; what the faulty device gave must have come back. */
void play_close(struct play *p);

/* Feeds a simulation what is on the tape from event `from` to before `until`; it must be good. */
void play_tape(struct frag_sim *sim, const struct frag_tape *tape, uint64_t from, uint64_t until);

/* The choice that a user's text makes, and that of a table with its defaults. */
struct frag_choice play_choose(const char *text);
struct frag_choice play_policy(const struct frag_policy_ops *ops);
