/* change_answer.c - why NEW reserves more than OLD, as text, Markdown, rows and a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/text_style.h"
#include "answers/table.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/output_path.h"
#include "documents/document_head.h"
#include "policy/configure_events.h"

#define TAGS_SHOWN 10
#define CHANGE_ROOM 48

/* "+1.50 GiB", "-3 B", "no change" */
static const char *change_text(char buf[CHANGE_ROOM], int64_t bytes)
{
	char size[FRAG_NUMBER_ROOM];
	const uint64_t magnitude = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (!bytes)
		return "no change";
	snprintf(buf, CHANGE_ROOM, "%c%s", bytes < 0 ? '-' : '+', frag_size_text(size, magnitude));
	return buf;
}

#define CHANGED(bytes) change_text((char[CHANGE_ROOM]){ 0 }, (bytes))

static int64_t change_of(uint64_t old, uint64_t now)
{
	return (int64_t)now - (int64_t)old;
}

/* The verdict: the whole change, and its parts that are not 0. */
static const char *change_verdict(const struct frag_change_found *c, char *text, size_t room)
{
	static const char *const words[FRAG_PARTS] = {
		"allocator's version", "settings", "program", "rounding", "fragmentation",
	};
	int used = snprintf(text, room, "%s reserved at the peak", CHANGED(c->reserved));
	const char *before = ": ";

	for (uint32_t i = 0; i < FRAG_PARTS; i++) {
		/* named also where they are none: the program's own part, and another version */
		if (!c->parts[i] && i != FRAG_PART_REQUESTED
		    && (i != FRAG_PART_VERSION || !c->as_version))
			continue;
		used += snprintf(text + used, room - (size_t)used, "%s%s %s", before, words[i],
				 CHANGED(c->parts[i]));
		before = ", ";
	}
	return text;
}

static void change_print_side(const char *label, const struct frag_change_side *side,
			      const struct frag_text_style *paper, FILE *f)
{
	const struct frag_metrics *peak = &side->run->peak;
	char shown[FRAG_PRINTABLE_ROOM], policy[FRAG_PRINTABLE_ROOM];

	frag_put_row(paper->columns, label, f, "%s: %s reserved, %s requested, %s active; %s",
		     frag_printable(shown, frag_input_name(side->trace->path)),
		     SIZE(peak->reserved), SIZE(peak->requested), SIZE(peak->active),
		     frag_printable(policy, side->choice->text));
}

/* The ranks: the largest increase is that of the answer, the smallest follows. */
static void change_print_pairs(const struct frag_change_found *c,
			       const struct frag_text_style *paper, FILE *f)
{
	const struct frag_change_pair *most = c->pairs, *least = c->pairs;

	for (uint32_t i = 1; i < c->pair_count; i++) {
		most = c->pairs[i].reserved > most->reserved ? &c->pairs[i] : most;
		least = c->pairs[i].reserved < least->reserved ? &c->pairs[i] : least;
	}
	frag_put_row(paper->columns, "ranks", f, "%" PRIu32 " compared, from %s (rank %" PRIu64 ") to"
		     " %s (rank %" PRIu64 "); this is rank %" PRIu64, c->pair_count,
		     CHANGED(least->reserved), least->rank, CHANGED(most->reserved), most->rank,
		     most->rank);
}

/* "4.00 MiB "tag" at step 12", or where the trace has ended. */
static void change_request_text(char *buf, size_t room, const struct frag_change_request *r)
{
	char shown[FRAG_PRINTABLE_ROOM];

	if (r->bytes == UINT64_MAX)
		snprintf(buf, room, "no more request after step %" PRIu64, r->step);
	else if (r->tag)
		snprintf(buf, room, "%s \"%.120s\" at step %" PRIu64, SIZE(r->bytes),
			 frag_printable(shown, r->tag), r->step);
	else
		snprintf(buf, room, "%s at step %" PRIu64, SIZE(r->bytes), r->step);
}

