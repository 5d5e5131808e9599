/* explain_memory.c - explains a memory state by segments, blocking blocks, tags and pools. */
#include "search/explain_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/recording_info.h"
#include "live_blocks/live_blocks.h"
#include "search/pending_waits.h"

struct account {
	struct frag_explained *m;
	const struct frag_memory_state *scene;
	const struct frag_lifetimes *lifetimes;
	const struct frag_waits *waits;
	const struct frag_tape *tape;
	const struct frag_symbols *symbols;
	uint32_t held_capacity, folded_capacity, pool_capacity;
};

/* Lists the live blocks of a segment with their tags and lifetimes. False: out of memory. */
static bool fill_pins(const struct account *a, const struct frag_scene_segment *seg,
		      struct frag_pinned_segment *to)
{
	to->pins = calloc(seg->pins, sizeof(*to->pins));
	for (uint32_t k = seg->first; to->pins && k < seg->first + seg->count; k++) {
		const struct frag_scene_block *b = &a->scene->blocks[k];
		const struct frag_lifetime *life = &a->lifetimes->of[k];
		struct frag_blocking_block *pin;

		if (!frag_is_live(b))
			continue;
		pin = &to->pins[to->pin_count++];
		*pin = (struct frag_blocking_block){
			.bytes = b->bytes, .offset = b->offset, .born = b->birth,
			.freed = life->freed, .life = life->life,
			.pending = b->state == FRAG_PENDING, .initial = life->initial,
		};
		frag_awaited_pin(pin, a->waits, k);
		if (life->id) {
			pin->id = malloc(strlen(life->id) + 1);
			if (!pin->id)
				return false;
			memcpy(pin->id, life->id, strlen(life->id) + 1);
		}
		if (!frag_tag_json(a->symbols, b->tag, &pin->tag))
			return false;
	}
	return to->pins != NULL;
}

static int by_stranded(const void *a, const void *b)
{
	const struct frag_pinned_segment *x = a, *y = b;

	if (x->non_releasable != y->non_releasable)
		return x->non_releasable > y->non_releasable ? -1 : 1;
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/*
 * Segments are reserved in the order of their ordinals, so each existed when the oldest block
 * was allocated that is in this or in a later segment.
 */
static void find_beginnings(const struct account *a)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t k = a->m->segment_count;

	for (uint32_t i = a->scene->segment_count; i-- > 0;) {
		const struct frag_scene_segment *seg = &a->scene->segments[i];

		for (uint32_t b = seg->first; b < seg->first + seg->count; b++)
			if (frag_is_live(&a->scene->blocks[b])
			    && a->scene->blocks[b].slot != FRAG_NO_SLOT
			    && frag_birth(a->lifetimes, a->scene, b) < oldest)
				oldest = frag_birth(a->lifetimes, a->scene, b);
		if (k && a->m->segments[k - 1].ordinal == seg->ordinal)
			a->m->segments[--k].there = oldest;
	}
}

/* Fills in the segments with live blocks and non-releasable free bytes. */
static bool fill_segments(const struct account *a)
{
	struct frag_explained *m = a->m;

	m->segments = calloc((size_t)a->scene->segment_count + 1, sizeof(*m->segments));
	for (uint32_t i = 0; m->segments && i < a->scene->segment_count; i++) {
		const struct frag_scene_segment *seg = &a->scene->segments[i];
		struct frag_pinned_segment *to = &m->segments[m->segment_count];

		if (!seg->pins || !seg->non_releasable)
			continue;
		m->segment_count++;
		*to = (struct frag_pinned_segment){
			.ordinal = seg->ordinal,
			.bytes = seg->bytes,
			.non_releasable = seg->non_releasable,
			.range = seg->page != 0,
		};
		if (!fill_pins(a, seg, to))
			return false;
	}
	find_beginnings(a);
	if (m->segment_count)
		qsort(m->segments, m->segment_count, sizeof(*m->segments), by_stranded);
	return m->segments != NULL;
}

