/*
 * recordings.h - recordings of one program at several numbers: batch sizes, lengths.
 *
 * They have the same events in the same order: the same operations, on the same devices, streams
 * and pools, of the same blocks. Blocks, streams and pools have other names in each, so their
 * order of first use is compared; tags and marks must be equal, except for the number of their
 * recording. Sizes and times may differ. The first recording is the one whose names,
 * times and stacks are taken.
 *
 * Blocks from before a snapshot's history come by address, and the driver gives each recording
 * other addresses. Where that order has fewer equal sizes than there could be, the blocks are
 * matched by size, equal ones first; the events that use them correct the match.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "fragsim/trace.h"
#include "trace/trace_formats.h"
#include "transform/record_buffer.h"

/*
 * A size as a function of a number that a program was recorded at.
 *
 * Two recordings give a line, or the square of the number times a constant; three and more give a
 * line or a parabola; all exactly. What a program requests is
 * made of products of such numbers, so a size that falls, or grows more slowly than a line, is
 * not explained, and neither is one that would be no whole number of bytes.
 */

#define FRAG_RECORDINGS_MAX 8
#define FRAG_NO_SIZE UINT64_MAX         /* of a block that a recording lacks */
/* Of a size, a number and the square of one there are sums and differences in 128 bits. */
#define FRAG_NUMBER_MAX ((UINT32_C(1) << 24) - 1)

/* The numbers, rising: at least 2. */
struct frag_numbers {
	uint32_t at[FRAG_RECORDINGS_MAX];
	uint32_t count;
};

enum frag_growth { FRAG_CONSTANT, FRAG_LINEAR, FRAG_QUADRATIC, FRAG_UNEXPLAINED };

/* How a size with these values at the numbers grows; each is below FRAG_SIZE_LIMIT. */
enum frag_growth frag_growth_of(const struct frag_numbers *n, const uint64_t *sizes);

/*
 * A block that some recordings lack counts above the largest number that lacks it, in proportion to
 * the number where one recording alone has it; elsewhere its size is 0.
 *
 * The size at another number, FRAG_SIZE_LIMIT where it would not be below that. True: it is
 * explained. Where it is not, a line or parabola is rounded up and ends at 0; a size whose growth
 * is not explained follows the straight line through the two nearest recordings, and beyond the
 * last of them does not fall. So from the last number on no size falls, explained or not.
 */
bool frag_size_at(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x,
		  uint64_t *size);

struct frag_sizes;
/* Does one of the recordings lack the block? */
bool frag_size_is_missing(const struct frag_sizes *sizes, uint32_t count);

/* Do two recordings have sizes that grow faster than in proportion to the number? */
bool frag_size_is_steep(const struct frag_numbers *n, const uint64_t *sizes);

/* Sizes that many allocs have in common, one a recording. */
struct frag_sizes {
	uint64_t at[FRAG_RECORDINGS_MAX];       /* by rising number */
	uint64_t allocs;
	enum frag_growth growth;
	bool steep;                     /* of frag_size_is_steep() */
};

struct frag_recording {
	struct frag_trace *trace;       /* borrowed */
	uint32_t number;
	/* its own */
	uint32_t rank;                  /* among the rising numbers */
	uint32_t *twin;                 /* of its initial blocks: which one of the first's it is */
	struct frag_batch batch;
	uint32_t next;                  /* in the batch */
};

struct frag_recordings {
	struct frag_recording of[FRAG_RECORDINGS_MAX];
	uint32_t count;
	struct frag_numbers numbers;
	struct frag_sizes *sizes;       /* in the order in which they are met */
	uint32_t size_count, size_capacity;
	uint32_t *which;                /* by number of alloc: its sizes */
	uint32_t alloc_count, alloc_capacity;
	/* its own */
	struct frag_map known;          /* hash of sizes -> their number */
	uint64_t *born;                 /* by slot: the step of its alloc */
	uint32_t initial;               /* N of the initial blocks, which all have a match */
	bool matched;                   /* which is not by address */
	bool *seen;                     /* of those: an event showed that the match is right */
	uint32_t slot_capacity;
	struct frag_text *others;       /* by alloc of the template: its tag in another recording, where */
	struct frag_text *other_marks;  /* it differs; by mark: likewise; of the tapes. NULL: none does */
	uint32_t others_capacity, marks_capacity;
	bool ready;
	/* of recordings that differ: */
	bool on_tapes;                  /* each is read onto a tape */
	bool differ;                    /* all have been read to their ends nevertheless */
	bool aligned;
	uint32_t template;              /* the recording at the largest number, if aligned; else the first */
	uint32_t paired, inserted;      /* its allocs that all others have; that one lacks */
	uint32_t lasting;               /* of the inserted, those that live longer than one operation */
	uint32_t workspaces;            /* and those that do not, of a backward pass */
	struct frag_text lasting_tag;   /* of the first of them, of its tape */
};

