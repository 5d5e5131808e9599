/* oom.c - what is told of a request that found no memory (SPEC 9). */
#include "engine/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/grow.h"
#include "engine/hole.h"

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

/* What the blocks of one tag hold, or of one stack of a tag. */
struct share {
	uint64_t bytes, blocks, oldest;
	uint32_t tag, stack;
};

static int by_tag(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int by_bytes(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->oldest < y->oldest ? -1 : x->oldest > y->oldest;
}

/* Whose blocks they are: those of a device, or of a part of one of its segments. */
struct blocks {
	const struct frag_engine *engine;
	uint32_t device;
	const struct frag_window *window;       /* NULL: all */
	const struct frag_slot *slots;
	uint32_t slot_count;
	const struct frag_trace *trace;
};

/* Of slot i, if it is one of them. */
static bool find_block(const struct blocks *from, uint32_t i, struct frag_block_view *out)
{
	const struct frag_slot *slot = &from->slots[i];
	const struct frag_heap *heap = from->engine->policy.heap;
	const struct frag_window *w = from->window;

	if (slot->block >= SLOT_FIRST_STATE || slot->device != from->device
	    || (slot->pending && !frag_heap_holds(heap, slot->block, i)))
		return false;
	*out = frag_heap_look(heap, slot->block);
	return !w || (out->segment == w->segment && out->offset >= w->offset
		      && out->offset - w->offset < w->bytes);
}

/* One share for each of the live blocks. */
static uint32_t list_blocks(struct share *shares, const struct blocks *from)
{
	struct frag_block_view block;
	uint32_t n = 0;

	for (uint32_t i = 0; i < from->slot_count; i++)
		if (find_block(from, i, &block))
			shares[n++] = (struct share){
				.bytes = block.bytes, .blocks = 1, .oldest = from->slots[i].birth,
				.tag = from->slots[i].tag, .stack = from->slots[i].stack,
			};
	return n;
}

/* Sums the sorted shares of one tag, or of one stack, into `to`, which may be `from`. */
static uint32_t sum(const struct share *from, uint32_t count, struct share *to, bool whole_tags)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct share *last = n ? &to[n - 1] : NULL;

		if (!last || last->tag != from[i].tag
		    || (!whole_tags && last->stack != from[i].stack)) {
			to[n++] = from[i];
			continue;
		}
		last->bytes += from[i].bytes;
		last->blocks += from[i].blocks;
		if (from[i].oldest < last->oldest)
			last->oldest = from[i].oldest;
	}
	return n;
}

/* As between the quotes of JSON. Room: 6 for each byte, and 2. */
static char *put_part(char *p, const char *text, size_t length)
{
	char *end = frag_put_json(p, text, length);

	memmove(p, p + 1, (size_t)(end - p) - 2);
	return end - 2;
}

/* "/home/me/model.py:42 forward", or of native code "name (library.so)". */
static char *put_frame(char *p, const struct frag_frame *f)
{
	const char *file = f->file.text;
	size_t length = f->file.length;

	if (f->line) {
		p = put_part(p, file, length);
		*p++ = ':';
		p = frag_put_u64(p, f->line);
		*p++ = ' ';
	}
	p = put_part(p, f->name.text, f->name.length);
	if (f->line || !length || *file == '?')
		return p;
	for (const char *slash; (slash = memchr(file, '/', length)) != NULL; file = slash + 1)
		length -= (size_t)(slash + 1 - file);
	*p++ = ' ';
	*p++ = '(';
	p = put_part(p, file, length);
	*p++ = ')';
	return p;
}

/* The frames of a stack, a line each; NULL where memory is short. */
static char *put_frames(const struct frag_trace *trace, uint64_t at)
{
	uint32_t used = 0, capacity = 0, count = 0;
	struct frag_frame frame;
	char *text = NULL, *p;

	while (count++ < FRAG_FRAMES_MOST && frag_trace_frame(trace, &at, &frame)) {
		const uint64_t most = 6 * ((uint64_t)frame.file.length + frame.name.length);

		if (!frag_grow(&text, &capacity, used + most + FRAG_NUMBER_ROOM + 16, 1)) {
			free(text);
			return NULL;
		}
		p = put_frame(text + used, &frame);
		*p++ = '\n';
		*p = '\0';
		used = (uint32_t)(p - text);
	}
	return text;
}

/* The largest of the stacks that have the holder's tag, which stand side by side. */
static bool name_stacks(struct frag_holder *holder, struct share *stacks, uint32_t count,
			const struct frag_trace *trace)
{
	qsort(stacks, count, sizeof(*stacks), by_bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct frag_holder_stack *to = &holder->stacks[holder->stack_count];

		holder->all_stacks += stacks[i].stack != 0;
		if (!stacks[i].stack || holder->stack_count == FRAG_HOLDER_STACKS_MOST)
			continue;
		*to = (struct frag_holder_stack){
			.frames = put_frames(trace, stacks[i].stack), .bytes = stacks[i].bytes,
			.blocks = stacks[i].blocks, .oldest = stacks[i].oldest,
		};
		if (!to->frames)
			return false;
		holder->stack_count++;
	}
	return true;
}

