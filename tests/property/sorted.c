/*
 * sorted.c - policies that sort free blocks, or use both ends, against models of them.
 *
 * A model keeps segments as plain arrays of pieces, and looks at every one of them to
 * answer a request: TLSF's as the bounds of its classes and the time of each piece say,
 * the two-ended policy's as addresses do. After each step the heap's blocks must be the
 * model's pieces, and its lists what the bounds say; copies of the run must go on alike.
 */
#include <stdlib.h>
#include <string.h>

#include "fragsim/engine.h"
#include "support/play.h"
#include "support/policy_sorted.h"
#include "support/random.h"
#include "support/records.h"
#include "support/unit.h"

#define EVENTS 500
#define TRACES 40
#define ALIGN UINT64_C(512)
#define PIECES (2 * EVENTS + 1)
#define SEGMENTS (EVENTS + 1)
#define BOUNDS 700

struct piece {
	uint64_t offset, bytes;
	uint64_t id;            /* 0: free */
	uint64_t stamp;         /* free: when it became so, or was cut */
};

struct held {
	bool there;
	uint64_t bytes;
	uint32_t pool, count;
	struct piece piece[PIECES];
};

struct row {
	uint64_t offset, bytes;
	uint32_t segment;
	enum frag_step_status status;
	bool placed;
};

struct model {
	struct held *held;      /* by ordinal */
	uint32_t count;
	uint64_t used, total, clock;
	uint64_t segment, large;        /* the policy's keys */
	const uint64_t *listed;         /* sizes that are large besides, ended by 0 */
	bool tlsf;
	uint64_t bounds[BOUNDS];        /* TLSF: units at which classes begin, ascending */
	uint32_t bound_count;
};

/* A free piece. */
struct found {
	uint32_t segment, at;
	bool any;
};

/* Each doubling has `steps` classes, or as many as there are whole numbers in it. */
static void make_bounds(struct model *m, uint64_t steps)
{
	for (uint64_t power = 1; power <= UINT64_C(1) << 40; power *= 2)
		for (uint64_t k = 0; k < steps; k++)
			if (power * k % steps == 0)
				m->bounds[m->bound_count++] = power + power * k / steps;
	assert_true(m->bound_count <= BOUNDS);
}

/* Where the class of these bytes begins, in units. */
static uint64_t bound_of(const struct model *m, uint64_t bytes)
{
	uint64_t bound = 0;

	for (uint32_t i = 0; i < m->bound_count && m->bounds[i] * ALIGN <= bytes; i++)
		bound = m->bounds[i];
	return bound;
}

static const struct piece *piece_of(const struct model *m, const struct found *f)
{
	return &m->held[f->segment].piece[f->at];
}

/* Is a the better answer than b? Both are large enough. */
static bool better(const struct model *m, const struct found *a, const struct found *b, bool large)
{
	const struct piece *x = piece_of(m, a), *y = piece_of(m, b);
	const bool lower = a->segment != b->segment ? a->segment < b->segment
						    : x->offset < y->offset;

	if (!m->tlsf)
		return lower != large;
	if (bound_of(m, x->bytes) != bound_of(m, y->bytes))
		return bound_of(m, x->bytes) < bound_of(m, y->bytes);
	return x->stamp != y->stamp ? x->stamp > y->stamp : lower;
}

static struct found choose(const struct model *m, uint32_t pool, uint64_t need, bool large)
{
	struct found best = { .any = false };

	for (uint32_t s = 0; s < m->count; s++) {
		const struct held *h = &m->held[s];

		for (uint32_t i = 0; h->there && h->pool == pool && i < h->count; i++) {
			const struct found f = { .segment = s, .at = i, .any = true };
			uint64_t holds = h->piece[i].bytes;

			if (m->tlsf)
				holds = bound_of(m, holds) * ALIGN;
			if (h->piece[i].id || holds < need)
				continue;
			if (!best.any || better(m, &f, &best, large))
				best = f;
		}
	}
	return best;
}

