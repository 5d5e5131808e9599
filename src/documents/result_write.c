/* result_write.c - the result of one trace: all that its runs have. */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/result_fields.h"

#include "base/oom_verdict.h"
#include "explain/diagnose_run.h"
#include "metrics/driver_latency.h"

/* Tags of blocks -------------------------------------------------------------- */

#define HOLDER(m) FRAG_AT(tag_usage, m)
static const struct frag_field stack_fields[] = {
	{ "frames", FRAG_TYPE_FRAMES, FRAG_AT(holder_stack, frames), "the innermost first" },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(holder_stack, bytes) },
	{ "blocks", FRAG_TYPE_COUNT, FRAG_AT(holder_stack, blocks), .least = 1 },
	{ "oldest", FRAG_TYPE_COUNT, FRAG_AT(holder_stack, oldest) },
	{ 0 },
}, holder_fields[] = {
	{ "tag", FRAG_TYPE_TEXT_JSON, HOLDER(tag), "null: blocks without one", .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, HOLDER(bytes) },
	{ "blocks", FRAG_TYPE_COUNT, HOLDER(blocks), .least = 1 },
	{ "oldest", FRAG_TYPE_COUNT, HOLDER(oldest), "the event that allocated the oldest" },
	{ "all_stacks", FRAG_TYPE_COUNT, HOLDER(all_stacks), "of a trace with stacks: the number of"
	  " different ones", .absence = FRAG_UNLESS_ZERO, .optional = true, .least = 1 },
	{ "stacks", FRAG_TYPE_LIST, FRAG_ARRAY_IN(tag_usage, stacks, stack_count), "the first three by"
	  " bytes", .fields = stack_fields, .optional = true, .least = 1 },
	{ 0 },
};

/* Failed requests -------------------------------------------------------------- */

/* One of a run's, whose names and sizes its message needs. */
struct frag_oom_view {
	const struct frag_result *run;
	const struct frag_oom *oom;
};

static bool oom_at(const void *of, uint32_t i, void *element)
{
	const struct frag_result *r = of;

	if (i == r->oom_count)
		return false;
	*(struct frag_oom_view *)element = (struct frag_oom_view){ r, &r->ooms[i] };
	return true;
}

static const char *message_of(const void *of, char *buf)
{
	const struct frag_oom_view *v = of;

	return frag_oom_message(v->run, v->oom, false, buf);
}

static struct frag_cell_value hole_of(const void *of)
{
	const struct frag_oom *oom = of;

	return FRAG_OF(oom->hole.bytes ? &oom->hole : NULL);
}

#define HOLE(m) FRAG_AT(hole, m)
#define OOM(m) FRAG_VIA(oom_view, oom, oom, m)
static const struct frag_field hole_fields[] = {
	{ "segment", FRAG_TYPE_COUNT, HOLE(segment), "its ordinal" },
	{ "offset", FRAG_TYPE_BYTES, HOLE(offset), "in the segment" },
	{ "bytes", FRAG_TYPE_BYTES, HOLE(bytes), .least = 1 },
	{ "live", FRAG_TYPE_BYTES, HOLE(live), "of these, in allocated and pending blocks", .least = 1 },
	{ "whole", FRAG_TYPE_FLAG, HOLE(whole), "it is the segment, which could be released" },
	{ "holders", FRAG_TYPE_LIST, FRAG_ARRAY_IN(hole, holders, holder_count), "the tags of the blocks to"
	  " free", .fields = holder_fields },
	{ 0 },
}, oom_fields[] = {
	{ "step", FRAG_TYPE_COUNT, OOM(step) },
	{ "id", FRAG_TYPE_ID, OOM(id), "of the request; null: an initial pool", .nullable = true },
	{ "size", FRAG_TYPE_BYTES, OOM(size), "requested" },
	{ "message", FRAG_TYPE_TEXT, FRAG_WHOLE, "in PyTorch's wording", .text = message_of },
	{ "cause", FRAG_TYPE_WORD, FRAG_VIA(oom_view, oom, oom, fragmentation), "fragmentation: free +"
	  " device_free is at least `tried`", .words = frag_oom_kinds },
	{ "tried", FRAG_TYPE_BYTES, OOM(tried), "what the policy last requested of the device" },
	{ "limit", FRAG_TYPE_BYTES, OOM(limit), "what set_fraction, or the policy itself, allows of the"
	  " device; null: no limit", .absence = FRAG_UNLESS_MAX },
	{ "metrics", FRAG_TYPE_OBJECT, OOM(metrics), "after the failed request",
	  .fields = frag_metrics_fields },
	{ "holders", FRAG_TYPE_LIST, FRAG_ARRAY_IN_VIA(oom_view, oom, oom, holders, holder_count), "of live"
	  " and pending blocks: the first five tags by bytes", .fields = holder_fields },
	{ "hole", FRAG_TYPE_OBJECT, FRAG_WHOLE_VIA(oom_view, oom), "the smallest sum of live bytes to free"
	  " for the request; null: there is no such place", .get = hole_of, .fields = hole_fields,
	  .nullable = true },
	{ 0 },
};

