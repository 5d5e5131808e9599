/* address_space.c - the buffers of one address space as numbers, side by side. */
#include "plan/address_space.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "events/id_map.h"

#define COUNTED_TIMES 4         /* times to a change, at most, for them to be counted */

/* An allocation or a free, also at the ends of a gap; at one time, frees come first. */
struct change {
	uint64_t time;                  /* step times plan->scale, or a time between two steps */
	uint32_t buffer;
	bool birth;
};

static int address_space_in_order(const void *one, const void *other)
{
	const struct change *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return frag_order_two(a->birth, b->birth, a->buffer, b->buffer);
}

/* Appends a run of a buffer, if it is not empty. */
static void add_run(struct change *out, size_t *count, uint64_t from, uint64_t to,
		    uint32_t buffer)
{
	if (from >= to)
		return;
	out[(*count)++] = (struct change){ from, buffer, true };
	out[(*count)++] = (struct change){ to, buffer, false };
}

/* Puts them in order: by counting, where times are steps; else by comparisons. False: out of memory (host). */
static bool sort_changes(struct change **changes, size_t count)
{
	struct change *from = *changes, *to;
	uint64_t least = UINT64_MAX, most = 0;
	size_t *at, sum = 0;

	for (size_t i = 0; i < count; i++) {
		least = frag_min(least, from[i].time);
		most = frag_max(most, from[i].time);
	}
	if (!count || (most - least) / COUNTED_TIMES >= count) {
		FRAG_SORT(from, count, address_space_in_order);
		return true;
	}
	at = calloc(2 * (size_t)(most - least + 1), sizeof(*at));
	to = malloc(count * sizeof(*to));
	for (size_t i = 0; at && to && i < count; i++)
		at[2 * (from[i].time - least) + from[i].birth]++;
	for (size_t t = 0; at && t < 2 * (size_t)(most - least + 1); t++) {
		const size_t here = at[t];

		at[t] = sum;
		sum += here;
	}
	/* those of one time are in the order of their buffers, and stay in it */
	for (size_t i = 0; at && to && i < count; i++)
		to[at[2 * (from[i].time - least) + from[i].birth]++] = from[i];
	free(at);
	if (!at || !to) {
		free(to);
		return false;
	}
	free(from);
	*changes = to;
	return true;
}

/*
 * All changes of a space in order, each of an item, and these in the order of their first ones. The
 * caller's; NULL: out of memory (host). *unused: a buffer without any, if there is one.
 */
static struct change *changes_of(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
				 size_t *count, uint32_t *unused)
{
	const size_t most = 2 * ((size_t)plan->count + plan->gap_count);
	struct change *out = malloc((most + 1) * sizeof(*out));
	uint32_t *item_of = calloc((size_t)plan->count + 1, sizeof(*item_of)), gap = 0;

	*count = 0;
	for (uint32_t i = 0; out && i < plan->count; i++) {
		uint64_t from = plan->buffers[i].birth * plan->scale;
		const size_t before = *count;

		for (; gap < plan->gap_count && plan->gaps[gap].buffer == i; gap++) {
			add_run(out, count, from, plan->gaps[gap].from, i);
			from = frag_max(from, plan->gaps[gap].to);
		}
		add_run(out, count, from, plan->buffers[i].end * plan->scale, i);
		if (plan->buffers[i].space != space)
			*count = before;
		else if (*count == before)
			*unused = i;
	}
	FRAG_ASSERT(*count <= most);
	if (!item_of || !out || !sort_changes(&out, *count)) {
		free(item_of);
		free(out);
		return NULL;
	}
	for (size_t i = 0; i < *count; i++) {
		uint32_t *item = &item_of[out[i].buffer];

		if (!*item) {
			s->buffer[s->count++] = out[i].buffer;
			*item = s->count;
		}
		out[i].buffer = *item - 1;
	}
	free(item_of);
	return out;
}

