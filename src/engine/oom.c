/* oom.c - what is told of a request that found no memory (SPEC 9). */
#include "engine/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

static void word_message(struct frag_oom *oom, const struct frag_engine *e, uint32_t device)
{
	const struct frag_metrics *m = &e->tally.now;
	const char *name = e->policy.ops->name;
	char tried[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM], allocated[FRAG_NUMBER_ROOM];
	char unused[FRAG_NUMBER_ROOM], reserved[FRAG_NUMBER_ROOM];
	char capacity[64] = "", left[64] = "";

	if (m->limited) {
		snprintf(capacity, sizeof(capacity), "%s total capacity; ",
			 frag_size_text(total, e->device.total));
		snprintf(left, sizeof(left), "%s free; ",
			 frag_size_text(unused, m->device_free > 0 ? (uint64_t)m->device_free : 0));
	}
	snprintf(oom->message, sizeof(oom->message),
		 "CUDA out of memory. Tried to allocate %s (GPU %u; %s%s already allocated; "
		 "%s%s reserved in total by %s)",
		 frag_size_text(tried, oom->tried), device, capacity,
		 frag_size_text(allocated, m->allocated), left,
		 frag_size_text(reserved, m->reserved),
		 strcmp(name, "pytorch") == 0 ? "PyTorch" : name);
}

/* What was in the way, in short. */
static void word_obstacle(char *buf, size_t size, const struct frag_oom *oom,
			  const struct frag_device *device, uint64_t missing)
{
	char limit[FRAG_NUMBER_ROOM];

	if (device->limit != UINT64_MAX && device->used + oom->tried > device->limit)
		snprintf(buf, size, "The limit that set_fraction put, %s, would be passed",
			 frag_size_text(limit, device->limit));
	else if (!oom->fragmentation)
		snprintf(buf, size, "Too little memory was free, in whatever pieces");
	else if (missing)
		snprintf(buf, size, "Enough bytes were free, but not in one piece");
	else
		snprintf(buf, size, "Enough bytes were free, but the policy did not give them back");
}

static void word_advice(struct frag_oom *oom, const struct frag_metrics *m,
			const struct frag_device *device)
{
	uint64_t device_free = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	uint64_t piece = device_free + m->releasable;
	uint64_t missing;
	char held[FRAG_NUMBER_ROOM], stranded[FRAG_NUMBER_ROOM], largest[FRAG_NUMBER_ROOM];
	char lack[FRAG_NUMBER_ROOM], obstacle[128], end[64] = "";

	if (m->largest_free > piece)
		piece = m->largest_free;
	if (m->opaque) {
		snprintf(oom->advice, sizeof(oom->advice), "%s reserved but unused in the driver's own "
			 "pool; how it lies there nobody tells.",
			 frag_size_text(held, m->reserved - m->allocated));
		return;
	}
	missing = oom->tried > piece ? oom->tried - piece : 0;
	word_obstacle(obstacle, sizeof(obstacle), oom, device, missing);
	if (missing)
		snprintf(end, sizeof(end), "; %s missing in one piece",
			 frag_size_text(lack, missing));
	snprintf(oom->advice, sizeof(oom->advice),
		 "%s: %s reserved but unallocated, %s of that stranded between live blocks; "
		 "largest free block %s; fi %.2f %%, fi_device %.2f %%%s.", obstacle,
		 frag_size_text(held, m->reserved - m->allocated),
		 frag_size_text(stranded, m->stranded), frag_size_text(largest, m->largest_free),
		 m->fi, m->fi_device, end);
}

/* What the blocks of one tag hold. */
struct share {
	uint64_t bytes, blocks, oldest;
	uint32_t tag;
};

static int by_tag(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int by_bytes(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->oldest < y->oldest ? -1 : x->oldest > y->oldest;
}

/* One share for each live block of the device. */
static uint32_t list_blocks(struct share *shares, const struct frag_engine *e, uint32_t device,
			    const struct frag_slot *slots, uint32_t slot_count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < slot_count; i++) {
		if (slots[i].block >= SLOT_FIRST_STATE || slots[i].device != device
		    || (slots[i].pending
			&& !frag_heap_holds(e->policy.heap, slots[i].block, i)))
			continue;
		shares[n++] = (struct share){
			.bytes = frag_heap_look(e->policy.heap, slots[i].block).bytes,
			.blocks = 1, .oldest = slots[i].birth, .tag = slots[i].tag,
		};
	}
	return n;
}

/* Sums shares of one tag; returns how many tags there are. */
static uint32_t sum_by_tag(struct share *shares, uint32_t count)
{
	uint32_t n = 0;

	qsort(shares, count, sizeof(*shares), by_tag);
	for (uint32_t i = 0; i < count; i++) {
		struct share *to = n ? &shares[n - 1] : NULL;

		if (!to || to->tag != shares[i].tag) {
			shares[n++] = shares[i];
			continue;
		}
		to->bytes += shares[i].bytes;
		to->blocks++;
		if (shares[i].oldest < to->oldest)
			to->oldest = shares[i].oldest;
	}
	return n;
}

static int name_holders(struct frag_oom *oom, const struct share *shares, uint32_t count,
			const struct frag_trace *trace)
{
	for (uint32_t i = 0; i < count && i < FRAG_HOLDERS_MOST; i++) {
		struct frag_holder *holder = &oom->holders[oom->holder_count++];
		struct frag_text tag = frag_trace_tag(trace, shares[i].tag);

		*holder = (struct frag_holder){
			.bytes = shares[i].bytes, .blocks = shares[i].blocks,
			.oldest = shares[i].oldest,
		};
		if (!tag.text)
			continue;
		holder->tag = malloc((size_t)tag.length * 6 + 3);
		if (!holder->tag)
			return -FRAG_ENOMEM;
		*frag_put_json(holder->tag, tag.text, tag.length) = '\0';
	}
	return 0;
}

int frag_oom_explain(struct frag_oom *oom, const struct frag_engine *e, uint32_t device,
		     const struct frag_slot *slots, uint32_t slot_count,
		     const struct frag_trace *trace, struct frag_error *err)
{
	const struct frag_metrics *m = &e->tally.now;
	struct share *shares = malloc(((size_t)slot_count + 1) * sizeof(*shares));
	uint32_t count;
	int rc;

	if (!shares)
		return frag_fail_nomem(err);
	oom->tried = frag_heap_books(e->policy.heap)->tried;
	oom->fragmentation = (int64_t)m->free + m->device_free >= (int64_t)oom->tried;
	word_message(oom, e, device);
	word_advice(oom, m, &e->device);
	count = sum_by_tag(shares, list_blocks(shares, e, device, slots, slot_count));
	qsort(shares, count, sizeof(*shares), by_bytes);
	rc = name_holders(oom, shares, count, trace);
	free(shares);
	return rc ? frag_fail_nomem(err) : 0;
}