/* The answer: in the order and by the names of the report's rows --------------- */

struct frag_answer_view {
	const struct frag_result *run;
	const struct frag_diagnosis *answer;
	struct frag_oom_diagnosis oom;
	bool hopeless, fits;
};

static bool answer_view(const void *of, uint32_t i, void *element)
{
	const struct frag_run_view *v = of;
	struct frag_answer_view *to = element;

	(void)i;
	if (!v->answer || v->run->last.opaque)
		return false;
	*to = (struct frag_answer_view){
		.run = v->run, .answer = v->answer, .oom = frag_diagnosis_oom(v->answer, v->run),
		.hopeless = frag_diagnosis_exceeds_capacity(v->answer, v->run),
		.fits = !v->run->oom_count,
	};
	return true;
}

static const char *const verdicts[] = { "fits", "does not fit", "no limit", "interrupted", NULL };

/* The words of the report's first line. */
static struct frag_cell_value run_verdict(const void *of)
{
	const struct frag_result *r = of;

	return FRAG_TEXT_OF(verdicts[r->oom_count ? 1 : r->status == FRAG_RUN_INTERRUPTED ? 3
				     : !r->total ? 2 : 0]);
}

static struct frag_cell_value cause_of(const void *of)
{
	return FRAG_TEXT_OF(frag_oom_verdict_name(((const struct frag_answer_view *)of)->oom.verdict));
}

/* UINT64_MAX: not known. */
struct frag_needs_view {
	const struct frag_diagnosis *answer;
	uint64_t without_fragmentation, more_than;
};

/* None where the whole trace was not simulated to its end, even on an unlimited device. */
static bool needs_view(const void *of, uint32_t i, void *element)
{
	const struct frag_answer_view *v = of;
	const struct frag_diagnosis *a = v->answer;

	(void)i;
	*(struct frag_needs_view *)element = (struct frag_needs_view){
		a, a->requested + v->run->context + v->run->other,
		!a->smallest && a->failing ? a->failing - 1 : UINT64_MAX,
	};
	return v->fits || a->requested;
}

/* Of a failed run: those that kept the hole, one place, from being free. */
static bool pinned_at(const void *of, uint32_t i, void *element)
{
	const struct frag_answer_view *v = of;
	const struct frag_hole *hole = v->fits ? NULL : &v->run->ooms[0].hole;
	struct frag_blocking_tag *to = element;

	if (!hole) {
		if (i < v->answer->peak.blocking_count)
			*to = v->answer->peak.blocking[i];
		return i < v->answer->peak.blocking_count;
	}
	if (hole->live >= hole->bytes || i == hole->holder_count)
		return false;
	*to = (struct frag_blocking_tag){
		.tag = hole->holders[i].tag, .bytes = hole->holders[i].bytes,
		.blocks = hole->holders[i].blocks, .places = 1,
		.non_releasable = hole->bytes - hole->live, .alone = hole->holder_count == 1,
	};
	return true;
}