int frag_space_by_key(const void *one, const void *other)
{
	const struct frag_space_key *a = one, *b = other;

	for (uint32_t i = 0; i < 3; i++)
		if (a->of[i] != b->of[i])
			return a->of[i] > b->of[i] ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

bool frag_space_meet(const struct frag_space *s, uint32_t a, uint32_t b)
{
	uint32_t i = s->run_at[a], k = s->run_at[b];

	FRAG_ASSERT(a < s->count && b < s->count);
	while (i < s->run_at[a + 1] && k < s->run_at[b + 1]) {
		if (s->runs[i].from < s->runs[k].to && s->runs[k].from < s->runs[i].to)
			return true;
		if (s->runs[i].to < s->runs[k].to)
			i++;
		else
			k++;
	}
	return false;
}

static void lay_out(struct frag_space *s, struct frag_arena *a, uint32_t runs)
{
	const size_t items = (size_t)s->count + 1, times = (size_t)runs + 1;

	s->from = frag_arena_take(a, items, sizeof(*s->from));
	s->to = frag_arena_take(a, items, sizeof(*s->to));
	s->run_at = frag_arena_take(a, items, sizeof(*s->run_at));
	s->runs = frag_arena_take(a, times, sizeof(*s->runs));
	s->first_from = frag_arena_take(a, times, sizeof(*s->first_from));
	s->life = frag_arena_take(a, items, sizeof(*s->life));
	s->size = frag_arena_take(a, items, sizeof(*s->size));
	s->offset = frag_arena_take(a, items, sizeof(*s->offset));
	s->contention = frag_arena_take(a, items, sizeof(*s->contention));
	s->live = frag_arena_take(a, times, sizeof(*s->live));
	s->align = frag_arena_take(a, items, sizeof(*s->align));
	s->fixed = frag_arena_take(a, items, sizeof(*s->fixed));
	s->hint = frag_arena_take(a, items, sizeof(*s->hint));
	s->buffer = frag_arena_take(a, items, sizeof(*s->buffer));
}

/* An allocation after a free begins the next section. Sets runs, lives and the bound. */
static void take_times(struct frag_space *s, const struct frag_plan *plan,
		       const struct change *changes, size_t count)
{
	uint64_t sum = 0;
	bool ended = true;

	for (size_t i = 0; i < count; i++)
		s->run_at[changes[i].buffer + 1] += changes[i].birth;
	for (uint32_t i = 0; i < s->count; i++) {
		s->gapped = s->gapped || s->run_at[i + 1] > 1;
		s->run_at[i + 1] += s->run_at[i];
		s->to[i] = s->run_at[i];
	}
	for (size_t i = 0; i < count; i++) {
		const uint32_t item = changes[i].buffer;
		struct frag_space_run *run = &s->runs[s->to[item]];

		if (!changes[i].birth) {
			run->to = s->times;
			s->to[item]++;
			sum -= s->size[item];
			ended = true;
			continue;
		}
		s->times += ended;
		ended = false;
		run->from = s->times - 1;
		s->live[run->from] = sum += s->size[item];
		if (sum > s->bound) {
			s->bound = sum;
			s->peak_step = changes[i].time / plan->scale;
		}
	}
	for (uint32_t i = 0; i < s->count; i++) {
		s->from[i] = s->runs[s->run_at[i]].from;
		s->to[i] = s->runs[s->run_at[i + 1] - 1].to;
		FRAG_ASSERT(s->from[i] < s->to[i] && (!i || s->from[i - 1] <= s->from[i]));
	}
	for (uint32_t t = 0, i = 0; t <= s->times; s->first_from[t++] = i)
		while (i < s->count && s->from[i] < t)
			i++;
}

/*
 * The highest end of what was put into each section, a tree over them: `whole` is of all sections
 * below a node, `most` is the highest of these.
 */
struct tops {
	uint64_t *whole, *most;
	uint32_t leaves;
};

/* Returns -FRAG_ENOMEM; fini is required in each case. */
static int tops_init(struct tops *tops, uint32_t sections, struct frag_error *err)
{
	*tops = (struct tops){ .leaves = 1 };
	while (tops->leaves < sections)
		tops->leaves *= 2;
	tops->whole = calloc(4 * (size_t)tops->leaves, sizeof(*tops->whole));
	tops->most = tops->whole + 2 * (size_t)tops->leaves;
	return tops->whole ? 0 : frag_fail_nomem(err);
}

static void tops_fini(struct tops *tops)
{
	free(tops->whole);
}

/* Of the sections [from, to). */
static uint64_t tops_of(const struct tops *tops, uint32_t from, uint32_t to)
{
	uint32_t a = from + tops->leaves, b = to + tops->leaves;
	uint64_t top = 0;

	for (uint32_t n = a, m = b - 1; n; n /= 2, m /= 2)
		top = frag_max(top, frag_max(tops->whole[n], tops->whole[m]));
	for (; a < b; a = (a + 1) / 2, b /= 2)
		top = frag_max(top, frag_max(a & 1 ? tops->most[a] : 0, b & 1 ? tops->most[b - 1] : 0));
	return top;
}

static void tops_put(struct tops *tops, uint32_t from, uint32_t to, uint64_t end)
{
	uint32_t a = from + tops->leaves, b = to + tops->leaves;

	for (uint32_t n = a, m = b - 1; n; n /= 2, m /= 2) {
		tops->most[n] = frag_max(tops->most[n], end);
		tops->most[m] = frag_max(tops->most[m], end);
	}
	for (; a < b; a = (a + 1) / 2, b /= 2) {
		if (a & 1)
			tops->whole[a] = tops->most[a] = frag_max(tops->most[a], end);
		if (b & 1)
			tops->whole[b - 1] = tops->most[b - 1] = frag_max(tops->most[b - 1], end);
	}
}

int frag_space_fixed_tops(const struct frag_space *s, uint64_t *out, struct frag_error *err)
{
	struct tops tops;
	const int rc = tops_init(&tops, s->times, err);

	for (uint32_t i = 0; i < s->count && !rc; i++)
		if (s->fixed[i] != UINT64_MAX)
			tops_put(&tops, s->from[i], s->to[i], s->fixed[i] + s->size[i]);
	for (uint32_t t = 0; t < s->times && !rc; t++)
		out[t] = tops_of(&tops, t, t + 1);
	tops_fini(&tops);
	return rc;
}

/* Sets the contention of each item. -FRAG_ENOMEM */
int frag_space_sum_contention(struct frag_space *s, struct frag_error *err)
{
	struct tops live;
	const int rc = tops_init(&live, s->times, err);

	for (uint32_t t = 0; t < s->times && !rc; t++)
		tops_put(&live, t, t + 1, s->live[t]);
	for (uint32_t i = 0; i < s->count && !rc; i++)
		s->contention[i] = tops_of(&live, s->from[i], s->to[i]);
	tops_fini(&live);
	return rc;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Sets the sizes, alignments, fixed offsets and hints of the items, the unit, and the highest fixed end. */
static void take_buffers(struct frag_space *s, const struct frag_plan *plan)
{
	bool timed = false;

	for (uint32_t i = 0; i < s->count; i++)
		timed = timed || plan->buffers[s->buffer[i]].life > 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct frag_buffer *b = &plan->buffers[s->buffer[i]];

		FRAG_ASSERT(b->size && (!b->fixed || b->align <= 1 || b->offset % b->align == 0));
		s->size[i] = b->size;
		s->life[i] = timed ? b->life : (double)(b->end - b->birth);
		s->align[i] = b->align ? b->align : 1;
		s->fixed[i] = b->fixed ? b->offset : UINT64_MAX;
		s->hint[i] = b->hinted ? b->hint : UINT64_MAX;
		s->hinted = s->hinted || b->hinted;
		s->constrained = s->constrained || b->fixed || b->align > 1;
		s->unit = common_divisor(s->unit, s->size[i]);
		if (b->align > 1)
			s->unit = common_divisor(s->unit, b->align);
		if (!b->fixed)
			continue;
		s->has_fixed = true;
		s->unit = common_divisor(s->unit, b->offset);
		s->lower = frag_max(s->lower, b->offset + b->size);
	}
}

/*
 * The lower bound of a section where all offsets are multiples of a number: each item is followed
 * by a gap up to the next multiple, except the highest one. The section with the largest sum of
 * such sizes is taken.
 */
static int aligned_bound(struct frag_space *s, struct frag_error *err)
{
	uint64_t *sums = calloc((size_t)s->times + 1, sizeof(*sums)), unit = 0, most = 0;
	uint32_t peak = 0;

	if (!sums)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->count; i++)
		unit = common_divisor(unit, s->align[i]);
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1]; r++) {
			sums[s->runs[r].from] += (s->size[i] + unit - 1) / unit * unit;
			sums[s->runs[r].to] -= (s->size[i] + unit - 1) / unit * unit;
		}
	for (uint32_t t = 1; t < s->times; t++) {
		sums[t] += sums[t - 1];
		peak = sums[t] > sums[peak] ? t : peak;
	}
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1]; r++)
			if (s->runs[r].from <= peak && peak < s->runs[r].to)
				most = frag_max(most, (unit - s->size[i] % unit) % unit);
	s->lower = frag_max(s->lower, sums[peak] - most);
	free(sums);
	return 0;
}

