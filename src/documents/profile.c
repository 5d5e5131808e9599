/* profile.c - writes and reads what a replay measured on a device: fragsim-profile(5). */
#include "documents/document_head.h"
#include "documents/json_members.h"
#include "documents/documents.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/driver_latency.h"

struct frag_profile_view {
	const struct frag_gpu_figures *gpu;
	const struct frag_driver_costs *costs;
};

static const char *gpu_name(const void *of, char *buf)
{
	const struct frag_gpu_figures *gpu = of;

	(void)buf;
	return gpu->name[0] ? gpu->name : NULL;
}

#define GPU(m) FRAG_AT(gpu_figures, m)
/* Those that a simulation takes from a profile. */
static const struct frag_field gpu_size_fields[] = {
	{ "total_bytes", FRAG_TYPE_BYTES, GPU(total), .least = 1 },
	{ "context_bytes", FRAG_TYPE_BYTES, GPU(context), "of a process; null: unknown",
	  FRAG_THERE_IF(gpu_figures, context_known) },
	{ "granularity_bytes", FRAG_TYPE_BYTES, GPU(granularity), "cudaMalloc rounds up to it", .least = 1 },
	{ 0 },
}, gpu_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_WHOLE, "as the driver has it", .text = gpu_name, .nullable = true },
	FRAG_MEMBERS(FRAG_WHOLE, gpu_size_fields),
	{ "small_granularity_bytes", FRAG_TYPE_BYTES, GPU(small_granularity), "requests of at most"
	  " small_most_bytes are rounded up to it, and share pages; null: none are",
	  .absence = FRAG_UNLESS_ZERO, .least = 1 },
	{ "small_most_bytes", FRAG_TYPE_BYTES, GPU(small_max), .absence = FRAG_UNLESS_ZERO, .least = 1 },
	{ "page_bytes", FRAG_TYPE_BYTES, GPU(page), "the smallest page of virtual memory; null: none",
	  .absence = FRAG_UNLESS_ZERO, .least = 1 },
	{ "driver_version", FRAG_TYPE_INTEGER, GPU(driver), "of CUDA: 13000 is 13.0" },
	{ "runtime_version", FRAG_TYPE_INTEGER, GPU(runtime) },
	{ 0 },
}, profile_fields[] = {
	{ "device", FRAG_TYPE_OBJECT, FRAG_POINTER(profile_view, gpu), .fields = gpu_fields },
	FRAG_CALLS_FIELD(FRAG_WHOLE_VIA(profile_view, costs)),
	{ 0 },
};

const struct frag_document_type frag_profile_document = {
	.format = "fragsim-profile", .version = 1, .fields = profile_fields,
	.what = "What fragsim replay --write-profile writes, see fragsim-profile(5).",
};

/* Merges the calls of all runs: the cost of a call depends on the device, not on the policy. */
int frag_profile_write(const struct frag_gpu_figures *gpu, const struct frag_result *const *runs,
		       uint32_t count, struct frag_outfile *out, struct frag_error *err)
{
	struct frag_driver_costs costs = { .calls = { { { .count = 0 } } } };
	const struct frag_profile_view view = { gpu, &costs };
	struct frag_json doc;
	bool good = true;
	int rc;

	for (uint32_t i = 0; i < count; i++)
		if (runs[i]->costs)
			good = frag_driver_costs_merge(&costs, runs[i]->costs) && good;
	doc = frag_document_of(&frag_profile_document, &view);
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
	struct frag_gpu_figures gpu = { .context = 0 };

	if (r->rc)
		return;
	if (!frag_is_null(r, &at, "name"))
		f->name = frag_take_text(r, &at, "name");
	frag_take_fields(r, &at, gpu_size_fields, &gpu);
	f->total = gpu.total;
	f->context = gpu.context;
	f->granularity = gpu.granularity;
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
