/* ranks_answer.c - what fragsim ranks found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include "answers/report.h"

#define ROWS_MAX 64             /* of more only those that say something are shown */
#define APART_MAX 8             /* ranks whose tags are listed, unless all are */
#define POLICIES_MAX 4          /* that are named */
#define TINY 100                /* a difference this many times smaller than the largest is ignored */
#define NAME_ROOM FRAG_OWNER_ROOM
#define NAMED_MAX 4             /* ranks in line 1 */

static bool stands_out(const struct frag_ranked *row)
{
	return row->apart || row->apart_oom;
}

/* Has a rank more than one row? Each has one. */
static bool many_devices(const struct frag_ranks_answer *a)
{
	return a->ranking->count > a->source_count;
}

/* "rank 3", "rank 3, device 1" */
static const char *row_name(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			    char buf[NAME_ROOM])
{
	snprintf(buf, NAME_ROOM, many_devices(a) ? "rank %" PRIu64 ", device %" PRIu32
		 : "rank %" PRIu64, row->number, row->device);
	return buf;
}

static bool same_policy(const struct frag_ranks_answer *a, uint32_t i, uint32_t k)
{
	return strcmp(a->choices[i].text, a->choices[k].text) == 0;
}

/* Is it the first source that has this policy? */
static bool is_new_policy(const struct frag_ranks_answer *a, uint32_t source)
{
	for (uint32_t i = 0; i < source; i++)
		if (same_policy(a, i, source))
			return false;
	return true;
}

/* Are all policies as the first one's text? */
static bool one_policy(const struct frag_ranks_answer *a)
{
	for (uint32_t i = 1; i < a->source_count; i++)
		if (!same_policy(a, i, 0))
			return false;
	return true;
}

static void print_policy(const struct frag_ranks_answer *a, uint32_t source,
			 const struct frag_text_style *to)
{
	uint64_t first = a->numbers[source];
	uint32_t ranks = 0;

	for (uint32_t i = source; i < a->source_count; i++) {
		if (!same_policy(a, i, source))
			continue;
		ranks++;
		first = a->numbers[i] < first ? a->numbers[i] : first;
	}
	frag_put_row(to, "under", "%s: %" PRIu32 " rank%s, the first is %" PRIu64,
		     SHOWN(a->choices[source].text), ranks, frag_s(ranks), first);
}

/* Settings that only some ranks have are a difference too. */
static void print_policies(const struct frag_ranks_answer *a, const struct frag_text_style *to)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < a->source_count && shown <= POLICIES_MAX; i++)
		if (is_new_policy(a, i) && shown++ < POLICIES_MAX)
			print_policy(a, i, to);
	if (shown > POLICIES_MAX)
		frag_put_row(to, "", "and more; --format json has that of each rank");
}

/* The rows about all ranks: which are compared, their median, and the limits around it. */
static void print_median(const struct frag_ranks_answer *a, const struct frag_text_style *to)
{
	const struct frag_ranking *r = a->ranking;
	const uint32_t skipped = r->count - r->compared;

	if (skipped)
		frag_put_row(to, "skipped", "%" PRIu32 " row%s of a device on which the rank has"
			     " less than a tenth of what it has on another: not compared", skipped,
			     frag_s(skipped));
	if (r->compared < 2)
		return;
	if (r->alike) {
		frag_put_row(to, "alike", "all %" PRIu32 ", to the byte", r->compared);
		return;
	}
	frag_put_row(to, "median", "%s reserved, from %s to %s",
		     SIZE(r->median[FRAG_RANK_RESERVED]), SIZE(r->least[FRAG_RANK_RESERVED]),
		     SIZE(r->most[FRAG_RANK_RESERVED]));
	if (r->compared >= FRAG_RANK_COMPARED_MIN && !r->apart)
		frag_put_row(to, "limits", "no rank is more than %s reserved, %s requested or %s"
			     " wasted from the median", SIZE(r->limit[FRAG_RANK_RESERVED]),
			     SIZE(r->limit[FRAG_RANK_REQUESTED]), SIZE(r->limit[FRAG_RANK_LOST]));
}

/* "3, 5 and 2 more" */
static void list_different(const struct frag_ranks_answer *a, struct frag_words *w)
{
	const struct frag_ranking *r = a->ranking;
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (stands_out(&r->rows[i]) && count++ < NAMED_MAX)
			frag_add_item(w, ", ", "%" PRIu64, r->rows[i].number);
	if (count > NAMED_MAX)
		frag_add(w, " and %" PRIu32 " more", count - NAMED_MAX);
}