enum frag_life_class frag_held_class(const struct frag_held_memory *held)
{
	enum frag_life_class most = FRAG_LIFE_WEIGHTS;

	for (int i = FRAG_LIFE_WEIGHTS; i < FRAG_LIFE_CLASSES; i++)
		if (held->of_class[i] > held->of_class[most])
			most = (enum frag_life_class)i;
	return most;
}

static int by_held(const void *a, const void *b)
{
	const struct frag_held_memory *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->oldest != y->oldest)
		return x->oldest < y->oldest ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static struct frag_held_memory *explain_memory_held_of(struct account *a, struct frag_map *map,
						       uint32_t tag, uint64_t birth)
{
	struct frag_explained *m = a->m;
	const uint32_t at = frag_map_get(map, tag);

	if (at != FRAG_MAP_NONE)
		return &m->held[at];
	if (!frag_grow(&m->held, &a->held_capacity, (uint64_t)m->held_count + 1,
		       sizeof(*m->held)) || !frag_map_add(map, tag, m->held_count))
		return NULL;
	m->held[m->held_count] = (struct frag_held_memory){ .number = tag, .oldest = birth };
	return &m->held[m->held_count++];
}

static void note_class(struct frag_held_memory *held, const struct frag_lifetime *life,
		       uint64_t bytes)
{
	uint8_t *evidence = &held->evidence[life->life];

	held->of_class[life->life] += bytes;
	*evidence = life->evidence > *evidence ? (uint8_t)life->evidence : *evidence;
}

static bool add_held(struct account *a, struct frag_map *map)
{
	for (uint32_t k = 0; k < a->scene->block_count; k++) {
		const struct frag_scene_block *b = &a->scene->blocks[k];
		struct frag_held_memory *held;

		if (!frag_is_live(b) || b->slot == FRAG_NO_SLOT)
			continue;
		held = explain_memory_held_of(a, map, b->tag, b->birth);
		if (!held)
			return false;
		held->bytes += b->bytes;
		held->blocks++;
		note_class(held, &a->lifetimes->of[k], b->requested);
		held->oldest = b->birth < held->oldest ? b->birth : held->oldest;
	}
	return true;
}

static bool fill_held(struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_map map;
	bool good = frag_map_init(&map, frag_hash_seed()) && add_held(a, &map);

	frag_map_fini(&map);
	if (m->held_count)
		qsort(m->held, m->held_count, sizeof(*m->held), by_held);
	for (uint32_t i = 0; i < m->held_count && good; i++)
		good = frag_tag_json(a->symbols, m->held[i].number, &m->held[i].tag);
	return good;
}

