/* ranks_answer.c - what fragsim ranks found, in every form: for people, as rows, as a document. */
#include "answers/ranks_answer.h"

#include "answers/answers.h"
#include "answers/report.h"
#include "policy/evidence.h"

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
				    " %s fails to allocate %s at event %" PRIu64, r->ooms, r->count,
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
		frag_put_row(to, "", "event %" PRIu64 ": OOM, %s requested%s%s", row->oom_step,
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

/* A rank on one device, with what the answer has of its trace. */
struct frag_ranks_row {
	const struct frag_ranked *row;
	const struct frag_ranked *oom;          /* the row, if it ran out of memory */
	const struct frag_trace_info *trace;
	const struct frag_choice *choice;
	const char *status, *memory;
	char out[60], apart_words[64], apart_list[64];
};

/* Row i of the document, and of CSV and Markdown. */
static bool ranks_row_at(const void *of, uint32_t i, void *element)
{
	const struct frag_ranks_answer *a = of;
	const struct frag_ranked *row;
	struct frag_ranks_row *to = element;
	struct frag_words words = FRAG_WORDS(to->apart_words), list = FRAG_WORDS(to->apart_list);

	if (i == a->ranking->count)
		return false;
	row = &a->ranking->rows[i];
	to->row = row;
	to->oom = row->ooms ? row : NULL;
	to->trace = &a->traces[row->source];
	to->choice = &a->choices[row->source];
	to->status = frag_run_status_name(row->status);
	to->memory = row->ooms ? to->out : "enough";
	snprintf(to->out, sizeof(to->out), "**out at event %" PRIu64 "**", row->oom_step);
	for (int k = 0; k <= FRAG_RANK_FIGURES; k++)
		if (apart_name(row, k)) {
			frag_add_item(&words, " ", "%s", apart_name(row, k));
			frag_add_item(&list, ", ", "%s", apart_name(row, k));
		}
	return true;
}

/* The i-th metric in which the row stands out. */
static bool apart_at(const void *of, uint32_t i, void *element)
{
	const struct frag_ranks_row *r = of;

	for (int k = 0; k <= FRAG_RANK_FIGURES; k++) {
		const char *name = apart_name(r->row, k);

		if (name && !i--) {
			*(const char **)element = name;
			return true;
		}
	}
	return false;
}

static struct frag_cell_value untagged_size_of(const void *of)
{
	const struct frag_owner *owner = ((const struct frag_rank_difference *)of)->owner;

	return (struct frag_cell_value){ .there = !owner->tag, .u = owner->size };
}

#define TAG_ROWS                                                                                \
	{ "tag", FRAG_TYPE_TEXT_JSON, FRAG_VIA(rank_difference, owner, owner, tag),             \
	  "null: blocks without a tag, of the next size", .nullable = true },                   \
	{ "size", FRAG_TYPE_BYTES, FRAG_WHOLE, "of each block without a tag",                    \
	  .get = untagged_size_of, .nullable = true },                                          \
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(rank_difference, bytes), "live bytes at the peak" }

static const struct frag_field from_median_rows[] = {
	TAG_ROWS,
	{ "median", FRAG_TYPE_BYTES, FRAG_AT(rank_difference, other), "of the compared rows" },
	{ 0 },
}, from_lowest_rows[] = {
	TAG_ROWS,
	{ "lowest", FRAG_TYPE_BYTES, FRAG_AT(rank_difference, other), "of the lowest row" },
	{ 0 },
};

#define DIFFERENCES(at_all, at_list, its)                                                       \
	{ "all_differences", FRAG_TYPE_COUNT, at_all, "tags with more or less than that" },     \
	{ "differences", FRAG_TYPE_LIST, at_list, "the most first, at most 100",                \
	  .fields = (its), .cut = true }

/* Three values, one a metric; `at` names their places. */
#define FIGURES(at)                                                                             \
	{ "reserved", FRAG_TYPE_BYTES, at(FRAG_RANK_RESERVED), "at its peak",                   \
	  "reserved", "reserved" },                                                             \
	{ "requested", FRAG_TYPE_BYTES, at(FRAG_RANK_REQUESTED), "at its peak",                 \
	  "requested", "requested" },                                                           \
	{ "wasted", FRAG_TYPE_BYTES, at(FRAG_RANK_LOST),                                        \
	  "at the peak of reserved: neither requested nor releasable", "wasted", "wasted" }

