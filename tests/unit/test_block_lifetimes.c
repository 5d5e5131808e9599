/*
 * test_block_lifetimes.c - ids, and what freed blocks wait for, against fragsim-lines(5) word by word.
 *
 * The model keeps every block that was ever made in one array and answers each
 * question by a walk over all of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/block_lifetimes.h"
#include "support/random.h"
#include "support/unit.h"

#define BLOCKS 3000
#define STREAMS 4
#define DEVICES 2

enum where { LIVE, PENDING, GONE };

struct known {
	enum where where;
	struct frag_handle id;
	uint32_t slot, device, stream;
	uint64_t birth, freed, synced;
	bool announced;                 /* waits for its complete */
	bool waits[STREAMS];            /* live: recorded; pending: not synchronised yet */
};

struct fixture {
	struct frag_lives lives;
	struct known blocks[BLOCKS];
	uint32_t count;
	uint64_t step, random;
};

static struct frag_handle number(uint64_t n)
{
	return (struct frag_handle){ .number = n };
}

static struct frag_handle text(const char *s)
{
	return (struct frag_handle){ .text = s, .number = strlen(s) };
}

static bool same_id(const struct frag_handle *a, const struct frag_handle *b)
{
	return !a->text == !b->text && a->number == b->number
	       && (!a->text || memcmp(a->text, b->text, (size_t)a->number) == 0);
}

static struct known *find_live(struct fixture *f, const struct frag_handle *id)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->blocks[i].where == LIVE && same_id(&f->blocks[i].id, id))
			return &f->blocks[i];
	return NULL;
}

/* The one freed first among those of the id that wait for a complete. */
static struct known *find_announced(struct fixture *f, const struct frag_handle *id)
{
	struct known *oldest = NULL;

	for (uint32_t i = 0; i < f->count; i++) {
		struct known *k = &f->blocks[i];

		if (k->where == PENDING && k->announced && same_id(&k->id, id)
		    && (!oldest || k->freed < oldest->freed))
			oldest = k;
	}
	return oldest;
}

static bool waits(const struct known *k)
{
	bool any = k->announced;

	for (uint32_t s = 0; s < STREAMS; s++)
		any |= k->waits[s];
	return any;
}

static struct fixture *begin(uint64_t seed)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_true(frag_lives_init(&f->lives, DEVICES, seed));
	f->random = seed;
	return f;
}

static void end(struct fixture *f)
{
	frag_lives_fini(&f->lives);
	free(f);
}

static struct known *alloc_block(struct fixture *f, struct frag_handle id, uint32_t device,
				 uint32_t stream)
{
	struct known *k = &f->blocks[f->count++];
	struct frag_life *life;

	*k = (struct known){ .id = id, .device = device, .stream = stream, .birth = f->step++ };
	k->slot = frag_lives_begin(&f->lives, &id, frag_lives_find(&f->lives, &id));
	assert_int_not_equal(k->slot, NO_SLOT);
	life = &f->lives.lives[k->slot];
	life->device = device;
	life->stream = stream;
	life->birth = k->birth;
	return k;
}

static void record(struct fixture *f, struct known *k, uint32_t stream)
{
	assert_true(frag_lives_record(&f->lives, k->slot, stream));
	k->waits[stream] |= stream != k->stream;
	f->step++;
}

static void free_block(struct fixture *f, struct known *k, bool announced)
{
	bool pending;

	k->announced = announced;
	k->freed = f->step++;
	k->synced = FRAG_NEVER;
	assert_true(frag_lives_free(&f->lives, frag_lives_find(&f->lives, &k->id), k->freed,
				    announced, &pending));
	assert_int_equal(pending, waits(k));
	k->where = pending ? PENDING : GONE;
}

/* The block of this slot that the model thinks ended in the present step. */
static void expect_ended(struct fixture *f, uint32_t at, struct known *k)
{
	assert_int_equal(f->lives.ended[at].slot, k->slot);
	assert_true(f->lives.ended[at].synced == k->synced);
	k->where = GONE;
}

