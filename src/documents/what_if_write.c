/* what_if_write.c - what fragsim what-if found, as JSON. */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/fit_members.h"

uint64_t frag_fits_requested(const struct frag_fits *fits, uint32_t source)
{
	uint64_t requested = 0;

	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].source == source
		    && fits->fitted[i].unlimited.peak_requested > requested)
			requested = fits->fitted[i].unlimited.peak_requested;
	return requested;
}

static void put_fit(struct frag_node_ref list, const struct frag_fits *fits,
		    const struct frag_fitted *one)
{
	struct frag_node_ref o = frag_json_object(list, NULL);
	const struct frag_attempt *free_run = &one->unlimited;

	frag_fit_members(o, fits, one, false);
	frag_json_u64(o, "requested", free_run->peak_requested);
	frag_json_u64_or_null(o, "reserved", free_run->survives, free_run->peak_reserved);
}

static void put_source(struct frag_node_ref root, const char *key,
		       const struct frag_what_if_answer *a, uint32_t source, uint64_t events)
{
	struct frag_node_ref o = frag_json_object(root, key), list;

	frag_json_u64(o, "events", events);
	frag_json_u64(o, "requested", frag_fits_requested(a->fits, source));
	list = frag_json_array(o, "fits");
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			put_fit(list, a->fits, &a->fits->fitted[i]);
}

int frag_what_if_json(const struct frag_what_if_answer *answer, FILE *f, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-what-if"), list;
	int rc;

	frag_document_tool(root);
	frag_document_trace(root, "trace", answer->trace);
	frag_json_bool(root, "hypothetical", true);
	list = frag_json_array(root, "changes");
	for (uint32_t i = 0; i < answer->change_count; i++)
		frag_json_text(list, NULL, answer->changes[i]);
	put_source(root, "as_it_is", answer, 0, answer->trace->events);
	put_source(root, "changed", answer, 1, answer->events);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