struct frag_tape;

/*
 * Recordings that differ, on their tapes: finds which allocations correspond, so that those that the
 * recording at the largest number has in addition are insertions. It becomes the template: its
 * events, order and frees are those of the prediction. -FRAG_ETRACE, with the message in *err
 * unchanged: less than half of its allocations correspond, or less than nine tenths of another one's, or
 * other operations differ.
 */
int frag_recordings_align(struct frag_recordings *r, const struct frag_tape *const *tapes,
			  struct frag_error *err);

/* Who goes along with the reading; all optional. */
struct frag_recordings_options {
	/* 2 or more, open, with records; each was recorded at another number */
	struct frag_trace *const *traces;
	const uint32_t *numbers;
	uint32_t count;
	struct frag_tape_writer *const *tapes;  /* gets each recording; NULL among them: it does not */
	struct frag_record_buffer *records;     /* one a recording, gets its records */
	struct frag_read_job read;      /* its progress is of the first */
};

/*
 * Reads all to their ends, side by side. -FRAG_ETRACE where their events differ, with the step
 * and what each of the two has there; where r->differ is set then, the tapes are whole all the same
 * and can be aligned; -FRAG_EINTERRUPTED; or what reading returned.
 * *r is released with frag_recordings_fini(), also after a failure.
 */
int frag_recordings_read(struct frag_recordings *r, const struct frag_recordings_options *options,
			 struct frag_error *err);

/*
 * Gives each event of the template to `event`, as it would be at this number, in its tag and mark
 * too, without blocks that are not there at the number. tapes, records: as they were read.
 * -FRAG_EUSAGE where a size would not be below 2^53
 */
int frag_recordings_write(struct frag_recordings *r, const struct frag_tape *const *tapes,
			  const struct frag_record_buffer *records, uint32_t number,
			  int (*event)(void *ctx, const struct frag_record *rec,
				       const struct frag_event *ev, struct frag_error *err),
			  void *ctx, struct frag_error *err);
void frag_recordings_fini(struct frag_recordings *r);   /* a zeroed one is fine */

/* The number of these sizes, made when new; UINT32_MAX where the host is out of memory. */
uint32_t frag_recordings_sizes(struct frag_recordings *r, const uint64_t *at);

/*
 * Texts that tell at which number a program was recorded.
 *
 * "step0 len256" of a recording at 256 is what "step0 len512" is of one at 512. The number stands
 * there as such: in decimal, with no digit next to it.
 */
/* Are they the same except each recording's own number? */
bool frag_text_same_except_number(struct frag_text a, uint32_t a_number, struct frag_text b,
			  uint32_t b_number);

/* How long text can get, at the longest. */
#define FRAG_OWN_NUMBER_ROOM(length) ((size_t)(length) * 10 + 1)

/*
 * Text a as the program would have it at another number, of two that are the same in that way:
 * where they differ that number stands. out: FRAG_OWN_NUMBER_ROOM(a.length) bytes.
 */
struct frag_text frag_own_number_at(struct frag_text a, struct frag_text b, uint32_t number,
				    char *out);

/*
 * Begins a trace that was made of others, with this head; its "meta" is {"MEMBER":{BODY}, and the
 * members of the one that the head has, if any. Where that has such a member already, all of it
 * becomes "meta" in the new one, except what decides how a trace is simulated, which stays on top
 * too. body: members as JSON. -FRAG_ENOMEM, or what the sink's begin returned
 */
int frag_meta_begin(struct frag_sink *sink, const struct frag_trace_info *head, const char *member,
		    const char *body, struct frag_error *err);