static bool held_at(const void *of, uint32_t i, void *element)
{
	const struct frag_answer_view *v = of;
	const struct frag_tag_usage *held = v->fits ? v->answer->peak.holders : v->run->ooms[0].holders;

	if (i == (v->fits ? v->answer->peak.holder_count : v->run->ooms[0].holder_count))
		return false;
	*(struct frag_tag_usage *)element = held[i];
	return true;
}

static struct frag_cell_value fix_of(const void *of)
{
	const struct frag_diagnosis *a = of;

	return FRAG_OF(a->fix.found ? &a->fix : NULL);
}

static const char *fix_conf(const void *of, char *buf)
{
	return frag_conf_of(&((const struct frag_setting_fix *)of)->choice, buf);
}

static struct frag_cell_value wasted_of(const void *of)
{
	const struct frag_result *r = of;

	return FRAG_OF(r->oom_count ? NULL : r);
}

#define ANSWER(m) FRAG_VIA(answer_view, answer, diagnosis, m)
#define NEEDS(m) FRAG_VIA(needs_view, answer, diagnosis, m)
#define BLOCKING(m) FRAG_AT(blocking_tag, m)
#define FIX(m) FRAG_AT(setting_fix, m)
static const struct frag_field needs_fields[] = {
	{ "requested", FRAG_TYPE_BYTES, NEEDS(requested), "the peak of a run to the end of the trace" },
	{ "allocated", FRAG_TYPE_BYTES, NEEDS(allocated), "the same" },
	{ "without_fragmentation", FRAG_TYPE_BYTES, FRAG_AT(needs_view, without_fragmentation),
	  "the peak of requested, with the context and other processes" },
	{ "smallest", FRAG_TYPE_BYTES, NEEDS(smallest), "of a failed run: the smallest larger device that"
	  " fits; null: unknown, as below", .absence = FRAG_UNLESS_ZERO },
	{ "reliable", FRAG_TYPE_BYTES, NEEDS(reliable), "the smallest device from which all that were"
	  " examined fit, up to half above `smallest`", .absence = FRAG_UNLESS_ZERO },
	{ "more_than", FRAG_TYPE_BYTES, FRAG_AT(needs_view, more_than), "of a failed run without `smallest`:"
	  " no device of up to this size fits", .absence = FRAG_UNLESS_MAX },
	{ 0 },
}, wasted_fields[] = {
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(result, at_peak.wasted), "at the peak of reserved" },
	{ "most", FRAG_TYPE_BYTES, FRAG_AT(result, peak.wasted), "of the run" },
	{ 0 },
}, pinned_fields[] = {
	{ "tag", FRAG_TYPE_TEXT_JSON, BLOCKING(tag), "null: blocks without one", .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, BLOCKING(bytes) },
	{ "blocks", FRAG_TYPE_COUNT, BLOCKING(blocks) },
	{ "free", FRAG_TYPE_BYTES, BLOCKING(non_releasable), "non-releasable, next to them", .least = 1 },
	{ "places", FRAG_TYPE_COUNT, BLOCKING(places), "segments with these bytes; in expandable segments,"
	  " free blocks", .least = 1 },
	{ "alone", FRAG_TYPE_FLAG, BLOCKING(alone), "no other tag has blocks there" },
	{ 0 },
}, try_fields[] = {
	{ "alloc_conf", FRAG_TYPE_TEXT, FRAG_WHOLE, "the string to copy", .text = fix_conf },
	{ "requested", FRAG_TYPE_BYTES, FIX(requested), "its peak" },
	{ "reserved", FRAG_TYPE_BYTES, FIX(reserved), "its peak" },
	{ "wasted", FRAG_TYPE_BYTES, FIX(wasted), "at that of reserved" },
	{ 0 },
}, answer_fields[] = {
	{ "verdict", FRAG_TYPE_WORD, FRAG_WHOLE_VIA(answer_view, run), .get = run_verdict, .words = verdicts },
	{ "cause", FRAG_TYPE_WORD, FRAG_WHOLE, "of a failed run, else null", .get = cause_of,
	  .words = frag_oom_verdict_names + 1, .except = FRAG_VERDICT_BIT(OUTSIDE) | FRAG_VERDICT_BIT(UNKNOWN)
	  | FRAG_VERDICTS_OF_MESSAGES,
	  .nullable = true },
	{ "needs", FRAG_TYPE_OBJECT, FRAG_WHOLE, "what the whole trace needs; null: a failed run that fails"
	  " on an unlimited device too", .each = needs_view, .fields = needs_fields, .nullable = true },
	{ "hopeless", FRAG_TYPE_FLAG, FRAG_AT(answer_view, hopeless), "no setting helps: the device is"
	  " smaller than without_fragmentation, or the program's own limit is too small" },
	{ "nearly_full", FRAG_TYPE_FLAG, FRAG_AT(answer_view, oom.nearly_full), "of fragmentation: with the"
	  " request more than 95 % of the usable bytes are live" },
	{ "wasted", FRAG_TYPE_OBJECT, FRAG_WHOLE_VIA(answer_view, run), "of a run that fits, else null",
	  .get = wasted_of, .fields = wasted_fields, .nullable = true },
	{ "cached", FRAG_TYPE_BYTES, FRAG_VIA(answer_view, run, result, at_peak.releasable), "releasable at"
	  " the peak of reserved, of a run that fits, else null", FRAG_THERE_IF(answer_view, fits) },
	{ "pinned", FRAG_TYPE_LIST, FRAG_WHOLE, "blocks next to free memory that only they keep from"
	  " use, by tag", .each = pinned_at, .fields = pinned_fields },
	{ "held", FRAG_TYPE_LIST, FRAG_WHOLE, "the top tags: at the out-of-memory, else at the peak of"
	  " reserved", .each = held_at, .fields = holder_fields },
	{ "try", FRAG_TYPE_OBJECT, FRAG_WHOLE_VIA(answer_view, answer), "a setting of PyTorch's allocator that"
	  " was simulated instead of the run's own; null: none was found", .get = fix_of,
	  .fields = try_fields, .nullable = true },
	{ "tried", FRAG_TYPE_COUNT, ANSWER(fixes), "settings that were simulated" },
	{ 0 },
};

