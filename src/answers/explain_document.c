/* explain_document.c - what fragsim explain found in a trace, as a document. */
#include "answers/explain_answer.h"

#include "answers/answers.h"
#include "snapshot/outside_memory.h"

/* A live block of a segment, with what it waits for. */
struct frag_blocking_view {
	const struct frag_explained *moment;
	const struct frag_blocking_block *block;
	bool pending;
};

static bool wait_at(const void *of, uint32_t i, void *element)
{
	const struct frag_blocking_view *v = of;
	const struct frag_explained *m = v->moment;

	if (i == v->block->wait_count)
		return false;
	*(const char **)element = m->uses[m->waits[v->block->waits + i]].stream;
	return true;
}

#define BLOCKING(m) FRAG_VIA(blocking_view, block, blocking_block, m)
static const struct frag_field blocking_fields[] = {
	{ "id", FRAG_TYPE_ID, BLOCKING(id), "null: the program has freed it, and the allocator has"
	  " waited for it", .nullable = true },
	{ "tag", FRAG_TYPE_TEXT_JSON, BLOCKING(tag), .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, BLOCKING(bytes), .least = 1 },
	{ "offset", FRAG_TYPE_BYTES, BLOCKING(offset) },
	{ "allocated_at", FRAG_TYPE_COUNT, BLOCKING(allocated_at), "the event of its request" },
	{ "freed_at", FRAG_TYPE_COUNT, BLOCKING(freed_at), "the event of its free, before the moment where"
	  " it is pending; null: never in this trace", .absence = FRAG_UNLESS_MAX },
	{ "pending", FRAG_TYPE_FLAG, BLOCKING(pending) },
	{ "waits", FRAG_TYPE_LIST, FRAG_WHOLE, "of a pending one: streams that still use it; null: a"
	  " complete, for which the trace has no stream", .each = wait_at, .items = FRAG_TYPE_ID,
	  .nullable = true, .cut = true, .optional = true, FRAG_THERE_IF(blocking_view, pending) },
	{ 0 },
};

struct frag_blocked_view {
	const struct frag_explained *moment;
	const struct frag_blocked_segment *segment;
};

static bool blocking_at(const void *of, uint32_t i, void *element)
{
	const struct frag_blocked_view *v = of;

	if (i == v->segment->blocking_count)
		return false;
	*(struct frag_blocking_view *)element = (struct frag_blocking_view){
		v->moment, &v->segment->blocking[i], v->segment->blocking[i].pending,
	};
	return true;
}

/* Is it among the n largest of the segment, of equals the first ones? */
static bool is_among_largest(const void *of, uint32_t i, uint32_t n)
{
	const struct frag_blocked_segment *s = ((const struct frag_blocked_view *)of)->segment;
	uint32_t larger = 0;

	for (uint32_t k = 0; k < s->blocking_count && larger < n; k++)
		larger += s->blocking[k].bytes > s->blocking[i].bytes
			  || (s->blocking[k].bytes == s->blocking[i].bytes && k < i);
	return larger < n;
}

static bool segment_at(const void *of, uint32_t i, void *element)
{
	const struct frag_explained *m = of;

	if (i == m->segment_count)
		return false;
	*(struct frag_blocked_view *)element = (struct frag_blocked_view){ m, &m->segments[i] };
	return true;
}

#define BLOCKED(m) FRAG_VIA(blocked_view, segment, blocked_segment, m)
static const struct frag_field segment_fields[] = {
	{ "segment", FRAG_TYPE_COUNT, BLOCKED(ordinal), "its ordinal" },
	{ "bytes", FRAG_TYPE_BYTES, BLOCKED(bytes), "of an expandable range, those that are mapped",
	  .least = 1 },
	{ "non_releasable", FRAG_TYPE_BYTES, BLOCKED(non_releasable), "free bytes of it that cannot be"
	  " released", .least = 1 },
	{ "blocking_blocks", FRAG_TYPE_LIST, FRAG_WHOLE, "its live blocks, by offset; cut, the largest",
	  .each = blocking_at, .fields = blocking_fields, .cut = true, .shows = is_among_largest },
	{ 0 },
};

enum frag_life_class frag_holder_class(const struct frag_tag_memory *held)
{
	uint64_t all = 0;

