/* rig.c - a heap on a device of its own, for tests of the verbs. */
#include "support/rig.h"

#include <string.h>

#include "heap/heap_tables.h"
#include "heap/refusal.h"
#include "support/faulty_device.h"

void rig_begin(struct rig *r, uint64_t total, uint64_t granularity,
	       enum frag_order order)
{
	faulty_begin(0, 0);
	assert_int_equal(frag_device_open(&r->dev, &faulty_device, total, 0, 0, granularity, NULL),
			 0);
	r->heap = frag_heap_new(&r->dev, order);
	assert_non_null(r->heap);
	assert_int_equal(frag_heap_list(r->heap, 0, 0, &r->list), 0);
	frag_heap_step(r->heap);
}

void rig_end(struct rig *r)
{
	frag_heap_del(r->heap);
	assert_int_equal(r->dev.used, 0);
	assert_int_equal(faulty.held, 0);
	assert_int_equal(faulty.mapped, 0);
	assert_int_equal(faulty.mistakes, 0);
	frag_device_close(&r->dev);
}

int rig_setup(void **state)
{
	static struct rig rig;

	rig_begin(&rig, 0, 1, FRAG_ORDER_SIZE);
	*state = &rig;
	return 0;
}

int rig_teardown(void **state)
{
	rig_end(*state);
	return 0;
}

void rig_check(const struct rig *r)
{
	struct frag_error err = { .code = 0 };

	if (frag_heap_check(r->heap, &err))
		fail_msg("%s", err.message);
}

frag_block rig_grow(struct rig *r, uint64_t bytes)
{
	frag_block b = FRAG_NO_BLOCK;

	assert_int_equal(frag_heap_grow(r->heap, r->list, bytes, &b), 0);
	rig_check(r);
	return b;
}

frag_block rig_take(struct rig *r, frag_block b, uint64_t requested, uint64_t keep)
{
	assert_int_equal(frag_heap_take(r->heap, &b, requested, keep), 0);
	rig_check(r);
	return b;
}

frag_block rig_give(struct rig *r, frag_block b)
{
	frag_block out = FRAG_NO_BLOCK;

	assert_int_equal(frag_heap_give(r->heap, b, &out), 0);
	rig_check(r);
	return out;
}

void rig_refuses(const struct rig *r, int rc)
{
	assert_int_equal(rc, -FRAG_EPOLICY);
	assert_true(strncmp(frag_refusal(r->heap), "frag_heap_", 10) == 0);
	rig_check(r);
}

void rig_expect(const struct rig *r, frag_block b, uint64_t offset, uint64_t bytes,
		enum frag_state state)
{
	struct frag_block_view k;

	assert_int_not_equal(b, FRAG_NO_BLOCK);
	k = frag_heap_look(r->heap, b);
	assert_int_equal(k.offset, offset);
	assert_int_equal(k.bytes, bytes);
	assert_int_equal(k.state, state);
}
