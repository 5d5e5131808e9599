/* as_snapshot.h - what is kept of a run while its snapshot is written, and how that is. */
#pragma once

#include "base/atomic_file.h"
#include "base/hash.h"
#include "fragsim/trace.h"
#include "answers/export.h"
#include "answers/pickler.h"

/* X(name, text): what is in the file again and again. */
#define FRAG_SNAP_WORDS(X)                                                    \
	X(ACTION, "action") X(ADDR, "addr") X(SIZE, "size")                   \
	X(STREAM, "stream") X(TIME, "time_us") X(FRAMES, "frames")            \
	X(FILE, "filename") X(LINE, "line") X(NAME, "name") X(TAG, "tag")     \
	X(POOL, "pool_id") X(SEGMENT_POOL, "segment_pool_id")                 \
	X(FREE_ON_DEVICE, "device_free")                                      \
	X(NOTE, "user_metadata") X(DEVICE, "device") X(STAGE, "stage")        \
	X(ALLOC, "alloc") X(FREE_REQUESTED, "free_requested")                 \
	X(FREE_COMPLETED, "free_completed")                                   \
	X(SEGMENT_ALLOC, "segment_alloc") X(SEGMENT_FREE, "segment_free")     \
	X(SEGMENT_MAP, "segment_map") X(SEGMENT_UNMAP, "segment_unmap")       \
	X(OOM, "oom") X(ANNOTATE, "annotate")                                 \
	X(START, "START") X(END, "END")                                       \
	X(ADDRESS, "address") X(TOTAL, "total_size")                          \
	X(ALLOCATED, "allocated_size") X(ACTIVE, "active_size")               \
	X(REQUESTED, "requested_size") X(TYPE, "segment_type")                \
	X(SMALL, "small") X(LARGE, "large") X(RANGE, "is_expandable")         \
	X(BLOCKS, "blocks") X(STATE, "state") X(LIVE, "active_allocated")     \
	X(PENDING, "active_pending_free") X(INACTIVE, "inactive")

enum frag_snap_word {
#define X(name, text) FRAG_SNAP_##name,
	FRAG_SNAP_WORDS(X)
#undef X
	FRAG_SNAP_WORD_COUNT
};
#define FRAG_SNAP_WORD_ROOM 32

struct frag_snap_part {
	struct frag_outfile *out;       /* the file itself, or the spool below */
	const struct frag_symbols *symbols;     /* borrowed: whose stacks are written */
	struct frag_outfile spool;
	uint32_t open;          /* what the part is, a list: see frag_snap_item() */
	uint64_t known;                 /* words that have their number: a bit each */
	struct frag_snap_stack {
		char *text;             /* a tag that frames are made of */
		uint64_t hash;
		uint32_t length;
		uint32_t number;        /* a stack of the trace; 0: it is a tag */
	} *stacks;                      /* those that have one; the number of the first is fixed */
	uint32_t stack_count, stack_capacity;
	uint32_t oldest;                /* the next to lose its number, once all are given */
	struct frag_map map;            /* hash -> which of the stacks */
};

/* Straight into the file. */
static inline void frag_snap_op(struct frag_outfile *out, enum frag_pickle_opcode opcode)
{
	char *p = frag_outfile_room(out, 1);

	if (p)
		frag_outfile_used(out, frag_pickle_op(p, opcode));
}

static inline void frag_snap_text(struct frag_outfile *out, const char *text)
{
	const size_t length = strlen(text);
	char *p = frag_outfile_room(out, length * 3 + 5);

	if (p)
		frag_outfile_used(out, frag_pickle_text(p, text, length));
}

/* What the run was simulated with: the value of allocator_settings. */
void frag_snap_settings(const struct frag_export *x);

/* Writes into `out`, or where that is NULL into a spool in the folder of the last file. */
int frag_snap_part_open(struct frag_snap_part *part, const struct frag_symbols *symbols,
			struct frag_outfile *out, const struct frag_outfile *beside,
			struct frag_error *err);

