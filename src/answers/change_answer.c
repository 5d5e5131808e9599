/* change_answer.c - why NEW reserves more than OLD, as text, Markdown, rows and a document. */
#include "answers/answers.h"

#define TAGS_SHOWN 10
#define CHANGE_ROOM 48
#define VERDICT_ROOM 400

/* "+1.50 GiB", "-3 B", "no change" */
static const char *change_text(char buf[CHANGE_ROOM], int64_t bytes)
{
	const uint64_t magnitude = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (!bytes)
		return "no change";
	snprintf(buf, CHANGE_ROOM, "%c%s", bytes < 0 ? '-' : '+', SIZE(magnitude));
	return buf;
}

#define CHANGED(bytes) change_text((char[CHANGE_ROOM]){ 0 }, (bytes))

static int64_t change_of(uint64_t old, uint64_t now)
{
	return (int64_t)now - (int64_t)old;
}

/* The verdict: the whole change, and its parts that are not 0. */
static const char *change_verdict(const struct frag_change_found *c, char text[VERDICT_ROOM])
{
	static const char *const words[FRAG_PARTS] = {
		"allocator's version", "settings", "program", "rounding", "fragmentation",
	};
	struct frag_words w = { .text = text, .size = VERDICT_ROOM };
	const char *before = ": ";

	frag_add(&w, "%s reserved at the peak", CHANGED(c->reserved));
	for (uint32_t i = 0; i < FRAG_PARTS; i++) {
		/* named also where they are none: the program's own part, and another version */
		if (!c->parts[i] && i != FRAG_PART_REQUESTED
		    && (i != FRAG_PART_VERSION || !c->as_version))
			continue;
		frag_add(&w, "%s%s %s", before, words[i], CHANGED(c->parts[i]));
		before = ", ";
	}
	return text;
}

static void change_print_side(const char *label, const struct frag_change_side *side,
			      const struct frag_text_style *to)
{
	const struct frag_metrics *peak = &side->run->peak;

	frag_put_row(to, label, "%s: %s reserved, %s requested, %s active; %s",
		     SHOWN(frag_input_name(side->trace->path)), SIZE(peak->reserved),
		     SIZE(peak->requested), SIZE(peak->active), SHOWN(side->choice->text));
}

/* The ranks: the largest increase is that of the answer, the smallest follows. */
static void change_print_pairs(const struct frag_change_found *c, const struct frag_text_style *to)
{
	const struct frag_change_pair *most = c->pairs, *least = c->pairs;

	for (uint32_t i = 1; i < c->pair_count; i++) {
		most = c->pairs[i].reserved > most->reserved ? &c->pairs[i] : most;
		least = c->pairs[i].reserved < least->reserved ? &c->pairs[i] : least;
	}
	frag_put_row(to, "ranks",
		     "%" PRIu32 " compared, from %s (rank %" PRIu64 ") to %s (rank %" PRIu64
		     "); this is rank %" PRIu64,
		     c->pair_count, CHANGED(least->reserved), least->rank, CHANGED(most->reserved),
		     most->rank, most->rank);
}

/* "4.00 MiB "tag" at step 12", or where the trace has ended. */
static char *change_request_text(char buf[300], const struct frag_change_request *r)
{
	if (r->bytes == UINT64_MAX)
		snprintf(buf, 300, "no more request after event %" PRIu64, r->step);
	else
		snprintf(buf, 300, "%s%s%.120s%s at event %" PRIu64, SIZE(r->bytes),
			 r->tag ? " \"" : "", r->tag ? SHOWN(r->tag) : "", r->tag ? "\"" : "",
			 r->step);
	return buf;
}

/*
 * Why a row has other live bytes: "new", "gone", "larger", "smaller" (as many requests), "more
 * requests", "fewer requests", "live longer", "freed earlier" (equal requests with
 * a higher or lower peak of live bytes); "" where the requests prove none of these.
 */