static void release_idle(struct model *m)
{
	for (uint32_t s = 0; s < m->count; s++) {
		struct held *h = &m->held[s];

		if (!h->there || h->count != 1 || h->piece[0].id)
			continue;
		h->there = false;
		m->used -= h->bytes;
	}
}

static struct found grow(struct model *m, uint32_t pool, uint64_t need)
{
	const uint64_t bytes = (need + m->segment - 1) / m->segment * m->segment;
	struct held *h = &m->held[m->count];

	if (m->total && m->used + bytes > m->total)
		release_idle(m);
	if (m->total && m->used + bytes > m->total)
		return (struct found){ .any = false };
	m->used += bytes;
	assert_true(m->count < SEGMENTS);
	*h = (struct held){ .there = true, .bytes = bytes, .pool = pool, .count = 1 };
	h->piece[0] = (struct piece){ .bytes = bytes, .stamp = m->clock };
	return (struct found){ .segment = m->count++, .any = true };
}

static bool is_large(const struct model *m, uint64_t bytes)
{
	for (const uint64_t *l = m->listed; !m->tlsf && l && *l; l++)
		if (*l == bytes)
			return true;
	return !m->tlsf && bytes >= m->large;
}

static struct row model_alloc(struct model *m, uint64_t id, uint64_t bytes, uint32_t pool)
{
	const uint64_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	const bool large = is_large(m, bytes);
	struct found f = choose(m, pool, need, large);
	struct piece *p;
	struct held *h;

	m->clock++;
	if (!f.any)
		f = grow(m, pool, need);
	if (!f.any)
		return (struct row){ .status = FRAG_STEP_OOM };
	h = &m->held[f.segment];
	p = &h->piece[f.at];
	if (p->bytes > need) {
		assert_true(h->count < PIECES);
		memmove(p + 1, p, (h->count++ - f.at) * sizeof(*p));
		/* the one that is left is as young as the cut */
		p[large].bytes = need;
		p[!large].bytes -= need;
		p[1].offset = p[0].offset + p[0].bytes;
		p[!large].stamp = m->clock;
		p += large;
	}
	p->id = id;
	return (struct row){
		.placed = true, .segment = f.segment, .offset = p->offset, .bytes = p->bytes,
	};
}

static void merge(struct held *h, uint32_t at)
{
	if (at + 1 >= h->count || h->piece[at].id || h->piece[at + 1].id)
		return;
	h->piece[at].bytes += h->piece[at + 1].bytes;
	h->count--;
	memmove(&h->piece[at + 1], &h->piece[at + 2], (h->count - at - 1) * sizeof(h->piece[0]));
}

/* Of a free, a step says how it went and no more. */
static struct row model_free(struct model *m, uint64_t id)
{
	for (uint32_t s = 0; s < m->count; s++) {
		struct held *h = &m->held[s];

		for (uint32_t i = 0; h->there && i < h->count; i++) {
			if (h->piece[i].id != id)
				continue;
			h->piece[i].id = 0;
			h->piece[i].stamp = ++m->clock;
			merge(h, i);
			if (i && !h->piece[i - 1].id) {
				h->piece[i - 1].stamp = m->clock;
				merge(h, i - 1);
			}
			return (struct row){ .status = FRAG_STEP_OK };
		}
	}
	return (struct row){ .status = FRAG_STEP_SKIPPED };
}

/* A run, and the model beside it; copies have the rows alone. */
struct run {
	const struct frag_record *records;
	struct frag_sim *sim;
	struct model *model;
	struct row rows[EVENTS];
	uint32_t count;
};

/* The segment with this ordinal. */
struct wanted {
	const struct frag_heap *heap;
	struct model *m;
	uint32_t segments, at;
};