/* Appends what is in the spool, if there is one, and ends the list. */
int frag_snap_part_end(struct frag_snap_part *part, struct frag_outfile *out,
		       struct frag_error *err);
void frag_snap_part_fini(struct frag_snap_part *part);

/*
 * A list on its way: its items come in batches, and *open are those since the last mark. Its end
 * follows the first of these, an item the second. Each writes up to 2 bytes.
 */
static inline char *frag_snap_list_end(uint32_t *open, char *p)
{
	const bool any = *open != 0;

	*open = 0;
	return any ? frag_pickle_op(p, FRAG_PICKLE_APPENDS) : p;
}

#define FRAG_SNAP_BATCH 1000            /* items: as many as Python writes at once */
static inline char *frag_snap_item(uint32_t *open, char *p)
{
	if (*open == FRAG_SNAP_BATCH)
		p = frag_snap_list_end(open, p);
	return (*open)++ ? p : frag_pickle_op(p, FRAG_PICKLE_MARK);
}

char *frag_snap_word(struct frag_snap_part *part, char *p, enum frag_snap_word word);

/* A key with its value: FRAG_SNAP_WORD_ROOM bytes for each word, FRAG_PICKLE_ROOM for a number. */
static inline char *frag_snap_number(struct frag_snap_part *part, char *p, enum frag_snap_word key,
				     uint64_t value)
{
	return frag_pickle_u64(frag_snap_word(part, p, key), value);
}

/* Who requested a block: its tag, and its whole stack where the trace has it. */
struct frag_snap_requester {
	struct frag_text tag;   /* text NULL: unknown */
	uint32_t stack;         /* of the part's trace; 0: none */
};

/*
 * Frames, with their key: those of the stack; else what the tag is made of:
 * "FILE:LINE NAME" is a frame, " < " is between two; anything else is a name.
 */
char *frag_snap_frames(struct frag_snap_part *part, char *p,
		       const struct frag_snap_requester *requester);

/*
 * Begins an item that is a dict, with this much space for its members, and more for the frames of
 * the requester, if it is not NULL. NULL: the file has failed.
 */
char *frag_snap_dict(struct frag_snap_part *part, uint32_t *open, size_t room,
		     const struct frag_snap_requester *requester);

/* A segment or a range, at its place among the addresses. */
struct frag_snap_segment {
	uint64_t base;
	uint64_t bytes;         /* of a range: addresses that are kept for it */
	uint64_t stream;        /* of the request that it was obtained for */
	uint32_t ordinal, pool;
	bool large;             /* likewise */
	uint32_t next_unused;
};

/* What a slot of the trace holds. */
struct frag_snap_live {
	uint64_t addr, bytes, requested, stream;
	uint32_t device, pool, tag, stack;
	bool there;
};

/* Freed by the program, and still in use. */
struct frag_snap_pending {
	struct frag_snap_live was;
	uint32_t slot;
	frag_block block;
};

struct frag_snap_log {
	struct frag_snap_part part;     /* the events; open once there is one */
	bool open;
	bool beginning;         /* only blocks of the state that the trace begins with, so far */
	bool ended;             /* its segments are written */
	uint64_t active;        /* bytes of blocks that are live or pending here */
	struct frag_snap_segment *segments;
	uint32_t segment_count, segment_capacity, unused;
	struct frag_map by_ordinal;     /* ordinal -> which of them */
	struct frag_snap_pending *pending;      /* in the order of their frees */
	uint32_t pending_count, pending_capacity;
};

struct frag_snapshot_out {
	struct frag_export *x;
	struct frag_snap_log *logs;     /* one a device */
	uint32_t device_count;
	struct frag_snap_part notes;    /* external_annotations */
	struct frag_snap_part last;     /* segments */
	struct frag_snap_live *lives;   /* by slot */
	uint32_t live_count, live_capacity;
	uint64_t next_addr;             /* where the next segment is */
};
