/* ranks_answer.c - what fragsim ranks found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/escape.h"
#include "documents/document_head.h"
#include "answers/text_style.h"
#include "answers/table.h"

#define FRAG_APART_ROOM 64
static const char *frag_apart_text(const struct frag_ranked *row, const char *between,
			    char buf[FRAG_APART_ROOM]);

#define ROWS_MAX 64             /* of more only those that say something are shown */
#define APART_MAX 8             /* ranks whose tags are listed, unless all are */
#define POLICIES_MAX 4          /* that are named */
#define TINY 100                /* a difference this many times smaller than the largest is ignored */
#define NAME_ROOM 200
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
	if (many_devices(a))
		snprintf(buf, NAME_ROOM, "rank %" PRIu64 ", device %" PRIu32, row->number,
			 row->device);
	else
		snprintf(buf, NAME_ROOM, "rank %" PRIu64, row->number);
	return buf;
}

/* Are all policies as the first one's text? */
static bool one_policy(const struct frag_ranks_answer *a)
{
	for (uint32_t i = 1; i < a->source_count; i++)
		if (strcmp(a->choices[i].text, a->choices[0].text) != 0)
			return false;
	return true;
}

/* Is it the first source that has this policy? */
static bool is_new_policy(const struct frag_ranks_answer *a, uint32_t source)
{
	for (uint32_t i = 0; i < source; i++)
		if (strcmp(a->choices[i].text, a->choices[source].text) == 0)
			return false;
	return true;
}

static void print_policy(const struct frag_ranks_answer *a, uint32_t source,
			 const struct frag_text_style *paper, FILE *f)
{
	uint64_t first = a->numbers[source];
	char text[FRAG_PRINTABLE_ROOM];
	uint32_t ranks = 0;

	for (uint32_t i = source; i < a->source_count; i++) {
		if (strcmp(a->choices[i].text, a->choices[source].text) != 0)
			continue;
		ranks++;
		first = a->numbers[i] < first ? a->numbers[i] : first;
	}
	frag_put_row(paper->columns, "under", f, "%s: %" PRIu32 " rank%s, the first is %" PRIu64,
		     frag_printable(text, a->choices[source].text), ranks, frag_s(ranks), first);
}

/* Settings that only some ranks have are a difference too. */
static void print_policies(const struct frag_ranks_answer *a, const struct frag_text_style *paper,
			   FILE *f)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < a->source_count && shown <= POLICIES_MAX; i++)
		if (is_new_policy(a, i) && shown++ < POLICIES_MAX)
			print_policy(a, i, paper, f);
	if (shown > POLICIES_MAX)
		frag_put_row(paper->columns, "", f,
			     "and more; --format json has that of each rank");
}

/* The rows about all ranks: which are compared, their median, and the limits around it. */
static void print_median(const struct frag_ranks_answer *a, const struct frag_text_style *paper,
			 FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	char median[FRAG_NUMBER_ROOM], least[FRAG_NUMBER_ROOM], most[FRAG_NUMBER_ROOM];

	if (r->compared < r->count)
		frag_put_row(paper->columns, "skipped", f,
			     "%" PRIu32 " row%s of a device on which the"
			     " rank has less than a tenth of what it has on another: not compared",
			     r->count - r->compared, frag_s(r->count - r->compared));
	if (r->compared < 2)
		return;
	if (r->alike) {
		frag_put_row(paper->columns, "alike", f, "all %" PRIu32 ", to the byte",
			     r->compared);
		return;
	}
	frag_put_row(paper->columns, "median", f, "%s reserved, from %s to %s",
		     frag_size_text(median, r->median[FRAG_RANK_RESERVED]),
		     frag_size_text(least, r->least[FRAG_RANK_RESERVED]),
		     frag_size_text(most, r->most[FRAG_RANK_RESERVED]));
	if (r->compared >= FRAG_RANK_COMPARED_MIN && !r->apart)
		frag_put_row(paper->columns, "limits", f,
			     "no rank is more than %s reserved, %s requested or %s wasted from"
			     " the median",
			     frag_size_text(median, r->limit[FRAG_RANK_RESERVED]),
			     frag_size_text(least, r->limit[FRAG_RANK_REQUESTED]),
			     frag_size_text(most, r->limit[FRAG_RANK_LOST]));
}

