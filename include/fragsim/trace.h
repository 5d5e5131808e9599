/*
 * trace.h - from the bytes of a trace, or a program's own records, to events.
 *
 * Every event comes through one door. A reader decodes bytes into frag_record,
 * one at once; the trace validates each record and resolves ids, streams,
 * pools and tags into dense indexes, once for all policies. Whether an event is
 * valid, and when a pending block stops being pending, depends on the trace
 * alone, so all of that is decided here (fragsim-lines(5)) and never asked of a policy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/device.h"
#include "fragsim/error.h"

#define FRAG_ALL UINT32_MAX                     /* every device; every stream */

enum frag_op {
	FRAG_OP_ALLOC,
	FRAG_OP_FREE,
	FRAG_OP_COMPLETE,
	FRAG_OP_RECORD_STREAM,
	FRAG_OP_SYNC,
	FRAG_OP_EMPTY_CACHE,
	FRAG_OP_SET_FRACTION,
	FRAG_OP_CONFIGURE,
	FRAG_OP_MARK,
	FRAG_OP_RELEASE_POOL,
	FRAG_OP_BEGIN_POOL,
	FRAG_OP_END_POOL,
	FRAG_OPS
};

/* As in the trace: "alloc", "free", ... */
const char *frag_op_name(enum frag_op op);

/* What a trace calls a block, a stream or a pool: an integer or a string. */
struct frag_handle {
	const char *text;       /* NULL: it is the integer */
	uint64_t number;        /* the integer, or the length of text */
};

enum frag_member {
	FRAG_HAS_OP = 1 << 0,
	FRAG_HAS_ID = 1 << 1,
	FRAG_HAS_SIZE = 1 << 2,
	FRAG_HAS_STREAM = 1 << 3,
	FRAG_HAS_T = 1 << 4,
	FRAG_HAS_TAG = 1 << 5,
	FRAG_HAS_DEVICE = 1 << 6,
	FRAG_HAS_POOL = 1 << 7,
	FRAG_HAS_PENDING = 1 << 8,
	FRAG_HAS_VALUE = 1 << 9,
	FRAG_HAS_NAME = 1 << 10,
	FRAG_HAS_PLACE = 1 << 11,
	FRAG_HAS_STACK = 1 << 12,
};
#define FRAG_HAS_WRITTEN (FRAG_HAS_PLACE - 1)   /* members of a trace file; only sources set the
						 * others */

/* Which part of a program requested a block, by the frames of its stack: bits of `members`. */
enum frag_maker {
	FRAG_MAKER_UNKNOWN,     /* no stack */
	FRAG_MAKER_SETUP,       /* a module is constructed, moved, or loaded */
	FRAG_MAKER_FORWARD,
	FRAG_MAKER_RECOMPUTE,   /* a forward pass within a backward pass: checkpointing */
	FRAG_MAKER_BACKWARD,
	FRAG_MAKER_OPTIMIZER,
	FRAG_MAKER_PROGRAM,     /* none of these frames: the program itself, or a package */
};
#define FRAG_MAKER_SHIFT 16
/* The purpose of a block, by the frames of frameworks: bits of `members`, too. */
enum frag_purpose {
	FRAG_PURPOSE_NONE,
	FRAG_PURPOSE_GATHERED,  /* a whole parameter; this process has a shard */
	FRAG_PURPOSE_GRADIENTS, /* a flat buffer whose views are gradients */
	FRAG_PURPOSE_KV,        /* a cache of keys and values */
	FRAG_PURPOSE_AVERAGE,   /* an average of the weights */
	FRAG_PURPOSE_STATE,     /* optimizer state that is moved */
};
#define FRAG_PURPOSE_SHIFT 20
#define FRAG_IS_WORKSPACE (UINT32_C(1) << 19)   /* of `members`: a library's, for its kernels */

/* Of an alloc's members. */
static inline enum frag_maker frag_maker_of(uint32_t members)
{
	return (enum frag_maker)(members >> FRAG_MAKER_SHIFT & 7);
}

