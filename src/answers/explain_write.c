/* explain_write.c - what fragsim explain found in a trace, as JSON. */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "answers/fit_members.h"

static void put_pin(struct frag_node_ref list, const struct frag_explained *m,
		    const struct frag_blocking_block *pin)
{
	struct frag_node_ref o = frag_json_object(list, NULL), waits;

	frag_json_raw(o, "id", pin->id);
	frag_json_raw(o, "tag", pin->tag);
	frag_json_u64(o, "bytes", pin->bytes);
	frag_json_u64(o, "offset", pin->offset);
	frag_json_u64(o, "allocated_at", pin->born);
	frag_json_u64_or_null(o, "freed_at", pin->freed != UINT64_MAX, pin->freed);
	frag_json_bool(o, "pending", pin->pending);
	if (!pin->pending)
		return;
	waits = frag_json_array(o, "waits");
	for (uint32_t i = 0; i < pin->wait_count; i++)
		frag_json_raw(waits, NULL, m->awaited[m->waits[pin->waits + i]].stream);
}

static void explain_write_put_segments(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "segments");

	for (uint32_t i = 0; i < m->segment_count; i++) {
		const struct frag_pinned_segment *s = &m->segments[i];
		struct frag_node_ref o = frag_json_object(list, NULL), pins;

		frag_json_u64(o, "segment", s->ordinal);
		frag_json_u64(o, "bytes", s->bytes);
		frag_json_u64(o, "non_releasable", s->non_releasable);
		pins = frag_json_array(o, "blocking_blocks");
		for (uint32_t k = 0; k < s->pin_count; k++)
			put_pin(pins, m, &s->pins[k]);
	}
}

static void put_held(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "holders");

	for (uint32_t i = 0; i < m->held_count; i++) {
		const struct frag_held_memory *held = &m->held[i];
		const enum frag_life_class life = frag_held_class(held);
		struct frag_node_ref o = frag_json_object(list, NULL);

		frag_json_raw(o, "tag", held->tag);
		frag_json_u64(o, "bytes", held->bytes);
		frag_json_u64(o, "blocks", held->blocks);
		frag_json_u64(o, "oldest", held->oldest);
		frag_json_text(o, "class", life == FRAG_LIFE_UNKNOWN
			       ? NULL : frag_life_class_names[life]);
		frag_json_text(o, "evidence", frag_class_evidence_names[held->evidence[life]]);
	}
}

static void put_pools(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "pools");

	for (uint32_t i = 0; i < m->pool_count; i++) {
		const struct frag_pool_row *pool = &m->pools[i];
		struct frag_node_ref o = frag_json_object(list, NULL);

		frag_json_u64(o, "pool", pool->pool);
		frag_json_u64(o, "segments", pool->segments);
		frag_json_u64(o, "reserved", pool->reserved);
		frag_json_u64(o, "live", pool->live);
		frag_json_u64(o, "free", pool->free);
		frag_json_u64(o, "non_releasable", pool->non_releasable);
		frag_json_raw(o, "name", pool->name);
	}
}

/* Of those that were tried only what held is there. */
static void put_moves(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "moves");

	for (uint32_t i = 0; i < m->move_count; i++) {
		const struct frag_move *move = &m->moves[i];
		struct frag_node_ref o = frag_json_object(list, NULL), part;

		frag_json_u64(o, "bytes", move->bytes);
		frag_json_u64(o, "blocks", move->blocks);
		part = frag_json_array(o, "ids");
		for (uint32_t k = 0; k < move->blocks; k++)
			frag_json_raw(part, NULL, move->ids[k]);
		part = frag_json_array(o, "from");
		for (uint32_t k = 0; k < move->from_count; k++)
			frag_json_u64(part, NULL, move->from[k]);
		frag_json_bool(o, "verified", true);
		frag_json_u64_or_null(o, "reaches", move->reaches != UINT64_MAX, move->reaches);
	}
	frag_json_u64(in, "tried", m->tried);
}

static void put_survivors(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "survivors");

	for (uint32_t i = 0; i < m->survivor_count; i++)
		frag_document_choice(frag_json_object(list, NULL), &m->survivors[i]);
}

static void put_culprit(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref o;

	if (!m->culprit) {
		frag_json_null(in, "culprit");
		return;
	}
	o = frag_json_object(in, "culprit");
	frag_json_text(o, "kind", frag_culprit_names[m->culprit]);
	frag_json_raw(o, "tag", m->culprit_tag);
	frag_json_u64(o, "bytes", m->culprit_bytes);
	frag_json_u64(o, "non_releasable", m->culprit_non_releasable);
}

static void put_pending(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref o = frag_json_object(in, "pending"), list, row;

	frag_json_u64(o, "bytes", m->pending);
	frag_json_u64(o, "blocks", m->pending_blocks);
	list = frag_json_array(o, "waits");
	for (uint32_t i = 0; i < m->awaited_count; i++) {
		row = frag_json_object(list, NULL);
		frag_json_raw(row, "stream", m->awaited[i].stream);
		frag_json_u64(row, "bytes", m->awaited[i].bytes);
		frag_json_u64(row, "blocks", m->awaited[i].blocks);
		frag_json_u64(row, "since", m->awaited[i].since);
	}
}

static void put_fits(struct frag_node_ref in, const struct frag_explained *m)
{
	if (m->fits_known)
		frag_json_bool(in, "trace_fits", m->fits);
	else
		frag_json_null(in, "trace_fits");
}

static void explain_write_put_moment(struct frag_node_ref list, const struct frag_explained *m)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "step", m->step);
	frag_json_u64(o, "device", m->device);
	frag_json_text(o, "kind", frag_moment_kind_names[m->kind]);
	frag_json_text(o, "verdict", frag_oom_cause_name(m->cause));
	frag_json_bool(o, "nearly_full", m->nearly_full);
	frag_json_u64(o, "size", m->size);
	frag_json_u64(o, "need", m->need);
	frag_json_u64(o, "missing", m->missing);
	frag_json_u64(o, "live", m->live);
	frag_json_u64(o, "free", m->free);
	frag_json_u64(o, "releasable", m->releasable);
	frag_json_u64(o, "non_releasable", m->non_releasable);
	frag_json_u64_or_null(o, "device_free", m->limited, m->device_free);
	frag_json_u64_or_null(o, "outside", m->limited, m->outside);
	frag_json_u64(o, "largest_now", m->largest_now);
	frag_json_u64(o, "largest_after_flush", m->largest_after_flush);
	frag_json_u64(o, "largest_after_compaction", m->largest_after_compaction);
	put_fits(o, m);
	explain_write_put_segments(o, m);
	put_held(o, m);
	put_pools(o, m);
	put_moves(o, m);
	put_survivors(o, m);
	put_culprit(o, m);
	put_pending(o, m);
}

void frag_explain_document(struct frag_node_ref root, const void *what)
{
	const struct frag_explain_answer *answer = what;
	const struct frag_explanation *x = answer->found;
	const uint32_t device = x->count ? x->moments[0].device : 0;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !answer->time_up);
	frag_document_trace(root, "trace", answer->trace);
	frag_document_policy(root, x->choice);
	frag_document_device(root, &x->devices[device], device, x->devices[device].total);
	list = frag_json_array(root, "moments");
	for (uint32_t i = 0; i < x->count; i++)
		explain_write_put_moment(list, &x->moments[i]);
}