static const char *change_word(const struct frag_change_row *row)
{
	const struct frag_change_sum *a = &row->old, *b = &row->now;
	const bool more = frag_change_of(row) > 0;

	if (!a->requests || !b->requests)
		return a->requests ? "gone" : "new";
	if (a->requests != b->requests)
		return (b->requests > a->requests) != more ? ""
			: more ? "more requests" : "fewer requests";
	if (a->bytes != b->bytes)
		return (b->bytes > a->bytes) != more ? "" : more ? "larger" : "smaller";
	if (a->highest == b->highest || (b->highest > a->highest) != more)
		return "";
	return more ? "live longer" : "freed earlier";
}

static void change_print_tags(const struct frag_change_found *c, const struct frag_text_style *to)
{
	const struct frag_text_style wide = {
		.f = to->f, .columns = to->columns < 80 ? 0 : to->columns,
	};
	uint32_t changed = 0;

	while (changed < c->row_count && frag_change_of(&c->rows[changed]))
		changed++;
	if (!changed)
		return;
	fprintf(to->f, "\n%12s  %12s  %12s  tag, at the peak of requested bytes\n", "old", "new",
		"change");
	for (uint32_t i = 0; i < changed && i < TAGS_SHOWN; i++) {
		const struct frag_change_row *row = &c->rows[i];
		const uint64_t old = row->old.at_peak, now = row->now.at_peak;
		const char *word = change_word(row);
		char text[FRAG_PRINTABLE_ROOM + 24], head[80];

		snprintf(head, sizeof(head), "%12s  %12s  %12s  ", old ? SIZE(old) : "-",
			 now ? SIZE(now) : "-", CHANGED(frag_change_of(row)));
		snprintf(text, sizeof(text), *word ? "%s (%s)" : "%s",
			 row->tag ? SHOWN(row->tag) : "(no tag)", word);
		frag_put_wrapped(&wide, head, text);
	}
	if (changed > TAGS_SHOWN)
		fprintf(to->f, "%" PRIu32 " more tags differ: --format csv lists all\n",
			changed - TAGS_SHOWN);
}

/* Where the requests differ first, and how many have no counterpart. */
static void change_print_requests(const struct frag_change_found *c,
				  const struct frag_text_style *to)
{
	const struct frag_alignment *a = &c->alignment;
	char old[300], now[300];

	if (!c->differs) {
		frag_put_row(to, "differs", "no request: sizes and tags are the same in both");
		return;
	}
	if (!a->only_old && !a->only_new) {
		frag_put_row(to, "differs", "no request, if numbers in tags such as lines are"
			     " ignored: all %" PRIu64 " are aligned", a->same);
		return;
	}
	frag_put_row(to, "differs", "first request: %s in OLD, %s in NEW",
		     change_request_text(old, &c->old_first),
		     change_request_text(now, &c->now_first));
	frag_put_row(to, "aligned", "%" PRIu64 " requests are in both, %" PRIu64 " only in OLD, %"
		     PRIu64 " only in NEW%s", a->same, a->only_old, a->only_new,
		     a->whole ? "" : " (where the gaps are large: at most)");
	if (a->old_iterations != a->new_iterations)
		frag_put_row(to, "", "%" PRIu32 " iterations in OLD, %" PRIu32 " in NEW",
			     a->old_iterations, a->new_iterations);
}

/* Recordings that are parts of their programs: the change is that of the parts. */
static void put_parts(const struct frag_change_found *c, const struct frag_text_style *to)
{
	const struct frag_change_side *const sides[] = { &c->old, &c->now };

	for (int i = 0; i < 2; i++) {
		struct frag_words w = WORDS(200);

		if (frag_scope_part(&sides[i]->trace->scope) == FRAG_PART_WHOLE)
			continue;
		frag_add_scope(&w, &sides[i]->trace->scope);
		frag_put_row(to, "part", "%s: %s", i ? "NEW" : "OLD", w.text);
	}
}