/* Of an alloc's members. */
static inline enum frag_purpose frag_purpose_of(uint32_t members)
{
	return (enum frag_purpose)(members >> FRAG_PURPOSE_SHIFT & 7);
}

/*
 * Where a block of the initial state of a trace is. A source may have segments that exist at the
 * first event (frag_source_ops.beginning); their blocks are its first records, `alloc` with a
 * place each, segment by segment in rising order. A policy that can begin in mid-run
 * (frag_policy_ops.restore_segment) reserves the segments before step 0 and restores those
 * blocks at their offsets; for every other policy they are ordinary requests.
 */
struct frag_spot {
	uint32_t initial;       /* which of the initial segments */
	uint64_t offset;        /* bytes, from the start of the segment */
	uint64_t bytes;         /* of the block; 0: not known */
	uint64_t room;          /* bytes up to the next block, or the end */
	uint64_t least;         /* bytes of the request at least, where its own size is not
				 * known and the event has the block's; else 0 */
};

/* A mapped part of an expandable segment. */
struct frag_extent {
	uint64_t offset, bytes; /* from the start of the range */
};

/* A segment that exists at the first event. */
struct frag_initial {
	uint32_t device;                /* ordinal */
	struct frag_handle stream_name, pool_name;      /* as the source calls them */
	uint32_t stream, pool;          /* dense: the trace fills these in */
	uint64_t stream_order;          /* likewise */
	uint64_t bytes;                 /* of a range: up to its last byte that was ever used */
	bool     large;                 /* for requests above the small ones */
	bool     range;                 /* expandable, with the memory of these runs */
	const struct frag_extent *runs; /* rising, with gaps between them; owned by the source */
	uint32_t run_count;
	uint64_t address;               /* where the recording had it */
	uint64_t live;                  /* bytes of its blocks, as requested */
};

/* A block that exists at the first event: the alloc with this step is its. */
struct frag_first_block {
	uint64_t event, requested;
	struct frag_spot spot;
};

/*
 * The state that the first event meets, and what is known of addresses: of each device the ranks
 * by address of its segments, those that exist, then those that were reserved later, in the order
 * of creation. None where that is unknown.
 */
struct frag_first_state {
	struct frag_initial *segments;
	uint32_t segment_count, block_count;
	struct frag_first_block *blocks;        /* rising by event */
	struct frag_ranks_by_address {
		uint32_t *ranks;
		uint32_t count;
	} *orders;
	uint32_t order_count;           /* at most that of the devices */
};

/*
 * One event as its producer gives it. A field counts only when its bit is
 * in members. Text is borrowed until the reader's next refill.
 */
struct frag_record {
	uint32_t members;       /* enum frag_member */
	enum frag_op op;
	bool pending;           /* free: the block is in use until its `complete` */
	uint32_t stack;         /* alloc: who asked, for the source's frame() */
	struct frag_handle id, stream, pool;
	uint64_t size;          /* bytes */
	uint64_t device;        /* ordinal */
	double t;               /* microseconds */
	struct frag_text t_text;        /* t as the trace wrote it; none: of length 0 */
	struct frag_text tag;
	struct frag_text text;  /* value of configure, name of mark */
	double fraction;        /* value of set_fraction */
	const struct frag_spot *place; /* alloc: where it is at the start */
	uint64_t at;            /* for the source's where() */
};

/* What is known of a block where the trace knows the stack that requested it. */
enum frag_stacks {
	FRAG_STACKS_TOP,        /* the tag: the innermost frame of the program's own */
	FRAG_STACKS_ALL,        /* the tag, and the whole stack */
	FRAG_STACKS_NONE,       /* neither */
	FRAG_STACKS_PYTHON,     /* the tag, and those frames that are the program's own */
};

/* A frame of a stack; text NULL: not known. */
struct frag_frame {
	struct frag_text file, name;
	uint64_t line;          /* 0: none, as of native code */
};
#define FRAG_FRAMES_MAX 1024    /* that are read of a stack, from the innermost on */

