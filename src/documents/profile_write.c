/* profile_write.c - what a replay has learned of a device, for later simulations. */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "metrics/driver_latency.h"

static void profile_write_put_device(struct frag_node_ref root, const struct frag_gpu_figures *f)
{
	struct frag_node_ref o = frag_json_object(root, "device");

	frag_json_text(o, "name", f->name[0] ? f->name : NULL);
	frag_json_u64(o, "total_bytes", f->total);
	frag_json_u64_or_null(o, "context_bytes", f->context_known, f->context);
	frag_json_u64(o, "granularity_bytes", f->granularity);
	frag_json_u64_or_null(o, "small_granularity_bytes", f->small_max > 0,
			      f->small_granularity);
	frag_json_u64_or_null(o, "small_most_bytes", f->small_max > 0, f->small_max);
	frag_json_u64_or_null(o, "page_bytes", f->page > 0, f->page);
	frag_json_u64(o, "driver_version", (uint64_t)f->driver);
	frag_json_u64(o, "runtime_version", (uint64_t)f->runtime);
}

/*
 * The calls of all runs together: what a call costs is the device's matter, not
 * the policy's.
 */
int frag_profile_write(const struct frag_gpu_figures *gpu, const struct frag_result *const *runs,
		       uint32_t count, struct frag_outfile *out, struct frag_error *err)
{
	struct frag_driver_costs costs = { .calls = { { { .count = 0 } } } };
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-profile");
	bool good = true;
	int rc;

	for (uint32_t i = 0; i < count; i++)
		if (runs[i]->costs)
			good = frag_driver_costs_merge(&costs, runs[i]->costs) && good;
	frag_document_tool(root);
	profile_write_put_device(root, gpu);
	frag_json_calls(root, &costs);
	rc = good ? frag_json_write(&doc, out, err) : frag_fail_nomem(err);
	frag_json_end(&doc);
	frag_driver_costs_fini(&costs);
	return rc;
}