static const struct frag_field device_rows[] = {
	{ "ordinal", FRAG_TYPE_COUNT, FRAG_AT(ranked, device) },
	{ "total_bytes", FRAG_TYPE_BYTES, FRAG_AT(ranked, total), "null: no limit",
	  .absence = FRAG_UNLESS_ZERO },
	{ 0 },
}, oom_rows[] = {
	{ "step", FRAG_TYPE_COUNT, FRAG_AT(ranked, oom_step), "its event" },
	{ "size", FRAG_TYPE_BYTES, FRAG_AT(ranked, oom_size), "the bytes requested" },
	{ "tag", FRAG_TYPE_TEXT_JSON, FRAG_AT(ranked, oom_tag), .nullable = true },
	{ 0 },
};

static const char *const statuses[] = { "fits", "oom", NULL };
static const char *const apart_words[] = { "reserved", "requested", "wasted", "oom", NULL };

static const struct frag_field rank_rows[] = {
#define AT(m) FRAG_VIA(ranks_row, row, ranked, m)
#define FIGURE(k) AT(figure[k])
	{ "rank", FRAG_TYPE_COUNT, AT(number), "the number of the rank", "rank", "rank" },
	{ NULL, FRAG_TYPE_COUNT, AT(device), NULL, "device", "device" },
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(ranks_row, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(ranks_row, trace, trace_info, scope)),
	{ "device", FRAG_TYPE_OBJECT, FRAG_POINTER(ranks_row, row), .fields = device_rows },
	{ "policy", FRAG_TYPE_OBJECT, FRAG_POINTER(ranks_row, choice), .fields = frag_policy_fields },
	FRAG_EVIDENCE_FIELD(FRAG_WHOLE_VIA(ranks_row, choice)),
	{ "status", FRAG_TYPE_WORD, FRAG_AT(ranks_row, status), .words = statuses },
	FIGURES(FIGURE),
	{ NULL, FRAG_TYPE_WORD, FRAG_AT(ranks_row, status), NULL, "status" },
	{ NULL, FRAG_TYPE_COUNT, FRAG_VIA(ranks_row, oom, ranked, oom_step), NULL, "oom_step" },
	{ NULL, FRAG_TYPE_FLAG, AT(compared), NULL, "compared" },
	{ NULL, FRAG_TYPE_WORD, FRAG_AT(ranks_row, memory), NULL, NULL, "memory" },
	{ NULL, FRAG_TYPE_WORD, FRAG_AT(ranks_row, apart_words), NULL, "apart" },
	{ NULL, FRAG_TYPE_WORD, FRAG_AT(ranks_row, apart_list), NULL, NULL, "stands out" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_VIA(ranks_row, trace, trace_info, path), NULL, "path", "trace" },
	{ "peak_step", FRAG_TYPE_COUNT, AT(peak_step), "the event with the peak of reserved" },
	{ "oom", FRAG_TYPE_OBJECT, FRAG_POINTER(ranks_row, oom), "the first one; null: none",
	  .fields = oom_rows, .nullable = true },
	{ "compared", FRAG_TYPE_FLAG, AT(compared),
	  "false where the rank has ten times as much on another device" },
	{ "apart", FRAG_TYPE_LIST, FRAG_WHOLE, "the values in which it stands out",
	  .each = apart_at, .items = FRAG_TYPE_WORD, .words = apart_words },
	DIFFERENCES(AT(from_median.all),
		    FRAG_ARRAY_VIA(ranks_row, row, ranked, from_median.list, from_median.count),
		    from_median_rows),
	{ 0 },
#undef AT
};

#define MEDIAN(k) FRAG_AT(ranking, median[k])
#define LIMIT(k) FRAG_AT(ranking, limit[k])
#define LEAST(k) FRAG_AT(ranking, least[k])
#define MOST(k) FRAG_AT(ranking, most[k])
static const struct frag_field median_rows[] = { FIGURES(MEDIAN), { 0 } },
	limit_rows[] = { FIGURES(LIMIT), { 0 } }, least_rows[] = { FIGURES(LEAST), { 0 } },
	most_rows[] = { FIGURES(MOST), { 0 } };

/* The rows with most and least reserved, and the worst one, as members of the ranking. */
#define ROW_MEMBER(name, which, m)                                                              \
	static struct frag_cell_value name(const void *of)                                      \
	{                                                                                       \
		const struct frag_ranking *r = of;                                              \
                                                                                                \
		return FRAG_NUMBER_OF(r->rows[r->which].m);                                     \
	}
ROW_MEMBER(highest_number, highest, number)
ROW_MEMBER(highest_device, highest, device)
ROW_MEMBER(lowest_number, lowest, number)
ROW_MEMBER(lowest_device, lowest, device)
ROW_MEMBER(worst_number, worst, number)
ROW_MEMBER(worst_device, worst, device)