/* Of the recordings the one that proves least. */
static const struct frag_scope *ranks_scope(const struct frag_ranks_answer *a)
{
	const struct frag_scope *scope = &a->traces[0].scope;

	for (uint32_t i = 1; i < a->source_count; i++)
		scope = frag_scope_less(scope, &a->traces[i].scope);
	return scope;
}

/* Line 1: out of memory before different ranks, as a job is as good as its worst rank. */
static void ranks_print_head(const struct frag_ranks_answer *a, const struct frag_text_style *to)
{
	const struct frag_ranking *r = a->ranking;
	const struct frag_ranked *worst = &r->rows[r->worst];
	const char *reserved = SIZE(worst->figure[FRAG_RANK_RESERVED]);
	char name[NAME_ROOM];
	struct frag_words w = WORDS(NAME_ROOM);

	row_name(a, worst, name);
	list_different(a, &w);
	if (worst->ooms)
		frag_put_first_line(to, INK_RED, "", "OOM: %" PRIu32 " of %" PRIu32 " ranks fail;"
				    " %s fails to allocate %s at step %" PRIu64, r->ooms, r->count,
				    name, SIZE(worst->oom_size), worst->oom_step);
	else if (r->apart)
		frag_put_first_line(to, INK_RED, "", "DIFFERENT: rank %s; most reserved: %s by %s",
				    w.text, reserved, name);
	else
		frag_put_first_line(to, INK_BOLD, "", "%s: %" PRIu32 " rank%s; %s reserves most,"
				    " %s", r->alike && r->count > 1 ? "ALIKE"
				    : r->compared >= FRAG_RANK_COMPARED_MIN ? "NO RANK STANDS OUT"
				    : frag_fits_head(ranks_scope(a)), a->source_count, frag_s(a->source_count), name,
				    reserved);
	if (*a->folders)
		frag_put_row(to, "folder", "%s", SHOWN(a->folders));
	frag_put_row(to, "policy", "%s", one_policy(a) ? SHOWN(a->choices[0].text)
		     : "different policies or settings");
	if (!one_policy(a))
		print_policies(a, to);
	print_median(a, to);
	frag_put_context(to, worst->total, worst->context, !worst->ooms);
}

static void print_table_row(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			    const struct frag_text_style *to)
{
	const bool red = stands_out(row) || row->ooms;

	fprintf(to->f, "%s%6" PRIu64 "%s", red ? frag_ink(to, INK_RED) : "", row->number,
		stands_out(row) ? " *" : "  ");
	if (many_devices(a))
		fprintf(to->f, "%6" PRIu32 "  ", row->device);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		fprintf(to->f, "%12s", SIZE(row->figure[k]));
	fprintf(to->f, "  %-6s  %s%s\n", row->ooms ? "OOM" : "fits",
		SHOWN(frag_file_name(frag_input_name(a->traces[row->source].path))),
		red ? frag_ink(to, INK_PLAIN) : "");
}

/* Of a thousand ranks the ordinary ones are omitted. */
static void ranks_print_table(const struct frag_ranks_answer *a, const struct frag_text_style *to)
{
	const struct frag_ranking *r = a->ranking;
	uint32_t left_out = 0;

	fprintf(to->f, "\n%6s  %s%12s%12s%12s  %-6s  %s\n", "rank",
		many_devices(a) ? "device  " : "", "reserved", "requested", "wasted", "result",
		"trace");
	for (uint32_t i = 0; i < r->count; i++)
		if (a->all || r->count <= ROWS_MAX || stands_out(&r->rows[i]) || r->rows[i].ooms
		    || i == r->worst)
			print_table_row(a, &r->rows[i], to);
		else
			left_out++;
	if (left_out)
		fprintf(to->f, "%6s  %" PRIu32 " more that do not stand out: --all shows them\n",
			"", left_out);
	if (r->apart || r->between.list)
		putc('\n', to->f);
}

/* "512.00 MiB more", "1.00 GiB less" */
static const char *by_how_much(uint64_t value, uint64_t median, char buf[NAME_ROOM])
{
	snprintf(buf, NAME_ROOM, "%s %s",
		 SIZE(value > median ? value - median : median - value),
		 value > median ? "more" : "less");
	return buf;
}

static uint64_t ranks_size_of(const struct frag_rank_difference *d)
{
	return d->bytes > d->other ? d->bytes - d->other : d->other - d->bytes;
}