/* PyTorch's statistics, by its names, whichever policy keeps them -------------- */

static const struct frag_field sums_fields[] = {
	{ "peak", FRAG_TYPE_COUNT, FRAG_AT(stat, peak) },
	{ "allocated", FRAG_TYPE_COUNT, FRAG_AT(stat, allocated), "the sum of all increases" },
	{ "freed", FRAG_TYPE_COUNT, FRAG_AT(stat, freed), "the sum of all decreases" },
	{ 0 },
}, stat_fields[] = {
	{ "current", FRAG_TYPE_COUNT, FRAG_AT(stat, current) }, FRAG_MEMBERS(FRAG_WHOLE, sums_fields), { 0 },
}, signed_stat_fields[] = {
	{ "current", FRAG_TYPE_INTEGER, FRAG_AT(stat, current), "below 0 after a change of max_split_size_mb,"
	  " as in PyTorch, where the free compares the block with it" },
	FRAG_MEMBERS(FRAG_WHOLE, sums_fields), { 0 },
}, pool_stat_fields[] = {
	{ "all", FRAG_TYPE_OBJECT, FRAG_AT(pool_stat, all), .fields = stat_fields },
	{ "large_pool", FRAG_TYPE_OBJECT, FRAG_AT(pool_stat, large), .fields = stat_fields },
	{ "small_pool", FRAG_TYPE_OBJECT, FRAG_AT(pool_stat, small), .fields = stat_fields },
	{ 0 },
}, memory_stats_fields[] = {
#define X(name) { #name, FRAG_TYPE_COUNT, FRAG_AT(memory_stats, name) },
	FRAG_STAT_COUNTS(X)
#undef X
#define X(name) { #name, FRAG_TYPE_OBJECT, FRAG_AT(memory_stats, name), .fields = pool_stat_fields },
	FRAG_POOL_STATS(X)
#undef X
#define X(name) { #name, FRAG_TYPE_OBJECT, FRAG_AT(memory_stats, name), .fields = signed_stat_fields },
	FRAG_PLAIN_STATS(X)
#undef X
	{ 0 },
};

