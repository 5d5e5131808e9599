/*
 * fuzz_engine.c - any bytes as a setting and a valid sequence of events, through one policy.
 *
 * Byte 0 chooses the policy with its keys, byte 1 how many devices and how many
 * events a stretch, byte 2 what the devices have; then each event takes four. The
 * run is checked by the heap's own walk, and by recount.h, which keeps totals of its
 * own: which blocks live where, from what was placed, and which segments are held,
 * from the device calls; every metric that they decide must agree. An error ends
 * the program, but for the one stop that the manual names: where PyTorch itself
 * would give the device what it never got.
 */
#include "fuzz/recount.h"
#include "html_report/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTING_BYTES 3
#define EVENT_BYTES 4

static const struct recount_policy policies[] = {
	{ "bestfit", .shape = RECOUNT_MERGED, .releases = true },
	{ "bestfit:align=1,segment=1,min_split=3", .shape = RECOUNT_MERGED, .releases = true },
	{ "bestfit:segment=20MiB,pool=3MiB", .shape = RECOUNT_MERGED, .releases = true,
	  .pool = 3 << 20 },
	{ "firstfit", .shape = RECOUNT_MERGED, .releases = true },
	{ "firstfit:pool=1MiB,min_split=4096,segment=5000", .shape = RECOUNT_MERGED,
	  .releases = true, .pool = 1 << 20 },
	{ "nextfit", .shape = RECOUNT_MERGED, .releases = true },
	{ "nextfit:align=4096,segment=100000", .shape = RECOUNT_MERGED, .releases = true },
	{ "worstfit", .shape = RECOUNT_MERGED, .releases = true },
	{ "worstfit:release=false,segment=1KiB,pool=3", .shape = RECOUNT_MERGED, .pool = 3 },
	{ "bfc", .shape = RECOUNT_MERGED, .keeps_all = true },
	{ "bfc:garbage_collection=true,fragmentation_fraction=0.01", .shape = RECOUNT_MERGED },
	{ "bfc:memory_limit=3000001,allow_growth=false", .shape = RECOUNT_MERGED, .keeps_all = true,
	  .limited = true },
	{ "compact:over=bestfit,segment=8MiB", .shape = RECOUNT_MERGED, .releases = true },
	{ "compact:over=bestfit,align=1,segment=1,block_cost=1,pool=3", .shape = RECOUNT_MERGED,
	  .releases = true, .pool = 3 },
	{ "compact", .shape = RECOUNT_MERGED, .releases = true, .notices_late = true,
	  .keeps_pools = true },
	{ "compact:expandable_segments=true", .shape = RECOUNT_MERGED, .notices_late = true,
	  .keeps_pools = true },
	{ "buddy", .shape = RECOUNT_HALVES, .releases = true },
	{ "buddy:min=1,segment=4096,pool=64KiB", .shape = RECOUNT_HALVES, .releases = true,
	  .pool = 64 << 10 },
	{ "sizeclass", .shape = RECOUNT_SLABS, .releases = true, .max_small = 1 << 20 },
	{ "sizeclass:quantum=1,steps=1,max_small=100,slab=257,segment=3",
	  .shape = RECOUNT_SLABS, .releases = true, .max_small = 100 },
	{ "sizeclass:slab=8MiB,max_small=8MiB,segment=1", .shape = RECOUNT_SLABS,
	  .releases = true, .max_small = 8 << 20 },
	{ "tlsf", .shape = RECOUNT_MERGED, .releases = true },
	{ "tlsf:sl_log2=1,segment=5000,pool=65000", .shape = RECOUNT_MERGED, .releases = true,
	  .pool = 65000 },
	{ "direct", .shape = RECOUNT_MERGED, .releases = true },
	{ "plan", .shape = RECOUNT_MERGED, .releases = true },
	{ "cupy", .shape = RECOUNT_MERGED, .releases = true },
	{ "cupy:limit=100MiB", .shape = RECOUNT_MERGED, .limited = true },
	{ "rmm", .shape = RECOUNT_MERGED, .by_stream = true, .keeps_all = true },
	{ "rmm:initial=3MiB", .shape = RECOUNT_MERGED, .by_stream = true, .keeps_all = true,
	  .pool = 3 << 20 },
	{ "rmm:maximum=100MiB", .shape = RECOUNT_MERGED, .by_stream = true, .limited = true },
	{ "pytorch", .shape = RECOUNT_MERGED, .releases = true, .notices_late = true,
	  .keeps_pools = true },
	{ "pytorch:max_split_size_mb=20,garbage_collection_threshold=0.5,"
	  "per_process_memory_fraction=0.7", .shape = RECOUNT_MERGED, .releases = true,
	  .notices_late = true, .keeps_pools = true },
	{ "pytorch:roundup_power2_divisions=[1:2,4:8,>:1],large_segment_size_mb=32",
	  .shape = RECOUNT_MERGED, .releases = true, .notices_late = true, .keeps_pools = true },
	{ "pytorch:throw_on_cudamalloc_oom=true,per_process_memory_fraction=0.9",
	  .shape = RECOUNT_MERGED, .notices_late = true, .keeps_pools = true },
	{ "pytorch:expandable_segments=true", .shape = RECOUNT_MERGED, .notices_late = true,
	  .keeps_pools = true },
	{ "pytorch:expandable_segments=true,expandable_segments_reserve=0.3,"
	  "large_segment_size_mb=11", .shape = RECOUNT_MERGED, .notices_late = true,
	  .keeps_pools = true },
	/* a private pool's request flushes nothing */
	{ "pytorch:version=2.12", .shape = RECOUNT_MERGED, .notices_late = true,
	  .keeps_pools = true },
	{ "pytorch:version=2.12,expandable_segments=true", .shape = RECOUNT_MERGED,
	  .notices_late = true, .keeps_pools = true },
};

