/*
 * trace_formats.h - the formats in which a trace can be written.
 *
 * A format is one const entry of the table in trace_formats.c. Records arrive in the order of
 * the trace, each with its event. Data that a format cannot store is counted, and reported at
 * the end.
 */
#pragma once

#include "base/atomic_file.h"
#include "fragsim/trace.h"

/* X(name, singular, plural): data that a format may be unable to store. */
#define FRAG_LOSSES(X)                                                        \
	X(IDS, "name of a block", "names of blocks")                          \
	X(TIMES, "time", "times")                                             \
	X(STREAMS, "stream", "streams")                                       \
	X(POOLS, "pool", "pools")                                             \
	X(TAGS, "tag", "tags")                                                \
	X(STACKS, "stack", "stacks")                                          \
	X(PENDING, "pending free", "pending frees")                           \
	X(DEVICES, "size of a device", "sizes of devices")                \
	X(META, "\"meta\"", "\"meta\"")                                       \
	X(BEGINNING, "the state at the beginning", "the state at the beginning") \
	X(MARKS, "mark", "marks")                                             \
	X(OTHERS, "event that is neither alloc nor free", "events that are neither alloc nor free")

enum frag_loss {
#define X(name, singular, plural) FRAG_LOSS_##name,
	FRAG_LOSSES(X)
#undef X
	FRAG_LOSS_COUNT
};

struct frag_sink {
	const struct frag_sink_ops *ops;
	struct frag_outfile *out;       /* borrowed */
	const struct frag_symbols *symbols;     /* for stacks of records; NULL: they name none */
	const char *snapshot;           /* a file that fsb keeps whole; NULL: none */
	void *state;
	bool object;                    /* JSON, and not lines of it; begin sets it */
	uint64_t events;                /* of JSON: written so far */
	uint64_t lost[FRAG_LOSS_COUNT];
};

struct frag_sink_ops {
	const char *name;
	const char *ending;     /* the suffix of file names: ".fsb"; NULL: none */
	bool lossless;

	int  (*begin)(struct frag_sink *s, const struct frag_trace_info *info,
		      struct frag_error *err);
	int  (*event)(struct frag_sink *s, const struct frag_record *rec,
		      const struct frag_event *ev, struct frag_error *err);
	int  (*end)(struct frag_sink *s, struct frag_error *err);
	void (*fini)(struct frag_sink *s);      /* optional */
};

/* All forms, ended by NULL. */
const struct frag_sink_ops *const *frag_sinks(void);

/* NULL: there is none. */
const struct frag_sink_ops *frag_sink_named(const char *name);