/*
 * A source of records: a file format, or a program. refill makes the next buffer of input
 * available (1, or 0 at the end) and may overwrite the text that earlier records borrowed; next
 * gives one record of that buffer (1), or 0 where it is used up. Both return -FRAG_E... for bad
 * input. Where a record is bad in itself but the source can go on after it, next sets *kind to a
 * description ("a mistyped member"): --lenient then skips the record.
 */
struct frag_source_ops {
	const char *form;       /* frag_trace_info.form, unless the reader sets another */
	int  (*refill)(void *state, struct frag_error *err);
	int  (*next)(void *state, struct frag_record *rec, const char **kind,
		     struct frag_error *err);
	/*
	 * optional: next for up to `max` records. 1: `max` were read; 0: the buffer is used up;
	 * -FRAG_E...: the error of the record after the *count
	 */
	int  (*many)(void *state, struct frag_record *recs, uint32_t max, uint32_t *count,
		     const char **kind, struct frag_error *err);
	/* optional: "FILE:LINE:COLUMN" of a record of this buffer, named by its `at` */
	void (*where)(void *state, uint64_t at, char *buf, uint32_t size);
	/* optional: back to the first record; false where it cannot be */
	bool (*rewind)(void *state);
	/* optional: the state at the first event, owned by the source; NULL: nothing */
	struct frag_first_state *(*beginning)(void *state);
	/* optional: what records to come have of stacks; never FRAG_STACKS_PYTHON */
	void (*select_stacks)(void *state, enum frag_stacks stacks);
	/*
	 * optional: the frame at *at, which is a record's stack at first; *at becomes the
	 * frame that called it, or 0. Stacks stay as long as the source does.
	 */
	void (*frame)(void *state, uint64_t *at, struct frag_frame *frame);
	/* optional: bytes read so far, and in all (0: unknown) */
	void (*amount)(void *state, uint64_t *read, uint64_t *total);
	void (*close)(void *state);     /* optional */
};

/* A validated event. Policies see op, slot, bytes, stream and pool of it. */
struct frag_event {
	uint64_t step;          /* its number in the trace, from 0; bad events count */
	uint64_t bytes;         /* alloc: as the program requested it */
	uint32_t slot;          /* alloc, free, complete, record_stream: dense, recycled */
	uint32_t device;        /* ordinal, or FRAG_ALL */
	uint32_t stream;        /* dense, 0 is stream 0 of device 0; sync: or FRAG_ALL */
	uint32_t pool;          /* dense, 0 is the default pool */
	uint64_t stream_order;  /* alloc: the stream's number; strings come after all numbers */
	uint32_t tag;           /* alloc: for frag_symbols_tag(); 0: none */
	uint32_t members;       /* enum frag_member: what the trace gave */
	uint8_t  op;            /* enum frag_op */
	bool     waits;         /* free: the block stays pending until a later event ends it */
	uint32_t ended_count;
	const struct frag_ended *ended; /* pending blocks that this step ends, in the order
					 * in which they were freed */
	struct frag_handle id;  /* as the trace calls the block; if set in `members` */
	struct frag_text text;  /* mark: its name; configure: its value */
	struct frag_text t_text;        /* t as the trace wrote it; none: of length 0 */
	double t;               /* microseconds; if set in `members` */
	double fraction;        /* set_fraction: 0 to 1, of the device's total */
	const struct frag_spot *place; /* alloc: where it is at the start; NULL: anywhere */
};

/* A pending block that a step ends. */
struct frag_ended {
	uint32_t slot;          /* may be given to a new block by a later event */
	uint64_t synced;        /* step of the sync that ended its last stream; or
				 * FRAG_NEVER: it waited for its `complete` only */
};
#define FRAG_NEVER UINT64_MAX

/* Pinned host memory, which a snapshot of PyTorch can have in addition to the devices. */
struct frag_host_memory {
	uint64_t events;        /* with those of its segments; 0 and no live_bytes: none recorded */
	uint64_t peak_bytes;    /* peak of allocated bytes */
	uint64_t live_bytes, live;      /* allocated at the end: bytes and blocks */
};

