/* leaks_write.c - what fragsim leaks found, as JSON. */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/live_by_tag_write.h"

static void put_device(struct frag_node_ref list, const struct frag_leaks_answer *a, uint32_t device)
{
	const struct frag_leaking *d = &a->leaks->devices[device];
	struct frag_node_ref o = frag_json_object(list, NULL);
	const bool ends = d->full_in != UINT64_MAX;

	frag_json_u64(o, "ordinal", device);
	frag_json_text(o, "name", a->devices[device].name);
	frag_json_u64_or_null(o, "total_bytes", a->devices[device].total != 0,
			      a->devices[device].total);
	frag_json_u64(o, "live_first", d->first);
	frag_json_u64(o, "live_last", d->last);
	frag_json_u64(o, "live_peak", d->peak);
	frag_json_fixed4(o, "growth", d->growth);
	frag_json_u64(o, "leak", d->leak);
	frag_json_u64_or_null(o, "full_in_iterations", ends, d->full_in);
	frag_json_u64_or_null(o, "full_in_steps", ends, frag_steps_until_full(a->leaks, device));
}

static void put_leak(struct frag_node_ref list, const struct frag_leak *leak)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "device", leak->device);
	frag_json_raw(o, "tag", leak->tag);
	frag_json_u64_or_null(o, "size", leak->size != 0, leak->size);
	frag_json_u64(o, "bytes_an_iteration", leak->an_iteration);
	frag_json_u64(o, "bytes", leak->bytes);
	frag_json_u64(o, "blocks", leak->blocks);
	frag_json_u64(o, "first_step", leak->first_step);
	if (leak->frames)
		frag_json_frames(o, leak->frames);
}

int frag_leaks_json(const struct frag_leaks_answer *a, FILE *f, struct frag_error *err)
{
	const struct frag_leaks *leaks = a->leaks;
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-leaks"), list, o;
	int rc;

	frag_document_tool(root);
	frag_document_trace(root, "trace", a->trace);
	o = frag_json_object(root, "iterations");
	frag_json_u64(o, "count", leaks->iterations.count);
	frag_json_text(o, "mark", leaks->iterations.mark);
	frag_json_u64(o, "steps", leaks->steps);
	frag_json_u64(o, "first", 1);
	frag_json_u64(o, "last", leaks->iterations.count - 3);
	list = frag_json_array(root, "devices");
	for (uint32_t d = 0; d < a->trace->device_count; d++)
		put_device(list, a, d);
	list = frag_json_array(root, "leaks");
	for (uint32_t i = 0; i < leaks->leak_count; i++)
		put_leak(list, &leaks->leaks[i]);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
