/*
 * tag_timeline.h - live bytes by tag and stack, step by step and at the peak.
 *
 * A trace may give a tag's number to another tag once no block has it; here each text has a separate
 * number. The first FRAG_TAGS_MAX texts have one each, with their first FRAG_TAG_TEXT bytes; all
 * others share FRAG_TAG_OTHERS. Stacks likewise.
 */
#ifndef HTML_REPORT_TAG_TIMELINE_H
#define HTML_REPORT_TAG_TIMELINE_H

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

/* Of a share on one device: its blocks at the peak of this number that were freed since. */
struct frag_who_sum {
	uint64_t bytes, blocks;
	uint64_t peak;
};

struct frag_who_tag {
	char *text;             /* NULL: none */
	uint32_t length;        /* of what is kept */
	uint32_t whole;         /* of all of it */
	uint32_t live;          /* blocks */
	uint32_t number;        /* as the trace called it last */
	uint64_t hash;
};

struct frag_tag_timeline {
	const struct frag_symbols *symbols;     /* borrowed: what the trace's numbers stand for */
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
	uint64_t *peaks;                /* by device: number of peaks */
	uint32_t device_count;
};

bool frag_who_init(struct frag_tag_timeline *who, const struct frag_symbols *symbols,
		   uint32_t devices);
void frag_who_fini(struct frag_tag_timeline *who);

/* As the next, however little is known. */
uint32_t frag_who_look_up(struct frag_tag_timeline *who, uint32_t tag, uint32_t stack);

/*
 * The share of a new block; UINT32_MAX: out of memory. Most are of a tag without a stack that
 * others have too: a live one of them vouches for the tag's number.
 */
static inline uint32_t frag_tag_timeline_alloc(struct frag_tag_timeline *who, uint32_t tag,
					       uint32_t stack)
{
	const uint32_t known = tag < who->number_count && !stack ? who->by_number[tag] : 0;
	const uint32_t share = known && known <= who->plain_count ? who->plain[known - 1] : 0;
	struct frag_who_tag *of = who->tags + known - 1;

	if (!share || known <= FRAG_TAG_OTHERS + 1 || !of->live || of->number != tag)
		return frag_who_look_up(who, tag, stack);
	of->live++;
	return share - 1;
}

static inline void frag_tag_timeline_free(struct frag_tag_timeline *who, uint32_t share)
{
	who->tags[who->shares[share].tag].live--;
}

/* What is there now is the peak, until this is said again. */
static inline void frag_who_peaks(struct frag_tag_timeline *who, uint32_t device)
{
	who->peaks[device]++;
}

/* Call when a block of the peak is freed. False: out of memory. */
bool frag_tag_timeline_free_peak_block(struct frag_tag_timeline *who, uint32_t share,
				       uint32_t device, uint64_t bytes);

/* Who held what at the peak, of those that have died since: adds it, by share. */
void frag_who_add_dead(const struct frag_tag_timeline *who, uint32_t device,
		       struct frag_page_share *held);

/*
 * The `max` shares with the most bytes, in order, and the totals of the others; sorts held.
 */
uint32_t frag_who_largest(struct frag_page_share *held, uint32_t count, struct frag_page_share *out,
			  uint32_t max, uint64_t *rest_bytes, uint64_t *rest_blocks);

#endif