static int by_folded(const void *a, const void *b)
{
	const struct frag_folded *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* What a line of folded stacks cannot have in a frame: its separator, ends of lines. */
static void explain_memory_put_plain(char *to, const char *from, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = from[i] == ';' ? ':' : (unsigned char)from[i] < ' ' ? ' ' : from[i];
}

/* One frame in front of those that it called; false: out of memory. */
static bool put_before(char **line, const struct frag_text *frame)
{
	const size_t rest = *line ? strlen(*line) + 1 : 0;
	char *text = malloc(frame->length + rest + 1);

	if (!text)
		return false;
	explain_memory_put_plain(text, frame->text, frame->length);
	if (rest) {
		text[frame->length] = ';';
		memcpy(text + frame->length + 1, *line, rest - 1);
	}
	text[frame->length + rest] = '\0';
	free(*line);
	*line = text;
	return true;
}

static bool name_folded(const struct account *a, struct frag_folded *row)
{
	static const struct frag_text none = { .text = "(no tag)", .length = 8 };
	struct frag_text tag = frag_symbols_tag(a->symbols, row->tag);
	uint64_t at = row->stack;
	struct frag_frame frame;
	uint32_t count = 0;

	while (at && count++ < FRAG_FRAMES_MAX && frag_symbols_frame(a->symbols, &at, &frame))
		if (frame.name.length && !put_before(&row->line, &frame.name))
			return false;
	return row->line || put_before(&row->line, tag.text ? &tag : &none);
}

/* A row for each stack, whatever the tags of its blocks are; without a stack for each tag. */
static bool add_folded(struct account *a, struct frag_block_groups *rows)
{
	struct frag_explained *m = a->m;

	for (uint32_t k = 0; k < a->scene->block_count; k++) {
		const struct frag_scene_block *b = &a->scene->blocks[k];
		uint32_t i;

		if (!frag_is_live(b) || b->slot == FRAG_NO_SLOT)
			continue;
		i = frag_block_groups_find(rows, b->stack ? 0 : b->tag, b->stack, 0);
		if (i == FRAG_MAP_NONE
		    || !frag_grow(&m->folded, &a->folded_capacity, rows->count, sizeof(*m->folded)))
			return false;
		if (i == m->folded_count)
			m->folded[m->folded_count++] = (struct frag_folded){
				.tag = b->tag, .stack = b->stack,
			};
		m->folded[i].bytes += b->bytes;
	}
	return true;
}

static bool fill_folded(struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_block_groups rows;
	bool good = frag_block_groups_init(&rows) && add_folded(a, &rows);

	frag_block_groups_fini(&rows);
	if (m->folded_count)
		qsort(m->folded, m->folded_count, sizeof(*m->folded), by_folded);
	for (uint32_t i = 0; i < m->folded_count && good; i++)
		good = name_folded(a, &m->folded[i]);
	return good;
}

static int by_pool(const void *a, const void *b)
{
	const struct frag_pool_row *x = a, *y = b;

	return x->pool < y->pool ? -1 : x->pool > y->pool;
}

/* There are few. */
static bool fill_pools(struct account *a)
{
	struct frag_explained *m = a->m;

	for (uint32_t i = 0; i < a->scene->segment_count; i++) {
		const struct frag_scene_segment *seg = &a->scene->segments[i];
		uint32_t k = 0;

		if (!seg->pool)
			continue;
		while (k < m->pool_count && m->pools[k].pool != seg->pool)
			k++;
		if (!frag_grow(&m->pools, &a->pool_capacity, (uint64_t)k + 1, sizeof(*m->pools)))
			return false;
		if (k == m->pool_count) {
			m->pools[m->pool_count++] = (struct frag_pool_row){
				.pool = seg->pool, .name = frag_pool_json(a->tape, seg->pool),
			};
			if (!m->pools[k].name)
				return false;
		}
		m->pools[k].segments++;
		m->pools[k].reserved += seg->bytes;
		m->pools[k].live += seg->live;
		m->pools[k].free += seg->free;
		m->pools[k].non_releasable += seg->non_releasable;
	}
	if (m->pool_count)
		qsort(m->pools, m->pool_count, sizeof(*m->pools), by_pool);
	return true;
}

int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *scene,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, bool folded, struct frag_error *err)
{
	struct account a = {
		.m = m, .scene = scene, .lifetimes = lifetimes, .waits = waits, .tape = tape,
		.symbols = frag_tape_symbols(tape),
	};

	if (!fill_segments(&a) || !fill_held(&a) || !fill_pools(&a)
	    || (folded && !fill_folded(&a)))
		return frag_fail_nomem(err);
	return 0;
}

static bool is_long_lived(enum frag_life_class life)
{
	return life == FRAG_LIFE_WEIGHTS || life == FRAG_LIFE_OPTIMIZER || life == FRAG_LIFE_LONG;
}

/* Does the first move leave from this segment? */
static bool explain_memory_concerns(const struct frag_explained *m,
				    const struct frag_pinned_segment *s)
{
	if (!m->move_count)
		return false;
	for (uint32_t i = 0; i < m->moves[0].from_count; i++)
		if (m->moves[0].from[i] == s->ordinal)
			return true;
	return false;
}

/* Long-lived blocks that came with their segment are nothing else than at home. */
static enum frag_culprit role_of(const struct frag_pinned_segment *s,
				 const struct frag_blocking_block *pin)
{
	if (!is_long_lived(pin->life))
		return FRAG_CULPRIT_LEFT;
	return !pin->initial && pin->born > s->there ? FRAG_CULPRIT_LATE : FRAG_CULPRIT_NONE;
}

