/* extrapolate_write.c - what fragsim extrapolate found, as JSON. */
#include <stdlib.h>

#include "base/format.h"
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/fit_members.h"

#define NONE UINT64_MAX

static void put_traces(struct frag_node_ref root, const struct frag_extrapolate_answer *a)
{
	const struct frag_recordings *r = a->found->recordings;
	struct frag_node_ref list = frag_json_array(root, "traces");

	for (uint32_t i = 0; i < r->count; i++)
		frag_json_u64(frag_document_trace(list, NULL, a->traces[i]), "at",
			      r->of[i].number);
}

static void put_growth(struct frag_node_ref root, const struct frag_recordings *r)
{
	static const char *const names[] = { "constant", "linear", "quadratic", "other" };
	struct frag_node_ref o = frag_json_object(root, "sizes");
	uint64_t allocs[FRAG_UNEXPLAINED + 1] = { 0 };

	for (uint32_t i = 0; i < r->size_count; i++)
		allocs[r->sizes[i].growth] += r->sizes[i].allocs;
	for (uint32_t i = 0; i <= FRAG_UNEXPLAINED; i++)
		frag_json_u64(o, names[i], allocs[i]);
}

static int put_tag(struct frag_node_ref in, struct frag_text tag, struct frag_error *err)
{
	char *text = malloc((size_t)tag.length * 6 + 3);

	if (!text)
		return frag_fail_nomem(err);
	*frag_put_json(text, tag.text, tag.length) = '\0';
	frag_json_raw(in, "tag", text);
	free(text);
	return 0;
}

static int put_odd(struct frag_node_ref root, const struct frag_extrapolation *x,
		   struct frag_error *err)
{
	const uint32_t shown = x->odd_tags < FRAG_ODD_MAX ? x->odd_tags : FRAG_ODD_MAX;
	const struct frag_recordings *r = x->recordings;
	struct frag_node_ref o = frag_json_object(root, "unexplained"), list, tag, sizes;
	int rc = 0;

	frag_json_u64(o, "count", x->odd_allocs);
	frag_json_u64(o, "tag_count", x->odd_tags);
	list = frag_json_array(o, "tags");
	for (uint32_t i = 0; i < shown && !rc; i++) {
		const struct frag_odd *odd = &x->odd[i];

		tag = frag_json_object(list, NULL);
		if (odd->tag.text)
			rc = put_tag(tag, odd->tag, err);
		else
			frag_json_null(tag, "tag");
		frag_json_u64(tag, "count", odd->allocs);
		frag_json_u64(tag, "step", odd->step);
		sizes = frag_json_array(tag, "sizes");
		for (uint32_t k = 0; k < r->count; k++)
			frag_json_u64(sizes, NULL, odd->sizes->at[r->of[k].rank]);
	}
	return rc;
}

static void put_fit(struct frag_node_ref list, const struct frag_extrapolation *x,
		    const struct frag_fitted *one)
{
	struct frag_node_ref o = frag_json_object(list, NULL);
	const struct frag_attempt *free_run = &one->unlimited;

	frag_fit_members(o, &x->fits, one, false);
	frag_json_u64(o, "requested", free_run->peak_requested);
	frag_json_u64_or_null(o, "reserved", free_run->survives, free_run->peak_reserved);
	if (x->total && one->fit.runs)
		frag_json_bool(o, "survives", one->fit.static_room != NONE);
	else
		frag_json_null(o, "survives");
}

static void put_point(struct frag_node_ref list, const struct frag_extrapolation *x, uint32_t at)
{
	struct frag_node_ref o = frag_json_object(list, NULL), fits;
	uint64_t requested = 0;

	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at
		    && x->fits.fitted[i].unlimited.peak_requested > requested)
			requested = x->fits.fitted[i].unlimited.peak_requested;
	frag_json_u64(o, "at", x->at[at]);
	frag_json_u64(o, "unexplained", x->unexplained[at]);
	frag_json_u64(o, "requested", requested);
	fits = frag_json_array(o, "fits");
	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at)
			put_fit(fits, x, &x->fits.fitted[i]);
}

static void put_number(struct frag_node_ref in, const char *key, uint32_t number)
{
	frag_json_u64_or_null(in, key, number != FRAG_NO_NUMBER, number);
}

static void put_reach(struct frag_node_ref list, const struct frag_extrapolation *x,
		      uint32_t choice)
{
	const struct frag_reach *reach = &x->reaches[choice];
	struct frag_node_ref o = frag_json_object(list, NULL), map, stretch;

	frag_document_choice(o, &x->choices[choice]);
	put_number(o, "largest", reach->largest);
	put_number(o, "safe", reach->safe);
	frag_json_u64(o, "from", x->first);
	put_number(o, "examined_to", x->tried ? frag_tried_last(x) : FRAG_NO_NUMBER);
	put_number(o, "bound", x->bound);
	frag_json_u64(o, "stride", x->stride);
	map = frag_json_array(o, "map");
	for (uint32_t i = 0; i < reach->count; i++) {
		stretch = frag_json_object(map, NULL);
		frag_json_u64(stretch, "from", reach->map[i].from);
		frag_json_u64(stretch, "to", reach->map[i].to);
		frag_json_text(stretch, "status",
			       frag_run_status_name(reach->map[i].survives ? FRAG_RUN_OK
							    : FRAG_RUN_OOM));
	}
}

int frag_extrapolate_json(const struct frag_extrapolate_answer *answer, FILE *f,
			  struct frag_error *err)
{
	const struct frag_extrapolation *x = answer->found;
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-extrapolate"), list;
	int rc;

	frag_document_tool(root);
	put_traces(root, answer);
	put_growth(root, x->recordings);
	rc = put_odd(root, x, err);
	frag_json_u64_or_null(root, "device_bytes", x->total != 0, x->total);
	list = frag_json_array(root, "points");
	for (uint32_t i = 0; i < x->at_count; i++)
		put_point(list, x, i);
	list = frag_json_array(root, "largest");
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		put_reach(list, x, i);
	rc = rc ? rc : frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