static void print_differences(const struct frag_ranks_answer *a,
			      const struct frag_rank_differences *found,
			      const struct frag_text_style *to)
{
	char by[NAME_ROOM], name[FRAG_OWNER_ROOM];

	if (!found->count)
		frag_put_row(to, "", "at its peak no tag has more or less");
	for (uint32_t i = 0; i < found->count && i < a->top; i++) {
		const struct frag_rank_difference *d = &found->list[i];

		if (ranks_size_of(d) < ranks_size_of(&found->list[0]) / TINY)
			return;
		frag_owner_text(d->owner->tag, NULL, d->owner->size, name);
		frag_put_row(to, "", "%s: %s, %s instead of %s", by_how_much(d->bytes, d->other, by),
			     name, SIZE(d->bytes), SIZE(d->other));
	}
}

/* The two that are furthest from each other. */
static void print_between(const struct frag_ranks_answer *a, const struct frag_text_style *to)
{
	const struct frag_ranking *r = a->ranking;
	char most[NAME_ROOM], least[NAME_ROOM];

	if (!r->between.list)
		return;
	frag_put_row(to, "differ", "%s, with most reserved, from %s, with least, at the peak:",
		     row_name(a, &r->rows[r->highest], most), row_name(a, &r->rows[r->lowest], least));
	print_differences(a, &r->between, to);
}

static void print_apart(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			const struct frag_text_style *to)
{
	char name[NAME_ROOM], by[NAME_ROOM];
	struct frag_words w = WORDS(600);

	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		if (row->apart & 1U << k)
			frag_add_item(&w, ", ", "%s %s",
				      by_how_much(row->figure[k], a->ranking->median[k], by),
				      frag_rank_figure_names[k]);
	if (row->apart_oom)
		frag_add_item(&w, ", ", "OOM, unlike most ranks");
	fputs(frag_ink(to, INK_RED), to->f);
	frag_put_row(to, "different", "%s: %s", row_name(a, row, name), w.text);
	fputs(frag_ink(to, INK_PLAIN), to->f);
	if (row->ooms)
		frag_put_row(to, "", "step %" PRIu64 ": OOM, %s requested%s%s", row->oom_step,
			     SIZE(row->oom_size), row->oom_tag ? " by " : "",
			     row->oom_tag ? frag_owner_text(row->oom_tag, NULL, 0, name) : "");
	print_differences(a, &row->from_median, to);
}

static void ranks_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	uint32_t shown = 0;

	ranks_print_head(a, to);
	ranks_print_table(a, to);
	for (uint32_t i = 0; i < r->count; i++)
		if (stands_out(&r->rows[i]) && (shown++ < APART_MAX || a->all))
			print_apart(a, &r->rows[i], to);
	if (shown > APART_MAX && !a->all)
		frag_put_row(to, "", "and %" PRIu32 " more; --all shows their differences",
			     shown - APART_MAX);
	print_between(a, to);
	frag_put_evidence(to, a->choices, "");
	if (a->source_count == 2)
		frag_put_row(to, "diff", "why one reserves more: fragsim diff %s %s",
			     SHOWN(a->traces[0].path), SHOWN(a->traces[1].path));
}

/* What row stands out in: a name each of the metrics, and "oom". */
static const char *apart_name(const struct frag_ranked *row, int k)
{
	if (k < FRAG_RANK_FIGURES)
		return row->apart & 1U << k ? frag_rank_figure_names[k] : NULL;
	return row->apart_oom ? "oom" : NULL;
}

static const struct frag_column columns[] = {
	{ "rank", "rank", FRAG_CELL_COUNT },	    { "device", "device", FRAG_CELL_COUNT },
	{ "reserved", "reserved", FRAG_CELL_SIZE }, { "requested", "requested", FRAG_CELL_SIZE },
	{ "wasted", "wasted", FRAG_CELL_SIZE },	    { "status", NULL, FRAG_CELL_WORD },
	{ "oom_step", NULL, FRAG_CELL_COUNT },	    { "compared", NULL, FRAG_CELL_WORD },
	{ NULL, "memory", FRAG_CELL_WORD },	    { "apart", "stands out", FRAG_CELL_WORD },
	{ "path", "trace", FRAG_CELL_TEXT },	    { 0 },
};