static void compare_block(void *ctx, const struct frag_segment_view *s,
			  const struct frag_block_view *b)
{
	struct wanted *w = ctx;
	const struct held *h = &w->m->held[s->ordinal];

	assert_true(h->there);
	if (!b) {
		w->segments++;
		w->at = 0;
		assert_int_equal(s->bytes, h->bytes);
		return;
	}
	assert_true(w->at < h->count);
	assert_int_equal(b->offset, h->piece[w->at].offset);
	assert_int_equal(b->bytes, h->piece[w->at].bytes);
	assert_int_equal(b->state, h->piece[w->at].id ? FRAG_ALLOCATED : FRAG_FREE);
	w->at++;
}

/* Blocks of a class, and they alone, share a list; those of a larger one have a later number. */
static void compare_lists(const struct frag_heap *h, const struct model *m)
{
	uint64_t bound[EVENTS * 4];
	struct frag_list_view list[EVENTS * 4];
	uint32_t count = 0;

	for (frag_block b = 0; frag_heap_look(h, b).bytes || b < EVENTS * 2; b++) {
		const struct frag_block_view k = frag_heap_look(h, b);

		if (k.state != FRAG_FREE || !k.bytes)
			continue;
		assert_true(count < EVENTS * 4);
		list[count] = frag_heap_look_list(h, frag_heap_list_of(h, b));
		bound[count] = bound_of(m, k.bytes);
		assert_int_equal(list[count].pool, frag_heap_look_segment(h, k.segment).pool);
		for (uint32_t i = 0; i < count; i++)
			assert_true((bound[i] < bound[count]) == (list[i].which < list[count].which)
				    && (bound[i] > bound[count]) == (list[i].which > list[count].which));
		count++;
	}
}

static void compare_heap(const struct frag_heap *heap, struct model *m)
{
	struct wanted w = { .heap = heap, .m = m };
	uint32_t there = 0;

	frag_heap_walk(heap, &w, compare_block);
	for (uint32_t s = 0; s < m->count; s++)
		there += m->held[s].there;
	assert_int_equal(w.segments, there);
	if (m->tlsf)
		compare_lists(heap, m);
}

static int see(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct run *run = ctx;

	(void)err;
	run->rows[run->count++] = (struct row){
		.status = step->status, .placed = step->placed,
		.segment = step->placed ? step->segment : 0,
		.offset = step->placed ? step->offset : 0, .bytes = step->placed ? step->bytes : 0,
	};
	return 0;
}

static int see_and_judge(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct run *run = ctx;
	const struct frag_record *rec = &run->records[run->count];
	const struct row want = rec->op == FRAG_OP_FREE
		? model_free(run->model, rec->id.number)
		: model_alloc(run->model, rec->id.number, rec->size, (uint32_t)rec->pool.number);
	const struct row *got = &run->rows[run->count];
	int rc = see(ctx, step, err);

	assert_int_equal(got->status, want.status);
	assert_int_equal(got->placed, want.placed);
	assert_int_equal(got->segment, want.segment);
	assert_int_equal(got->offset, want.offset);
	assert_int_equal(got->bytes, want.bytes);
	compare_heap(frag_sim_heap(run->sim, 0), run->model);
	return rc;
}

/* Copies at random moments, of the run and of its copies, end as the judged run did. */
static void copy_at_random(const struct frag_choice *choice, const struct frag_tape *tape,
			   const struct frag_sim_options *options, const struct run *judged,
			   uint64_t *random)
{
	struct frag_sim *sim, *copy;
	uint64_t at = 0, to;

	assert_int_equal(frag_sim_on_tape(&sim, choice, tape, options, NULL), 0);
	while (at < EVENTS) {
		struct run rest = { .count = 0 };
		const struct frag_observer observer = { .step = see, .ctx = &rest };

		assert_int_equal(frag_sim_copy(&copy, sim, NULL), 0);
		assert_int_equal(frag_sim_observe(copy, &observer), 0);
		play_tape(copy, tape, at, UINT64_MAX);
		assert_int_equal(rest.count, EVENTS - at);
		assert_memory_equal(rest.rows, &judged->rows[at], rest.count * sizeof(rest.rows[0]));
		compare_heap(frag_sim_heap(copy, 0), judged->model);
		frag_sim_del(copy);
		/* the run itself is a copy of a copy, and its original is gone */
		assert_int_equal(frag_sim_copy(&copy, sim, NULL), 0);
		frag_sim_del(sim);
		sim = copy;
		to = at + 1 + random_below(random, 150);
		play_tape(sim, tape, at, to);
		at = to;
	}
	frag_sim_del(sim);
}

