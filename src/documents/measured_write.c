/* measured_write.c - what a replay measured, as members of a result and of a profile. */
#include "documents/document_head.h"

#include "metrics/driver_latency.h"

static void put_class(struct frag_node_ref o, uint32_t which)
{
	frag_json_u64_or_null(o, "up_to_bytes", which < FRAG_SIZE_CLASSES - 1,
			      frag_size_class_max(which));
}

static void measured_write_put_call(struct frag_node_ref list, const char *kind, uint32_t which,
				    const struct frag_latency *l)
{
	struct frag_node_ref o;

	if (!l->count)
		return;
	o = frag_json_object(list, NULL);
	frag_json_text(o, "call", kind);
	put_class(o, which);
	frag_json_u64(o, "count", l->count);
	frag_json_u64(o, "refused", l->refused);
	frag_json_u64(o, "total_ns", l->total_ns);
	frag_json_u64(o, "min_ns", l->min_ns);
	frag_json_u64(o, "p50_ns", frag_latency_rank(l, 50));
	frag_json_u64(o, "p95_ns", frag_latency_rank(l, 95));
	frag_json_u64(o, "p99_ns", frag_latency_rank(l, 99));
	frag_json_u64(o, "max_ns", l->max_ns);
}

void frag_json_calls(struct frag_node_ref in, const struct frag_driver_costs *c)
{
	struct frag_node_ref list = frag_json_array(in, "calls");

	for (uint32_t kind = 0; kind < FRAG_GPU_KINDS; kind++)
		for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++)
			measured_write_put_call(list, frag_gpu_kind_name((enum frag_gpu_kind)kind),
						i, &c->calls[kind][i]);
}

static void measured_write_put_segments(struct frag_node_ref driver,
					const struct frag_driver_costs *c)
{
	struct frag_node_ref list = frag_json_array(driver, "segments"), o;

	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
		const struct frag_taking *t = &c->segments[i];

		if (!t->count)
			continue;
		o = frag_json_object(list, NULL);
		put_class(o, i);
		frag_json_u64(o, "count", t->count);
		frag_json_u64(o, "asked", t->requested);
		frag_json_u64(o, "predicted", t->predicted);
		frag_json_u64(o, "taken", t->taken);
	}
}

static void put_prediction(struct frag_node_ref o, const struct frag_prediction *p)
{
	frag_json_bool(o, "differs", p->differs);
	frag_json_u64_or_null(o, "first_difference", p->differs, p->first_difference);
	frag_json_u64(o, "steps", p->steps);
	frag_json_u64(o, "reserved_predicted", p->reserved_predicted);
	frag_json_u64(o, "reserved_measured", p->reserved_measured);
	frag_json_u64(o, "used_predicted", p->used_predicted);
	frag_json_u64(o, "used_measured", p->used_measured);
	frag_json_i64(o, "free_predicted", p->free_predicted);
	frag_json_i64(o, "free_measured", p->free_measured);
	frag_json_u64_or_null(o, "oom_step_predicted", p->oom_predicted, p->oom_step_predicted);
	frag_json_u64_or_null(o, "oom_step_measured", p->oom_measured, p->oom_step_measured);
	frag_json_i64(o, "error_bytes", p->error_bytes);
	frag_json_fixed4(o, "error_percent", p->error_percent);
}

static void put_probes(struct frag_node_ref run, const struct frag_probes *all)
{
	struct frag_node_ref list, o;

	if (!all->count)
		return;
	list = frag_json_array(run, "probes");
	for (uint32_t i = 0; i < all->kept; i++) {
		o = frag_json_object(list, NULL);
		frag_json_u64(o, "step", all->probe[i].step);
		frag_json_raw(o, "mark", all->probe[i].mark);
		frag_json_u64(o, "free_bytes", all->probe[i].free);
		frag_json_u64(o, "largest_bytes", all->probe[i].largest);
		frag_json_fixed4(o, "fi", all->probe[i].fi);
	}
}

void frag_json_measured(struct frag_node_ref run, const struct frag_result *r)
{
	struct frag_node_ref driver;

	if (r->prediction.there)
		put_prediction(frag_json_object(run, "prediction"), &r->prediction);
	driver = frag_json_object(run, "driver");
	frag_json_calls(driver, r->costs);
	measured_write_put_segments(driver, r->costs);
	put_probes(run, r->probes);
}
