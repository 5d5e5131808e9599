/*
 * resolve.h - a trace from within, for the files of this module: records become events, with dense
 * indexes for all names.
 */
#pragma once

#include "events/block_lifetimes.h"
#include "trace/name_tables.h"
#include "trace/reader.h"

/*
 * The stacks of a source without the frames that are not the program's.
 *
 * Where a stack has none of the program's, it is left with those of packages, then with
 * PyTorch's, and at last with all. The remaining stacks get new numbers, so that stacks that
 * differed only in removed frames are one.
 */
struct frag_own_stacks {
	struct frag_stack_table table;
	struct frag_map number;         /* by that of the source */
	struct frag_frame *frames;      /* of one stack */
};

/*
 * Clears the members that few events use. Member by member: for a literal of this size GCC emits
 * a slow `rep stos`.
 */
static inline void frag_event_clear_rest(struct frag_event *ev)
{
	ev->bytes = 0;
	ev->ended_count = 0;
	ev->ended = NULL;
	ev->id = (struct frag_handle){ .text = NULL };
	ev->text = ev->t_text = (struct frag_text){ .text = NULL };
	ev->t = ev->fraction = 0;
	ev->place = NULL;
}

/* Skipped bad events, by kind. */
#define FRAG_KINDS_MAX 32
struct frag_kind_count {
	const char *kind;
	uint64_t count;
	char first[384];        /* the message of the first */
};

struct frag_trace {
	const struct frag_source_ops *source;
	void *state;
	struct frag_trace_options options;
	struct frag_trace_info info;    /* of what has been read */
	struct frag_trace_info shown;   /* of the batches handed out: the state that callers see */
	const struct frag_constraints *constraints;     /* of the source; NULL: none */
	struct frag_input *input;       /* that the source reads on; NULL: it has read all */
	bool ours;                      /* the source is a reader's of this program */
	struct frag_devices devices;
	char *path;
	struct frag_handles streams, pools;
	struct frag_map released;       /* pools that the program is done with, by device */
	struct frag_map contexts;       /* pools whose context is open, by device */
	struct frag_tags tags;
	struct frag_lives lives;
	struct frag_event *events;      /* of this batch */
	struct frag_record *records;    /* likewise; NULL: not asked for */
	uint32_t *stacks;               /* likewise */
	uint32_t *whole;                /* FRAG_STACKS_PYTHON: likewise, the source's numbers */
	struct frag_own_stacks own;     /* FRAG_STACKS_PYTHON: theirs are the numbers */
	char *meta;
	char *growth_tag, *growth_frames;
	const char *recorder;           /* that meta names, of those that are known */
	char *alloc_conf;               /* likewise */
	char *pytorch;                  /* likewise: "2.8" */
	struct frag_recorded_end {
		bool said;              /* the source names the request */
		bool seen, passed;      /* it was read; its device requested more since */
		uint64_t step, bytes;   /* of that one; or of the last one so far */
		uint32_t device;
	} end;
	uint32_t *left;                 /* tags of blocks that this batch freed */
	uint32_t left_count, left_capacity;
	struct frag_symbols symbols;
	uint64_t step;                  /* of the next record */
	uint32_t placed, to_place;      /* blocks of the beginning that were read, and all */
	uint64_t long_text;             /* bytes of long names and ids so far */
	uint32_t lives_afforded;        /* this number of live blocks is known to be affordable */
	double   last_t;
	bool     any_t, warned_t;
	bool     stretch;               /* the source has a buffer that is not used up */
	struct frag_kind_count kinds[FRAG_KINDS_MAX];
	uint32_t kind_count;
};

/* Bytes read, and in all; of a source that does not say it, *read stays. */
static inline void frag_trace_amount(const struct frag_trace *t, uint64_t *read, uint64_t *total)
{
	if (t->input)
		frag_input_amount(t->input, read, total);
	else if (t->source->amount)
		t->source->amount(t->state, read, total);
}

/* How streams are ordered among themselves: by number, strings after all numbers. */
static inline uint64_t frag_stream_order(const struct frag_handle *name, uint32_t stream)
{
	return name->text ? (UINT64_C(1) << 53) + stream : name->number;
}

/*
 * Resolves one record to one event of this batch. Returns -FRAG_ETRACE and sets *kind, a short
 * description, for an event that is bad in itself; nothing has changed then.
 */
int frag_resolve(struct frag_trace *t, const struct frag_record *rec, struct frag_event *ev,
		 const char **kind, struct frag_error *err);

/*
 * Gives the next record its place, if the beginning has one for it. A record that is not as the
 * beginning describes it is an error, not a bad event: -FRAG_ETRACE.
 */
int frag_place(struct frag_trace *t, struct frag_record *rec, struct frag_error *err);

/*
 * Is it a text, no trace and no document? A pipe stays open with these bytes, for the function that
 * opens it next. -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_is_text(const char *path, bool *is, struct frag_error *err);

/* Opens a file, or standard input ("-"), with the reader that knows its bytes. */
int frag_reading_open(struct frag_reading *out, const char *path,
		      const struct frag_trace_options *options, struct frag_error *err);

/*
 * What the recorder said, out of info.meta; and the request that failed at the recording's end: of
 * each batch, then when all have been read. -FRAG_ENOMEM
 */
int frag_recorded_find(struct frag_trace *t, struct frag_error *err);
void frag_recorded_watch(struct frag_trace *t, uint32_t count);
void frag_recorded_end(struct frag_trace *t);

#define FRAG_BATCH 1024         /* events, at most */

/* Counts a skipped bad event, and keeps the message of the first of its kind. */
void frag_leave_out(struct frag_trace *t, const char *kind, const struct frag_error *err);

/*
 * Reads the next batch. An empty one means the end of the trace, so buffers with only skipped events
 * are passed over. end: the texts that the last batch borrowed are invalid.
 */
int frag_trace_read_batch(struct frag_trace *t, struct frag_batch *batch, struct frag_error *err);
void frag_trace_end_batch(struct frag_trace *t);
