/* explain_document.c - what fragsim explain found in a trace, as a document. */
#include "answers/explain_answer.h"

#include "answers/answers.h"
#include "snapshot/outside_memory.h"

static void put_waits(struct frag_node_ref o, const struct frag_explained *m,
		      const struct frag_blocking_block *blocking)
{
	struct frag_node_ref waits;
	uint32_t count;

	if (!blocking->pending)
		return;
	waits = frag_json_array(o, "waits");
	count = frag_json_shown(o, "waits", blocking->wait_count);
	for (uint32_t i = 0; i < count; i++)
		frag_json_raw(waits, NULL, m->uses[m->waits[blocking->waits + i]].stream);
}

/* Is it among the n largest of the segment, of equals the first ones? */
static bool is_among_largest(const struct frag_blocked_segment *s, uint32_t of, uint32_t n)
{
	uint32_t larger = 0;

	for (uint32_t i = 0; i < s->blocking_count && larger < n; i++)
		larger += s->blocking[i].bytes > s->blocking[of].bytes
			  || (s->blocking[i].bytes == s->blocking[of].bytes && i < of);
	return larger < n;
}

/* Segments in their order; of blocking blocks the largest, by address. */
static void put_segments(struct frag_node_ref in, const void *of)
{
	static const struct frag_json_row rows[] = {
		ROW_AS("segment", blocked_segment, ordinal), ROW(blocked_segment, bytes),
		ROW(blocked_segment, non_releasable), ROW_END,
	}, blocking_rows[] = {
		ROW_JSON("id", blocking_block, id), ROW_JSON("tag", blocking_block, tag),
		ROW(blocking_block, bytes), ROW(blocking_block, offset),
		ROW_AS("allocated_at", blocking_block, born),
		ROW_MAX("freed_at", blocking_block, freed), ROW(blocking_block, pending), ROW_END,
	};
	const struct frag_explained *m = of;
	struct frag_node_ref list = frag_json_array(in, "segments"), o, blocking;
	const uint32_t shown = frag_json_shown(in, "segments", m->segment_count);
	uint32_t count;

	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_blocked_segment *s = &m->segments[i];

		o = frag_json_of(list, NULL, rows, s);
		blocking = frag_json_array(o, "blocking_blocks");
		count = frag_json_shown(o, "blocking_blocks", s->blocking_count);
		for (uint32_t k = 0; k < s->blocking_count; k++)
			if (count == s->blocking_count || is_among_largest(s, k, count))
				put_waits(frag_json_of(blocking, NULL, blocking_rows,
						       &s->blocking[k]), m,
					  &s->blocking[k]);
	}
}

enum frag_life_class frag_held_class(const struct frag_tag_memory *held)
{
	uint64_t all = 0;

	for (int i = FRAG_LIFE_WEIGHTS; i < FRAG_LIFE_CLASSES; i++)
		all += held->of_class[i];
	for (int i = FRAG_LIFE_WEIGHTS; i < FRAG_LIFE_UNKNOWN; i++)
		if (held->of_class[i] > all / 2)
			return (enum frag_life_class)i;
	return FRAG_LIFE_UNKNOWN;
}

static void put_class(struct frag_node_ref o, const void *of)
{
	const struct frag_tag_memory *held = of;
	const enum frag_life_class life = frag_held_class(held);

	frag_json_text(o, "class", life == FRAG_LIFE_UNKNOWN ? NULL : frag_life_class_names[life]);
	frag_json_text(o, "evidence", frag_class_evidence_names[held->evidence[life]]);
}

/* Of those that were tried only what held is there. */
static void put_move(struct frag_node_ref o, const void *of)
{
	const struct frag_move *move = of;
	struct frag_node_ref part = frag_json_array(o, "ids");
	uint32_t shown = frag_json_shown(o, "ids", move->blocks);

	for (uint32_t k = 0; k < shown; k++)
		frag_json_raw(part, NULL, move->ids[k]);
	part = frag_json_array(o, "from");
	shown = frag_json_shown(o, "from", move->from_count);
	for (uint32_t k = 0; k < shown; k++)
		frag_json_u64(part, NULL, move->from[k]);
	frag_json_bool(o, "verified", true);
}