static void complete(struct fixture *f, const struct frag_handle *id)
{
	struct known *k = find_announced(f, id);
	struct frag_found found = frag_lives_announced(&f->lives, id);

	assert_int_equal(found.slot, k ? k->slot : NO_SLOT);
	if (!k)
		return;
	f->lives.ended_count = 0;
	f->step++;
	assert_true(frag_lives_complete(&f->lives, found));
	k->announced = false;
	assert_int_equal(f->lives.ended_count, !waits(k));
	if (!waits(k))
		expect_ended(f, 0, k);
}

/* The pending block that this sync has ended and that was freed first. */
static struct known *next_ended(struct fixture *f, const bool *was_ended)
{
	struct known *first = NULL;

	for (uint32_t i = 0; i < f->count; i++) {
		struct known *k = &f->blocks[i];

		if (was_ended[i] && k->where == PENDING && (!first || k->freed < first->freed))
			first = k;
	}
	return first;
}

static void sync_stream(struct fixture *f, uint32_t device, uint32_t stream)
{
	static bool ended[BLOCKS];
	uint32_t expected = 0;

	f->lives.ended_count = 0;
	assert_true(frag_lives_sync(&f->lives, device, stream, f->step));
	for (uint32_t i = 0; i < f->count; i++) {
		struct known *k = &f->blocks[i];
		bool waited = false;

		ended[i] = false;
		if (k->where != PENDING || k->device != device)
			continue;
		for (uint32_t s = 0; s < STREAMS; s++)
			if (k->waits[s] && (stream == FRAG_ALL || stream == s)) {
				k->waits[s] = false;
				waited = true;
			}
		if (waited && memchr(k->waits, true, sizeof(k->waits)) == NULL)
			k->synced = f->step;
		ended[i] = waited && !waits(k);
		expected += ended[i];
	}
	f->step++;
	assert_int_equal(f->lives.ended_count, expected);
	for (uint32_t i = 0; i < expected; i++)
		expect_ended(f, i, next_ended(f, ended));
}

static struct frag_handle random_id(struct fixture *f)
{
	static const char *const texts[] = {
		"", "0", "1", "2", "0x7f0000000000", "0x7f0000000200", "a\0b", "block",
	};
	uint64_t n = random_below(&f->random, 16);

	return n < 8 ? number(n) : n == 14 ? (struct frag_handle){ .text = "a\0b", .number = 3 }
					   : text(texts[n - 8]);
}

static void random_step(struct fixture *f)
{
	struct frag_handle id = random_id(f);
	struct known *k = find_live(f, &id);
	uint32_t stream = (uint32_t)random_below(&f->random, STREAMS);
	uint32_t device = (uint32_t)random_below(&f->random, DEVICES);
	uint64_t what = random_below(&f->random, 20);

	assert_int_equal(frag_lives_find(&f->lives, &id).slot, k ? k->slot : NO_SLOT);
	if (what < 2)
		sync_stream(f, device, what ? stream : FRAG_ALL);
	else if (what < 5)
		complete(f, &id);
	else if (!k && f->count < BLOCKS)
		alloc_block(f, id, device, stream);
	else if (k && what < 12)
		record(f, k, stream);
	else if (k)
		free_block(f, k, what < 15);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct fixture *f = begin(seed);

		for (uint32_t i = 0; i < 4000; i++)
			random_step(f);
		end(f);
	}
}

static void test_kinds_of_ids(void **state)
{
	const struct frag_handle ids[] = {
		number(1), text("1"), text(""), text("11"), number(0), number((UINT64_C(1) << 53) - 1),
		{ .text = "1\0", .number = 2 }, { .text = "1\0x", .number = 3 },
	};
	struct fixture *f = begin(1);

	(void)state;
	for (uint32_t i = 0; i < LENGTH(ids); i++) {
		assert_int_equal(frag_lives_find(&f->lives, &ids[i]).slot, NO_SLOT);
		alloc_block(f, ids[i], 0, 0);
	}
	for (uint32_t i = 0; i < LENGTH(ids); i++)
		assert_int_equal(frag_lives_find(&f->lives, &ids[i]).slot, f->blocks[i].slot);
	end(f);
}