/* A replay --------------------------------------------------------------------- */

struct frag_taking_view {
	uint64_t up_to;
	const struct frag_taking *taking;
};

/* The i-th class of sizes that has segments. */
static bool taking_at(const void *of, uint32_t i, void *element)
{
	const struct frag_driver_costs *c = of;

	for (uint32_t k = 0; k < FRAG_SIZE_CLASSES; k++) {
		if (!c->segments[k].count || i--)
			continue;
		*(struct frag_taking_view *)element = (struct frag_taking_view){
			k < FRAG_SIZE_CLASSES - 1 ? frag_size_class_max(k) : UINT64_MAX, &c->segments[k],
		};
		return true;
	}
	return false;
}

#define PREDICTED(m) FRAG_AT(prediction, m)
#define TAKING(m) FRAG_VIA(taking_view, taking, taking, m)
static const struct frag_field prediction_fields[] = {
	{ "differs", FRAG_TYPE_FLAG, PREDICTED(differs), "a decision of GPU and simulation does" },
	{ "first_difference", FRAG_TYPE_COUNT, PREDICTED(first_difference), "the event of the first"
	  " such decision, or null", FRAG_THERE_IF(prediction, differs) },
	{ "steps", FRAG_TYPE_COUNT, PREDICTED(steps), "that were compared" },
	{ "reserved_predicted", FRAG_TYPE_BYTES, PREDICTED(reserved_predicted), "the peak of reserved" },
	{ "reserved_measured", FRAG_TYPE_BYTES, PREDICTED(reserved_measured) },
	{ "used_predicted", FRAG_TYPE_BYTES, PREDICTED(used_predicted), "the peak of device memory without"
	  " the context" },
	{ "used_measured", FRAG_TYPE_BYTES, PREDICTED(used_measured) },
	{ "free_predicted", FRAG_TYPE_INTEGER, PREDICTED(free_predicted), "the minimum of free memory of the"
	  " device" },
	{ "free_measured", FRAG_TYPE_INTEGER, PREDICTED(free_measured) },
	{ "oom_step_predicted", FRAG_TYPE_COUNT, PREDICTED(oom_step_predicted), "the event of the"
	  " first out-of-memory, or null", FRAG_THERE_IF(prediction, oom_predicted) },
	{ "oom_step_measured", FRAG_TYPE_COUNT, PREDICTED(oom_step_measured),
	  FRAG_THERE_IF(prediction, oom_measured) },
	{ "error_bytes", FRAG_TYPE_INTEGER, PREDICTED(error_bytes), "used_predicted - used_measured" },
	{ "error_percent", FRAG_TYPE_NUMBER, PREDICTED(error_percent), "the same without its sign, in per"
	  " cent of used_measured" },
	{ 0 },
}, taking_fields[] = {
	{ "up_to_bytes", FRAG_TYPE_BYTES, FRAG_AT(taking_view, up_to), "as in `calls`",
	  .absence = FRAG_UNLESS_MAX },
	{ "count", FRAG_TYPE_COUNT, TAKING(count), .least = 1 },
	{ "asked", FRAG_TYPE_BYTES, TAKING(requested), "of the driver" },
	{ "predicted", FRAG_TYPE_BYTES, TAKING(predicted), "from the granularity" },
	{ "taken", FRAG_TYPE_BYTES, TAKING(taken), "from the GPU" },
	{ 0 },
}, driver_fields[] = {
	FRAG_CALLS_FIELD(FRAG_WHOLE),
	{ "segments", FRAG_TYPE_LIST, FRAG_WHOLE, "of cudaMalloc, by size", .each = taking_at,
	  .fields = taking_fields },
	{ 0 },
}, probe_fields[] = {
	{ "step", FRAG_TYPE_COUNT, FRAG_AT(probe, step) },
	{ "mark", FRAG_TYPE_TEXT_JSON, FRAG_AT(probe, mark), "its name; null: at none", .nullable = true },
	{ "free_bytes", FRAG_TYPE_BYTES, FRAG_AT(probe, free), "within the limit, in whole pages" },
	{ "largest_bytes", FRAG_TYPE_BYTES, FRAG_AT(probe, largest), "of these in one block" },
	{ "fi", FRAG_TYPE_PERCENT, FRAG_AT(probe, fi), "100 * (1 - largest_bytes / free_bytes); 0: no byte"
	  " was free" },
	{ 0 },
}, replay_fields[] = {
	{ "prediction", FRAG_TYPE_OBJECT, FRAG_AT(result, prediction), "of a replay: what the simulated"
	  " device has, and what was measured on the GPU", .fields = prediction_fields,
	  FRAG_THERE_IF(result, prediction.there), .optional = true },
	{ "driver", FRAG_TYPE_OBJECT, FRAG_POINTER(result, costs), "of a replay: what the driver cost",
	  .fields = driver_fields, .optional = true },
	{ "probes", FRAG_TYPE_LIST, FRAG_ARRAY_VIA(result, probes, probes, probe, kept), "of a replay: the"
	  " first 10,000", .fields = probe_fields, .optional = true },
	{ 0 },
};