static void put_verdict(struct frag_node_ref o, const void *of)
{
	const struct frag_explained *m = of;

	frag_json_text(o, "kind", frag_moment_kind_names[m->kind]);
	frag_json_text(o, "verdict", frag_oom_cause_name(m->cause));
}

/* Who requested what failed, and what the program had done before. */
static void put_past(struct frag_node_ref in, const void *of)
{
	static const struct frag_json_row accumulation_rows[] = {
		ROW(accumulation, bytes), ROW(accumulation, since), ROW_ZERO("passes", accumulation, passes),
		ROW(accumulation, larger), ROW_END,
	}, leak_rows[] = {
		ROW(past_leak, bytes), ROW(past_leak, since),
		ROW_AS("per_iteration", past_leak, an_iteration),
		ROW_AS("iterations", past_leak, rounds), ROW_END,
	}, attempt_rows[] = {
		ROW(failed_attempt, failed_at), ROW_AS("left_behind", failed_attempt, bytes),
		ROW(failed_attempt, blocks), ROW_END,
	}, larger_rows[] = {
		ROW(larger, bytes), ROW(larger, ratio), ROW_END,
	}, request_rows[] = {
		ROW_JSON("requested_by", explained, requested_by),
		ROW_MAX("frames_at", explained, frames_at), ROW_END,
	};
	const struct frag_explained *m = of;
	const struct frag_oom_past *past = &m->past;
	const uint32_t shown = m->recorded.count < FRAG_FAILURES_SHOWN ? m->recorded.count
								       : FRAG_FAILURES_SHOWN;
	struct frag_node_ref o;

	frag_json_rows(in, request_rows, m);
	frag_json_frames(in, "frames", m->frames ? m->frames : "");
	o = frag_json_of(in, "accumulation", accumulation_rows,
			 m->cause == FRAG_CAUSE_ACCUMULATION ? &past->accumulation : NULL);
	if (o.node)
		frag_json_raw(o, "tag", m->past_tag ? m->past_tag : "null");
	o = frag_json_of(in, "leak", leak_rows,
			 m->cause == FRAG_CAUSE_LEAK ? &past->leak : NULL);
	if (o.node)
		frag_json_raw(o, "tag", m->past_tag ? m->past_tag : "null");
	o = frag_json_of(in, "failed_attempt", attempt_rows,
			 m->cause == FRAG_CAUSE_FAILED_ATTEMPT ? &past->attempt : NULL);
	if (o.node)
		frag_json_raw(o, "tag", m->past_tag ? m->past_tag : "null");
	frag_json_of(in, "larger", larger_rows, past->larger.bytes ? &past->larger : NULL);
	o = frag_json_array(in, "recorded_ooms");
	for (uint32_t i = 0; i < shown; i++)
		frag_json_u64(o, NULL, m->recorded.at[i]);
}

/* What only some moments have: survivors, the main cause, what is pending. */
static void put_rest(struct frag_node_ref o, const void *of)
{
	static const struct frag_json_row use_rows[] = {
		ROW_JSON("stream", pending_use, stream), ROW(pending_use, bytes),
		ROW(pending_use, blocks), ROW(pending_use, since), ROW_END,
	}, pending_rows[] = {
		ROW_AS("bytes", explained, pending), ROW_AS("blocks", explained, pending_blocks),
		ROW_LIST("waits", explained, uses, use_count, use_rows), ROW_END,
	}, main_rows[] = {
		ROW_JSON("tag", explained, main_tag), ROW_AS("bytes", explained, main_bytes),
		ROW_AS("non_releasable", explained, main_non_releasable), ROW_END,
	};
	const struct frag_explained *m = of;
	struct frag_node_ref list = frag_json_array(o, "survivors");
	const uint32_t shown = frag_json_shown(o, "survivors", m->survivor_count);

	for (uint32_t i = 0; i < shown; i++)
		frag_document_choice(frag_json_object(list, NULL), &m->survivors[i]);
	list = frag_json_object_or_null(o, "culprit", m->main_cause != 0);
	if (list.node) {
		frag_json_text(list, "kind", frag_main_cause_names[m->main_cause]);
		frag_json_rows(list, main_rows, m);
	}
	frag_json_of(o, "pending", pending_rows, m);
}