/* The id's text is the caller's: it may change afterwards. */
static void test_ids_are_copied(void **state)
{
	char name[] = "ptr";
	struct frag_handle id = text(name);
	struct fixture *f = begin(1);
	struct known *k = alloc_block(f, id, 0, 0);

	(void)state;
	name[0] = 'x';
	assert_int_equal(frag_lives_find(&f->lives, &id).slot, NO_SLOT);
	id = text("ptr");
	assert_int_equal(frag_lives_find(&f->lives, &id).slot, k->slot);
	end(f);
}

static void test_free_without_waiting(void **state)
{
	struct frag_handle id = number(5);
	struct fixture *f = begin(1);
	uint32_t slot = alloc_block(f, id, 0, 2)->slot;

	(void)state;
	record(f, &f->blocks[0], 2);            /* its own stream: nothing */
	free_block(f, &f->blocks[0], false);
	assert_int_equal(f->blocks[0].where, GONE);
	assert_int_equal(frag_lives_find(&f->lives, &id).slot, NO_SLOT);
	assert_int_equal(alloc_block(f, id, 0, 2)->slot, slot);
	end(f);
}

/* A sync before the free counts for nothing; each recorded stream is required after it. */
static void test_streams_after_free(void **state)
{
	struct fixture *f = begin(1);
	struct known *k = alloc_block(f, number(1), 1, 0);

	(void)state;
	record(f, k, 1);
	record(f, k, 2);
	record(f, k, 1);
	sync_stream(f, 1, FRAG_ALL);
	free_block(f, k, false);
	assert_int_equal(k->where, PENDING);
	sync_stream(f, 0, FRAG_ALL);            /* another device */
	sync_stream(f, 1, 3);
	sync_stream(f, 1, 2);
	assert_int_equal(k->where, PENDING);
	sync_stream(f, 1, 1);
	assert_int_equal(k->where, GONE);
	end(f);
}

/* Both kinds of waiting, in both orders: the second one ends it. */
static void test_both_kinds(void **state)
{
	for (int complete_first = 0; complete_first < 2; complete_first++) {
		struct frag_handle id = number(1);
		struct fixture *f = begin(1);
		struct known *k = alloc_block(f, id, 0, 0);

		(void)state;
		record(f, k, 1);
		free_block(f, k, true);
		if (complete_first)
			complete(f, &id);
		else
			sync_stream(f, 0, FRAG_ALL);
		assert_int_equal(k->where, PENDING);
		if (complete_first)
			sync_stream(f, 0, 1);
		else
			complete(f, &id);
		assert_int_equal(k->where, GONE);
		/* the sync is remembered also where the complete came last */
		assert_int_equal(f->lives.ended[0].synced, complete_first ? f->step - 1
									  : f->step - 2);
		end(f);
	}
}

static void test_complete_takes_the_oldest(void **state)
{
	struct frag_handle id = text("again");
	struct fixture *f = begin(1);
	uint32_t slots[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		slots[i] = alloc_block(f, id, 0, 0)->slot;
		free_block(f, &f->blocks[i], true);
	}
	for (uint32_t i = 0; i < 3; i++) {
		complete(f, &id);
		assert_int_equal(f->lives.ended[0].slot, slots[i]);
		assert_true(f->lives.ended[0].synced == FRAG_NEVER);
	}
	assert_int_equal(frag_lives_announced(&f->lives, &id).slot, NO_SLOT);
	end(f);
}