static struct frag_cell_value worst_status(const void *of)
{
	const struct frag_ranking *r = of;

	return FRAG_TEXT_OF(frag_run_status_name(r->rows[r->worst].status));
}

static struct frag_cell_value between_of(const void *of)
{
	const struct frag_ranking *r = ((const struct frag_ranks_answer *)of)->ranking;

	return FRAG_OF(r->between.list ? r : NULL);
}

#define HIGHEST(name, k)                                                                        \
	static struct frag_cell_value name(const void *of)                                      \
	{                                                                                       \
		return FRAG_NUMBER_OF(frag_ranking_most(of, k));                                \
	}
HIGHEST(highest_reserved, FRAG_RANK_RESERVED)
HIGHEST(highest_requested, FRAG_RANK_REQUESTED)
HIGHEST(highest_wasted, FRAG_RANK_LOST)

static const struct frag_field between_rows[] = {
	{ "highest", FRAG_TYPE_COUNT, FRAG_WHOLE, "the rank with most reserved", .get = highest_number },
	{ "highest_device", FRAG_TYPE_COUNT, FRAG_WHOLE, .get = highest_device },
	{ "lowest", FRAG_TYPE_COUNT, FRAG_WHOLE, "the rank with least reserved", .get = lowest_number },
	{ "lowest_device", FRAG_TYPE_COUNT, FRAG_WHOLE, .get = lowest_device },
	DIFFERENCES(FRAG_AT(ranking, between.all),
		    FRAG_ARRAY(ranking, between.list, between.count), from_lowest_rows),
	{ 0 },
}, joint_rows[] = {
	{ "rank", FRAG_TYPE_COUNT, FRAG_WHOLE, "of the worst row", .get = worst_number },
	{ "device", FRAG_TYPE_COUNT, FRAG_WHOLE, .get = worst_device },
	{ "status", FRAG_TYPE_WORD, FRAG_WHOLE, .get = worst_status, .words = statuses },
	{ "ooms", FRAG_TYPE_COUNT, FRAG_AT(ranking, ooms), "rows that ran out of memory" },
	{ "reserved", FRAG_TYPE_BYTES, FRAG_WHOLE, "the highest of all rows", .get = highest_reserved },
	{ "requested", FRAG_TYPE_BYTES, FRAG_WHOLE, .get = highest_requested },
	{ "wasted", FRAG_TYPE_BYTES, FRAG_WHOLE, .get = highest_wasted },
	{ 0 },
};

static const struct frag_field ranks_rows[] = {
#define AT(m) FRAG_VIA(ranks_answer, ranking, ranking, m)
#define ALL(key, its, what_of)                                                                  \
	{ key, FRAG_TYPE_OBJECT, FRAG_POINTER(ranks_answer, ranking), what_of, .fields = its }
	{ "numbers_of_names", FRAG_TYPE_FLAG, FRAG_AT(ranks_answer, named),
	  "the numbers of ranks are from the names; else they are positions" },
	{ "ranks", FRAG_TYPE_LIST, FRAG_WHOLE, "by number, then by device", .each = ranks_row_at,
	  .fields = rank_rows },
	{ "compared", FRAG_TYPE_COUNT, AT(compared), "compared rows" },
	{ "alike", FRAG_TYPE_FLAG, AT(alike), "all values of the compared rows are equal" },
	{ "apart", FRAG_TYPE_COUNT, AT(apart), "rows that stand out" },
	ALL("median", median_rows, "of each value over the compared rows"),
	ALL("limit", limit_rows, "the distance from the median beyond which a row stands out"),
	ALL("least", least_rows, "of the compared rows"),
	ALL("most", most_rows, "of the compared rows"),
	{ "between", FRAG_TYPE_OBJECT, FRAG_WHOLE,
	  "the rows with most and least reserved, where no row stands out and these differ",
	  .get = between_of, .fields = between_rows, .nullable = true },
	ALL("joint", joint_rows, "the worst row, and the highest values"),
	{ 0 },
#undef ALL
#undef AT
};

const struct frag_document_type frag_ranks_document = {
	.format = "fragsim-ranks", .version = 2, .fields = ranks_rows,
	.what = "The answer of fragsim ranks, see fragsim-ranks(1). Sizes are bytes.",
};

const struct frag_format *const frag_ranks_formats[] = {
	FRAG_TEXT_FORM(ranks_print),
	FRAG_ANSWER_FORMS(frag_ranks_document, &ranks_rows[1]),
};
