/* fit_write.c - what fragsim fit found, as JSON. */
#include "policy/alloc_conf_text.h"
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/fit_members.h"

#define NONE UINT64_MAX

static void put_capacity(struct frag_node_ref in, const char *key, uint64_t bytes)
{
	frag_json_u64_or_null(in, key, bytes != NONE, bytes);
}

static void put_conf(struct frag_node_ref in, const struct frag_choice *choice)
{
	char conf[FRAG_CONF_ROOM];

	frag_conf_text(choice, conf, sizeof(conf));
	frag_json_text(in, "alloc_conf", choice->ops->settings ? conf : NULL);
}

/* Of the capacity it has what others are promised to leave, where that is asked for. */
static void put_outcome(struct frag_node_ref in, const char *key, bool there,
			const struct frag_attempt *outcome, bool modelled)
{
	struct frag_node_ref o;

	if (!there) {
		frag_json_null(in, key);
		return;
	}
	o = frag_json_object(in, key);
	frag_json_u64(o, "calls", outcome->calls);
	frag_json_u64(o, "refused", outcome->refused);
	frag_json_u64(o, "retries", outcome->retries);
	frag_json_u64(o, "peak_reserved", outcome->peak_reserved);
	frag_json_u64_or_null(o, "driver_ns", modelled, outcome->driver_ns);
}

static void put_holes(struct frag_node_ref in, const struct frag_fit *fit)
{
	struct frag_node_ref list = frag_json_array(in, "holes"), hole;

	for (uint32_t i = 0; i < fit->hole_count; i++) {
		hole = frag_json_array(list, NULL);
		frag_json_u64(hole, NULL, fit->holes[i].from);
		put_capacity(hole, NULL, fit->holes[i].to);
	}
}

static void put_interval(struct frag_node_ref list, const struct frag_interval *k)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "least", k->least);
	put_capacity(o, "beyond", k->beyond);
	frag_json_text(o, "status", frag_run_status_name(k->outcome.survives ? FRAG_RUN_OK
								  : FRAG_RUN_OOM));
	frag_json_u64_or_null(o, "oom_step", !k->outcome.survives, k->outcome.oom_step);
	frag_json_u64(o, "calls", k->outcome.calls);
	frag_json_u64(o, "retries", k->outcome.retries);
}

/* The walk's own: a joint one asked for capacities above, and for others of its own lattice. */
static void put_map(struct frag_node_ref in, const struct frag_fit_intervals *s, uint64_t runs)
{
	struct frag_node_ref list = frag_json_array(in, "map");

	for (const struct frag_interval *k = s->intervals; runs && k < s->intervals + s->count; k++)
		if (frag_subject_lattice(&s->subject, k->least) < k->beyond) {
			put_interval(list, k);
			runs--;
		}
}

/* What a fit of one trace and a joint one have alike. */
static void put_capacities(struct frag_node_ref in, const struct frag_fit *fit)
{
	put_capacity(in, "smallest", fit->smallest);
	put_capacity(in, "safe", fit->safe);
	put_capacity(in, "examined_to", fit->examined_to);
	put_capacity(in, "no_refusal", fit->no_refusal);
	put_holes(in, fit);
}

void frag_document_choice(struct frag_node_ref in, const struct frag_choice *choice)
{
	frag_document_policy(in, choice);
	put_conf(in, choice);
}

void frag_fit_members(struct frag_node_ref o, const struct frag_fits *fits,
		      const struct frag_fitted *one, bool map)
{
	const struct frag_fit_source *source = &fits->sources[one->source];
	const struct frag_fit *fit = &one->fit;

	frag_document_choice(o, &source->choices[one->choice]);
	frag_document_device(o, &source->devices[one->device], one->device, fits->room_total);
	put_capacities(o, fit);
	/* an interruption may have come before their peaks were looked for */
	put_outcome(o, "at_smallest", fit->peaks && fit->smallest != NONE, &fit->at_smallest,
		    fits->model != NULL);
	put_outcome(o, "at_safe", fit->peaks && fit->safe != NONE, &fit->at_safe,
		    fits->model != NULL);
	frag_json_u64(o, "runs", fit->runs);
	put_capacity(o, "static_room", fit->static_room);
	if (map)
		put_map(o, &one->survival, fit->runs);
}

static void put_fit(struct frag_node_ref list, const struct frag_fits *fits,
		    const struct frag_fitted *one, bool map)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "trace", one->source);
	frag_fit_members(o, fits, one, map);
}

static void put_joint(struct frag_node_ref list, const struct frag_fits *fits,
		      const struct frag_fitted *one)
{
	const struct frag_fit_source *source = &fits->sources[0];
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_document_choice(o, &source->choices[one->choice]);
	frag_document_device(o, &source->devices[one->device], one->device, fits->room_total);
	put_capacities(o, &one->fit);
	frag_json_u64(o, "runs", one->fit.runs);
}

/* Below it nothing survives on all that was fitted. */
static uint64_t highest_floor(const struct frag_fits *fits)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].fit.floor > highest)
			highest = fits->fitted[i].fit.floor;
	return highest;
}

int frag_fit_json(const struct frag_fit_answer *answer, FILE *f, struct frag_error *err)
{
	const struct frag_fits *fits = answer->fits;
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-fit"), list;
	int rc;

	frag_document_tool(root);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < fits->source_count; i++)
		frag_document_trace(list, NULL, answer->traces[i]);
	frag_json_u64(root, "granularity", fits->sources[0].devices[0].granularity);
	frag_json_u64(root, "floor", highest_floor(fits));
	list = frag_json_array(root, "fits");
	for (uint32_t i = 0; i < fits->count; i++)
		put_fit(list, fits, &fits->fitted[i], answer->map);
	list = frag_json_array(root, "joint");
	for (uint32_t i = 0; i < fits->joint_count; i++)
		put_joint(list, fits, &fits->joint[i]);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
