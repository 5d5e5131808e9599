/* diagnosis_write.c - what a report says of a run beyond its figures, in the result object. */
#include "documents/diagnosis_write.h"

#include "documents/live_by_tag_write.h"
#include "policy/alloc_conf_text.h"

/* The words of the report's first line. */
static const char *verdict_of(const struct frag_result *r)
{
	if (r->oom_count)
		return "does not fit";
	if (r->status == FRAG_RUN_INTERRUPTED)
		return "interrupted";
	return r->total ? "fits" : "no limit";
}

static const char *cause_of(const struct frag_result *r)
{
	if (!r->oom_count)
		return NULL;
	if (frag_oom_is_limit(&r->ooms[0]))
		return "limit";
	return r->ooms[0].fragmentation ? "fragmentation" : "capacity";
}

static void put_needs(struct frag_node_ref in, const struct frag_result *r,
		      const struct frag_diagnosis *a)
{
	struct frag_node_ref o;

	/* where the whole trace was not simulated to its end, even on an unlimited device */
	if (r->oom_count && !a->requested) {
		frag_json_null(in, "needs");
		return;
	}
	o = frag_json_object(in, "needs");
	frag_json_u64(o, "requested", a->requested);
	frag_json_u64(o, "allocated", a->allocated);
	frag_json_u64(o, "without_fragmentation", frag_answer_floor(a, r));
	frag_json_u64_or_null(o, "smallest", a->smallest > 0, a->smallest);
	frag_json_u64_or_null(o, "safe", a->safe > 0, a->safe);
	frag_json_u64_or_null(o, "more_than", !a->smallest && a->failing, a->failing - 1);
}

static void put_lost(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref o;

	if (r->oom_count) {
		frag_json_null(in, "lost");
		frag_json_null(in, "cached");
		return;
	}
	o = frag_json_object(in, "lost");
	frag_json_u64(o, "bytes", r->at_peak.lost);
	frag_json_u64(o, "most", r->peak.lost);
	frag_json_u64(in, "cached", r->at_peak.releasable);
}

static void put_pin(struct frag_node_ref list, const struct frag_blocking_tag *pin)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_raw(o, "tag", pin->tag);
	frag_json_u64(o, "bytes", pin->bytes);
	frag_json_u64(o, "blocks", pin->blocks);
	frag_json_u64(o, "free", pin->stranded);
	frag_json_u64(o, "places", pin->places);
	frag_json_bool(o, "alone", pin->alone);
}

/* Of a failed run: those that kept the hole, one place, from being free. */
static void put_pinned(struct frag_node_ref in, const struct frag_result *r,
		       const struct frag_diagnosis *a)
{
	struct frag_node_ref list = frag_json_array(in, "pinned");
	const struct frag_hole *hole = r->oom_count ? &r->ooms[0].hole : NULL;

	for (uint32_t i = 0; !hole && i < a->peak.pin_count; i++)
		put_pin(list, &a->peak.pins[i]);
	for (uint32_t i = 0; hole && hole->live < hole->bytes && i < hole->holder_count; i++) {
		const struct frag_tag_usage *h = &hole->holders[i];

		put_pin(list, &(struct frag_blocking_tag){
			.tag = h->tag, .bytes = h->bytes, .blocks = h->blocks, .places = 1,
			.stranded = hole->bytes - hole->live, .alone = hole->holder_count == 1,
		});
	}
}

static void put_try(struct frag_node_ref in, const struct frag_diagnosis *a)
{
	char conf[FRAG_CONF_ROOM];
	struct frag_node_ref o;

	if (a->remedy.found) {
		frag_conf_text(&a->remedy.choice, conf, sizeof(conf));
		o = frag_json_object(in, "try");
		frag_json_text(o, "alloc_conf", conf);
		frag_json_u64(o, "requested", a->remedy.requested);
		frag_json_u64(o, "reserved", a->remedy.reserved);
		frag_json_u64(o, "lost", a->remedy.lost);
	} else {
		frag_json_null(in, "try");
	}
	frag_json_u64(in, "tried", a->remedies);
}

/* In the order and by the names of the report's rows. */
void frag_json_answer(struct frag_node_ref run, const struct frag_result *r,
		      const struct frag_diagnosis *a)
{
	struct frag_node_ref o;

	if (!a || r->last.opaque) {
		frag_json_null(run, "answer");
		return;
	}
	o = frag_json_object(run, "answer");
	frag_json_text(o, "verdict", verdict_of(r));
	frag_json_text(o, "cause", cause_of(r));
	put_needs(o, r, a);
	frag_json_bool(o, "hopeless", frag_diagnosis_exceeds_capacity(a, r));
	frag_json_bool(o, "tight", frag_diagnosis_is_nearly_full(a, r));
	put_lost(o, r);
	put_pinned(o, r, a);
	if (r->oom_count)
		frag_json_holders(o, "held", r->ooms[0].holders, r->ooms[0].holder_count);
	else
		frag_json_holders(o, "held", a->peak.holders, a->peak.holder_count);
	put_try(o, a);
}
