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
		snprintf(buf, 300, "no more request after step %" PRIu64, r->step);
	else
		snprintf(buf, 300, "%s%s%.120s%s at step %" PRIu64, SIZE(r->bytes),
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

static const struct frag_column csv_columns[] = {
	{ "kind", NULL, FRAG_CELL_WORD }, { "name", NULL, FRAG_CELL_TEXT },
	{ "old", NULL, FRAG_CELL_CAPACITY }, { "new", NULL, FRAG_CELL_CAPACITY },
	{ "change", NULL, FRAG_CELL_WORD }, { 0 },
}, shown_columns[] = {
	{ NULL, "part or tag", FRAG_CELL_TEXT }, { NULL, "old", FRAG_CELL_SIZE },
	{ NULL, "new", FRAG_CELL_SIZE }, { NULL, "change", FRAG_CELL_WORD }, { 0 },
};

static void change_fill_row(struct frag_table *t, const char *kind, const char *name, uint64_t old,
			    uint64_t now, int64_t change)
{
	char text[CHANGE_ROOM];

	if (t->csv)
		frag_cell_text(t, kind);
	frag_cell_text(t, name);
	frag_cell_bytes(t, old);
	frag_cell_bytes(t, now);
	snprintf(text, sizeof(text), "%+" PRId64, change);
	frag_cell_text(t, t->csv ? text : CHANGED(change));
}

/* The whole, its parts, then the tags: in Markdown those that change most. */
static void change_fill(struct frag_table *t, const void *what)
{
	const struct frag_change_found *c = what;

	change_fill_row(t, "whole", "reserved", c->old.run->peak.reserved,
			c->now.run->peak.reserved, c->reserved);
	for (uint32_t i = 0; i < FRAG_PARTS; i++)
		change_fill_row(t, "part", frag_change_part_names[i], UINT64_MAX, UINT64_MAX,
				c->parts[i]);
	for (uint32_t i = 0; t->csv && i < c->tag_count; i++) {
		const struct frag_change_row *tag = &c->tags[i];

		change_fill_row(t, "tag", tag->tag ? tag->tag : "", tag->old.at_peak,
				tag->now.at_peak, change_of(tag->old.at_peak, tag->now.at_peak));
	}
	for (uint32_t i = 0; !t->csv && i < c->row_count && i < TAGS_SHOWN
			     && frag_change_of(&c->rows[i]); i++) {
		const struct frag_change_row *row = &c->rows[i];
		const char *tag = row->tag, *word = change_word(row);
		char text[FRAG_PRINTABLE_ROOM + 24];

		snprintf(text, sizeof(text), *word ? "%.2000s (%s)" : "%.2000s", tag ? tag : "(no tag)",
			 word);
		change_fill_row(t, "tag", text, row->old.at_peak, row->now.at_peak,
				frag_change_of(row));
	}
}

/* Members that are null where there is nothing: the first difference, and the setting. */
static void change_put_first(struct frag_node_ref root, const struct frag_change_found *c)
{
	static const struct frag_json_row rows[] = {
		ROW_AS("old_step", change_found, old_first.step),
		ROW_AS("new_step", change_found, now_first.step), ROW_END,
	};
	struct frag_node_ref o;

	frag_json_of(root, "first_difference", rows, c->differs ? c : NULL);
	o = frag_json_object_or_null(root, "undo", c->undone);
	if (!o.node)
		return;
	frag_json_text(o, "alloc_conf", CONF(&c->undo));
	frag_json_u64(o, "reserved", c->undo_reserved);
}

static void put_change(struct frag_node_ref o, const void *of)
{
	const struct frag_change_row *tag = of;

	frag_json_i64(o, "change", change_of(tag->old.at_peak, tag->now.at_peak));
}

static const struct frag_json_row alignment_rows[] = {
	ROW(alignment, same), ROW(alignment, only_old), ROW(alignment, only_new),
	ROW(alignment, whole), ROW(alignment, old_iterations), ROW(alignment, new_iterations),
	ROW_END,
}, tag_rows[] = {
	ROW(change_row, tag), ROW_AS("old", change_row, old.at_peak),
	ROW_AS("new", change_row, now.at_peak), ROW_CALL(put_change), ROW_END,
}, pair_rows[] = {
	ROW(change_pair, rank), ROW(change_pair, old), ROW_AS("new", change_pair, now),
	ROW(change_pair, reserved), ROW_END,
};

static void put_side(struct frag_node_ref root, const char *key,
		     const struct frag_change_side *side)
{
	struct frag_node_ref o = frag_json_object(root, key);

	frag_document_trace(o, "trace", side->trace);
	frag_document_run(o, side->run, NULL);
}

/* The members of the document, see fragsim-diff(1). */
static void change_document(struct frag_node_ref root, const void *what)
{
	const struct frag_change_found *c = what;
	struct frag_node_ref list, o;

	put_side(root, "old", &c->old);
	put_side(root, "new", &c->now);
	frag_json_i64(root, "reserved", c->reserved);
	o = frag_json_object(root, "parts");
	for (uint32_t i = 0; i < FRAG_PARTS; i++)
		frag_json_i64(o, frag_change_part_names[i], c->parts[i]);
	FRAG_JSON_LIST(root, "tags", tag_rows, c->tags, c->tag_count);
	change_put_first(root, c);
	frag_json_of(root, "alignment", alignment_rows, &c->alignment);
	if (c->pairs)
		list = frag_json_array(root, "pairs");
	for (uint32_t i = 0; i < c->pair_count; i++)
		frag_json_of(list, NULL, pair_rows, &c->pairs[i]);
}

/* For a pull request: the verdict and its reasons above the table of parts and tags. */
static void change_print_markdown(const void *what, const struct frag_text_style *to)
{
	const struct frag_text_style plain = { .f = to->f };
	struct frag_table table;

	fprintf(to->f, "**%s**\n\n```text\n", change_verdict(what, (char[VERDICT_ROOM]){ 0 }));
	change_print_reasons(what, &plain);
	fputs("```\n\n", to->f);
	frag_table_begin(&table, shown_columns, false, to->f);
	change_fill(&table, what);
}

const struct frag_format *const frag_change_formats[] = {
	FRAG_TEXT_FORM("text", change_print), FRAG_ROWS_FORM("csv", csv_columns, change_fill),
	FRAG_JSON_FORM("change", change_document),
	FRAG_TEXT_FORM("markdown", change_print_markdown), NULL,
};
