/*
 * heap_verbs.c - random verbs, sensible or not, against a map of every byte.
 *
 * The map knows of each byte what it is and whether a block begins there. What a
 * verb may do follows from the map alone; after each one the blocks, the totals
 * and what the lists find must be as the map says, and a verb that the map
 * forbids must have been refused without a trace.
 *
 * Some worlds are sorted: there lists and keys of free blocks are functions of what
 * the map knows, so the judge says anew, after each verb, where every block belongs.
 */
#include "heap_map.h"

/* The verb did what the map allows: 0, or refused it. */
static bool expect(int rc, bool legal)
{
	assert_int_equal(rc, legal ? 0 : -FRAG_EPOLICY);
	return legal;
}

static bool is(const struct spot *s, enum frag_state state)
{
	return s->map && s->state == state;
}

static void take(struct world *w, frag_block b, const struct spot *s)
{
	uint64_t max = s->map ? s->bytes + 2 : MAX;
	uint64_t keep = s->map && s->map->slot_size && below(w, 4) ? s->map->slot_size
									  : size_below(w, max);
	uint64_t requested = below(w, keep + 2);
	bool legal = is(s, FRAG_FREE) && keep && keep <= s->bytes && requested <= keep
		     && (!s->map->slot_size || keep == s->map->slot_size);

	if (below(w, 2)) {
		const frag_block was = b;

		if (!expect(frag_heap_take_upper(w->rig.heap, &b, requested, keep), legal))
			return;
		fill(s->map, s->offset + s->bytes - keep, keep, FRAG_ALLOCATED, requested);
		/* what is left keeps its handle; the one that was taken is the upper part */
		assert_int_equal(b == was, keep == s->bytes);
		assert_int_equal(frag_heap_look(w->rig.heap, b).offset,
				 s->offset + s->bytes - keep);
		return;
	}
	if (!expect(frag_heap_take(w->rig.heap, &b, requested, keep), legal))
		return;
	fill(s->map, s->offset, keep, FRAG_ALLOCATED, requested);
}

static void give(struct world *w, frag_block b, const struct spot *s)
{
	if (!expect(frag_heap_give(w->rig.heap, b, NULL), s->map && is_live((uint8_t)s->state)))
		return;
	fill(s->map, s->offset, s->bytes, FRAG_FREE, 0);
	join(s->map, s->offset, s->bytes);
}

static void hold(struct world *w, frag_block b, const struct spot *s)
{
	uint32_t owner = (uint32_t)below(w, 5);

	if (!expect(frag_heap_defer_free(w->rig.heap, b, owner), is(s, FRAG_ALLOCATED)))
		return;
	s->map->cells[s->offset].state = FRAG_PENDING;
	fill(s->map, s->offset, s->bytes, FRAG_PENDING, s->map->cells[s->offset].requested);
	assert_true(frag_heap_is_pending(w->rig.heap, b, owner));
	if (below(w, 2))
		expect(frag_heap_ready(w->rig.heap, b), true);
}

/* The block detached ends as allocated or as free. */
static void lay_down(struct world *w, frag_block b, struct spot s)
{
	uint64_t requested = below(w, s.bytes + 3);

	if (below(w, 2)
	    && expect(frag_heap_assign(w->rig.heap, b, requested), requested <= s.bytes)) {
		fill(s.map, s.offset, s.bytes, FRAG_ALLOCATED, requested);
		return;
	}
	expect(frag_heap_insert(w->rig.heap, b), true);
	fill(s.map, s.offset, s.bytes, FRAG_FREE, 0);
}

static void pick(struct world *w, frag_block b, const struct spot *found)
{
	struct spot s = *found;
	uint64_t keep;

	if (!expect(frag_heap_detach_free(w->rig.heap, b), is(&s, FRAG_FREE)))
		return;
	keep = size_below(w, s.bytes + 3);
	if (expect(frag_heap_split(w->rig.heap, b, keep),
		   keep && keep < s.bytes && (!s.map->slot_size || keep % s.map->slot_size == 0))) {
		fill(s.map, s.offset + keep, s.bytes - keep, FRAG_FREE, 0);
		s.bytes = keep;
	}
	lay_down(w, b, s);
}