/* Sizes of all magnitudes, in two pools; phases that fill and phases that empty. */
static void make_records(struct frag_record *records, uint64_t *random)
{
	uint64_t live[EVENTS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < EVENTS; i++) {
		const bool fills = random_below(random, 10) < (i / 100 % 2 ? 3 : 8);

		if (!count || fills) {
			const uint64_t pool = random_below(random, 5) == 0;

			records[i] = (struct frag_record)ALLOC_IN(i + 1, random_size(random, 22), pool);
			live[count++] = i + 1;
		} else {
			const uint64_t k = random_below(random, count);

			records[i] = (struct frag_record)FREE(live[k]);
			live[k] = live[--count];
		}
	}
	/* the first of a pool gets the first number: let that be its name */
	records[0].pool.number = 0;
}

static void run_one(struct frag_choice *choice, struct model *m, uint64_t seed)
{
	static struct run judged;
	static struct frag_record records[EVENTS];
	const struct frag_device_figures device = { .total = m->total, .granularity = 1 };
	const struct frag_sim_options options = { .check = true, .on_oom_continue = true };
	const struct frag_observer observer = { .step = see_and_judge, .ctx = &judged };
	struct records source = { .records = records, .count = EVENTS };
	struct frag_trace *trace;
	struct frag_tape *tape;

	make_records(records, &seed);
	m->held = calloc(SEGMENTS, sizeof(*m->held));
	assert_non_null(m->held);
	assert_int_equal(frag_trace_from(&trace, &records_source, &source, &device, 1, NULL, NULL), 0);
	assert_int_equal(frag_tape_new(&tape, trace, NULL, NULL), 0);
	memset(&judged, 0, sizeof(judged));
	judged.records = records;
	judged.model = m;
	assert_int_equal(frag_sim_on_tape(&judged.sim, choice, tape, &options, NULL), 0);
	assert_int_equal(frag_sim_observe(judged.sim, &observer), 0);
	play_tape(judged.sim, tape, 0, UINT64_MAX);
	assert_int_equal(judged.count, EVENTS);
	copy_at_random(choice, tape, &options, &judged, &seed);
	frag_sim_del(judged.sim);
	frag_tape_del(tape);
	frag_trace_close(trace);
	free(m->held);
}

static uint64_t random_total(uint64_t *random)
{
	return random_below(random, 2) ? 0 : (4 + random_below(random, 20)) << 20;
}

static void test_tlsf(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= TRACES; seed++) {
		uint64_t random = seed;
		const uint64_t steps = UINT64_C(1) << random_below(&random, 5);
		struct frag_choice choice = play_policy(&policy_twolevel);
		struct model *m = calloc(1, sizeof(*m));

		assert_non_null(m);
		*m = (struct model){
			.tlsf = true, .total = random_total(&random),
			.segment = ALIGN << random_below(&random, 14),
		};
		make_bounds(m, steps);
		choice.param[1] = steps;
		choice.param[2] = m->segment;
		run_one(&choice, m, random);
		free(m);
	}
}

static void test_two_ended(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= TRACES; seed++) {
		uint64_t random = seed + 1000;
		struct frag_choice choice = play_policy(&policy_twoended);
		struct model m = {
			.total = random_total(&random), .large = random_size(&random, 22),
			.segment = ALIGN << random_below(&random, 14),
		};

		choice.param[1] = m.large;
		choice.param[2] = m.segment;
		run_one(&choice, &m, random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tlsf),
		cmocka_unit_test(test_two_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