#define SMALL_SEGMENT (UINT64_C(2) << 20)

/*
 * Judges a large segment that is at least a quarter free: returns the class of blocks with most
 * of its live bytes.
 */
static enum frag_culprit explain_memory_judge(const struct frag_pinned_segment *s, uint64_t *bytes)
{
	uint64_t of[FRAG_CULPRIT_LEFT + 1] = { 0 };
	enum frag_culprit who = FRAG_CULPRIT_LEFT;

	if (s->range || s->bytes <= SMALL_SEGMENT || s->non_releasable < s->bytes / 4)
		return FRAG_CULPRIT_NONE;
	for (uint32_t i = 0; i < s->pin_count; i++)
		of[role_of(s, &s->pins[i])] += s->pins[i].bytes;
	if (of[FRAG_CULPRIT_LATE] > of[FRAG_CULPRIT_LEFT])
		who = FRAG_CULPRIT_LATE;
	if (of[FRAG_CULPRIT_NONE] > of[who])
		return FRAG_CULPRIT_NONE;
	*bytes = of[who];
	return who;
}

/* The tag of the largest pin of the culprits, in the segment with most non-releasable bytes. */
static const char *largest_tag(const struct frag_pinned_segment *s, enum frag_culprit who)
{
	const struct frag_blocking_block *largest = NULL;

	for (uint32_t i = 0; i < s->pin_count; i++)
		if (role_of(s, &s->pins[i]) == who
		    && (!largest || s->pins[i].bytes > largest->bytes))
			largest = &s->pins[i];
	return largest ? largest->tag : NULL;
}

/*
 * Finds the main cause in the segments that the move leaves, or in all. Returns false if there
 * is none.
 */
static bool find_culprit(struct frag_explained *m, bool of_move)
{
	uint64_t non_releasable[FRAG_CULPRIT_LEFT + 1] = { 0 },
						    bytes[FRAG_CULPRIT_LEFT + 1] = { 0 };
	const struct frag_pinned_segment *first[FRAG_CULPRIT_LEFT + 1] = { NULL };
	enum frag_culprit who = FRAG_CULPRIT_LATE;

	for (uint32_t i = 0; i < m->segment_count; i++) {
		const struct frag_pinned_segment *s = &m->segments[i];
		uint64_t theirs = 0;
		const enum frag_culprit culprit = !of_move || explain_memory_concerns(m, s)
							  ? explain_memory_judge(s, &theirs)
							  : FRAG_CULPRIT_NONE;

		non_releasable[culprit] += s->non_releasable;
		bytes[culprit] += theirs;
		first[culprit] = first[culprit] ? first[culprit] : s;
	}
	if (non_releasable[FRAG_CULPRIT_LEFT] > non_releasable[FRAG_CULPRIT_LATE])
		who = FRAG_CULPRIT_LEFT;
	if (!first[who])
		return false;
	m->culprit = who;
	m->culprit_non_releasable = non_releasable[who];
	m->culprit_bytes = bytes[who];
	m->culprit_tag = largest_tag(first[who], who);
	return true;
}

void frag_explain_main_cause(struct frag_explained *m)
{
	if (!find_culprit(m, true))
		find_culprit(m, false);
}

void frag_account_fini(struct frag_explained *m)
{
	for (uint32_t i = 0; i < m->segment_count; i++) {
		for (uint32_t k = 0; k < m->segments[i].pin_count; k++) {
			free(m->segments[i].pins[k].id);
			free(m->segments[i].pins[k].tag);
		}
		free(m->segments[i].pins);
	}
	free(m->segments);
	for (uint32_t i = 0; i < m->held_count; i++)
		free(m->held[i].tag);
	free(m->held);
	for (uint32_t i = 0; i < m->folded_count; i++)
		free(m->folded[i].line);
	free(m->folded);
	for (uint32_t i = 0; i < m->pool_count; i++)
		free(m->pools[i].name);
	free(m->pools);
}