static const struct frag_json_row held_rows[] = {
	ROW_JSON("tag", tag_memory, tag), ROW(tag_memory, bytes), ROW(tag_memory, blocks),
	ROW(tag_memory, oldest), ROW_CALL(put_class), ROW_END,
}, pool_rows[] = {
	ROW(pool_row, pool), ROW(pool_row, segments), ROW(pool_row, reserved), ROW(pool_row, live),
	ROW(pool_row, free), ROW(pool_row, non_releasable), ROW_JSON("name", pool_row, name),
	ROW_END,
}, move_rows[] = {
	ROW(move, bytes), ROW(move, blocks), ROW_CALL(put_move), ROW_MAX("reaches", move, reaches),
	ROW_END,
};

/* One moment: the request, the sums, and the lists behind them. */
static const struct frag_json_row moment_rows[] = {
	ROW(explained, step), ROW(explained, device), ROW_CALL(put_verdict),
	ROW(explained, nearly_full), ROW(explained, size), ROW(explained, need),
	ROW(explained, missing), ROW(explained, live), ROW(explained, free),
	ROW(explained, releasable), ROW(explained, non_releasable),
	ROW_IF(limited, "device_free", explained, device_free),
	ROW_IF(limited, "outside", explained, outside), ROW(explained, largest_now),
	ROW(explained, largest_after_flush), ROW(explained, largest_after_compaction),
	ROW_IF(fits_known, "trace_fits", explained, fits), ROW_CALL(put_segments),
	ROW_LIST("holders", explained, held, held_count, held_rows),
	ROW_LIST("pools", explained, pools, pool_count, pool_rows),
	ROW_LIST("moves", explained, moves, move_count, move_rows), ROW(explained, tried),
	ROW_CALL(put_rest), ROW_CALL(put_past),
	ROW_MAX("setting_leaves", explained, setting_left), ROW_END,
};

static void put_outside_tag(struct frag_node_ref o, const void *of)
{
	const struct frag_outside_tag *tag = of;

	if (tag->tag.text)
		frag_json_words(o, "tag", tag->tag.text, tag->tag.length);
	else
		frag_json_null(o, "tag");
}

static const struct frag_json_row outside_tag_rows[] = {
	ROW_CALL(put_outside_tag), ROW(outside_tag, bytes), ROW(outside_tag, allocations),
	ROW(outside_tag, stack), ROW_END,
}, outside_rows[] = {
	ROW(outside, segments), ROW(outside, matched), ROW(outside, timed), ROW(outside, bytes),
	ROW(outside, allocations), ROW_IF(unknown_set, "unknown", outside, unknown),
	ROW_LIST("tags", outside, tags, tag_count, outside_tag_rows), ROW_END,
};

void frag_explain_document(struct frag_node_ref root, const void *what)
{
	const struct frag_explain_answer *answer = what;
	const struct frag_explanation *x = answer->found;
	const uint32_t device = x->count ? x->moments[0].device : 0;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !answer->time_up);
	frag_document_trace(root, "trace", answer->trace);
	frag_document_policy(root, x->choice);
	frag_document_evidence(root, x->choice);
	frag_document_device(root, &x->devices[device], device, x->devices[device].total);
	list = frag_json_array(root, "moments");
	for (uint32_t i = 0; i < x->count; i++) {
		const struct frag_node_ref o = frag_json_of(list, NULL, moment_rows, &x->moments[i]);

		if (answer->outside)
			frag_json_of(o, "outside_pytorch", outside_rows, &answer->outside[i]);
	}
}