/* One sync ends blocks of several streams: in the order of their free, not of their streams. */
static void test_order_of_frees(void **state)
{
	static const uint32_t streams[] = { 3, 1, 2, 1, 3, 2, 1 };
	static const uint32_t order[] = { 4, 0, 6, 2, 1, 5, 3 };
	struct fixture *f = begin(1);

	(void)state;
	for (uint32_t i = 0; i < LENGTH(streams); i++)
		record(f, alloc_block(f, number(i), 0, 0), streams[i]);
	for (uint32_t i = 0; i < LENGTH(order); i++)
		free_block(f, &f->blocks[order[i]], false);
	sync_stream(f, 0, FRAG_ALL);
	for (uint32_t i = 0; i < LENGTH(order); i++)
		assert_int_equal(f->lives.ended[i].slot, f->blocks[order[i]].slot);
	end(f);
}

/* What is kept follows the blocks at hand, not those that have been. */
static void test_bounded(void **state)
{
	struct fixture *f = begin(1);

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		struct frag_handle id = number(i);

		f->count = 0;
		record(f, alloc_block(f, id, 0, 0), 1 + i % 3);
		free_block(f, &f->blocks[0], i % 2);
		if (i % 2)
			complete(f, &id);
		sync_stream(f, 0, FRAG_ALL);
		assert_int_equal(f->blocks[0].where, GONE);
	}
	assert_in_range(f->lives.count, 1, 2);
	assert_in_range(f->lives.cell_count, 1, 2);
	assert_in_range(f->lives.live.mask, 1, 255);
	assert_in_range(f->lives.recorded.mask, 1, 255);
	end(f);
}

/* Which number is the n-th that a program gives its blocks. */
static uint64_t dense(uint64_t n)
{
	return n;
}

static uint64_t from_far(uint64_t n)
{
	return (UINT64_C(1) << 53) - 100000 + n;
}

static uint64_t to_the_end(uint64_t n)
{
	return UINT64_MAX - 200 + n % 201;
}

static uint64_t downwards(uint64_t n)
{
	return 1000000 - n;
}

/* As pointers are: multiples of 512, and of what a small table has places for. */
static uint64_t pointers(uint64_t n)
{
	return UINT64_C(0x7f0000000000) + n % 3000 * 512;
}

static uint64_t alike(uint64_t n)
{
	return n << 32 | 7;
}

static uint64_t sparse(uint64_t n)
{
	return random_u64(&n) >> 11;
}

static uint64_t reused(uint64_t n)
{
	return n * 7919 % 1009;
}

/* Pointers in between, but never for long. */
static uint64_t by_turns(uint64_t n)
{
	return n % 700 < 500 ? n : pointers(n);
}

static const struct {
	uint64_t (*number_of)(uint64_t n);
	uint32_t live;          /* most at a time */
	bool     texts;         /* every other one is a text */
	int      off;           /* is the table of the latest given up? -1: whatever */
} sequences[] = {
	{ dense, 1, false, 0 }, { dense, 60, false, 0 }, { dense, 2000, false, 0 },
	{ dense, 300, true, 0 }, { from_far, 500, false, 0 }, { to_the_end, 100, false, 0 },
	{ downwards, 500, false, 0 }, { pointers, 300, false, 1 }, { alike, 1000, false, 1 },
	{ alike, 20, true, -1 }, { sparse, 500, false, -1 }, { sparse, 2000, true, -1 },
	{ reused, 500, false, -1 }, { by_turns, 400, false, -1 },
};

/* The live blocks of a sequence, as an array without any order. */
struct model {
	struct numbered {
		struct frag_handle id;
		char text[32];
		uint32_t slot;
	} live[2000];
	uint32_t count;
};

static void copy_numbered(struct numbered *to, const struct numbered *from)
{
	*to = *from;
	if (to->id.text)
		to->id.text = to->text;
}

/* What it says of an id is what is found; where it is, or count. */
static uint32_t agree_on(const struct model *m, const struct fixture *f,
			 const struct frag_handle *id)
{
	uint32_t i = 0;

	while (i < m->count && !same_id(&m->live[i].id, id))
		i++;
	assert_int_equal(frag_lives_find(&f->lives, id).slot,
			 i < m->count ? m->live[i].slot : NO_SLOT);
	return i;
}