/* The share of a tag, and its stacks among these, which are sorted by tag. */
static int name_holder(struct frag_holder *holder, const struct share *share,
		       struct share *stacks, uint32_t count, const struct frag_trace *trace)
{
	const struct frag_text tag = frag_trace_tag(trace, share->tag);
	uint32_t first = 0, end;

	*holder = (struct frag_holder){
		.bytes = share->bytes, .blocks = share->blocks, .oldest = share->oldest,
	};
	while (stacks[first].tag != share->tag)
		first++;
	for (end = first; end < count && stacks[end].tag == share->tag;)
		end++;
	if (!name_stacks(holder, stacks + first, end - first, trace))
		return -FRAG_ENOMEM;
	if (!tag.text)
		return 0;
	holder->tag = malloc((size_t)tag.length * 6 + 3);
	if (!holder->tag)
		return -FRAG_ENOMEM;
	*frag_put_json(holder->tag, tag.text, tag.length) = '\0';
	return 0;
}

/* Who holds these blocks: by tag, and within a tag by stack. */
static int find_holders(struct frag_holder *holders, uint32_t *count, const struct blocks *from)
{
	struct share *stacks = malloc(2 * ((size_t)from->slot_count + 1) * sizeof(*stacks));
	struct share *tags;
	uint32_t stack_count, tag_count;
	int rc = 0;

	if (!stacks)
		return -FRAG_ENOMEM;
	tags = stacks + from->slot_count + 1;
	stack_count = list_blocks(stacks, from);
	if (stack_count)
		qsort(stacks, stack_count, sizeof(*stacks), by_tag);
	stack_count = sum(stacks, stack_count, stacks, false);
	tag_count = sum(stacks, stack_count, tags, true);
	if (tag_count)
		qsort(tags, tag_count, sizeof(*tags), by_bytes);
	for (uint32_t i = 0; i < tag_count && i < FRAG_HOLDERS_MOST && !rc; i++) {
		rc = name_holder(&holders[i], &tags[i], stacks, stack_count, from->trace);
		*count = i + 1;
	}
	free(stacks);
	return rc;
}

/* What the device has left, with what could be given back. */
static uint64_t left_over(const struct frag_engine *e)
{
	const struct frag_metrics *m = &e->tally.now;
	const struct frag_device *d = &e->device;
	uint64_t left = UINT64_MAX;

	if (m->limited)
		left = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	if (d->limit != UINT64_MAX && (d->limit < d->used || d->limit - d->used < left))
		left = d->limit > d->used ? d->limit - d->used : 0;
	return left == UINT64_MAX ? left : left + m->releasable;
}

/* What would have to be freed at least, and whose that is. */
static int find_hole(struct frag_hole *hole, const struct frag_event *ev,
		     const struct blocks *all)
{
	const struct frag_heap *heap = all->engine->policy.heap;
	struct blocks within = *all;
	struct frag_window w;
	struct frag_wish wish = {
		.tried = frag_heap_books(heap)->tried, .left = left_over(all->engine),
	};

	if (!ev)
		return 0;
	wish.bytes = ev->bytes;
	wish.pool = ev->pool;
	if (!frag_window_find(heap, &wish, &w))
		return 0;
	*hole = (struct frag_hole){
		.bytes = w.bytes, .live = w.live, .segment = w.ordinal, .offset = w.offset,
		.whole = w.whole,
	};
	within.window = &w;
	return find_holders(hole->holders, &hole->holder_count, &within);
}

int frag_oom_explain(struct frag_oom *oom, const struct frag_engine *e, uint32_t device,
		     const struct frag_event *ev,
		     const struct frag_slot *slots, uint32_t slot_count,
		     const struct frag_trace *trace, struct frag_error *err)
{
	const struct frag_metrics *m = &e->tally.now;
	const struct blocks from = {
		.engine = e, .device = device, .slots = slots, .slot_count = slot_count,
		.trace = trace,
	};
	int rc;

	oom->tried = frag_heap_books(e->policy.heap)->tried;
	oom->fragmentation = (int64_t)m->free + m->device_free >= (int64_t)oom->tried;
	word_message(oom, e, device);
	word_advice(oom, m, &e->device);
	rc = find_holders(oom->holders, &oom->holder_count, &from);
	if (!rc && oom->fragmentation && !m->opaque)
		rc = find_hole(&oom->hole, ev, &from);
	return rc ? frag_fail_nomem(err) : 0;
}