/* Each can follow each: what names max_split_size_mb names large_segment_size_mb, too. */
static const char *const settings[] = {
	"", "large_segment_size_mb:20,max_split_size_mb:20",
	"large_segment_size_mb:20,max_split_size_mb:64,garbage_collection_threshold:0.3",
	"expandable_segments:True", "expandable_segments:False", "roundup_power2_divisions:4",
	"large_segment_size_mb:12,max_non_split_rounding_mb:12,max_split_size_mb:12",
	"per_process_memory_fraction:0.5", "backend:native,pinned_use_background_threads:True",
	"expandable_segments:True,expandable_segments_reserve:0.5",
	"garbage_collection_threshold:0.01",
};

static const uint64_t totals[] = {
	0, UINT64_C(64) << 10, UINT64_C(5) << 20, UINT64_C(24) << 20, UINT64_C(60) << 20,
	UINT64_C(1) << 30, UINT64_C(1) << 52, 4000037,
};
static const uint64_t granularities[] = { FRAG_GRANULARITY, 1, 512, 100003 };
static const uint32_t stretches[] = { 1, 7, 100, RECOUNT_EVENTS };

/* The trace to be made. */
struct maker {
	struct recount now;             /* which blocks live, which wait */
	struct frag_record *records;
	uint32_t count;
	uint8_t released[4];            /* of each device, pools as bits */
};

static uint64_t size_of(uint8_t a, uint8_t b)
{
	if (b == 255)
		return FRAG_SIZE_LIMIT - 1 - a;
	if (a == 0 && b < 16)
		return 0;
	if (b & 128)            /* near a power of two */
		return (UINT64_C(1) << (4 + b % 26)) + a % 5 - 2;
	return ((uint64_t)a << b % 21) + 1 - (b >> 5 & 1);
}

static struct frag_handle handle(uint64_t number)
{
	static const char *const names[] = { "a", "copy", "0" };

	if (number % 3 < 2)
		return (struct frag_handle){ .number = number };
	return (struct frag_handle){ .text = names[number / 3 % 3],
				     .number = strlen(names[number / 3 % 3]) };
}

/* The first number that no live block has; NONE where all are taken. */
static uint32_t unused_id(const struct recount *now)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; i < now->block_count; i++)
		if (now->blocks[i].state == RECOUNT_LIVE)
			taken |= UINT64_C(1) << now->blocks[i].id;
	return taken == UINT64_MAX ? RECOUNT_NONE : (uint32_t)__builtin_ctzll(~taken);
}

/* The n-th that can be freed, or completed, the oldest of its id. */
static uint32_t choose(const struct recount *now, enum frag_op op, uint8_t n)
{
	uint32_t found[RECOUNT_EVENTS], count = 0;

	for (uint32_t i = 0; i < now->block_count; i++)
		if (op == FRAG_OP_COMPLETE ? now->blocks[i].announced
					   : now->blocks[i].state == RECOUNT_LIVE)
			found[count++] = i;
	return count ? found[n % count] : RECOUNT_NONE;
}

/* Ids are numbers; every fourth is written as a string of one letter. */
static struct frag_handle id_of(uint32_t id)
{
	static const char letters[] = "abcdefghijklmnop";

	if (id % 4)
		return (struct frag_handle){ .number = id };
	return (struct frag_handle){ .text = &letters[id / 4], .number = 1 };
}