static void change_print_tags(const struct frag_change_found *c,
			      const struct frag_text_style *paper, FILE *f)
{
	uint32_t changed = 0;

	while (changed < c->row_count && frag_change_of(&c->rows[changed]))
		changed++;
	if (!changed)
		return;
	fprintf(f, "\n%12s  %12s  %12s  tag, at the peak of requested bytes\n", "old", "new",
		"change");
	for (uint32_t i = 0; i < changed && i < TAGS_SHOWN; i++) {
		const struct frag_change_row *row = &c->rows[i];
		const uint64_t old = row->old.at_peak, now = row->now.at_peak;
		const char *tag = row->tag, *word = frag_change_word(row);
		char shown[FRAG_PRINTABLE_ROOM], text[FRAG_PRINTABLE_ROOM + 24], head[80];

		snprintf(head, sizeof(head), "%12s  %12s  %12s  ", old ? SIZE(old) : "-",
			 now ? SIZE(now) : "-", CHANGED(frag_change_of(row)));
		snprintf(text, sizeof(text), *word ? "%s (%s)" : "%s",
			 tag ? frag_printable(shown, tag) : "(no tag)", word);
		frag_put_wrapped(paper->columns < 80 ? 0 : paper->columns, head, text, f);
	}
	if (changed > TAGS_SHOWN)
		fprintf(f, "%" PRIu32 " more tags differ: --format csv lists all\n",
			changed - TAGS_SHOWN);
}

/* Where the requests differ first, and how many have no counterpart. */
static void change_print_requests(const struct frag_change_found *c,
				  const struct frag_text_style *paper, FILE *f)
{
	const struct frag_alignment *a = &c->alignment;
	char old[300], now[300];

	if (!c->differs) {
		frag_put_row(paper->columns, "differs", f, "no request: sizes and tags are the same"
			     " in both");
		return;
	}
	if (!a->only_old && !a->only_new) {
		frag_put_row(paper->columns, "differs", f, "no request, if numbers in tags such as"
			     " lines are ignored: all %" PRIu64 " are aligned", a->same);
		return;
	}
	change_request_text(old, sizeof(old), &c->old_first);
	change_request_text(now, sizeof(now), &c->now_first);
	frag_put_row(paper->columns, "differs", f, "first request: %s in OLD, %s in NEW", old, now);
	frag_put_row(paper->columns, "aligned", f, "%" PRIu64 " requests are in both, %" PRIu64
		     " only in OLD, %" PRIu64 " only in NEW%s", a->same, a->only_old, a->only_new,
		     a->whole ? "" : " (where the gaps are large: at most)");
	if (a->old_iterations != a->new_iterations)
		frag_put_row(paper->columns, "", f, "%" PRIu32 " iterations in OLD, %" PRIu32
			     " in NEW", a->old_iterations, a->new_iterations);
}

/* The text: verdict and setting, both traces, the first request that differs, and the tags. */
/* What explains the verdict, a label a row. */
static void change_print_reasons(const struct frag_change_found *c,
				 const struct frag_text_style *paper, FILE *f)
{
	char conf[FRAG_CONF_ROOM];

	if (c->undone) {
		frag_conf_text(&c->undo, conf, sizeof(conf));
		frag_put_row(paper->columns, "set", f, "PYTORCH_CUDA_ALLOC_CONF=%s", conf);
		frag_put_row(paper->columns, "", f, "NEW then reserves %s (simulated)",
			     SIZE(c->undo_reserved));
	}
	if (c->pairs)
		change_print_pairs(c, paper, f);
	change_print_side("old", &c->old, paper, f);
	change_print_side("new", &c->now, paper, f);
	if (c->old.run->device || c->now.trace->device_count > 1)
		frag_put_row(paper->columns, "device", f, "%" PRIu32 ", which changes most",
			     c->device);
	change_print_requests(c, paper, f);
}

static int change_print(const void *what, const struct frag_text_style *paper, FILE *f,
			struct frag_error *err)
{
	char verdict[400];

	(void)err;
	frag_put_first_line(paper, INK_BOLD, "", change_verdict(what, verdict, sizeof(verdict)), f);
	change_print_reasons(what, paper, f);
	change_print_tags(what, paper, f);
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = change_print };

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
		const struct frag_change_tag *tag = &c->tags[i];

		change_fill_row(t, "tag", tag->tag ? tag->tag : "", tag->old.at_peak,
				tag->now.at_peak, change_of(tag->old.at_peak, tag->now.at_peak));
	}
	for (uint32_t i = 0; !t->csv && i < c->row_count && i < TAGS_SHOWN
			     && frag_change_of(&c->rows[i]); i++) {
		const struct frag_change_row *row = &c->rows[i];
		const char *tag = row->tag, *word = frag_change_word(row);
		char text[FRAG_PRINTABLE_ROOM + 24];

		snprintf(text, sizeof(text), *word ? "%.2000s (%s)" : "%.2000s", tag ? tag : "(no tag)",
			 word);
		change_fill_row(t, "tag", text, row->old.at_peak, row->now.at_peak,
				frag_change_of(row));
	}
}

