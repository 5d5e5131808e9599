/*
 * test_device_calls.c - device call k fails, for k = 1, 2, ... until a run succeeds.
 *
 * Every policy plays a random trace on a small device. Where the call breaks,
 * the run ends with that error; where it only refuses, the run goes on or counts
 * an OOM. Each time the heap must be sound at the end, and everything that was
 * obtained must have been given back.
 */
#include <stdlib.h>
#include <string.h>

#include "support/faulty_device.h"
#include "support/play.h"
#include "support/policy_ranges.h"
#include "support/policy_skeleton.h"
#include "support/policy_sorted.h"
#include "support/random.h"
#include "support/unit.h"

#define EVENTS 400
#define IDS 40

static const struct player {
	const char *text;                       /* or */
	const struct frag_policy_ops *ops;
	uint64_t unit;                          /* sizes are multiples of it */
} players[] = {
	{ .text = "bestfit:segment=8K", .unit = 1 },
	{ .text = "bestfit:segment=1,align=1,release=false,pool=20000", .unit = 1 },
	{ .text = "firstfit:segment=32K,pool=32K", .unit = 1 },
	{ .text = "nextfit:segment=8K,align=1K", .unit = 1 },
	{ .text = "worstfit:segment=16K", .unit = 1 },
	{ .text = "buddy:segment=8K,min=256", .unit = 1 },
	{ .text = "sizeclass:slab=8K,segment=4K,max_small=4K", .unit = 1 },
	{ .text = "tlsf:segment=8K,sl_log2=2", .unit = 1 },
	{ .text = "direct", .unit = 1 },
	{ .text = "plan", .unit = 1 },
	{ .text = "cupy", .unit = 1 },
	{ .text = "cupy:limit=100K", .unit = 1 },
	{ .text = "rmm", .unit = 1 },
	{ .text = "rmm:initial=8K,maximum=64K", .unit = 1 },
	{ .text = "bfc", .unit = 8192 },
	{ .text = "bfc:garbage_collection=true,memory_limit=300M", .unit = 8192 },
	{ .text = "pytorch", .unit = 1024 },
	{ .text = "pytorch:expandable_segments=true", .unit = 1024 },
	{ .text = "compact:over=bestfit,segment=8K", .unit = 1 },
	{ .ops = &policy_skeleton, .unit = 1 },
	{ .ops = &policy_ranges, .unit = 1 },
	{ .ops = &policy_twolevel, .unit = 1024 },
	{ .ops = &policy_twoended, .unit = 1024 },
};

/* The live ids of the trace and those freed with pending. */
struct ids {
	uint64_t live[EVENTS], waiting[EVENTS];
	uint32_t live_count, waiting_count;
	uint64_t next;
	uint64_t random;
};

static uint64_t remove_any(struct ids *ids, uint64_t *from, uint32_t *count)
{
	uint32_t at = (uint32_t)random_below(&ids->random, *count);
	uint64_t id = from[at];

	from[at] = from[--*count];
	return id;
}

static struct frag_record random_alloc(struct ids *ids, uint64_t unit)
{
	uint64_t bytes = random_size(&ids->random, 14) * unit;

	ids->live[ids->live_count++] = ids->next;
	if (random_below(&ids->random, 5) == 0)
		return (struct frag_record)ALLOC_IN(ids->next++, bytes, 7);
	return (struct frag_record)ALLOC(ids->next++, bytes);
}

static struct frag_record random_record(struct ids *ids, uint64_t unit)
{
	uint64_t what = random_below(&ids->random, 100), id;

	if (what < 2)
		return (struct frag_record)EMPTY_CACHE();
	if (what < 4)
		return (struct frag_record)SET_FRACTION(what == 2 ? 0.6 : 1);
	if (what < 8)
		return (struct frag_record)SYNC();
	if (what < 20 && ids->waiting_count)
		return (struct frag_record)COMPLETE(remove_any(ids, ids->waiting,
							       &ids->waiting_count));
	if (what < 26 && ids->live_count)
		return (struct frag_record)RECORD_STREAM(ids->live[0], 3);
	if (ids->live_count == IDS || (what < 55 && ids->live_count)) {
		id = remove_any(ids, ids->live, &ids->live_count);
		if (what % 4)
			return (struct frag_record)FREE(id);
		ids->waiting[ids->waiting_count++] = id;
		return (struct frag_record)FREE_PENDING(id);
	}
	return random_alloc(ids, unit);
}

/* The heap of the policy that plays, seen through its init. */
static struct frag_heap *heap;
static int (*own_init)(struct frag_policy *p);

static int note_heap(struct frag_policy *p)
{
	heap = p->heap;
	return own_init ? own_init(p) : 0;
}

static void check_heap(void)
{
	struct frag_error err = { .code = 0 };

	if (heap && frag_heap_check(heap, &err))
		fail_msg("%s", err.message);
}

/* One run with the k-th call failing; true where the run did not get that far. */
static bool survive(const struct frag_choice *choice, const struct frag_record *records,
		    uint64_t unit, uint64_t k, int code)
{
	const struct frag_device_figures device = { .total = 100000 * unit, .granularity = 512 };
	const struct frag_sim_options options = {
		.on_oom_continue = true, .check = true, .device = &faulty_device,
		.on_oom = &frag_oom_explain,
	};
	struct play p;
	bool failed;
	int rc;

	faulty_begin(k, code);
	heap = NULL;
	rc = play_open(&p, choice, records, EVENTS, &device, 1, &options);
	rc = rc ? rc : play_run(&p);
	failed = faulty.failed;
	faulty.fail_at = 0;
	if (!failed)
		assert_int_equal(rc, 0);
	else if (code == -FRAG_EDEVICE || faulty.calls == 1)
		assert_int_equal(rc, code);
	else
		assert_int_equal(rc, 0);
	if (rc)
		assert_non_null(strstr(p.error.message, "faulty"));
	check_heap();
	play_close(&p);
	return !failed;
}

static void play_all(const struct player *player, int code, uint64_t seed)
{
	struct frag_choice choice = player->ops ? play_policy(player->ops)
						: play_choose(player->text);
	struct frag_policy_ops ops = *choice.ops;
	struct frag_record records[EVENTS];
	struct ids *ids = calloc(1, sizeof(*ids));
	uint64_t k = code == -FRAG_EDEVICE ? 1 : 2;     /* to open is not to obtain */

	assert_non_null(ids);
	ids->random = seed;
	for (uint32_t i = 0; i < EVENTS; i++)
		records[i] = random_record(ids, player->unit);
	own_init = ops.init;
	ops.init = note_heap;
	choice.ops = &ops;
	while (!survive(&choice, records, player->unit, k, code))
		k++;
	/* else the trace has not asked the device for much */
	assert_true(k > 5);
	free(ids);
}

static void test_broken(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(players); i++)
		play_all(&players[i], -FRAG_EDEVICE, 100 + i);
}

static void test_refused(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(players); i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			play_all(&players[i], -FRAG_EDEVMEM, 1000 * seed + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