/* A run ------------------------------------------------------------------------ */

static struct frag_cell_value beginning_of(const void *of)
{
	const struct frag_result *r = of;

	return FRAG_OF(r->beginning.segments || r->beginning.live ? r : NULL);
}

static struct frag_cell_value as_requests(const void *of)
{
	const struct frag_result *r = of;

	return FRAG_FLAG_OF(r->beginning.as_requests || !r->choice.ops->restore_segment);
}

static struct frag_cell_value overhead_of(const void *of)
{
	const struct frag_metrics *peak = &((const struct frag_result *)of)->peak;

	return FRAG_NUMBER_OF(peak->reserved > peak->requested ? peak->reserved - peak->requested : 0);
}

static const char *run_evidence(const void *of, char *buf)
{
	const struct frag_run_view *v = of;

	return v->run->last.opaque ? NULL : frag_diagnosis_evidence(v->answer, v->run, buf);
}

#define RESULT(m) FRAG_AT(result, m)
static const struct frag_field mark_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE, frag_mark_fields),
	FRAG_MEMBERS(FRAG_AT(mark, metrics), frag_metrics_fields), { 0 },
}, beginning_fields[] = {
	{ "segments", FRAG_TYPE_BYTES, RESULT(beginning.segments) },
	{ "live", FRAG_TYPE_BYTES, RESULT(beginning.live), "of the live blocks in them, as requested" },
	{ "as_requests", FRAG_TYPE_FLAG, FRAG_WHOLE, "the run began with empty memory, and each block was an"
	  " ordinary request", .get = as_requests },
	{ 0 },
}, figures_fields[] = {
	{ "device", FRAG_TYPE_OBJECT, FRAG_WHOLE, "after the options that override the trace",
	  .fields = frag_result_device_fields },
	{ "beginning", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of a snapshot: its segments from before its first event",
	  .get = beginning_of, .fields = beginning_fields, .optional = true },
	FRAG_MEMBERS(FRAG_WHOLE, frag_status_fields),
	{ "peak", FRAG_TYPE_OBJECT, RESULT(peak), "the largest of each metric except percentages",
	  .fields = frag_peak_fields },
	{ "last", FRAG_TYPE_OBJECT, RESULT(last), "the metrics after the last event",
	  .fields = frag_metrics_fields },
	FRAG_MEMBERS(FRAG_WHOLE, frag_distributions_fields),
	FRAG_LOWER_BOUND_FIELD(RESULT(lower_bound)),
	{ "overhead_bytes", FRAG_TYPE_BYTES, FRAG_WHOLE, "the peak of reserved minus that of requested",
	  .get = overhead_of },
	{ "counts", FRAG_TYPE_OBJECT, RESULT(counts), .fields = frag_counts_fields },
	{ "pytorch", FRAG_TYPE_OBJECT, RESULT(stats), "of policy pytorch, and of plug-ins with the same"
	  " statistics: torch.cuda.memory_stats()", .fields = memory_stats_fields,
	  FRAG_THERE_IF(result, has_stats), .optional = true },
	FRAG_MEMBERS(FRAG_WHOLE, frag_placed_fields),
	FRAG_MEMBERS(FRAG_WHOLE, frag_modelled_field),
	FRAG_MEMBERS(FRAG_WHOLE, replay_fields),
	{ 0 },
}, failures_fields[] = {
	{ "oom", FRAG_TYPE_LIST, FRAG_WHOLE, "the first 100", .each = oom_at, .fields = oom_fields },
	{ "marks", FRAG_TYPE_LIST, FRAG_ARRAY(result, marks, mark_count), "the first 10,000, each with all"
	  " metrics there", .fields = mark_fields, .cut = true },
	{ 0 },
};