static void make_alloc(struct maker *m, const uint8_t *e, struct frag_record *rec)
{
	static const char *const tags[] = { "weights", "input", "", "a" };
	const char *tag = tags[e[0] >> 4 & 3];
	const uint32_t device = (e[1] >> 4 & 3) % m->now.device_count, pool = e[1] >> 2 & 3;
	uint32_t id = unused_id(&m->now);

	if (id == RECOUNT_NONE || m->released[device] >> pool & 1)
		return;
	*rec = (struct frag_record){
		.members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_STREAM
			   | FRAG_HAS_POOL | FRAG_HAS_DEVICE,
		.op = FRAG_OP_ALLOC, .id = id_of(id), .size = size_of(e[2], e[3]),
		.stream = handle(e[1] & 3), .pool = handle(pool), .device = device,
		.tag = { tag, (uint32_t)strlen(tag) }, .at = id,
	};
	if (e[0] & 128)
		rec->members |= FRAG_HAS_TAG;
}

static void make_of_block(struct maker *m, enum frag_op op, const uint8_t *e,
			  struct frag_record *rec)
{
	uint32_t at = choose(&m->now, op, e[2]);

	if (at == RECOUNT_NONE)
		return;
	*rec = (struct frag_record){
		.members = FRAG_HAS_OP | FRAG_HAS_ID, .op = op,
		.id = id_of(m->now.blocks[at].id), .at = m->now.blocks[at].id,
	};
	if (op == FRAG_OP_RECORD_STREAM) {
		rec->members |= FRAG_HAS_STREAM;
		rec->stream = handle(e[1] & 3);
	}
	if (op == FRAG_OP_FREE && e[1] & 64) {
		rec->members |= FRAG_HAS_PENDING;
		rec->pending = true;
	}
}

static void make_other(struct maker *m, enum frag_op op, const uint8_t *e,
		       struct frag_record *rec)
{
	const char *text = settings[e[2] % (sizeof(settings) / sizeof(settings[0]))];

	*rec = (struct frag_record){ .members = FRAG_HAS_OP, .op = op };
	if (e[1] & 64) {
		rec->members |= FRAG_HAS_DEVICE;
		rec->device = (e[1] >> 4 & 3) % m->now.device_count;
	}
	if (op == FRAG_OP_SYNC && e[1] & 128) {
		rec->members |= FRAG_HAS_STREAM;
		rec->stream = handle(e[1] & 3);
	}
	if (op == FRAG_OP_SET_FRACTION) {
		rec->members |= FRAG_HAS_VALUE;
		rec->fraction = e[2] < 200 ? e[2] / 200.0 : 1;
	}
	if (op == FRAG_OP_RELEASE_POOL) {
		rec->members |= FRAG_HAS_POOL;
		rec->pool = handle(1 + e[2] % 3);
		m->released[rec->device] |= (uint8_t)(1 << (1 + e[2] % 3));
	}
	if (op == FRAG_OP_CONFIGURE) {
		rec->members |= FRAG_HAS_VALUE;
		rec->text = (struct frag_text){ text, (uint32_t)strlen(text) };
	}
	if (op == FRAG_OP_MARK) {
		rec->members |= FRAG_HAS_NAME;
		rec->text = (struct frag_text){ "m", 1 };
	}
}

/* A third of all are requests, and a fifth frees; an event that cannot be is left out. */
static void make(struct maker *m, const uint8_t *e)
{
	static const enum frag_op ops[16] = {
		FRAG_OP_ALLOC, FRAG_OP_ALLOC, FRAG_OP_ALLOC, FRAG_OP_ALLOC, FRAG_OP_ALLOC,
		FRAG_OP_FREE, FRAG_OP_FREE, FRAG_OP_FREE, FRAG_OP_RELEASE_POOL,
		FRAG_OP_COMPLETE, FRAG_OP_RECORD_STREAM, FRAG_OP_SYNC, FRAG_OP_EMPTY_CACHE,
		FRAG_OP_SET_FRACTION, FRAG_OP_CONFIGURE, FRAG_OP_MARK,
	};
	const enum frag_op op = ops[e[0] & 15];
	struct frag_record *rec = &m->records[m->count];

	rec->members = 0;
	if (op == FRAG_OP_ALLOC)
		make_alloc(m, e, rec);
	else if (op == FRAG_OP_FREE || op == FRAG_OP_COMPLETE || op == FRAG_OP_RECORD_STREAM)
		make_of_block(m, op, e, rec);
	else
		make_other(m, op, e, rec);
	if (!rec->members)
		return;
	if (e[0] & 64) {
		rec->members |= FRAG_HAS_T;
		rec->t = e[3];
	}
	recount_event(&m->now, rec);
	m->count++;
}

/* The records as a source: so many a stretch. */
struct tape {
	const struct frag_record *records;
	uint32_t count, next, end, stretch;
};