/* "3, 5 and 2 more" */
static void list_different(const struct frag_ranks_answer *a, char out[NAME_ROOM])
{
	const struct frag_ranking *r = a->ranking;
	uint32_t shown = 0, more = 0;
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < r->count; i++)
		if (!stands_out(&r->rows[i]))
			continue;
		else if (shown++ < NAMED_MAX)
			used += (size_t)snprintf(out + used, NAME_ROOM - used, "%s%" PRIu64,
						 used ? ", " : "", r->rows[i].number);
		else
			more++;
	if (more)
		snprintf(out + used, NAME_ROOM - used, " and %" PRIu32 " more", more);
}

/* Line 1: out of memory before different ranks, as a job is as good as its worst rank. */
static void ranks_print_head(const struct frag_ranks_answer *a, const struct frag_text_style *paper,
			     FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	const struct frag_ranked *worst = &r->rows[r->worst];
	char policy[FRAG_PRINTABLE_ROOM], name[NAME_ROOM], list[NAME_ROOM], text[800];
	const bool bad = worst->ooms || r->apart;

	list_different(a, list);
	if (worst->ooms)
		snprintf(text, sizeof(text), "OOM: %" PRIu32 " of %" PRIu32 " ranks fail; %s"
			 " fails to allocate %s at step %" PRIu64, r->ooms, r->count,
			 row_name(a, worst, name), SIZE(worst->oom_size), worst->oom_step);
	else if (r->apart)
		snprintf(text, sizeof(text), "DIFFERENT: rank %s; most reserved: %s by %s", list,
			 SIZE(worst->figure[FRAG_RANK_RESERVED]), row_name(a, worst, name));
	else
		snprintf(text, sizeof(text), "%s: %" PRIu32 " rank%s; %s reserves most, %s",
			 r->alike && r->count > 1 ? "ALIKE"
			 : r->compared >= FRAG_RANK_COMPARED_MIN ? "NO RANK STANDS OUT"
								 : "FITS",
			 a->source_count, frag_s(a->source_count), row_name(a, worst, name),
			 SIZE(worst->figure[FRAG_RANK_RESERVED]));
	frag_put_first_line(paper, bad ? INK_RED : INK_BOLD, "", text, f);
	frag_put_row(paper->columns, "policy", f, "%s", one_policy(a)
		     ? frag_printable(policy, a->choices[0].text)
		     : "different policies or settings");
	if (!one_policy(a))
		print_policies(a, paper, f);
	print_median(a, paper, f);
}

static void print_table_row(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			    bool devices, const struct frag_text_style *paper, FILE *f)
{
	char path[FRAG_PRINTABLE_ROOM];
	const bool red = stands_out(row) || row->ooms;

	fprintf(f, "%s%6" PRIu64 "%s", red ? frag_color_code(paper->colour, INK_RED) : "",
		row->number, stands_out(row) ? " *" : "  ");
	if (devices)
		fprintf(f, "%6" PRIu32 "  ", row->device);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		fprintf(f, "%12s", SIZE(row->figure[k]));
	fprintf(f, "  %-6s  %s%s\n", row->ooms ? "OOM" : "fits",
		frag_printable(path, frag_file_name(frag_input_name(a->traces[row->source].path))),
		red ? frag_color_code(paper->colour, INK_PLAIN) : "");
}

/* Of a thousand ranks the ordinary ones are omitted. */
static bool is_shown(const struct frag_ranks_answer *a, uint32_t i)
{
	const struct frag_ranking *r = a->ranking;

	return a->all || r->count <= ROWS_MAX || stands_out(&r->rows[i]) || r->rows[i].ooms
	       || i == r->worst;
}

static void ranks_print_table(const struct frag_ranks_answer *a,
			      const struct frag_text_style *paper, FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	const bool devices = many_devices(a);
	uint32_t left_out = 0;

	fprintf(f, "\n%6s  %s%12s%12s%12s  %-6s  %s\n", "rank", devices ? "device  " : "", "reserved",
		"requested", "wasted", "result", "trace");
	for (uint32_t i = 0; i < r->count; i++)
		if (is_shown(a, i))
			print_table_row(a, &r->rows[i], devices, paper, f);
		else
			left_out++;
	if (left_out)
		fprintf(f, "%6s  %" PRIu32 " more that do not stand out: --all shows them\n", "",
			left_out);
	if (r->apart || r->between.list)
		putc('\n', f);
}