const struct frag_field frag_run_fields[] = {
	{ "policy", FRAG_TYPE_OBJECT, FRAG_VIA(run_view, run, result, choice), .fields = frag_policy_fields },
	FRAG_MEMBERS(FRAG_POINTER(run_view, run), figures_fields),
	{ "evidence", FRAG_TYPE_TEXT, FRAG_WHOLE, "what the rules of the policy were compared with, and what"
	  " they assume", .text = run_evidence, .optional = true },
	{ "answer", FRAG_TYPE_OBJECT, FRAG_WHOLE, "the diagnosis in the report; null: it was not computed",
	  .each = answer_view, .fields = answer_fields, .nullable = true },
	FRAG_MEMBERS(FRAG_POINTER(run_view, run), failures_fields),
	{ 0 },
};

/* The document ----------------------------------------------------------------- */

struct frag_result_view {
	const struct frag_trace_info *trace;
	const struct frag_result *const *runs;
	const struct frag_diagnosis *answers;
	const struct frag_claim *claims;
	uint32_t count;
};

struct frag_claimed_run {
	struct frag_run_view run;
	struct frag_claim claim;
};

static bool claimed_run(const void *of, uint32_t i, void *element)
{
	const struct frag_result_view *v = of;

	if (i == v->count)
		return false;
	*(struct frag_claimed_run *)element = (struct frag_claimed_run){
		{ v->runs[i], v->answers ? &v->answers[i] : NULL },
		v->claims ? v->claims[i] : (struct frag_claim){
			.part = frag_scope_part(&v->trace->scope), .at_least = UINT64_MAX,
		},
	};
	return true;
}

#define CLAIM(m) FRAG_AT(claimed_run, claim.m)
static const struct frag_field claimed_fields[] = {
	FRAG_MEMBERS(FRAG_AT(claimed_run, run), frag_run_fields), FRAG_CLAIM_FIELDS(CLAIM), { 0 },
}, result_fields[] = {
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(result_view, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(result_view, trace, trace_info, scope)),
	{ "runs", FRAG_TYPE_LIST, FRAG_WHOLE, "for each policy, in the order given, one for each device",
	  .each = claimed_run, .fields = claimed_fields, .least = 1 },
	{ 0 },
};

const struct frag_document_type frag_result_document = {
	.format = "fragsim-result", .version = 2, .fields = result_fields,
	.what = "What fragsim run --json writes, see fragsim-result(5).",
};

int frag_result_write(const struct frag_trace_info *trace, const struct frag_result *const *results,
		      const struct frag_diagnosis *answers, const struct frag_claim *claims, uint32_t count,
		      struct frag_outfile *out, struct frag_error *err)
{
	const struct frag_result_view view = { trace, results, answers, claims, count };
	struct frag_json doc = frag_document_of(&frag_result_document, &view);

	return frag_json_write(&doc, out, err);
}
