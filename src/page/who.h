/*
 * who.h - who holds the memory, step by step: live bytes by tag and stack, and at the peak.
 *
 * A trace may give a tag's number to another tag once no block has it; here each text has a number
 * of its own. The first FRAG_TAGS_MAX of them are told apart, of each the first FRAG_TAG_TEXT bytes
 * are kept, and all others are one, FRAG_TAG_OTHERS; stacks likewise.
 */
#ifndef PAGE_WHO_H
#define PAGE_WHO_H

#include "base/hash.h"
#include "fragsim/trace.h"

#define FRAG_TAGS_MAX 8192
#define FRAG_TAG_TEXT 240
#define FRAG_SHARES_MAX 32768
#define FRAG_TAG_NONE 0
#define FRAG_TAG_OTHERS 1

struct frag_page_share {
	uint32_t share;
	uint64_t bytes, blocks;
};

/* A tag and a stack, on all devices. */
struct frag_who_share {
	uint32_t tag, stack;            /* stack: for frag_symbols_frame() */
};

/* Of a share on one device; `at_peak` holds where nothing has changed since. */
struct frag_who_sum {
	uint64_t bytes, blocks;
	uint64_t peak_bytes, peak_blocks;
	uint64_t epoch;
};

struct frag_who_tag {
	char *text;             /* NULL: none */
	uint32_t length;        /* of what is kept */
	uint32_t whole;         /* of all of it */
	uint32_t live;          /* blocks */
	uint32_t number;        /* as the trace called it last */
	uint64_t hash;
};

struct frag_who {
	uint64_t seed;
	struct frag_who_tag *tags;
	uint32_t tag_count, tag_capacity;
	struct frag_map by_text;
	uint32_t *by_number;            /* the trace's -> tag + 1, as last seen; 0: not yet */
	uint32_t number_count, number_capacity;
	struct frag_who_share *shares;
	uint32_t share_count, share_capacity;
	struct frag_map by_both;        /* tag and stack -> share */
	uint32_t *plain;                /* by tag: the share without a stack, + 1 */
	uint32_t plain_count, plain_capacity;
	struct frag_who_sum **sums;     /* by device, by share */
	uint32_t *sum_capacities;
	uint64_t *epochs;               /* by device: peaks so far */
	uint32_t device_count;
};

bool frag_who_init(struct frag_who *who, uint32_t devices);
void frag_who_fini(struct frag_who *who);

/* Before it changes: what it is now is what it was at the peak, if it has not changed since. */
static inline void frag_who_touch(const struct frag_who *who, struct frag_who_sum *sum,
				  uint32_t device)
{
	if (sum->epoch == who->epochs[device])
		return;
	sum->peak_bytes = sum->bytes;
	sum->peak_blocks = sum->blocks;
	sum->epoch = who->epochs[device];
}

/* A live block vouches for the number; known: the tag, + 1. */
static inline bool frag_who_vouched(const struct frag_who *who, uint32_t known, uint32_t number)
{
	return known > FRAG_TAG_OTHERS + 1 && who->tags[known - 1].live
	       && who->tags[known - 1].number == number;
}

static inline void frag_who_add(struct frag_who *who, uint32_t share, uint32_t tag,
				uint32_t device, uint64_t bytes)
{
	struct frag_who_sum *sum = &who->sums[device][share];

	frag_who_touch(who, sum, device);
	sum->bytes += bytes;
	sum->blocks++;
	who->tags[tag].live++;
}

/* As the next, however little is known. */
uint32_t frag_who_look_up(struct frag_who *who, const struct frag_symbols *symbols, uint32_t tag,
			  uint32_t stack, uint32_t device, uint64_t bytes);

/*
 * The share of a new block; UINT32_MAX: memory is short. Most are of a tag without a stack that
 * others have too, and known by its number.
 */
static inline uint32_t frag_who_born(struct frag_who *who, const struct frag_symbols *symbols,
				     uint32_t tag, uint32_t stack, uint32_t device, uint64_t bytes)
{
	const uint32_t known = tag < who->number_count && !stack ? who->by_number[tag] : 0;
	const uint32_t share = known && known <= who->plain_count ? who->plain[known - 1] : 0;

	if (!share || share > who->sum_capacities[device] || !frag_who_vouched(who, known, tag))
		return frag_who_look_up(who, symbols, tag, stack, device, bytes);
	frag_who_add(who, share - 1, known - 1, device, bytes);
	return share - 1;
}

static inline void frag_who_dies(struct frag_who *who, uint32_t share, uint32_t device,
				 uint64_t bytes)
{
	struct frag_who_sum *sum = &who->sums[device][share];

	frag_who_touch(who, sum, device);
	sum->bytes -= bytes;
	sum->blocks--;
	who->tags[who->shares[share].tag].live--;
}

/* What is there now is the peak, until this is said again. */
static inline void frag_who_peaks(struct frag_who *who, uint32_t device)
{
	who->epochs[device]++;
}

/*
 * The shares that hold most now, or at the peak, at most `max`, and what the others come to.
 * UINT32_MAX: memory is short.
 */
uint32_t frag_who_largest(const struct frag_who *who, uint32_t device, bool at_peak,
			  struct frag_page_share *out, uint32_t max, uint64_t *rest_bytes,
			  uint64_t *rest_blocks);

#endif