/* What explains the verdict, a label a row. */
static void change_print_reasons(const struct frag_change_found *c,
				 const struct frag_text_style *to)
{
	if (c->undone) {
		frag_put_row(to, "set", "%s=%s", frag_device_words(c->undo.accelerator)->variable,
			     CONF(&c->undo));
		frag_put_row(to, "", "NEW then reserves %s (simulated)", SIZE(c->undo_reserved));
	}
	if (c->pairs)
		change_print_pairs(c, to);
	change_print_side("old", &c->old, to);
	change_print_side("new", &c->now, to);
	put_parts(c, to);
	frag_put_evidence(to, c->now.choice, "");
	if (c->old.run->device || c->now.trace->device_count > 1)
		frag_put_row(to, "device", "%" PRIu32 ", which changes most", c->device);
	change_print_requests(c, to);
}

static void change_print(const void *what, const struct frag_text_style *to)
{
	frag_put_first_line(to, INK_BOLD, "", "%s", change_verdict(what, (char[VERDICT_ROOM]){ 0 }));
	change_print_reasons(what, to);
	change_print_tags(what, to);
}

/* Rows: the whole, its parts, then the tags ------------------------------------------ */

struct frag_change_line {
	const char *kind, *name;
	uint64_t old, now;              /* UINT64_MAX: of a part, which has none */
	int64_t change;
};

/* The whole and its parts; behind them *i is the index of a tag. */
static bool whole_at(const struct frag_change_found *c, uint32_t *i, struct frag_change_line *to)
{
	if (*i > FRAG_PARTS) {
		*i -= FRAG_PARTS + 1;
		return false;
	}
	if (!*i)
		*to = (struct frag_change_line){
			"whole", "reserved", c->old.run->peak.reserved, c->now.run->peak.reserved, c->reserved,
		};
	else
		*to = (struct frag_change_line){
			"part", frag_change_part_names[*i - 1], UINT64_MAX, UINT64_MAX, c->parts[*i - 1],
		};
	return true;
}

static bool csv_line_at(const void *of, uint32_t i, void *element)
{
	const struct frag_change_found *c = of;
	struct frag_change_line *to = element;
	const struct frag_change_row *tag;

	if (whole_at(c, &i, to))
		return true;
	if (i >= c->tag_count)
		return false;
	tag = &c->tags[i];
	*to = (struct frag_change_line){
		"tag", tag->tag ? tag->tag : "", tag->old.at_peak, tag->now.at_peak,
		change_of(tag->old.at_peak, tag->now.at_peak),
	};
	return true;
}

/* Tags that are one up to its numbers are one row, and those that change most are shown. */
struct frag_shown_line {
	struct frag_change_line line;
	char text[FRAG_PRINTABLE_ROOM + 24];
};

static bool shown_line_at(const void *of, uint32_t i, void *element)
{
	const struct frag_change_found *c = of;
	struct frag_shown_line *to = element;
	const struct frag_change_row *row;
	const char *word;

	if (whole_at(c, &i, &to->line))
		return true;
	if (i >= c->row_count || i >= TAGS_SHOWN || !frag_change_of(&c->rows[i]))
		return false;
	row = &c->rows[i];
	word = change_word(row);
	snprintf(to->text, sizeof(to->text), *word ? "%.2000s (%s)" : "%.2000s",
		 row->tag ? row->tag : "(no tag)", word);
	to->line = (struct frag_change_line){
		"tag", to->text, row->old.at_peak, row->now.at_peak, frag_change_of(row),
	};
	return true;
}

static const char *line_change(const void *line, char *buf)
{
	snprintf(buf, FRAG_NUMBER_ROOM, "%+" PRId64, ((const struct frag_change_line *)line)->change);
	return buf;
}

static const char *shown_change(const void *line, char *buf)
{
	return change_text(buf, ((const struct frag_change_line *)line)->change);
}