int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err)
{
	const uint32_t items = plan->spaces[space].count;
	struct frag_arena measure = { .used = 0 }, arena = measure;
	struct change *changes;
	size_t count;
	uint32_t unused = plan->count;
	char text[FRAG_ID_ROOM];

	*s = (struct frag_space){ .count = items };
	lay_out(s, &measure, items + plan->gap_count);
	s->memory = arena.base = calloc(measure.used, 1);
	if (arena.base)
		lay_out(s, &arena, items + plan->gap_count);
	s->count = 0;
	if (!arena.base)
		return frag_fail_nomem(err);
	changes = changes_of(s, plan, space, &count, &unused);
	if (!changes)
		return frag_fail_nomem(err);
	take_buffers(s, plan);
	take_times(s, plan, changes, count);
	free(changes);
	if (unused < plan->count)
		return frag_fail(err, FRAG_ETRACE, "%s: buffer %s, from %" PRIu64 ", has gaps that"
				 " leave nothing of its lifetime", plan->path,
				 frag_show_id(&plan->buffers[unused].id, text),
				 plan->buffers[unused].birth);
	s->lower = frag_max(s->lower, s->bound);
	if (s->constrained && aligned_bound(s, err))
		return -FRAG_ENOMEM;
	return 0;
}

void frag_space_fini(struct frag_space *s)
{
	free(s->list_at);
	free(s->list);
	free(s->memory);
	*s = (struct frag_space){ .count = 0 };
}