static bool touches(const struct spot *a, const struct spot *b)
{
	return a->map == b->map && (a->offset + a->bytes == b->offset
				    || b->offset + b->bytes == a->offset);
}

static void drop(struct world *w, frag_block b, const struct spot *found)
{
	struct spot s = *found, n;
	frag_block other;

	if (!expect(frag_heap_detach_live(w->rig.heap, b), s.map && is_live((uint8_t)s.state)))
		return;
	other = below(w, 4) ? frag_heap_look(w->rig.heap, b).next : (frag_block)below(w, HANDLES);
	n = other < HANDLES ? w->of[other] : (struct spot){ .map = NULL };
	if (expect(frag_heap_merge(w->rig.heap, &b, other),
		   is(&n, FRAG_FREE) && touches(&s, &n))) {
		s.offset = n.offset < s.offset ? n.offset : s.offset;
		s.bytes += n.bytes;
	}
	fill(s.map, s.offset, s.bytes, FRAG_FREE, 0);
	lay_down(w, b, s);
}

static bool is_whole(const struct spot *s)
{
	const struct map *m = s->map;
	uint64_t whole = m && m->slot_size ? m->bytes / m->slot_size * m->slot_size
			 : m		   ? m->bytes
					   : 0;

	return m && s->bytes == whole && s->state == (m->page ? FRAG_UNMAPPED : FRAG_FREE);
}

static void release(struct world *w, frag_block b, const struct spot *s)
{
	if (expect(frag_heap_release(w->rig.heap, b), is_whole(s) && !s->map->kept))
		s->map->held = false;
}

static void keep(struct world *w, frag_block b, const struct spot *s)
{
	/* few, or nothing could ever be released */
	if (s->map && (s->map->page || below(w, 8)))
		return;
	if (expect(frag_heap_keep(w->rig.heap, b),
		   s->map && s->bytes == s->map->bytes && !live_in(s->map)))
		s->map->kept = true;
}

static void carve(struct world *w, frag_block b, const struct spot *s)
{
	uint64_t slot_size = below(w, 4) ? 1 + below(w, 12) : size_below(w, MAX + 3);
	uint32_t l = (uint32_t)below(w, LISTS + 1);
	frag_list list = l < LISTS ? w->lists[l] : NO_SUCH;
	struct map *m = s->map;
	bool legal = is(s, FRAG_FREE) && s->bytes == m->bytes && !m->page && !m->slot_size
		     && slot_size && slot_size <= m->bytes && l < LISTS;
	uint64_t slots;
	frag_block out;

	legal = legal && pools[l] == frag_heap_look_segment(w->rig.heap, m->handle).pool;
	if (!expect(frag_heap_carve(w->rig.heap, b, slot_size, list, &out), legal))
		return;
	slots = m->bytes / slot_size * slot_size;
	if (slots < m->bytes)
		fill(m, slots, m->bytes - slots, FRAG_UNMAPPED, 0);
	m->slot_size = slot_size;
	m->list = list;
}

static void uncarve(struct world *w, frag_block b, const struct spot *s)
{
	uint32_t l = (uint32_t)below(w, LISTS);
	struct map *m = s->map;
	frag_segment segment = m ? m->handle : b;
	bool legal = m && m->slot_size && m->cells[0].state == FRAG_FREE
		     && length(m, 0) == m->bytes / m->slot_size * m->slot_size
		     && pools[l] == frag_heap_look_segment(w->rig.heap, segment).pool;

	if (!m && b < SEGMENTS * 4)
		return; /* a dead block's number may be a live segment's */
	if (!expect(frag_heap_uncarve(w->rig.heap, segment, w->lists[l]), legal))
		return;
	m->slot_size = 0;
	m->list = w->lists[l];
	fill(m, 0, m->bytes, FRAG_FREE, 0);
}