	for (int i = FRAG_LIFE_WEIGHTS; i < FRAG_LIFE_CLASSES; i++)
		all += held->of_class[i];
	for (int i = FRAG_LIFE_WEIGHTS; i < FRAG_LIFE_UNKNOWN; i++)
		if (held->of_class[i] > all / 2)
			return (enum frag_life_class)i;
	return FRAG_LIFE_UNKNOWN;
}

static struct frag_cell_value class_of(const void *held)
{
	const enum frag_life_class life = frag_holder_class(held);

	return FRAG_TEXT_OF(life == FRAG_LIFE_UNKNOWN ? NULL : frag_life_class_names[life]);
}

static struct frag_cell_value class_evidence_of(const void *of)
{
	const struct frag_tag_memory *held = of;

	return FRAG_TEXT_OF(frag_class_evidence_names[held->evidence[frag_holder_class(held)]]);
}

#define HELD(m) FRAG_AT(tag_memory, m)
#define PRIVATE(m) FRAG_AT(pool_row, m)
static const struct frag_field holder_fields[] = {
	{ "tag", FRAG_TYPE_TEXT_JSON, HELD(tag), .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, HELD(bytes), .least = 1 },
	{ "blocks", FRAG_TYPE_COUNT, HELD(blocks), .least = 1 },
	{ "oldest", FRAG_TYPE_COUNT, HELD(oldest), "the event of the oldest" },
	{ "class", FRAG_TYPE_WORD, FRAG_WHOLE, "that of most of its bytes; null: unknown",
	  .get = class_of, .words = frag_life_class_names, .except = UINT64_C(1) << FRAG_LIFE_UNKNOWN,
	  .nullable = true },
	{ "evidence", FRAG_TYPE_WORD, FRAG_WHOLE, "what the class is based on; null: the class is"
	  " unknown", .get = class_evidence_of, .words = frag_class_evidence_names + 1, .nullable = true },
	{ 0 },
}, pool_fields[] = {
	{ "pool", FRAG_TYPE_COUNT, PRIVATE(pool), "in the order in which the trace names them, from 1",
	  .least = 1 },
	{ "segments", FRAG_TYPE_COUNT, PRIVATE(segments), .least = 1 },
	{ "reserved", FRAG_TYPE_BYTES, PRIVATE(reserved) },
	{ "live", FRAG_TYPE_BYTES, PRIVATE(live) },
	{ "free", FRAG_TYPE_BYTES, PRIVATE(free) },
	{ "non_releasable", FRAG_TYPE_BYTES, PRIVATE(non_releasable) },
	{ "name", FRAG_TYPE_ID, PRIVATE(name), "what the trace calls it" },
	{ 0 },
};

static bool from_at(const void *of, uint32_t i, void *element)
{
	const struct frag_move *move = of;

	if (i == move->from_count)
		return false;
	*(uint64_t *)element = move->from[i];
	return true;
}

/* Of those that were tried only what held is there. */
static struct frag_cell_value verified_of(const void *move)
{
	(void)move;
	return FRAG_FLAG_OF(true);
}

#define MOVE(m) FRAG_AT(move, m)
static const struct frag_field move_fields[] = {
	{ "bytes", FRAG_TYPE_BYTES, MOVE(bytes), .least = 1 },
	{ "blocks", FRAG_TYPE_COUNT, MOVE(blocks), .least = 1 },
	{ "ids", FRAG_TYPE_LIST, FRAG_ARRAY(move, ids, blocks), "in the order in which they are freed"
	  " before the request, and allocated again after it", .items = FRAG_TYPE_ID, .cut = true },
	{ "from", FRAG_TYPE_LIST, FRAG_WHOLE, "ordinals of the segments that they leave, rising",
	  .each = from_at, .items = FRAG_TYPE_COUNT, .cut = true },
	{ "verified", FRAG_TYPE_FLAG, FRAG_WHOLE, "always true: it was simulated", .get = verified_of },
	{ "reaches", FRAG_TYPE_COUNT, MOVE(reaches), "the event of the next OOM after it; null: the end"
	  " of the trace", .absence = FRAG_UNLESS_MAX },
	{ 0 },
};