struct frag_trace_options {
	bool lenient;           /* skip and count events that are bad in themselves */
	bool records;           /* batches give the records as well */
	bool host;              /* pinned host memory is a device too, after the others */
	bool sized;             /* the caller has a capacity for the devices: suppresses the note
				 * about a capacity from a recording */
	enum frag_stacks stacks;        /* what is read of a source that has whole stacks */
	struct frag_log log;    /* warnings */
	/*
	 * optional: does each policy that the trace is for take the next settings, those of a
	 * configure? -FRAG_EUSAGE with the reason makes the event a bad one. Where it is skipped
	 * it stays a step, as other policies ignore it anyway, but has no value any more; in
	 * batches with records it is skipped as any other.
	 */
	int (*configured)(void *ctx, const char *text, size_t length, struct frag_error *err);
	void *configured_ctx;
};

/*
 * Which part of its program's run a recording contains. Readers find it once; no answer speaks
 * beyond it. All zero: the whole run, as far as the recording shows.
 */
struct frag_scope {
	enum {
		FRAG_BEGINS_START,      /* nothing was reserved before the first event */
		FRAG_BEGINS_LATE,       /* there were segments, with these bytes: */
		FRAG_BEGINS_STATE,      /* no allocation is recorded: the final state alone, with: */
	} begins;
	uint64_t before_active, before_reserved;        /* bytes; 0 under FRAG_BEGINS_START */
	enum {
		FRAG_ENDS_END,
		FRAG_ENDS_OOM,          /* the last request of the recording failed */
		FRAG_ENDS_CUT,          /* events were lost, at the beginning or the end */
	} ends;
	uint64_t lost;                  /* at least this number; 0: unknown, or none */
	/* memory, at its end: no source says it, as it takes the whole trace to find it */
	enum frag_grows { FRAG_GROWS_UNKNOWN, FRAG_GROWS_NO, FRAG_GROWS_YES } grows;
	bool stated;                    /* found by a recorder or a reader, and kept in `meta` */
};

/* How much live memory rises with each iteration of the program, under FRAG_GROWS_YES. */
struct frag_memory_growth {
	uint64_t bytes;         /* an iteration, on the device that grows most */
	/* the largest of the owners that rise: as struct frag_holder has them, with the size of
	 * blocks without tag and stack; all unset: no owner is known to rise */
	const char *tag, *frames;
	uint64_t size;
};

/* How a simulation under the recorded rules and settings compares with the recorded log. */
struct frag_log_check {
	uint64_t decisions;     /* compared: addresses, segments; 0: nothing was */
	uint64_t differences;   /* among them */
	uint64_t first;         /* the step of the first, where there are some */
	/* settings that the program changed, as the log shows; NULL: it shows no change */
	const char *changed_to;
	uint64_t changed_at;    /* the step of the `configure` event for them */
};

/* Data of the trace so far; counts grow while the trace is read. */
struct frag_trace_info {
	const char *path;       /* as it was opened */
	const char *form;       /* "lines", "object", or the source's name */
	uint64_t events, allocs, frees; /* of valid events so far */
	uint64_t skipped;       /* bad events left out (lenient) */
	uint64_t bytes, total_bytes;    /* read so far, and in the file (0: unknown) */
	bool     whole;         /* read to the end */
	uint64_t content;       /* identifies the decoded events read so far */
	struct frag_text meta;  /* a JSON object, on one line, ended by a NUL; NULL: none */
	uint32_t device_count;
	const struct frag_device_figures *devices;      /* suggested: a run may have others */
	struct frag_host_memory host;   /* whether or not it is a device of the trace */
	const struct frag_first_state *beginning; /* NULL: nothing exists then */
	bool     pytorch;       /* recorded of a program under PyTorch: a snapshot, a profile,
				 * or a trace whose header names such a recorder */
	struct frag_scope scope;        /* as its source says it; checked at the trace's end */
	uint64_t oom_step, oom_bytes;   /* at the end, under FRAG_ENDS_OOM: the failed request */
	struct frag_log_check log;      /* of a snapshot */
	struct frag_memory_growth growth;
	uint64_t kept_outputs;  /* bytes that a recorded model's peak rises by if its training loop
				 * keeps the outputs; 0: none, or unknown */
};

