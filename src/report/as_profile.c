/* as_profile.c - what a replay has learned of a device, for later simulations. */
#include "metrics/latency.h"
#include "report/head.h"
#include "report/measured.h"
#include "report/report.h"

static void put_device(struct frag_node_ref root, const struct frag_gpu_figures *f)
{
	struct frag_node_ref o = frag_json_object(root, "device");

	frag_json_text(o, "name", f->name[0] ? f->name : NULL);
	frag_json_u64(o, "total_bytes", f->total);
	frag_json_u64_or_null(o, "context_bytes", f->context_known, f->context);
	frag_json_u64(o, "granularity_bytes", f->granularity);
	frag_json_u64_or_null(o, "small_granularity_bytes", f->small_most > 0,
			      f->small_granularity);
	frag_json_u64_or_null(o, "small_most_bytes", f->small_most > 0, f->small_most);
	frag_json_u64_or_null(o, "page_bytes", f->page > 0, f->page);
	frag_json_u64(o, "driver_version", (uint64_t)f->driver);
	frag_json_u64(o, "runtime_version", (uint64_t)f->runtime);
}

int frag_report_profile(const struct frag_report *report, struct frag_outfile *out,
			struct frag_error *err)
{
	struct frag_driver_costs costs = { .calls = { { { .count = 0 } } } };
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-profile");
	bool good = true;
	int rc;

	for (uint32_t i = 0; i < report->run_count; i++)
		if (report->runs[i].result->costs)
			good = frag_driver_costs_merge(&costs, report->runs[i].result->costs)
			       && good;
	frag_document_tool(root);
	put_device(root, report->gpu);
	frag_json_calls(root, &costs);
	rc = good ? frag_json_write(&doc, out, err) : frag_fail_nomem(err);
	frag_json_end(&doc);
	frag_driver_costs_fini(&costs);
	return rc;
}