/* The moment, where its verdict is this one. */
static struct frag_cell_value if_verdict(const struct frag_explained *m, enum frag_oom_verdict verdict)
{
	return FRAG_OF(m->verdict == verdict ? m : NULL);
}

static struct frag_cell_value accumulation_of(const void *moment)
{
	return if_verdict(moment, FRAG_VERDICT_ACCUMULATION);
}

static struct frag_cell_value past_leak_of(const void *moment)
{
	return if_verdict(moment, FRAG_VERDICT_LEAK);
}

static struct frag_cell_value attempt_of(const void *moment)
{
	return if_verdict(moment, FRAG_VERDICT_FAILED_ATTEMPT);
}

static struct frag_cell_value larger_of(const void *of)
{
	const struct frag_explained *m = of;

	return FRAG_OF(m->past.larger.bytes ? &m->past.larger : NULL);
}

#define MOMENT(m) FRAG_AT(explained, m)
#define PAST_TAG { "tag", FRAG_TYPE_TEXT_JSON, MOMENT(past_tag), .nullable = true }
static const struct frag_field accumulation_fields[] = {
	{ "bytes", FRAG_TYPE_BYTES, MOMENT(past.accumulation.bytes), "live now, minus the maximum that"
	  " was live of this line before" },
	{ "since", FRAG_TYPE_COUNT, MOMENT(past.accumulation.since), "the event of the oldest of these"
	  " blocks" },
	{ "passes", FRAG_TYPE_COUNT, MOMENT(past.accumulation.passes), "rounds in which they were made",
	  .absence = FRAG_UNLESS_ZERO },
	{ "larger", FRAG_TYPE_FLAG, MOMENT(past.accumulation.larger), "not more blocks, but larger ones" },
	PAST_TAG, { 0 },
}, past_leak_fields[] = {
	{ "bytes", FRAG_TYPE_BYTES, MOMENT(past.leak.bytes), "live now, of the iterations after the first" },
	{ "since", FRAG_TYPE_COUNT, MOMENT(past.leak.since), "the event of the oldest of these blocks" },
	{ "per_iteration", FRAG_TYPE_BYTES, MOMENT(past.leak.an_iteration) },
	{ "iterations", FRAG_TYPE_COUNT, MOMENT(past.leak.rounds), "whole ones before the failure" },
	PAST_TAG, { 0 },
}, attempt_fields[] = {
	{ "failed_at", FRAG_TYPE_COUNT, MOMENT(past.attempt.failed_at), "the event of the attempt that"
	  " failed; of several the one that left most behind" },
	{ "left_behind", FRAG_TYPE_BYTES, MOMENT(past.attempt.bytes), "by all attempts that failed before" },
	{ "blocks", FRAG_TYPE_COUNT, MOMENT(past.attempt.blocks) },
	PAST_TAG, { 0 },
}, larger_fields[] = {
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(larger, bytes) },
	{ "ratio", FRAG_TYPE_NUMBER, FRAG_AT(larger, ratio), "the median of their sizes to the largest"
	  " earlier one", .least = 1 },
	{ 0 },
}, survivor_fields[] = {
	{ "policy", FRAG_TYPE_OBJECT, FRAG_WHOLE, .fields = frag_policy_fields },
	FRAG_CONF_FIELD(FRAG_WHOLE), { 0 },
}, use_fields[] = {
	{ "stream", FRAG_TYPE_ID, FRAG_AT(pending_use, stream), "null: a complete, for which the trace"
	  " has no stream", .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(pending_use, bytes), .least = 1 },
	{ "blocks", FRAG_TYPE_COUNT, FRAG_AT(pending_use, blocks), .least = 1 },
	{ "since", FRAG_TYPE_COUNT, FRAG_AT(pending_use, since), "the event of the oldest free" },
	{ 0 },
}, pending_fields[] = {
	{ "bytes", FRAG_TYPE_BYTES, MOMENT(pending) },
	{ "blocks", FRAG_TYPE_COUNT, MOMENT(pending_blocks) },
	{ "waits", FRAG_TYPE_LIST, FRAG_ARRAY(explained, uses, use_count), "for whom, the oldest first; a"
	  " block may wait for several", .fields = use_fields, .cut = true },
	{ 0 },
};