#define LINE(m) FRAG_AT(change_line, m)
static const struct frag_field line_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, LINE(kind), NULL, "kind" },
	{ NULL, FRAG_TYPE_TEXT, LINE(name), NULL, "name", "part or tag" },
	{ NULL, FRAG_TYPE_BYTES, LINE(old), NULL, "old", "old", .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_BYTES, LINE(now), NULL, "new", "new", .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, "change", .text = line_change },
	{ NULL, FRAG_TYPE_WORD, FRAG_WHOLE, NULL, NULL, "change", .text = shown_change },
	{ 0 },
}, csv_lines[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = line_fields, .each = csv_line_at }, { 0 },
}, shown_lines[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = line_fields, .each = shown_line_at }, { 0 },
};

/* The document, see fragsim-diff(1) ------------------------------------------------ */

struct frag_side_view {
	const struct frag_trace_info *trace;
	struct frag_run_view run;
};

static bool side_view(const struct frag_change_side *side, struct frag_side_view *to)
{
	*to = (struct frag_side_view){ side->trace, { side->run, NULL } };
	return true;
}

static bool old_side(const void *of, uint32_t i, void *element)
{
	(void)i;
	return side_view(&((const struct frag_change_found *)of)->old, element);
}

static bool new_side(const void *of, uint32_t i, void *element)
{
	(void)i;
	return side_view(&((const struct frag_change_found *)of)->now, element);
}

static struct frag_cell_value first_difference(const void *of)
{
	const struct frag_change_found *c = of;

	return FRAG_OF(c->differs ? c : NULL);
}

static struct frag_cell_value undo_of(const void *of)
{
	const struct frag_change_found *c = of;

	return FRAG_OF(c->undone ? c : NULL);
}

static const char *undo_conf(const void *of, char *buf)
{
	return frag_conf_of(&((const struct frag_change_found *)of)->undo, buf);
}

static struct frag_cell_value row_change(const void *row)
{
	return (struct frag_cell_value){ .there = true, .i = frag_change_of(row) };
}