static int tape_refill(void *state, struct frag_error *err)
{
	struct tape *tape = state;

	(void)err;
	tape->end = tape->count - tape->next < tape->stretch ? tape->count
							     : tape->next + tape->stretch;
	return tape->next < tape->count;
}

static int tape_next(void *state, struct frag_record *rec, const char **kind,
		     struct frag_error *err)
{
	struct tape *tape = state;

	(void)kind;
	(void)err;
	if (tape->next == tape->end)
		return 0;
	*rec = tape->records[tape->next++];
	return 1;
}

static const struct frag_source_ops tape_source = {
	.form = "tape", .refill = tape_refill, .next = tape_next,
};

static bool is_pytorchs_own(const struct recount *r, int rc, const struct frag_error *err)
{
	/* or a key that the version does not know yet */
	return r->policy->notices_late
	       && ((r->configured && rc == -FRAG_EPOLICY
		    && strstr(err->message, "PyTorch itself goes wrong here"))
		   || strstr(err->message, "Unrecognized key"));
}

/* Each rectangle is in its lane and in the run, and all who held memory have let it go. */
static void check_page(struct frag_page *page)
{
	struct frag_error err;

	recount_must(!frag_page_end(page, &err), "no memory for a page");
	for (uint32_t i = 0; i < page->device_count; i++) {
		const struct frag_page_device *d = &page->devices[i];

		for (uint32_t k = 0; k < d->blocks.count; k++) {
			const struct frag_area *a = &d->blocks.area[k];

			recount_must(a->birth <= a->freed && a->freed <= a->end && a->end <= d->end,
				     "a block is drawn before it was there, or after the run");
			recount_must(a->lane < d->segments.lane_count
				     && a->y + a->bytes <= d->segments.lanes[a->lane].height,
				     "a block is drawn outside of all segments");
		}
	}
	for (uint32_t i = 0; i < page->who.count; i++)
		recount_must(!page->who.of[i].live, "a tag holds memory after the end");
}

static void play(struct recount *r, struct tape *tape, const struct frag_device_figures *figures)
{
	const struct frag_sim_options options = {
		.on_oom_continue = true, .check = true, .on_oom = &frag_oom_explain,
	};
	const struct frag_observer observer = { .step = recount_see, .ctx = r };
	struct frag_batch batch = { .count = 1 };
	struct frag_error err = { .code = 0 };
	struct frag_choice choice;
	struct frag_trace *trace;
	struct frag_sim *sim;
	struct frag_page page;
	int rc = 0;

	r->records = tape->records;
	recount_must(!frag_choice_parse(&choice, r->policy->text, &err), err.message);
	recount_must(!frag_trace_from(&trace, &tape_source, tape, figures, r->device_count, NULL,
				      &err), err.message);
	recount_must(!frag_sim_new(&sim, &choice, trace, &options, &err), err.message);
	recount_must(!frag_sim_observe(sim, &observer), "no observer");
	recount_must(!frag_page_init(&page, sim, &err), err.message);
	while (batch.count && !rc) {
		recount_must(!frag_trace_next(trace, &batch, &err), err.message);
		rc = frag_sim_feed(sim, &batch, &err);
	}
	recount_must(rc == 0 || is_pytorchs_own(r, rc, &err), err.message);
	if (rc == 0)
		recount_results(r, sim);
	if (rc == 0)
		check_page(&page);
	frag_page_fini(&page);
	frag_sim_del(sim);
	frag_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frag_record records[RECOUNT_EVENTS];
	static struct recount seen;
	static struct maker m;
	struct frag_device_figures figures[RECOUNT_DEVICES];
	struct tape tape;

	if (size < SETTING_BYTES)
		return 0;
	recount_begin(&m.now, NULL, 1 + (data[1] & 15U) % RECOUNT_DEVICES, NULL);
	m.records = records;
	m.count = 0;
	memset(m.released, 0, sizeof(m.released));
	for (size_t at = SETTING_BYTES; at + EVENT_BYTES <= size; at += EVENT_BYTES)
		if (m.count < RECOUNT_EVENTS)
			make(&m, data + at);
	for (uint32_t d = 0; d < RECOUNT_DEVICES; d++)
		figures[d] = (struct frag_device_figures){
			.total = totals[(data[2] + 3 * d) & 7],
			.granularity = granularities[data[2] >> 3 & 3],
			.context = d * 1000,
			.other = d == 2 ? 77 : 0,
		};
	recount_begin(&seen, &policies[data[0] % (sizeof(policies) / sizeof(policies[0]))],
		      m.now.device_count, figures);
	tape = (struct tape){ .records = records, .count = m.count,
			      .stretch = stretches[data[1] >> 4 & 3] };
	play(&seen, &tape, figures);
	recount_end(&m.now);
	recount_end(&seen);
	return 0;
}