/*
 * The meaning of the numbers in events, and the state at the first event. Each supplier of
 * events has one; consumers of events need nothing else of it.
 */
struct frag_symbols {
	const void *of;
	struct frag_text (*tag)(const void *of, uint32_t tag);
	bool (*frame)(const void *of, uint64_t *at, struct frag_frame *frame);
	bool (*whole)(const void *of, uint64_t *at, struct frag_frame *frame);
	/* segments from before the first event, for policies that can begin with them */
	const struct frag_initial *initial;
	uint32_t initial_count;
};

/* Text of the tag of a block that is live or was within this batch; NULL: none. */
static inline struct frag_text frag_symbols_tag(const struct frag_symbols *s, uint32_t tag)
{
	return s->tag(s->of, tag);
}

/*
 * Frame by frame through a stack, the innermost first: *at is the stack's number before
 * the first call, and the function's own then. False after the last one.
 */
static inline bool frag_symbols_frame(const struct frag_symbols *s, uint64_t *at,
				      struct frag_frame *frame)
{
	return s->frame(s->of, at, frame);
}

/* Likewise through a whole stack, also where the trace was read with FRAG_STACKS_PYTHON. */
static inline bool frag_symbols_whole(const struct frag_symbols *s, uint64_t *at,
				      struct frag_frame *frame)
{
	return s->whole(s->of, at, frame);
}

/* Some events in their order, borrowed. */
struct frag_batch {
	const struct frag_event *events;
	uint32_t count;         /* 0 at the end of the trace */
	const struct frag_record *records;      /* of each event; NULL where not asked for */
	const uint32_t *stacks;         /* likewise, for frag_symbols_frame(), of allocs; 0: none */
	const uint32_t *whole;          /* likewise, with all frames, for frag_symbols_whole() */
};

struct frag_trace;

/*
 * Opens a file, or standard input ("-"), whatever the form and compression. options may be
 * NULL. Close it with frag_trace_close(). -FRAG_ETRACE, -FRAG_EINTERRUPTED, -FRAG_ENOMEM; *out
 * is not set then.
 */
int frag_trace_open(struct frag_trace **out, const char *path,
		    const struct frag_trace_options *options, struct frag_error *err);

/*
 * The same door for events that are no file. The source's state stays the
 * caller's until frag_trace_close() calls ops->close; so it does where this fails.
 * devices are copied; where there are 0, it is one without limits.
 */
int frag_trace_from(struct frag_trace **out, const struct frag_source_ops *ops, void *state,
		    const struct frag_device_figures *devices, uint32_t device_count,
		    const struct frag_trace_options *options, struct frag_error *err);

/*
 * Returns the info of the trace so far; valid until the trace is closed, and updated while it is
 * read.
 */
const struct frag_trace_info *frag_trace_info(const struct frag_trace *trace);

/*
 * The next events, none at the end; they and what they borrow stay valid until the next call.
 * -FRAG_ETRACE for bad input, -FRAG_EINTERRUPTED, -FRAG_ENOMEM: nothing can be read any more.
 */
int frag_trace_next(struct frag_trace *trace, struct frag_batch *batch, struct frag_error *err);

/* True where the input cannot be read twice: reading on costs its producer time. */
bool frag_trace_is_stream(const struct frag_trace *trace);

/* Returns the meaning of the numbers in its events; valid until the trace is closed. */
const struct frag_symbols *frag_trace_symbols(const struct frag_trace *trace);

/* Closes the source, and releases what the trace has handed out. NULL is fine. */
void frag_trace_close(struct frag_trace *trace);