/* "512.00 MiB more", "1.00 GiB less" */
static const char *by_how_much(uint64_t value, uint64_t median, char buf[NAME_ROOM])
{
	snprintf(buf, NAME_ROOM, "%s %s",
		 SIZE(value > median ? value - median : median - value),
		 value > median ? "more" : "less");
	return buf;
}

/* A tag is JSON text: its quotes go. */
static const char *owner_name(const struct frag_owner *owner, char buf[NAME_ROOM])
{
	char size[FRAG_NUMBER_ROOM];
	const size_t length = owner->tag ? strlen(owner->tag) - 2 : 0;

	if (!owner->tag)
		snprintf(buf, NAME_ROOM, "blocks of %s without a tag",
			 frag_size_text(size, owner->size));
	else if (length < NAME_ROOM)
		snprintf(buf, NAME_ROOM, "%.*s", (int)length, owner->tag + 1);
	else
		snprintf(buf, NAME_ROOM, "%.*s...", NAME_ROOM - 4, owner->tag + 1);
	return buf;
}

static uint64_t ranks_size_of(const struct frag_rank_difference *d)
{
	return d->bytes > d->other ? d->bytes - d->other : d->other - d->bytes;
}

static void print_differences(const struct frag_ranks_answer *a,
			      const struct frag_rank_differences *found,
			      const struct frag_text_style *paper, FILE *f)
{
	char by[NAME_ROOM], name[NAME_ROOM], bytes[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM];

	if (!found->count)
		frag_put_row(paper->columns, "", f, "at its peak no tag has more or less");
	for (uint32_t i = 0; i < found->count && i < a->top; i++) {
		const struct frag_rank_difference *d = &found->list[i];

		if (ranks_size_of(d) < ranks_size_of(&found->list[0]) / TINY)
			return;
		frag_put_row(paper->columns, "", f, "%s: %s, %s instead of %s",
			     by_how_much(d->bytes, d->other, by), owner_name(d->owner, name),
			     frag_size_text(bytes, d->bytes), frag_size_text(other, d->other));
	}
}

/* The two that are furthest from each other. */
static void print_between(const struct frag_ranks_answer *a, const struct frag_text_style *paper,
			  FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	char most[NAME_ROOM], least[NAME_ROOM];

	if (!r->between.list)
		return;
	frag_put_row(paper->columns, "differ", f, "%s, with most reserved, from %s, with least, at"
		     " the peak:", row_name(a, &r->rows[r->highest], most),
		     row_name(a, &r->rows[r->lowest], least));
	print_differences(a, &r->between, paper, f);
}

static void print_oom(const struct frag_ranked *row, const struct frag_text_style *paper, FILE *f)
{
	const struct frag_owner owner = { .tag = row->oom_tag, .size = row->oom_size };
	char name[NAME_ROOM], size[FRAG_NUMBER_ROOM];

	frag_put_row(paper->columns, "", f, "step %" PRIu64 ": OOM, %s requested%s%s", row->oom_step,
		     frag_size_text(size, row->oom_size), row->oom_tag ? " by " : "",
		     row->oom_tag ? owner_name(&owner, name) : "");
}

static void print_apart(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			const struct frag_text_style *paper, FILE *f)
{
	char text[600], name[NAME_ROOM], by[NAME_ROOM];
	size_t used = 0;

	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		if (row->apart & 1U << k)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
						 used ? ", " : "",
						 by_how_much(row->figure[k], a->ranking->median[k],
							     by), frag_rank_figure_names[k]);
	if (row->apart_oom)
		snprintf(text + used, sizeof(text) - used, "%sOOM, unlike most ranks",
			 used ? ", " : "");
	fputs(frag_color_code(paper->colour, INK_RED), f);
	frag_put_row(paper->columns, "different", f, "%s: %s", row_name(a, row, name), text);
	fputs(frag_color_code(paper->colour, INK_PLAIN), f);
	if (row->ooms)
		print_oom(row, paper, f);
	print_differences(a, &row->from_median, paper, f);
}