#define FOUND(m) FRAG_AT(change_found, m)
#define ALIGNED(m) FRAG_AT(alignment, m)
static const struct frag_field side_fields[] = {
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(side_view, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(side_view, trace, trace_info, scope)),
	FRAG_MEMBERS(FRAG_AT(side_view, run), frag_run_fields), { 0 },
}, parts_fields[] = {
	{ "version", FRAG_TYPE_INTEGER, FOUND(parts[FRAG_PART_VERSION]) },
	{ "settings", FRAG_TYPE_INTEGER, FOUND(parts[FRAG_PART_SETTINGS]) },
	{ "requested", FRAG_TYPE_INTEGER, FOUND(parts[FRAG_PART_REQUESTED]) },
	{ "rounding", FRAG_TYPE_INTEGER, FOUND(parts[FRAG_PART_ROUNDING]) },
	{ "fragmentation", FRAG_TYPE_INTEGER, FOUND(parts[FRAG_PART_FRAGMENTATION]) },
	{ 0 },
}, tag_fields[] = {
	{ "tag", FRAG_TYPE_TEXT, FRAG_AT(change_row, tag), .nullable = true },
	{ "old", FRAG_TYPE_BYTES, FRAG_AT(change_row, old.at_peak) },
	{ "new", FRAG_TYPE_BYTES, FRAG_AT(change_row, now.at_peak) },
	{ "change", FRAG_TYPE_INTEGER, FRAG_WHOLE, .get = row_change },
	{ 0 },
}, first_fields[] = {
	{ "old_step", FRAG_TYPE_COUNT, FOUND(old_first.step) },
	{ "new_step", FRAG_TYPE_COUNT, FOUND(now_first.step) },
	{ 0 },
}, undo_fields[] = {
	{ "alloc_conf", FRAG_TYPE_TEXT, FRAG_WHOLE, .text = undo_conf },
	{ "reserved", FRAG_TYPE_BYTES, FOUND(undo_reserved) },
	{ 0 },
}, alignment_fields[] = {
	{ "same", FRAG_TYPE_COUNT, ALIGNED(same) },
	{ "only_old", FRAG_TYPE_COUNT, ALIGNED(only_old) },
	{ "only_new", FRAG_TYPE_COUNT, ALIGNED(only_new) },
	{ "whole", FRAG_TYPE_FLAG, ALIGNED(whole), "false: a gap was too large to search; its requests count as"
	  " without a counterpart" },
	{ "old_iterations", FRAG_TYPE_COUNT, ALIGNED(old_iterations) },
	{ "new_iterations", FRAG_TYPE_COUNT, ALIGNED(new_iterations) },
	{ 0 },
}, pair_fields[] = {
	{ "rank", FRAG_TYPE_COUNT, FRAG_AT(change_pair, rank) },
	{ "old", FRAG_TYPE_TEXT, FRAG_AT(change_pair, old) },
	{ "new", FRAG_TYPE_TEXT, FRAG_AT(change_pair, now) },
	{ "reserved", FRAG_TYPE_INTEGER, FRAG_AT(change_pair, reserved) },
	{ 0 },
}, change_fields[] = {
	{ "old", FRAG_TYPE_OBJECT, FRAG_WHOLE, "the run of OLD on the device that is compared: its trace, and"
	  " the members of a run of fragsim-result", .each = old_side, .fields = side_fields },
	{ "new", FRAG_TYPE_OBJECT, FRAG_WHOLE, "the same of NEW", .each = new_side, .fields = side_fields },
	{ "reserved", FRAG_TYPE_INTEGER, FOUND(reserved), "the peak of reserved of NEW minus that of OLD" },
	{ "parts", FRAG_TYPE_OBJECT, FRAG_WHOLE, "they add up to `reserved`", .fields = parts_fields },
	{ "tags", FRAG_TYPE_LIST, FRAG_ARRAY(change_found, tags, tag_count), "live requested bytes by tag, each at"
	  " the first event with the peak of requested; the largest change first",
	  .fields = tag_fields, .cut = true },
	{ "first_difference", FRAG_TYPE_OBJECT, FRAG_WHOLE, "the events of the first requests that"
	  " differ in size or tag; of a trace that has ended, the number of its events; null: none",
	  .get = first_difference, .fields = first_fields, .nullable = true },
	{ "undo", FRAG_TYPE_OBJECT, FRAG_WHOLE, "settings under which NEW reserves no more than OLD, of the short"
	  " grid those with the minimum; null: there are none, or NEW reserves no more", .get = undo_of,
	  .fields = undo_fields, .nullable = true },
	{ "alignment", FRAG_TYPE_OBJECT, FOUND(alignment), "requests of the same size and tag, numbers in the tag"
	  " ignored, in the same order; counts of requests and iterations", .fields = alignment_fields },
	{ "pairs", FRAG_TYPE_LIST, FRAG_ARRAY(change_found, pairs, pair_count), "of two folders: each pair of"
	  " recordings; the document is about that with the largest change", .fields = pair_fields,
	  .optional = true },
	{ 0 },
};

const struct frag_document_type frag_change_document = {
	.format = "fragsim-change", .version = 1, .fields = change_fields,
	.what = "What fragsim diff OLD NEW --json writes of two traces, see fragsim-diff(1).",
};

/* For a pull request: the verdict and its reasons above the table of parts and tags. */
static void change_print_markdown(const void *what, const struct frag_text_style *to)
{
	const struct frag_text_style plain = { .f = to->f };

	fprintf(to->f, "**%s**\n\n```text\n", change_verdict(what, (char[VERDICT_ROOM]){ 0 }));
	change_print_reasons(what, &plain);
	fputs("```\n\n", to->f);
	frag_table_print(shown_lines, FRAG_TABLE_MARKDOWN, what, to->f);
}

const struct frag_format *const frag_change_formats[] = {
	FRAG_TEXT_FORM(change_print), FRAG_CSV_FORM(csv_lines),
	FRAG_DOCUMENT_FORM(frag_change_document),
	FRAG_MARKDOWN_TEXT_FORM(change_print_markdown), NULL,
};