struct placed_run {
	uint64_t offset;
	uint32_t item, run;
};

static int address_space_by_offset(const void *one, const void *other)
{
	const struct placed_run *a = one, *b = other;

	return frag_order_two(a->offset, b->offset, a->run, b->run);
}

/* In the order of offsets: a run is above all earlier ones that it overlaps in time. */
int frag_space_check(const struct frag_space *s, const struct frag_plan *plan,
		     const uint64_t *offset, const char *path, struct frag_error *err)
{
	struct placed_run *placed = malloc(((size_t)s->run_at[s->count] + 1) * sizeof(*placed));
	char texts[2][FRAG_ID_ROOM];
	struct tops tops;
	uint32_t count = 0, k;
	int rc = tops_init(&tops, s->times, err);

	if (!rc && !placed)
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->count && !rc; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1] && offset[i] != UINT64_MAX; r++)
			placed[count++] = (struct placed_run){ offset[i], i, r };
	FRAG_SORT(placed, count, address_space_by_offset);
	for (k = 0; k < count; k++) {
		const struct frag_space_run *run = &s->runs[placed[k].run];

		if (tops_of(&tops, run->from, run->to) > placed[k].offset)
			break;
		tops_put(&tops, run->from, run->to, placed[k].offset + s->size[placed[k].item]);
	}
	for (uint32_t i = 0; i < k && k < count && !rc; i++) {
		const uint32_t one = (uint32_t)frag_min(placed[i].item, placed[k].item);
		const uint32_t other = (uint32_t)frag_max(placed[i].item, placed[k].item);
		const struct frag_buffer *a = &plan->buffers[s->buffer[one]];
		const struct frag_buffer *b = &plan->buffers[s->buffer[other]];

		if (placed[i].offset + s->size[placed[i].item] > placed[k].offset
		    && frag_space_meet(s, one, other))
			rc = frag_fail(err, FRAG_ETRACE, "%s: buffers %s, from event %" PRIu64 " at"
				       " %" PRIu64 " to %" PRIu64 ", and %s, from event %" PRIu64
				       " at %" PRIu64 " to %" PRIu64 ", overlap", path,
				       frag_show_id(&a->id, texts[0]), a->birth, offset[one],
				       offset[one] + a->size, frag_show_id(&b->id, texts[1]), b->birth,
				       offset[other], offset[other] + b->size);
	}
	tops_fini(&tops);
	free(placed);
	return rc;
}