static int ranks_print(const void *what, const struct frag_text_style *paper, FILE *f,
		       struct frag_error *err)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	uint32_t shown = 0;

	(void)err;
	ranks_print_head(a, paper, f);
	ranks_print_table(a, paper, f);
	for (uint32_t i = 0; i < r->count; i++)
		if (stands_out(&r->rows[i]) && (shown++ < APART_MAX || a->all))
			print_apart(a, &r->rows[i], paper, f);
	if (shown > APART_MAX && !a->all)
		frag_put_row(paper->columns, "", f, "and %" PRIu32 " more; --all shows their"
			     " differences", shown - APART_MAX);
	print_between(a, paper, f);
	frag_put_evidence(paper->columns, a->choices, "", f);
	if (a->source_count == 2)
		frag_put_row(paper->columns, "diff", f, "why one reserves more: fragsim diff %s %s",
			     frag_printable((char[FRAG_PRINTABLE_ROOM]){ 0 }, a->traces[0].path),
			     frag_printable((char[FRAG_PRINTABLE_ROOM]){ 0 }, a->traces[1].path));
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = ranks_print };

static const char *frag_apart_text(const struct frag_ranked *row, const char *between,
			    char buf[FRAG_APART_ROOM])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int k = 0; k <= FRAG_RANK_FIGURES; k++) {
		const bool is =
			k < FRAG_RANK_FIGURES ? (row->apart & 1U << k) != 0 : row->apart_oom;

		if (is)
			used += (size_t)snprintf(buf + used, FRAG_APART_ROOM - used, "%s%s",
						 used ? between : "", k < FRAG_RANK_FIGURES
						 ? frag_rank_figure_names[k] : "oom");
	}
	return buf;
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
	char apart[FRAG_APART_ROOM], memory[60];

	for (const struct frag_ranked *row = r->rows; row < r->rows + r->count; row++) {
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
		frag_cell_text(t, frag_apart_text(row, t->csv ? " " : ", ", apart));
		frag_cell_text(t, a->traces[row->source].path);
	}
}

static const struct frag_table_rows rows = { columns, ranks_fill };

const struct frag_format *const frag_ranks_formats[] = {
	&text_format,
	FRAG_ANSWER_FORMS("ranks", frag_ranks_document, &rows),
};

static void ranks_put_oom(struct frag_node_ref in, const struct frag_ranked *row)
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

static void ranks_put_row(struct frag_node_ref list, const struct frag_ranks_answer *a,
			  const struct frag_ranked *row)
{
	struct frag_node_ref o = frag_json_object(list, NULL), part;

	frag_json_u64(o, "rank", row->number);
	frag_document_trace(o, "trace", &a->traces[row->source]);
	part = frag_json_object(o, "device");
	frag_json_u64(part, "ordinal", row->device);
	frag_json_u64_or_null(part, "total_bytes", row->total != 0, row->total);
	frag_document_policy(o, &a->choices[row->source]);
	frag_document_evidence(o, &a->choices[row->source]);
	frag_json_text(o, "status", frag_run_status_name(row->status));
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		frag_json_u64(o, frag_rank_figure_names[k], row->figure[k]);
	frag_json_u64(o, "peak_step", row->peak_step);
	ranks_put_oom(o, row);
	frag_json_bool(o, "compared", row->compared);
	put_apart(o, row);
	put_differences(o, &row->from_median, "median");
}

static void ranks_put_figures(struct frag_node_ref in, const char *key, const uint64_t *figures)
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

/* The members of the document, see fragsim-ranks(1). */
void frag_ranks_document(struct frag_node_ref root, const void *what)
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
	ranks_put_figures(root, "median", r->median);
	ranks_put_figures(root, "limit", r->limit);
	ranks_put_figures(root, "least", r->least);
	ranks_put_figures(root, "most", r->most);
	put_between(root, r);
	o = frag_json_object(root, "joint");
	frag_json_u64(o, "rank", worst->number);
	frag_json_u64(o, "device", worst->device);
	frag_json_text(o, "status", frag_run_status_name(worst->status));
	frag_json_u64(o, "ooms", r->ooms);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		frag_json_u64(o, frag_rank_figure_names[k], frag_ranking_most(r, k));
}