static struct frag_cell_value main_kind_of(const void *moment)
{
	return FRAG_TEXT_OF(frag_main_cause_names[((const struct frag_explained *)moment)->main_cause]);
}

static struct frag_cell_value where_main_cause(const void *moment)
{
	return FRAG_OF(((const struct frag_explained *)moment)->main_cause ? moment : NULL);
}

static const struct frag_field main_fields[] = {
	{ "kind", FRAG_TYPE_WORD, FRAG_WHOLE, "long-lived blocks in segments that were there for others,"
	  " or others that stayed in large segments", .get = main_kind_of,
	  .words = frag_main_cause_names + 1 },
	{ "tag", FRAG_TYPE_TEXT_JSON, MOMENT(main_tag), "of the largest of them, in the segment with most"
	  " non_releasable bytes", .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, MOMENT(main_bytes), "theirs, in the segments that they keep",
	  .least = 1 },
	{ "non_releasable", FRAG_TYPE_BYTES, MOMENT(main_non_releasable), "free bytes of these segments"
	  " that cannot be released", .least = 1 },
	{ 0 },
};

static struct frag_cell_value moment_verdict_of(const void *moment)
{
	return FRAG_TEXT_OF(frag_oom_verdict_name(((const struct frag_explained *)moment)->verdict));
}

static const char *request_frames_of(const void *moment, char *buf)
{
	const struct frag_explained *m = moment;

	(void)buf;
	return m->frames ? m->frames : "";
}

static bool recorded_oom_at(const void *of, uint32_t i, void *element)
{
	const struct frag_recorded_failures *recorded = &((const struct frag_explained *)of)->recorded;

	if (i >= recorded->count || i == FRAG_FAILURES_SHOWN)
		return false;
	*(uint64_t *)element = recorded->at[i];
	return true;
}