/*
 * A tape: all events of a trace in memory, validated and resolved, about 20 to 30 bytes each. It
 * is written once, and read as often as one likes, by several threads side by side. Text of
 * times is not kept (t_text), nor are records; tags and stacks have numbers that are never given
 * to others.
 */
struct frag_tape;

/* How a trace is read to its end. All zero: it is never stopped. */
struct frag_read_job {
	bool (*stop)(void *ctx);        /* optional: asked between batches; true: -FRAG_EINTERRUPTED */
	/* optional: what of the trace has been read, or simulated, so far */
	void (*progress)(void *ctx, const struct frag_trace_info *info);
	void *ctx;
};

/* Asked between batches. */
static inline bool frag_read_is_stopped(const struct frag_read_job *job)
{
	return job->stop && job->stop(job->ctx);
}

/* 0, or -FRAG_EINTERRUPTED where the job is stopped. */
static inline int frag_read_check(const struct frag_read_job *job, struct frag_error *err)
{
	return frag_read_is_stopped(job) ? frag_fail(err, FRAG_EINTERRUPTED, "interrupted") : 0;
}

/* Shows how far it is, where the caller wants to know. */
static inline void frag_read_show(const struct frag_read_job *job,
				  const struct frag_trace_info *info)
{
	if (job->progress)
		job->progress(job->ctx, info);
}

/*
 * Reads the trace to its end. It is borrowed and must outlive the tape, which asks it for
 * stacks and for the segments that it begins with. job may be NULL. What reading the
 * trace returns, -FRAG_EINTERRUPTED, -FRAG_ENOMEM.
 */
int frag_tape_new(struct frag_tape **out, struct frag_trace *trace,
		  const struct frag_read_job *job, struct frag_error *err);
/*
 * The same batch by batch, for callers that also feed the events to other consumers: each is
 * written before the next one is read. A tape that would take more than `max` bytes is given up
 * (0: any number is fine). NULL: out of memory.
 */
struct frag_tape_writer;
struct frag_tape_writer *frag_tape_writer_new(const struct frag_trace *trace, uint64_t max);
int frag_tape_write(struct frag_tape_writer *writer, const struct frag_batch *batch,
		    struct frag_error *err);        /* -FRAG_ENOMEM */
/* The tape, the caller's from now on; NULL where it was given up. Once, after the last batch. */
struct frag_tape *frag_tape_finish(struct frag_tape_writer *writer);
void frag_tape_writer_del(struct frag_tape_writer *writer);     /* NULL is fine */

/* Of the trace that it was read from, at its end. */
const struct frag_trace_info *frag_tape_info(const struct frag_tape *tape);
/* What the numbers in its events stand for: its own tags, not those of the trace. */
const struct frag_symbols *frag_tape_symbols(const struct frag_tape *tape);
/* The number of the event that is step `step`, or of the first one after it: skipped events have
 * a step, and no number. */
uint64_t frag_tape_event(const struct frag_tape *tape, uint64_t step);
uint64_t frag_tape_bytes(const struct frag_tape *tape);         /* that the events take */
void frag_tape_del(struct frag_tape *tape);                     /* NULL is fine */

/*
 * A place on a tape: the number of the event that is read next, 0 at first. next fills a batch
 * with events from there on, but none at or after `until`; it is empty at that place and at
 * the end, and stays valid until the next call. NULL: out of memory.
 */
struct frag_tape_reader;
struct frag_tape_reader *frag_tape_reader_new(const struct frag_tape *tape);
void frag_tape_next(struct frag_tape_reader *reader, uint64_t until, struct frag_batch *batch);
/* On to any event, or back; after the last one, to the end. Costs little, wherever it is. */
void frag_tape_seek(struct frag_tape_reader *reader, uint64_t event);
/* The number of the event that is read next. */
uint64_t frag_tape_at(const struct frag_tape_reader *reader);
void frag_tape_reader_del(struct frag_tape_reader *reader);     /* NULL is fine */
