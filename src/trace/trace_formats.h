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
	X(MARKS, "mark", "marks")                                             \
	X(OTHERS, "event that is neither alloc nor free", "events that are neither alloc nor free")

enum frag_loss {
#define X(name, singular, plural) FRAG_LOSS_##name,
	FRAG_LOSSES(X)
#undef X
	FRAG_LOSS_COUNT
};

/*
 * Writes fragsim's own formats: NDJSON or a JSON object. Records go out as they come; nothing of
 * them is kept. A failed write sticks in the file: frag_outfile_status() returns it.
 */
struct frag_writer {
	struct frag_outfile *out;       /* borrowed */
	bool object;
	uint64_t events;        /* written so far */
};

struct frag_sink {
	const struct frag_sink_ops *ops;
	struct frag_outfile *out;       /* borrowed */
	const struct frag_symbols *symbols;     /* for stacks of records; NULL: they name none */
	const char *snapshot;           /* a file that fsb keeps whole; NULL: none */
	void *state;
	struct frag_writer writer;      /* of JSON */
	uint64_t lost[FRAG_LOSS_COUNT];
};

struct frag_sink_ops {
	const char *name;
	const char *summary;    /* one line, no full stop */
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

/* By name; by a file's name without .gz and .zst. NULL: there is none. */
const struct frag_sink_ops *frag_sink_named(const char *name);
const struct frag_sink_ops *frag_sink_ending(const char *path, size_t length);

/* What was lost, in one line; empty where nothing was. */
void frag_sink_losses(const struct frag_sink *s, char *buf, size_t size);

/*
 * Writes the header. meta, a JSON object, is copied unchanged; without one, `source` names the
 * origin of the events, unless it is NULL. A single device with only defaults is omitted too.
 */
void frag_writer_begin(struct frag_writer *w, struct frag_outfile *out, bool object,
		       const struct frag_device_figures *devices, uint32_t device_count,
		       struct frag_text meta, const char *source);

/* One event. A t without its text is written with all its digits. */
void frag_writer_event(struct frag_writer *w, const struct frag_record *rec);

/* Without an event NDJSON ends as a JSON object, because only that can have no events. */
void frag_writer_end(struct frag_writer *w);