/* A run of pages in or about the block. */
static void random_pages(struct world *w, const struct spot *s, uint64_t *offset, uint64_t *bytes)
{
	uint64_t pages = s->map ? s->bytes / PAGE : 3;

	*offset = s->map ? up(s->offset, PAGE) + PAGE * below(w, pages + 1) : 0;
	*bytes = PAGE * below(w, pages + 1);
	if (below(w, 8) == 0)
		(*offset)++;
	if (below(w, 8) == 0)
		(*bytes)++;
}

static bool whole_pages(const struct spot *s, uint64_t offset, uint64_t bytes)
{
	return s->map->page && bytes && offset % PAGE == 0 && bytes % PAGE == 0
	       && offset >= s->offset && offset + bytes <= s->offset + s->bytes;
}

static void map_pages(struct world *w, frag_block b, const struct spot *s)
{
	uint64_t offset, bytes;
	frag_block out;

	random_pages(w, s, &offset, &bytes);
	if (is(s, FRAG_UNMAPPED) && whole_pages(s, offset, bytes)
	    && used(w) + bytes > TOTAL) {
		assert_int_equal(frag_heap_map(w->rig.heap, b, offset, bytes, &out),
				 -FRAG_EDEVMEM);
		return;
	}
	if (!expect(frag_heap_map(w->rig.heap, b, offset, bytes, &out),
		    is(s, FRAG_UNMAPPED) && whole_pages(s, offset, bytes)))
		return;
	fill(s->map, offset, bytes, FRAG_FREE, 0);
	join(s->map, offset, bytes);
}

static void unmap_pages(struct world *w, frag_block b, const struct spot *s)
{
	uint64_t offset, bytes;
	frag_block out;

	random_pages(w, s, &offset, &bytes);
	if (!expect(frag_heap_unmap(w->rig.heap, b, offset, bytes, &out),
		    is(s, FRAG_FREE) && whole_pages(s, offset, bytes)))
		return;
	fill(s->map, offset, bytes, FRAG_UNMAPPED, 0);
	join(s->map, offset, bytes);
}

static struct map *spare(struct world *w)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
		if (!w->maps[s].held)
			return &w->maps[s];
	return NULL;
}

/* A segment, or a range. */
static void obtain(struct world *w, bool range)
{
	uint64_t bytes = range || below(w, 2) ? PAGE * (1 + below(w, MAX / PAGE))
					      : 1 + below(w, MAX);
	uint32_t l = (uint32_t)below(w, LISTS);
	struct map *m = spare(w);
	frag_block b = FRAG_NO_BLOCK;
	int rc;

	if (!m)
		return;
	rc = range ? frag_heap_reserve(w->rig.heap, w->lists[l], bytes, PAGE, &b)
		   : frag_heap_grow(w->rig.heap, w->lists[l], bytes, &b);
	if (!range && used(w) + up(bytes, GRANULARITY) > TOTAL) {
		assert_int_equal(rc, -FRAG_EDEVMEM);
		return;
	}
	assert_int_equal(rc, 0);
	*m = (struct map){
		.held = true, .handle = frag_heap_look(w->rig.heap, b).segment,
		.ordinal = w->ordinals++, .bytes = bytes, .page = range ? PAGE : 0,
		.list = w->lists[l], .pool = pools[l],
	};
	fill(m, 0, bytes, range ? FRAG_UNMAPPED : FRAG_FREE, 0);
	assert_int_equal(frag_heap_look_segment(w->rig.heap, m->handle).ordinal, m->ordinal);
}

/* Takes away the pages that lie whole in one free block; true where there were any. */
static bool strip(struct map *m)
{
	bool any = false;

	for (uint64_t at = 0; at < m->bytes;) {
		uint64_t next = at + length(m, at), from = up(at, m->page);
		uint64_t to = next / m->page * m->page;

		if (m->cells[at].state == FRAG_FREE && to > from) {
			fill(m, from, to - from, FRAG_UNMAPPED, 0);
			join(m, from, to - from);
			any = true;
		}
		at = next;
	}
	return any;
}

