/* ranks_write.c - what fragsim ranks found, as JSON. */
#include "documents/document_head.h"
#include "documents/documents.h"

static void put_oom(struct frag_node_ref in, const struct frag_ranked *row)
{
	struct frag_node_ref o;

	if (!row->ooms) {
		frag_json_null(in, "oom");
		return;
	}
	o = frag_json_object(in, "oom");
	frag_json_u64(o, "step", row->oom_step);
	frag_json_u64(o, "size", row->oom_size);
	frag_json_raw(o, "tag", row->oom_tag);
}

static void put_apart(struct frag_node_ref in, const struct frag_ranked *row)
{
	struct frag_node_ref list = frag_json_array(in, "apart");

	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		if (row->apart & 1U << k)
			frag_json_text(list, NULL, frag_rank_figure_names[k]);
	if (row->apart_oom)
		frag_json_text(list, NULL, "oom");
}

/* other: what is compared with. */
static void put_differences(struct frag_node_ref in, const struct frag_rank_differences *found,
			    const char *other)
{
	struct frag_node_ref list, o;

	frag_json_u64(in, "all_differences", found->all);
	list = frag_json_array(in, "differences");
	for (uint32_t i = 0; i < found->count; i++) {
		const struct frag_rank_difference *d = &found->list[i];

		o = frag_json_object(list, NULL);
		frag_json_raw(o, "tag", d->owner->tag);
		frag_json_u64_or_null(o, "size", !d->owner->tag, d->owner->size);
		frag_json_u64(o, "bytes", d->bytes);
		frag_json_u64(o, other, d->other);
	}
}

static void put_row(struct frag_node_ref list, const struct frag_ranks_answer *a,
		    const struct frag_ranked *row)
{
	struct frag_node_ref o = frag_json_object(list, NULL), part;

	frag_json_u64(o, "rank", row->number);
	frag_document_trace(o, "trace", &a->traces[row->source]);
	part = frag_json_object(o, "device");
	frag_json_u64(part, "ordinal", row->device);
	frag_json_u64_or_null(part, "total_bytes", row->total != 0, row->total);
	frag_document_policy(o, &a->choices[row->source]);
	frag_json_text(o, "status", frag_run_status_name(row->status));
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		frag_json_u64(o, frag_rank_figure_names[k], row->figure[k]);
	frag_json_u64(o, "peak_step", row->peak_step);
	put_oom(o, row);
	frag_json_bool(o, "compared", row->compared);
	put_apart(o, row);
	put_differences(o, &row->from_median, "median");
}

static void put_figures(struct frag_node_ref in, const char *key, const uint64_t *figures)
{
	struct frag_node_ref o = frag_json_object(in, key);

	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		frag_json_u64(o, frag_rank_figure_names[k], figures[k]);
}

/* What the row with most reserved has else than the one with least, where none stands out. */
static void put_between(struct frag_node_ref in, const struct frag_ranking *r)
{
	struct frag_node_ref o;

	if (!r->between.list) {
		frag_json_null(in, "between");
		return;
	}
	o = frag_json_object(in, "between");
	frag_json_u64(o, "highest", r->rows[r->highest].number);
	frag_json_u64(o, "highest_device", r->rows[r->highest].device);
	frag_json_u64(o, "lowest", r->rows[r->lowest].number);
	frag_json_u64(o, "lowest_device", r->rows[r->lowest].device);
	put_differences(o, &r->between, "lowest");
}

int frag_ranks_json(const struct frag_ranks_answer *a, FILE *f, struct frag_error *err)
{
	const struct frag_ranking *r = a->ranking;
	const struct frag_ranked *worst = &r->rows[r->worst];
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-ranks"), list, o;
	int rc;

	frag_document_tool(root);
	frag_json_bool(root, "numbers_of_names", a->named);
	list = frag_json_array(root, "ranks");
	for (uint32_t i = 0; i < r->count; i++)
		put_row(list, a, &r->rows[i]);
	frag_json_u64(root, "compared", r->compared);
	frag_json_bool(root, "alike", r->alike);
	frag_json_u64(root, "apart", r->apart);
	put_figures(root, "median", r->median);
	put_figures(root, "limit", r->limit);
	put_figures(root, "least", r->least);
	put_figures(root, "most", r->most);
	put_between(root, r);
	o = frag_json_object(root, "joint");
	frag_json_u64(o, "rank", worst->number);
	frag_json_u64(o, "device", worst->device);
	frag_json_text(o, "status", frag_run_status_name(worst->status));
	frag_json_u64(o, "ooms", r->ooms);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		frag_json_u64(o, frag_rank_figure_names[k], frag_ranking_most(r, k));
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
