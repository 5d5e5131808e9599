/* profile.c - writes and reads what a replay measured on a device: fragsim-profile(5). */
#include "documents/document_head.h"
#include "documents/documents.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/driver_latency.h"

static const struct frag_json_row gpu_rows[] = {
	ROW_AS("total_bytes", gpu_figures, total),
	ROW_IF(context_known, "context_bytes", gpu_figures, context),
	ROW_AS("granularity_bytes", gpu_figures, granularity),
	ROW_ZERO("small_granularity_bytes", gpu_figures, small_granularity),
	ROW_ZERO("small_most_bytes", gpu_figures, small_max),
	ROW_ZERO("page_bytes", gpu_figures, page), ROW_END,
};

static void profile_put_device(struct frag_node_ref root, const struct frag_gpu_figures *f)
{
	struct frag_node_ref o = frag_json_object(root, "device");

	frag_json_text(o, "name", f->name[0] ? f->name : NULL);
	frag_json_rows(o, gpu_rows, f);
	frag_json_u64(o, "driver_version", (uint64_t)f->driver);
	frag_json_u64(o, "runtime_version", (uint64_t)f->runtime);
}

/* Merges the calls of all runs: the cost of a call depends on the device, not on the policy. */
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
	profile_put_device(root, gpu);
	frag_json_calls(root, &costs);
	doc.failed |= !good;
	rc = frag_json_write(&doc, out, err);
	frag_driver_costs_fini(&costs);
	return rc;
}

static bool is_given(struct frag_members *r, const struct frag_at *in, const char *key)
{
	return frag_has(r, in, key) && !frag_is_null(r, in, key);
}

/* From 1 on. */
static uint64_t profile_take_size(struct frag_members *r, const struct frag_at *in,
				       const char *key)
{
	uint64_t value = frag_take_count(r, in, key);

	if (!value)
		frag_bad(r, &(struct frag_at){ .up = in, .key = key }, "at least 1 is required");
	return value;
}

static void profile_read_small(struct frag_members *r, const struct frag_at *device,
		       struct frag_device_figures *f)
{
	const char *const max = "small_most_bytes", *const granularity = "small_granularity_bytes";

	if (!is_given(r, device, max) && !is_given(r, device, granularity))
		return;
	f->small_max = profile_take_size(r, device, max);
	f->small_granularity = profile_take_size(r, device, granularity);
	if (r->rc)
		return;
	if (f->small_max > f->granularity)
		frag_bad(r, &(struct frag_at){ .up = device, .key = max },
			 "above granularity_bytes");
	else if (f->small_max % f->small_granularity)
		frag_bad(r, &(struct frag_at){ .up = device, .key = max },
			 "a multiple of small_granularity_bytes is required");
}

static void profile_read_device(struct frag_members *r, const struct frag_at *root,
			struct frag_device_figures *f)
{
	struct frag_at at = frag_take_object(r, root, "device");

	if (r->rc)
		return;
	if (!frag_is_null(r, &at, "name"))
		f->name = frag_take_text(r, &at, "name");
	f->total = profile_take_size(r, &at, "total_bytes");
	if (!frag_is_null(r, &at, "context_bytes"))
		f->context = frag_take_count(r, &at, "context_bytes");
	f->granularity = profile_take_size(r, &at, "granularity_bytes");
	if (!r->rc && f->context > f->total)
		frag_bad(r, &(struct frag_at){ .up = &at, .key = "context_bytes" },
			 "above total_bytes");
	if (!r->rc)
		profile_read_small(r, &at, f);
}

static enum frag_gpu_kind take_kind(struct frag_members *r, const struct frag_at *call)
{
	struct frag_at at = frag_take(r, call, "call", FRAG_JSON_STRING, "a string is required");

	for (int kind = 0; kind < FRAG_GPU_KINDS && !r->rc; kind++)
		if (strcmp(frag_json_string(at.node), frag_gpu_kind_name((enum frag_gpu_kind)kind))
		    == 0)
			return (enum frag_gpu_kind)kind;
	frag_bad(r, &at, "the name of a call is required, such as cudaMalloc");
	return FRAG_GPU_MALLOC;
}

static uint32_t take_class(struct frag_members *r, const struct frag_at *call)
{
	uint64_t max;

	if (frag_is_null(r, call, "up_to_bytes"))
		return FRAG_SIZE_CLASSES - 1;
	max = frag_take_count(r, call, "up_to_bytes");
	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES - 1; i++)
		if (frag_size_class_max(i) == max)
			return i;
	frag_bad(r, &(struct frag_at){ .up = call, .key = "up_to_bytes" },
		 "a power of two from 1048576 to 1099511627776, or null, is required");
	return 0;
}

static void read_call(struct frag_members *r, const struct frag_at *at, struct frag_driver_model *m)
{
	enum frag_gpu_kind kind;
	uint32_t class;

	frag_want_object(r, at);
	kind = take_kind(r, at);
	class = take_class(r, at);
	if (!r->rc && m->count[kind][class])
		frag_bad(r, at, "these calls of this size are specified more than once");
	m->count[kind][class] = profile_take_size(r, at, "count");
	m->total_ns[kind][class] = frag_take_count(r, at, "total_ns");
}

/*
 * The first failure stays in r and ends each loop, so nothing must be checked
 * after a read.
 */
static void profile_read_document(struct frag_members *r, const struct frag_at *root,
				       struct frag_profile *profile)
{
	static const char *const formats[] = { "fragsim-profile", NULL };
	struct frag_at list, at = { .up = NULL };

	frag_take_format(r, root, formats,
			 "a profile is required, which fragsim replay --write-profile writes");
	if (r->rc)
		return;
	profile_read_device(r, root, &profile->figures);
	list = frag_take_array(r, root, "calls");
	while (frag_next_element(r, &list, &at))
		read_call(r, &at, &profile->model);
}

int frag_profile_read(struct frag_profile *profile, const char *path, struct frag_error *err)
{
	struct frag_members r;
	struct frag_json doc;
	struct frag_at root = frag_members_open(&r, &doc, path, "profile", err);

	*profile = (struct frag_profile){ .figures = { .name = NULL } };
	if (!r.rc)
		profile_read_document(&r, &root, profile);
	frag_json_end(&doc);
	return r.rc;
}
