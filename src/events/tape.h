/*
 * tape.h - the events of a trace in memory, in a compact format.
 *
 * For the files of this module, and for readers of single members of events:
 * engine/sim.c, and the module iterations.
 *
 * An alloc or a free takes 16 bytes, and 8 more where the trace has times; an alloc 8 for its id
 * where ids do not count up from the first one. Values that many events share (tag, stack, device, stream, pool, and the members that
 * the trace gave) are stored once, as a *site*. A free refers to its alloc, and so to its id.
 * Rare values (a text, a fraction, pending blocks that end) are in a separate list, in the order
 * of events: a reader walks through both.
 */
#pragma once

#include "base/hash.h"
#include "fragsim/trace.h"
#include "trace/name_tables.h"

struct frag_tape_site {
	uint64_t stream_order;
	uint32_t tag, stack, device, stream, pool, members;
	uint32_t whole;         /* the stack with all frames, for frag_symbols_whole() */
};

/* The word: operation, flags, and a value of 53 bits: bytes of an alloc, else an alloc. */
struct frag_tape_event {
	uint64_t word;
	uint32_t slot, site;
};
#define FRAG_TAPE_OP_BITS 4
#define FRAG_TAPE_WAITS (UINT64_C(1) << 4)
#define FRAG_TAPE_RARE (UINT64_C(1) << 5)
#define FRAG_TAPE_VALUE_SHIFT 6

static inline enum frag_op frag_tape_op(const struct frag_tape_event *e)
{
	return (enum frag_op)(e->word & ((1 << FRAG_TAPE_OP_BITS) - 1));
}

static inline bool frag_tape_is_alloc(const struct frag_tape_event *e)
{
	return frag_tape_op(e) == FRAG_OP_ALLOC;
}

/* Is the event an alloc or a free without waits and without an entry in the list of rare values? */
static inline bool frag_tape_is_plain(const struct frag_tape_event *e)
{
	return (e->word & ((1 << FRAG_TAPE_VALUE_SHIFT) - 1)) <= FRAG_OP_FREE;
}

struct frag_tape_rare {
	uint32_t event;
	uint32_t ended_count;
	uint64_t ended;         /* the first, in the tape's list */
	struct frag_text text;  /* in the tape's texts: `text` is set when read */
	uint64_t text_at;
	double fraction;
};

/* Of a mark: its name; texts: NULL where all texts of the tape are empty. */
static inline struct frag_text frag_tape_text(const char *texts, const struct frag_tape_rare *rare)
{
	return (struct frag_text){
		.text = texts ? texts + rare->text_at : "", .length = rare->text.length,
	};
}

/* From this event on, step numbers are event numbers and the difference. */
struct frag_tape_gap {
	uint32_t event;
	uint64_t step;
};

struct frag_tape {
	const struct frag_trace *trace; /* borrowed: stacks, first segments, info */
	struct frag_symbols symbols;
	struct frag_tape_event *events;
	uint64_t *ids;                  /* by number of alloc: the integer; or TEXT and its place; NULL:
					   first_id and the number */
	uint64_t first_id;
	double   *times;                /* by event; NULL: the trace has none */
	struct frag_spot *spots;        /* by number of alloc: the first ones may have a place */
	struct frag_tape_site *sites;
	struct frag_tape_rare *rare;
	struct frag_tape_gap *gaps;
	uint32_t *allocs_before;        /* of every FRAG_TAPE_STRIDE-th event */
	struct frag_ended *ended;
	char *texts;                    /* ids: their length in 8 bytes, and they; other texts */
	struct frag_tags tags;          /* no tag is ever released */
	uint32_t count, capacity, alloc_count, alloc_capacity, time_capacity;
	uint32_t spot_count, spot_capacity, site_count, site_capacity, rare_count, rare_capacity;
	uint32_t gap_count, gap_capacity, stride_capacity, ended_count, ended_capacity;
	uint32_t text_bytes, text_capacity;
	bool resized;                   /* another tape owns everything except the events */
	bool part;			/* of one device: the tags are another tape's */
	bool emptied;                   /* its segments are not those of the trace */
	struct frag_trace_info info;	/* of a part, */
	uint32_t device;		/* and which device of the trace it is */
};
#define FRAG_TAPE_STRIDE 4096
#define FRAG_TAPE_TEXT_ID (UINT64_C(1) << 63)

#define FRAG_TAPE_BATCH 128     /* events: they stay in the nearest cache until they are fed */

struct frag_tape_reader {
	const struct frag_tape *tape;
	uint32_t next;                  /* event */
	uint32_t next_rare, next_gap;   /* the first rare one, the first gap at or after it */
	uint32_t next_alloc;            /* likewise */
	uint64_t skipped;               /* what its step is ahead of its number */
	struct frag_event events[FRAG_TAPE_BATCH];
	uint32_t stacks[FRAG_TAPE_BATCH], whole[FRAG_TAPE_BATCH];
};

/* The events of a tape, one after the other: of its reader, which is the user's. */
struct frag_tape_walk {
	struct frag_tape_reader *reader;        /* NULL: out of memory, and there are none */
	struct frag_batch batch;
	uint32_t at;                            /* in the batch */
};

/* It stays until the next call. NULL: there is none. */
const struct frag_event *frag_tape_walk_next(struct frag_tape_walk *walk);

/*
 * Returns a tape of the same events, in which the n-th alloc has sizes[which[n]] bytes, each
 * below FRAG_SIZE_LIMIT; which NULL: as many as before. Segments from before the first event do not match such blocks: their
 * blocks are ordinary requests. The new tape owns its events, 16 bytes each, and shares all else
 * with `from`, which must outlive it. Returns NULL on out of memory.
 */
struct frag_tape *frag_tape_resized(const struct frag_tape *from, const uint32_t *which,
				    const uint64_t *sizes);

/* A block that is allocated after an event, which is an alloc, like that one, and freed there too. */
struct frag_tape_block {
	uint32_t after;                 /* the event */
	uint32_t inside;                /* N of the next ones, of the same event, that live while it does */
	uint64_t bytes;
};

/* Likewise a tape with such blocks, by rising event. -FRAG_ENOMEM */
int frag_tape_with_blocks(struct frag_tape **out, const struct frag_tape *from,
			  const struct frag_tape_block *blocks, uint32_t count, struct frag_error *err);

/* The step of an event: steps of skipped events count, too. */
uint64_t frag_tape_step(const struct frag_tape *tape, uint32_t event);

/* Did the recording start late? Blocks from before its first event are the first ones. */
static inline bool frag_tape_is_late(const struct frag_tape *tape)
{
	return tape->spot_count || frag_tape_info(tape)->scope.begins == FRAG_BEGINS_LATE;
}

/* The part of a tape that concerns one device. */
/*
 * Sets *out to a tape with the events of this device, which is its only one and number 0. Steps,
 * tags, streams and pools keep their numbers. It shares the tags with `from`, which must outlive
 * it. Sets *out to NULL where the trace has one device, or segments from before its first
 * event: the tape itself is to be used. -FRAG_ENOMEM
 */
int frag_tape_of_device(struct frag_tape **out, const struct frag_tape *from, uint32_t device,
			struct frag_error *err);