/* One moment: the request, the sums, and the lists behind them. */
static const struct frag_field explained_fields[] = {
	{ "step", FRAG_TYPE_COUNT, MOMENT(step), "its event" },
	{ "device", FRAG_TYPE_COUNT, MOMENT(device) },
	{ "kind", FRAG_TYPE_WORD, MOMENT(kind), .words = frag_moment_kind_names },
	{ "verdict", FRAG_TYPE_WORD, FRAG_WHOLE, "the first that holds; null: no request has failed",
	  .get = moment_verdict_of, .words = frag_oom_verdict_names + 1, .nullable = true,
	  .except = FRAG_VERDICT_BIT(OUTSIDE) | FRAG_VERDICT_BIT(UNKNOWN)
	  | FRAG_VERDICTS_OF_MESSAGES },
	{ "nearly_full", FRAG_TYPE_FLAG, MOMENT(nearly_full), "of fragmentation: with the request more"
	  " than 95 % of the usable bytes are active" },
	{ "size", FRAG_TYPE_BYTES, MOMENT(size), "of the request that failed; 0 without one, as the next"
	  " two" },
	{ "need", FRAG_TYPE_BYTES, MOMENT(need), "of a block that satisfies it" },
	{ "missing", FRAG_TYPE_BYTES, MOMENT(missing), "of what was last requested of the device" },
	{ "live", FRAG_TYPE_BYTES, MOMENT(live), "allocated and pending blocks" },
	{ "free", FRAG_TYPE_BYTES, MOMENT(free) },
	{ "releasable", FRAG_TYPE_BYTES, MOMENT(releasable) },
	{ "non_releasable", FRAG_TYPE_BYTES, MOMENT(non_releasable) },
	{ "device_free", FRAG_TYPE_BYTES, MOMENT(device_free), "null: the device has no limit, as the next",
	  FRAG_THERE_IF(explained, limited) },
	{ "outside", FRAG_TYPE_BYTES, MOMENT(outside), "of the context and of other processes",
	  FRAG_THERE_IF(explained, limited) },
	{ "largest_now", FRAG_TYPE_BYTES, MOMENT(largest_now), "the largest free block, or what the device"
	  " has left" },
	{ "largest_after_flush", FRAG_TYPE_BYTES, MOMENT(largest_after_flush), "the same after all is"
	  " released that can be" },
	{ "largest_after_compaction", FRAG_TYPE_BYTES, MOMENT(largest_after_compaction), "what the device"
	  " has except the live blocks" },
	{ "trace_fits", FRAG_TYPE_FLAG, MOMENT(fits), "whether the blocks of the whole trace fit at their"
	  " peak; null: the trace ends with the failure", FRAG_THERE_IF(explained, fits_known) },
	{ "segments", FRAG_TYPE_LIST, FRAG_WHOLE, "those that cannot be released, the most non_releasable"
	  " bytes first", .each = segment_at, .fields = segment_fields, .cut = true },
	{ "holders", FRAG_TYPE_LIST, FRAG_ARRAY(explained, holders, holder_count), "by tag, the most bytes first",
	  .fields = holder_fields, .cut = true },
	{ "pools", FRAG_TYPE_LIST, FRAG_ARRAY(explained, pools, pool_count), "those of the program's own",
	  .fields = pool_fields, .cut = true },
	{ "moves", FRAG_TYPE_LIST, FRAG_ARRAY(explained, moves, move_count), "the first at the moment, each"
	  " further one where the one before has led", .fields = move_fields, .cut = true },
	{ "tried", FRAG_TYPE_COUNT, MOMENT(tried), "candidates for a move that were simulated" },
	{ "survivors", FRAG_TYPE_LIST, FRAG_ARRAY(explained, survivors, survivor_count), "other settings"
	  " and policies with which the whole trace fits this device", .fields = survivor_fields,
	  .cut = true },
	{ "main_cause", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of the non-releasable memory; null: none", .get = where_main_cause,
	  .fields = main_fields, .nullable = true },
	{ "pending", FRAG_TYPE_OBJECT, FRAG_WHOLE, "freed, and not reusable yet", .fields = pending_fields },
	{ "requested_by", FRAG_TYPE_TEXT_JSON, MOMENT(requested_by), "the innermost frame of the program's"
	  " own in the stack of the request, as FILE:LINE FUNCTION; null: not known", .nullable = true },
	{ "frames_at", FRAG_TYPE_COUNT, MOMENT(frames_at), "the event of the request with these frames:"
	  " this one, or where it has none, as in a backward pass, the last one before it that has some;"
	  " null: none has", .absence = FRAG_UNLESS_MAX },
	{ "frames", FRAG_TYPE_FRAMES, FRAG_WHOLE, "the program's own frames of that stack, the innermost"
	  " first", .text = request_frames_of },
	{ "accumulation", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of that verdict, as the next two; else null",
	  .get = accumulation_of, .fields = accumulation_fields, .nullable = true },
	{ "leak", FRAG_TYPE_OBJECT, FRAG_WHOLE, .get = past_leak_of, .fields = past_leak_fields,
	  .nullable = true },
	{ "failed_attempt", FRAG_TYPE_OBJECT, FRAG_WHOLE, .get = attempt_of, .fields = attempt_fields,
	  .nullable = true },
	{ "larger", FRAG_TYPE_OBJECT, FRAG_WHOLE, "blocks of the last iteration that are larger than any"
	  " earlier block of their stack, where they are most of its bytes; else null", .get = larger_of,
	  .fields = larger_fields, .nullable = true },
	{ "recorded_ooms", FRAG_TYPE_LIST, FRAG_WHOLE, "events of the failures that a snapshot recorded on"
	  " this device; of more than eight the first seven and the last", .each = recorded_oom_at,
	  .items = FRAG_TYPE_COUNT },
	{ "setting_leaves", FRAG_TYPE_BYTES, MOMENT(setting_left), "of the device, by the first of the"
	  " survivors, at the end of the trace; null: none fits", .absence = FRAG_UNLESS_MAX },
	{ 0 },
};

static const char *outside_tag_of(const void *of, char *buf)
{
	(void)buf;
	return ((const struct frag_outside_tag *)of)->tag.text;
}

