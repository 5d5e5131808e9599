/* random_events.c - valid traces of random events, for tests that compare two ways to run one. */
#include "support/random_events.h"

#include <stdlib.h>

#include "support/random.h"
#include "support/records.h"
#include "support/unit.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

const char *const random_policies[] = {
	"bestfit", "bestfit:pool=20MiB,segment=3MiB", "firstfit:release=false", "nextfit",
	"worstfit:min_split=4096", "buddy", "sizeclass", "tlsf", "direct",
	"bfc:garbage_collection=true", "bfc:memory_limit=200MiB", "plan", "pytorch",
	"pytorch:max_split_size_mb=20,garbage_collection_threshold=0.6,"
	"per_process_memory_fraction=0.8",
	"pytorch:expandable_segments=true",
	"pytorch:expandable_segments=true,expandable_segments_reserve=0.5,"
	"per_process_memory_fraction=0.9",
	"pytorch:expandable_segments=true,expandable_segments_reserve=0.05G",
	"pytorch:large_segment_size_mb=32,per_process_memory_fraction=0.95,"
	"garbage_collection_threshold=0.3",
	"pytorch:throw_on_cudamalloc_oom=true,per_process_memory_fraction=0.7",
	"pytorch:version=2.12", "pytorch:version=2.12,expandable_segments=true",
	"pytorch:version=2.11,max_split_size_mb=20",
	"pytorch:version=2.4,expandable_segments=true,roundup_power2_divisions=[1:4,>:1]",
	"compact", "compact:over=bestfit,segment=3MiB", "compact:expandable_segments=true",
	"compact:version=2.12", NULL
};

uint64_t random_capacity(uint64_t *state)
{
	return (16 + random_below(state, 400)) * MIB;
}

static uint64_t any_size(uint64_t *state)
{
	switch (random_below(state, 8)) {
	case 0:
		return random_below(state, 16) ? 1 + random_below(state, 512) : 0;
	case 1: case 2: case 3:
		return 1 + random_below(state, MIB);
	case 4: case 5:
		return MIB + random_below(state, 9 * MIB);
	case 6:
		return 10 * MIB + random_below(state, 15 * MIB);
	default:
		return (1 + random_below(state, 20)) * 512 * KIB;
	}
}

static uint64_t take_out(uint64_t *ids, uint32_t *count, uint64_t *state)
{
	uint32_t i = (uint32_t)random_below(state, *count);
	uint64_t id = ids[i];

	ids[i] = ids[--*count];
	return id;
}

static void put_alloc(struct random_events *r, struct frag_record *rec)
{
	static const char tags[][6] = { "conv", "linear", "act", "optim" };
	uint64_t *state = &r->state;

	*rec = (struct frag_record){
		.op = FRAG_OP_ALLOC, .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE,
		.id.number = r->next_id, .size = any_size(state),
	};
	if (random_below(state, 3) == 0) {
		rec->members |= FRAG_HAS_TAG;
		rec->tag = records_text(tags[random_below(state, 4)]);
	}
	if (random_below(state, 4) == 0 && !r->plain) {
		rec->members |= FRAG_HAS_STREAM;
		rec->stream.number = random_below(state, 3);
	}
	if (random_below(state, 6) == 0 && !r->plain) {
		rec->members |= FRAG_HAS_POOL;
		rec->pool.number = random_below(state, 3);
	}
	if (r->devices > 1) {
		rec->members |= FRAG_HAS_DEVICE;
		rec->device = random_below(state, r->devices);
	}
	r->live[r->live_count++] = r->next_id++;
}

static void put_free(struct random_events *r, struct frag_record *rec)
{
	*rec = (struct frag_record){
		.op = FRAG_OP_FREE, .members = FRAG_HAS_OP | FRAG_HAS_ID,
		.id.number = take_out(r->live, &r->live_count, &r->state),
	};
	if (random_below(&r->state, 16) == 0 && !r->plain) {
		rec->members |= FRAG_HAS_PENDING;
		rec->pending = true;
		r->pending[r->pending_count++] = rec->id.number;
	}
}

static void put_rare(struct random_events *r, struct frag_record *rec)
{
	uint64_t *state = &r->state;

	*rec = (struct frag_record){ .op = FRAG_OP_SYNC, .members = FRAG_HAS_OP };
	switch (r->plain ? 1 : random_below(state, 7)) {
	case 0:
		rec->op = FRAG_OP_EMPTY_CACHE;
		break;
	case 1:
		rec->op = FRAG_OP_MARK;
		rec->members |= FRAG_HAS_NAME;
		rec->text = records_text("here");
		break;
	case 2:
		rec->op = FRAG_OP_SET_FRACTION;
		rec->members |= FRAG_HAS_VALUE;
		rec->fraction = random_below(state, 2) ? 1 : 0.5 + (double)random_below(state, 50) / 100;
		break;
	case 3:
		if (!r->live_count)
			break;
		rec->op = FRAG_OP_RECORD_STREAM;
		rec->members |= FRAG_HAS_ID | FRAG_HAS_STREAM;
		rec->id.number = r->live[random_below(state, r->live_count)];
		rec->stream.number = random_below(state, 3);
		break;
	case 4:
		if (!r->pending_count)
			break;
		rec->op = FRAG_OP_COMPLETE;
		rec->members |= FRAG_HAS_ID;
		rec->id.number = take_out(r->pending, &r->pending_count, state);
		break;
	case 5:
		rec->op = FRAG_OP_CONFIGURE;
		rec->members |= FRAG_HAS_VALUE;
		rec->text = records_text(random_below(state, 2) ? "expandable_segments:True"
								: "expandable_segments:False");
		break;
	default:
		break;
	}
}

/* Phases in which blocks gather, and others in which they go. */
static void put_event(struct random_events *r, uint32_t i)
{
	const uint32_t gather = 40 + 25 * (i / 100 % 2);
	const uint64_t what = random_below(&r->state, 100);

	if (what < 6)
		put_rare(r, &r->records[i]);
	else if (!r->live_count || what < 6 + gather)
		put_alloc(r, &r->records[i]);
	else
		put_free(r, &r->records[i]);
}

static void fill(struct random_events *r)
{
	r->records = calloc(r->count + 1, sizeof(*r->records));
	r->live = calloc(r->count + 1, sizeof(*r->live));
	r->pending = calloc(r->count + 1, sizeof(*r->pending));
	assert_true(r->records && r->live && r->pending);
	for (uint32_t i = 0; i < r->count; i++)
		put_event(r, i);
}

void random_events_init(struct random_events *r, uint64_t seed, uint32_t count, uint32_t devices)
{
	*r = (struct random_events){ .state = seed, .count = count, .devices = devices };
	fill(r);
}

void random_events_plain(struct random_events *r, uint64_t seed, uint32_t count)
{
	*r = (struct random_events){ .state = seed, .count = count, .devices = 1, .plain = true };
	fill(r);
}

void random_events_fini(struct random_events *r)
{
	free(r->records);
	free(r->live);
	free(r->pending);
}

struct frag_trace *random_events_open(const struct random_events *r, struct records *source,
				      const struct frag_device_figures *devices)
{
	struct frag_error err = { .code = 0 };
	struct frag_trace *trace;

	*source = (struct records){ .records = r->records, .count = r->count };
	if (frag_trace_from(&trace, &records_source, source, devices, r->devices, NULL, &err))
		fail_msg("%s", err.message);
	return trace;
}