static void remove_one(struct model *m, struct fixture *f, uint32_t i)
{
	struct numbered old;
	bool pending;

	copy_numbered(&old, &m->live[i]);
	assert_int_equal(agree_on(m, f, &old.id), i);
	assert_true(frag_lives_free(&f->lives, frag_lives_find(&f->lives, &old.id), f->step++, false,
				    &pending));
	copy_numbered(&m->live[i], &m->live[--m->count]);
	agree_on(m, f, &old.id);
}

static void add_one(struct model *m, struct fixture *f, const struct numbered *made)
{
	struct numbered *k = &m->live[m->count];

	if (agree_on(m, f, &made->id) < m->count)
		return;
	copy_numbered(k, made);
	k->slot = frag_lives_begin(&f->lives, &k->id, frag_lives_find(&f->lives, &k->id));
	assert_int_not_equal(k->slot, NO_SLOT);
	m->count++;
}

/* Half of the blocks stay for long, of the others any one goes next. */
static void play_numbers(uint32_t which)
{
	const uint32_t most = sequences[which].live;
	static struct model m;
	struct fixture *f = begin(which);

	m.count = 0;
	for (uint64_t n = 0; n < 20000; n++) {
		struct numbered made = { .id = number(sequences[which].number_of(n)) };

		snprintf(made.text, sizeof(made.text), "%llx", (unsigned long long)made.id.number);
		if (sequences[which].texts && n % 2)
			made.id = text(made.text);
		if (m.count == most)
			remove_one(&m, f, most / 2 + (uint32_t)random_below(&f->random, most - most / 2));
		if (n % 5000 == 4999 && m.count)
			remove_one(&m, f, 0);
		add_one(&m, f, &made);
	}
	for (uint32_t i = 0; i < m.count; i++)
		assert_int_equal(agree_on(&m, f, &m.live[i].id), i);
	if (sequences[which].off >= 0)
		assert_int_equal(f->lives.recent.off, sequences[which].off);
	assert_in_range(f->lives.count, 1, most);
	while (m.count)
		remove_one(&m, f, m.count - 1);
	assert_int_equal(f->lives.recent.numbers, 0);
	assert_int_equal(f->lives.live.count, 0);
	end(f);
}

static void test_numbers(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(sequences); i++)
		play_numbers(i);
}

/* Many that stay, as a model's weights do, and few that come and go for long. */
static void test_weights(void **state)
{
	struct fixture *f = begin(3);
	uint32_t slots[BLOCKS];
	bool pending;

	(void)state;
	for (uint64_t n = 0; n < 100000; n++) {
		struct frag_handle id = number(n), before = number(n - 10);
		uint32_t slot = frag_lives_begin(&f->lives, &id, frag_lives_find(&f->lives, &id));

		if (n < BLOCKS)
			slots[n] = slot;
		if (n >= BLOCKS + 10)
			assert_true(frag_lives_free(&f->lives, frag_lives_find(&f->lives, &before), n,
						    false, &pending));
	}
	for (uint64_t n = 0; n < BLOCKS; n++) {
		struct frag_handle id = number(n);

		assert_int_equal(frag_lives_find(&f->lives, &id).slot, slots[n]);
	}
	assert_false(f->lives.recent.off);
	assert_int_equal(f->lives.recent.numbers, BLOCKS + 10);
	assert_in_range(f->lives.recent.mask, 4 * BLOCKS, 8 * (BLOCKS + 10));
	assert_in_range(f->lives.live.count, 1, BLOCKS);
	end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_kinds_of_ids),
		cmocka_unit_test(test_ids_are_copied),
		cmocka_unit_test(test_free_without_waiting),
		cmocka_unit_test(test_streams_after_free),
		cmocka_unit_test(test_both_kinds),
		cmocka_unit_test(test_complete_takes_the_oldest),
		cmocka_unit_test(test_order_of_frees),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