static void ranks_fill(struct frag_table *t, const void *what)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	char memory[60];

	for (uint32_t i = 0; i < r->count; i++) {
		const struct frag_ranked *row = &r->rows[i];
		struct frag_words w = WORDS(64);

		for (int k = 0; k <= FRAG_RANK_FIGURES; k++)
			if (apart_name(row, k))
				frag_add_item(&w, t->csv ? " " : ", ", "%s", apart_name(row, k));
		snprintf(memory, sizeof(memory),
			 row->ooms ? "**out at step %" PRIu64 "**" : "enough", row->oom_step);
		frag_cell(t, true, row->number);
		frag_cell(t, true, row->device);
		for (int k = 0; k < FRAG_RANK_FIGURES; k++)
			frag_cell(t, true, row->figure[k]);
		frag_cell_text(t, frag_run_status_name(row->status));
		frag_cell(t, row->ooms != 0, row->oom_step);
		frag_cell_text(t, row->compared ? "true" : "false");
		frag_cell_text(t, memory);
		frag_cell_text(t, w.text);
		frag_cell_text(t, a->traces[row->source].path);
	}
}

/* other: what is compared with. */
static void put_differences(struct frag_node_ref in, const struct frag_rank_differences *found,
			    const char *other)
{
	struct frag_node_ref list, o;
	uint32_t shown;

	frag_json_u64(in, "all_differences", found->all);
	list = frag_json_array(in, "differences");
	shown = frag_json_shown(in, "differences", found->count);
	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_rank_difference *d = &found->list[i];

		o = frag_json_object(list, NULL);
		frag_json_raw(o, "tag", d->owner->tag);
		frag_json_u64_or_null(o, "size", !d->owner->tag, d->owner->size);
		frag_json_u64(o, "bytes", d->bytes);
		frag_json_u64(o, other, d->other);
	}
}

/* As members of an object, or of a new one under that key. */
static void put_figures(struct frag_node_ref in, const char *key, const uint64_t *figures)
{
	struct frag_node_ref o = key ? frag_json_object(in, key) : in;

	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		frag_json_u64(o, frag_rank_figure_names[k], figures[k]);
}

static void ranks_put_row(struct frag_node_ref list, const struct frag_ranks_answer *a,
			  const struct frag_ranked *row)
{
	static const struct frag_json_row device_rows[] = {
		ROW_AS("ordinal", ranked, device), ROW_ZERO("total_bytes", ranked, total), ROW_END,
	}, oom_rows[] = {
		ROW_AS("step", ranked, oom_step), ROW_AS("size", ranked, oom_size),
		ROW_JSON("tag", ranked, oom_tag), ROW_END,
	};
	struct frag_node_ref o = frag_json_object(list, NULL), apart;

	frag_json_u64(o, "rank", row->number);
	frag_document_trace(o, "trace", &a->traces[row->source]);
	frag_json_of(o, "device", device_rows, row);
	frag_document_policy(o, &a->choices[row->source]);
	frag_document_evidence(o, &a->choices[row->source]);
	frag_json_text(o, "status", frag_run_status_name(row->status));
	put_figures(o, NULL, row->figure);
	frag_json_u64(o, "peak_step", row->peak_step);
	frag_json_of(o, "oom", oom_rows, row->ooms ? row : NULL);
	frag_json_bool(o, "compared", row->compared);
	apart = frag_json_array(o, "apart");
	for (int k = 0; k <= FRAG_RANK_FIGURES; k++)
		if (apart_name(row, k))
			frag_json_text(apart, NULL, apart_name(row, k));
	put_differences(o, &row->from_median, "median");
}

/* What the row with most reserved has else than the one with least, where none stands out. */
static void put_between(struct frag_node_ref in, const struct frag_ranking *r)
{
	struct frag_node_ref o = frag_json_object_or_null(in, "between", r->between.list != NULL);

	if (!o.node)
		return;
	frag_json_u64(o, "highest", r->rows[r->highest].number);
	frag_json_u64(o, "highest_device", r->rows[r->highest].device);
	frag_json_u64(o, "lowest", r->rows[r->lowest].number);
	frag_json_u64(o, "lowest_device", r->rows[r->lowest].device);
	put_differences(o, &r->between, "lowest");
}

/* The members of the document, see fragsim-ranks(1). */
static void ranks_document(struct frag_node_ref root, const void *what)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	const struct frag_ranked *worst = &r->rows[r->worst];
	struct frag_node_ref list, o;

	frag_json_bool(root, "numbers_of_names", a->named);
	list = frag_json_array(root, "ranks");
	for (uint32_t i = 0; i < r->count; i++)
		ranks_put_row(list, a, &r->rows[i]);
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
}

const struct frag_format *const frag_ranks_formats[] = {
	FRAG_TEXT_FORM("text", ranks_print),
	FRAG_ANSWER_FORMS("ranks", ranks_document, columns, ranks_fill),
};