/* Is it without live blocks, but in pieces? No verb can release it so. */
static bool in_pieces(const struct map *m)
{
	uint64_t whole = m->slot_size ? m->bytes / m->slot_size * m->slot_size : m->bytes;

	return !m->page && !m->kept && !live_in(m) && length(m, 0) != whole;
}

static void release_idle(struct world *w)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
		if (w->maps[s].held && in_pieces(&w->maps[s]))
			return;
	expect(frag_heap_release_idle(w->rig.heap), true);
	for (uint32_t s = 0; s < SEGMENTS; s++) {
		struct map *m = &w->maps[s];

		if (!m->held)
			continue;
		if (m->page && strip(m))
			m->held = m->cells[0].state != FRAG_UNMAPPED || length(m, 0) < m->bytes;
		else if (!m->page && !m->kept && !live_in(m))
			m->held = false;
	}
}

typedef void verb_fn(struct world *w, frag_block b, const struct spot *s);

static void random_verb(struct world *w)
{
	static verb_fn *const verbs[] = {
		take, take, take, take, give, give, give, hold, pick, pick, drop, drop, release,
		keep, carve, uncarve, map_pages, map_pages, unmap_pages,
	};
	uint64_t what = below(w, LENGTH(verbs) + 4);
	bool odd = below(w, 8) == 0;
	frag_block b = (frag_block)below(w, odd ? 100 : HANDLES);
	struct spot s;

	if (what == LENGTH(verbs)) {
		release_idle(w);
	} else if (what > LENGTH(verbs)) {
		obtain(w, what == LENGTH(verbs) + 1);
	} else {
		/* mostly a block that there is, else one that was or never will be */
		for (uint32_t i = 0; i < HANDLES && !w->of[b].map && !odd; i++)
			b = (b + 1) % HANDLES;
		s = w->of[b];
		verbs[what](w, b, &s);
	}
}

static void run(uint64_t seed, const struct kind *kind)
{
	int state = 17;
	const uint64_t param = 17;
	const struct frag_sorter by = {
		.which = kind->has_which ? which_hook : NULL,
		.key = kind->order == FRAG_ORDER_KEY ? key_hook : NULL,
		.state = &state, .param = &param,
	};
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->random = seed;
	w->kind = kind;
	rig_begin(&w->rig, TOTAL, GRANULARITY, kind->order);
	frag_heap_sort_by(w->rig.heap, &by);
	for (uint32_t l = 0; l < LISTS; l++)
		assert_int_equal(frag_heap_list(w->rig.heap, pools[l], l, &w->lists[l]), 0);
	for (uint32_t i = 0; i < 600; i++) {
		random_verb(w);
		compare(w);
		compare_find(w);
		if (i % 50 == 0)
			frag_heap_step(w->rig.heap);
	}
	rig_end(&w->rig);
	free(w);
}

static void run_all(uint64_t first, enum frag_order order, bool has_which)
{
	const struct kind kind = { .order = order, .has_which = has_which };

	for (uint64_t seed = first; seed < first + 60; seed++)
		run(seed, &kind);
}

static void test_by_size(void **state)
{
	(void)state;
	run_all(1, FRAG_ORDER_SIZE, false);
}

static void test_by_address(void **state)
{
	(void)state;
	run_all(1001, FRAG_ORDER_ADDRESS, false);
}

static void test_by_key(void **state)
{
	(void)state;
	run_all(2001, FRAG_ORDER_KEY, false);
}

/* Several lists for the blocks of one segment, in each order. */
static void test_sorted(void **state)
{
	(void)state;
	run_all(3001, FRAG_ORDER_SIZE, true);
	run_all(4001, FRAG_ORDER_ADDRESS, true);
	run_all(5001, FRAG_ORDER_KEY, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_size),
		cmocka_unit_test(test_by_address),
		cmocka_unit_test(test_by_key),
		cmocka_unit_test(test_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