static const struct frag_table_rows csv_rows = { csv_columns, change_fill };
static const struct frag_table_rows shown_rows = { shown_columns, change_fill };

static void change_put_first(struct frag_node_ref root, const struct frag_change_found *c)
{
	struct frag_node_ref o;

	if (!c->differs) {
		frag_json_null(root, "first_difference");
		return;
	}
	o = frag_json_object(root, "first_difference");
	frag_json_u64(o, "old_step", c->old_first.step);
	frag_json_u64(o, "new_step", c->now_first.step);
}

static void change_put_undo(struct frag_node_ref root, const struct frag_change_found *c)
{
	char conf[FRAG_CONF_ROOM];
	struct frag_node_ref o;

	if (!c->undone) {
		frag_json_null(root, "undo");
		return;
	}
	frag_conf_text(&c->undo, conf, sizeof(conf));
	o = frag_json_object(root, "undo");
	frag_json_text(o, "alloc_conf", conf);
	frag_json_u64(o, "reserved", c->undo_reserved);
}

static void change_put_alignment(struct frag_node_ref root, const struct frag_alignment *a)
{
	struct frag_node_ref o = frag_json_object(root, "alignment");

	frag_json_u64(o, "same", a->same);
	frag_json_u64(o, "only_old", a->only_old);
	frag_json_u64(o, "only_new", a->only_new);
	frag_json_bool(o, "whole", a->whole);
	frag_json_u64(o, "old_iterations", a->old_iterations);
	frag_json_u64(o, "new_iterations", a->new_iterations);
}

/* The members of the document, see fragsim-diff(1). */
static void change_document(struct frag_node_ref root, const void *what)
{
	const struct frag_change_found *c = what;
	struct frag_node_ref o;

	o = frag_json_object(root, "old");
	frag_document_trace(o, "trace", c->old.trace);
	frag_document_run(o, c->old.run, NULL);
	o = frag_json_object(root, "new");
	frag_document_trace(o, "trace", c->now.trace);
	frag_document_run(o, c->now.run, NULL);
	frag_json_i64(root, "reserved", c->reserved);
	o = frag_json_object(root, "parts");
	for (uint32_t i = 0; i < FRAG_PARTS; i++)
		frag_json_i64(o, frag_change_part_names[i], c->parts[i]);
	o = frag_json_array(root, "tags");
	for (uint32_t i = 0; i < c->tag_count; i++) {
		struct frag_node_ref tag = frag_json_object(o, NULL);

		frag_json_text(tag, "tag", c->tags[i].tag);
		frag_json_u64(tag, "old", c->tags[i].old.at_peak);
		frag_json_u64(tag, "new", c->tags[i].now.at_peak);
		frag_json_i64(tag, "change",
			      change_of(c->tags[i].old.at_peak, c->tags[i].now.at_peak));
	}
	change_put_first(root, c);
	change_put_undo(root, c);
	change_put_alignment(root, &c->alignment);
	if (!c->pairs)
		return;
	o = frag_json_array(root, "pairs");
	for (uint32_t i = 0; i < c->pair_count; i++) {
		struct frag_node_ref pair = frag_json_object(o, NULL);

		frag_json_u64(pair, "rank", c->pairs[i].rank);
		frag_json_text(pair, "old", c->pairs[i].old);
		frag_json_text(pair, "new", c->pairs[i].now);
		frag_json_i64(pair, "reserved", c->pairs[i].reserved);
	}
}

/* For a pull request: the verdict and its reasons above the table of parts and tags. */
static int change_print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
				 struct frag_error *err)
{
	static const struct frag_format table = { .name = "markdown", .rows = &shown_rows };
	static const struct frag_text_style plain = { .columns = 0 };
	char verdict[400];

	fprintf(f, "**%s**\n\n```text\n", change_verdict(what, verdict, sizeof(verdict)));
	change_print_reasons(what, &plain, f);
	fputs("```\n\n", f);
	return frag_format_print(&table, what, paper, f, err);
}

const struct frag_format *const frag_change_formats[] = {
	&text_format, &(const struct frag_format){ .name = "csv", .rows = &csv_rows },
	&(const struct frag_format){
		.name = "json", .format = "fragsim-change", .document = change_document,
	},
	&(const struct frag_format){ .name = "markdown", .print = change_print_markdown }, NULL
};