#define UNOWNED(m) FRAG_AT(outside, m)
static const struct frag_field outside_tag_fields[] = {
	{ "tag", FRAG_TYPE_TEXT, FRAG_WHOLE, "function, library and NVTX range, as fragsim-formats(5) has"
	  " it of nsys", .text = outside_tag_of, .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(outside_tag, bytes) },
	{ "allocations", FRAG_TYPE_COUNT, FRAG_AT(outside_tag, allocations), .least = 1 },
	{ "stack", FRAG_TYPE_FLAG, FRAG_AT(outside_tag, stack), "whether the database has a call stack of"
	  " them" },
	{ 0 },
}, outside_fields[] = {
	{ "segments", FRAG_TYPE_COUNT, UNOWNED(segments), "of the snapshot at this event, except expandable"
	  " ones" },
	{ "matched", FRAG_TYPE_COUNT, UNOWNED(matched), "of them, live in the database; 0: the other members"
	  " are not known" },
	{ "timed", FRAG_TYPE_FLAG, UNOWNED(timed), "false: the moment is right before the next cudaMalloc or"
	  " cudaFree of PyTorch" },
	{ "bytes", FRAG_TYPE_BYTES, UNOWNED(bytes) },
	{ "allocations", FRAG_TYPE_COUNT, UNOWNED(allocations) },
	{ "unknown", FRAG_TYPE_BYTES, UNOWNED(unknown), "in use on the device at a recorded OOM, and in no"
	  " event; null: not computed", FRAG_THERE_IF(outside, unknown_set) },
	{ "tags", FRAG_TYPE_LIST, FRAG_ARRAY(outside, tags, tag_count), "the most bytes first",
	  .fields = outside_tag_fields, .cut = true },
	{ 0 },
};

struct frag_moment_view {
	const struct frag_explained *moment;
	const struct frag_outside *outside;
};

static bool moment_at(const void *of, uint32_t i, void *element)
{
	const struct frag_explain_answer *a = of;

	if (i == a->found->count)
		return false;
	*(struct frag_moment_view *)element = (struct frag_moment_view){
		&a->found->moments[i], a->outside ? &a->outside[i] : NULL,
	};
	return true;
}

/* That of the first moment. */
static bool explain_device_view(const void *of, uint32_t i, void *element)
{
	const struct frag_explanation *x = ((const struct frag_explain_answer *)of)->found;
	const uint32_t device = x->count ? x->moments[0].device : 0;

	(void)i;
	*(struct frag_device_view *)element = (struct frag_device_view){ device, x->devices[device] };
	return true;
}

static struct frag_cell_value complete_of(const void *answer)
{
	return FRAG_FLAG_OF(!((const struct frag_explain_answer *)answer)->time_up);
}

static struct frag_cell_value choice_of(const void *explanation)
{
	return FRAG_OF(((const struct frag_explanation *)explanation)->choice);
}

static const char *explain_evidence_of(const void *explanation, char *buf)
{
	return frag_evidence_of(((const struct frag_explanation *)explanation)->choice, buf);
}

static const struct frag_field moment_fields[] = {
	FRAG_MEMBERS(FRAG_POINTER(moment_view, moment), explained_fields),
	{ "outside_pytorch", FRAG_TYPE_OBJECT, FRAG_POINTER(moment_view, outside), "of --beside: allocations"
	  " of the process that are none of the snapshot's segments", .fields = outside_fields,
	  .optional = true },
	{ 0 },
}, explain_fields[] = {
	{ "complete", FRAG_TYPE_FLAG, FRAG_WHOLE, "false where --time or a signal ended the search",
	  .get = complete_of },
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(explain_answer, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(explain_answer, trace, trace_info, scope)),
	{ "policy", FRAG_TYPE_OBJECT, FRAG_WHOLE_VIA(explain_answer, found), .get = choice_of,
	  .fields = frag_policy_fields },
	{ "evidence", FRAG_TYPE_TEXT, FRAG_WHOLE_VIA(explain_answer, found), "with which allocators the"
	  " rules were compared", .text = explain_evidence_of },
	{ "device", FRAG_TYPE_OBJECT, FRAG_WHOLE, "that of the first moment", .each = explain_device_view,
	  .fields = frag_device_fields },
	{ "moments", FRAG_TYPE_LIST, FRAG_WHOLE, "one a device, in order of ordinal", .each = moment_at,
	  .fields = moment_fields },
	{ 0 },
};

const struct frag_document_type frag_explain_document = {
	.format = "fragsim-explain", .version = 2, .fields = explain_fields,
	.what = "The answer of fragsim explain about a trace, see fragsim-explain(1).",
};
