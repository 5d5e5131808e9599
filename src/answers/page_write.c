/*
 * page_write.c - a report as one page of HTML that needs nothing else.
 *
 * What comes from a trace is hostile until it is escaped: texts of the page go through
 * frag_put_markup(), and in the script's JSON nothing can end the script.
 */
#include "answers/page_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/string_stream.h"
#include "fragsim/version.h"
#include "policy/configure_events.h"
#include "answers/diagnosis_text.h"
#include "answers/layout.h"
#include "answers/page_files.h"
#include "answers/page_svg.h"

/* Returns NULL on out of memory, and where the stream was never opened. */
static char *end_text(struct frag_memory *m)
{
	return m->f && frag_memory_close(m) ? m->text : NULL;
}

/* An OOM is worse than any loss; then what fragmentation costs. */
static double badness(const struct frag_report *r)
{
	double worst = 0;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const double lost = run->at_peak.reserved
				    ? (double)run->at_peak.wasted / (double)run->at_peak.reserved : 0;
		const double bad = (run->oom_count ? 2 : 0) + lost;

		worst = bad > worst ? bad : worst;
	}
	return worst;
}

/* The command that proves what is to be tried; a shell has to read the path as it is. */
static void print_proof(const struct frag_report *r, FILE *f)
{
	const struct frag_result *run = r->runs[0].result;
	char conf[FRAG_CONF_ROOM], device[4 * FRAG_NUMBER_ROOM] = "";

	if (r->run_count > 1 || !r->answers || !r->answers[0].remedy.found
	    || strchr(r->trace->path, '\''))
		return;
	frag_conf_text(&r->answers[0].remedy.choice, conf, sizeof(conf));
	if (run->total)
		snprintf(device, sizeof(device), " --device-bytes %" PRIu64 " --context-bytes %"
			 PRIu64 " --other-bytes %" PRIu64, run->total, run->context, run->other);
	frag_print_row(r, "proof", f, "fragsim run --alloc-conf '%s'%s '%s'", conf, device,
		       r->trace->path);
}

static void page_write_print_verdict(const struct frag_report *report, FILE *f)
{
	struct frag_report r = *report;

	r.colour = false;
	r.columns = 0;
	frag_print_verdict(&r, f);
	print_proof(&r, f);
	if (r.run_count > 1)
		fputc('\n', f);
	frag_print_settings(&r, f);
}

static void print_panels(const struct frag_page_trace *t, FILE *f)
{
	const struct frag_report *r = t->report;
	const uint32_t devices = r->trace->device_count;

	for (uint32_t i = 0; i < r->run_count; i++)
		frag_svg_panel(r->runs[i].result, &t->pages[i / devices].devices[i % devices], NULL,
			       i, f);
}

int frag_page_section_init(struct frag_page_section *s, struct frag_page_trace *t,
			   struct frag_error *err)
{
	struct frag_memory facts = { .f = NULL }, verdict = facts, panels = facts;
	int rc = 0;

	*s = (struct frag_page_section){
		.panel_count = t->report->run_count, .badness = badness(t->report),
	};
	s->path = strdup(t->report->trace->path);
	if (s->path && frag_memory_open(&facts) && frag_memory_open(&verdict)
	    && frag_memory_open(&panels)) {
		rc = frag_page_facts(t, facts.f, err);
		if (!t->silent)
			page_write_print_verdict(t->report, verdict.f);
		print_panels(t, panels.f);
	}
	s->facts = end_text(&facts);
	s->verdict = end_text(&verdict);
	s->panels = end_text(&panels);
	if (!rc && !(s->facts && s->verdict && s->panels))
		rc = frag_fail_nomem(err);
	return rc;
}

void frag_page_section_fini(struct frag_page_section *s)
{
	free(s->path);
	free(s->facts);
	free(s->verdict);
	free(s->panels);
}

static int by_badness(const void *a, const void *b)
{
	const struct frag_page_section *x = a, *y = b;

	return x->badness < y->badness ? 1 : x->badness > y->badness ? -1 : 0;
}

/* What of a text of JSON could end the script, as an escape; others as they are. */
static const char *put_escaped(const char *p, FILE *f)
{
	const unsigned char *c = (const unsigned char *)p;

	if (*c == '<' || *c == '>' || *c == '&')
		fprintf(f, "\\u%04x", *c);
	else if (c[0] == 0xe2 && c[1] == 0x80 && (c[2] & 0xfe) == 0xa8)
		fprintf(f, "\\u%04x", 0x2028 + (c[2] & 1)), p += 2;
	else if (*c == '\\' && c[1])
		fputc(*p++, f), fputc(*p, f);
	else
		fputc(*p, f);
	return p + 1;
}

/* JSON within a script: white space between its texts goes, and they are mostly plain. */
static void put_json(const char *p, FILE *f)
{
	bool quoted = false;

	while (*p) {
		const size_t plain = strcspn(p, quoted ? "\"<>&\\\xe2" : "\" \n\t");

		fwrite(p, 1, plain, f);
		p += plain;
		if (*p == '"')
			quoted = !quoted, fputc(*p++, f);
		else if (*p && quoted)
			p = put_escaped(p, f);
		else if (*p)
			p++;
	}
}

struct writing {
	const struct frag_page_section *sections;
	uint32_t count;
	const char *command;                    /* JSON */
	const struct frag_page_answer *answer;  /* NULL: none */
};

static void put_facts(const struct writing *w, FILE *f)
{
	fputs("{\"version\":\"" FRAG_VERSION "\",\"command\":", f);
	put_json(w->command, f);
	fputs(",\"sections\":[", f);
	for (uint32_t i = 0; i < w->count; i++) {
		fputs(i ? "," : "", f);
		put_json(w->sections[i].facts, f);
	}
	fputs("]}", f);
}

/* "  verdict   the reason": a label of at most nine letters, "top tags" too, and its text. */
static bool is_row(const char *line, size_t length)
{
	return length > 12 && strncmp(line, "  ", 2) == 0 && line[11] == ' ' && line[12] != ' '
	       && strspn(line + 2, "abcdefghijklmnopqrstuvwxyz ") >= 10;
}

/* A line that is wrapped hangs below its own text; one of a table stays as long as it is. */
static void page_write_put_line(const char *line, size_t length, bool row, FILE *f)
{
	fputs(row ? "<div class=\"row\">" : "", f);
	frag_put_markup(line, length, f);
	fputs(row ? "</div>" : "\n", f);
}

/* Rows by themselves, and what is between them as it is: a table. */
static void put_lines(const char *text, FILE *f)
{
	bool in_table = false;

	for (const char *line = text, *next; *line; line = next) {
		const size_t length = strcspn(line, "\n");
		const bool row = is_row(line, length);

		next = line + length + (line[length] != '\0');
		if (!length && !in_table)
			continue;
		if (row == in_table)
			fputs(row ? "</pre>" : "<pre>", f);
		in_table = !row;
		page_write_put_line(line, length, row, f);
	}
	fputs(in_table ? "</pre>" : "", f);
}

/* The first line is a heading. */
static void put_verdict(const char *class, const char *path, const char *text, FILE *f)
{
	const size_t length = strcspn(text, "\n");

	fprintf(f, "<section class=\"verdict %s\"><h2>", class);
	if (path) {
		const char *name = frag_file_name(path);

		frag_put_markup(name, strlen(name), f);
		fputs("<br>", f);
	}
	page_write_put_line(text, length, false, f);
	fputs("</h2>", f);
	put_lines(text + length + (text[length] != '\0'), f);
	fputs("</section>\n", f);
}

static void put_verdicts(const struct writing *w, FILE *f)
{
	if (w->answer)
		put_verdict(w->answer->bad ? "bad" : "", NULL, w->answer->text, f);
	for (uint32_t i = 0; i < w->count; i++)
		if (*w->sections[i].verdict)
			put_verdict(w->sections[i].badness >= 2 ? "bad" : "good",
				    w->count > 1 ? w->sections[i].path : NULL,
				    w->sections[i].verdict, f);
}

static void put_svg(const struct writing *w, FILE *f)
{
	uint32_t panels = 0, at = 0;

	for (uint32_t i = 0; i < w->count; i++)
		panels += w->sections[i].panel_count;
	frag_svg_begin(panels, f);
	for (uint32_t i = 0; i < w->count; i++) {
		fprintf(f, "<g transform=\"translate(0 %u)\">\n", at * FRAG_SVG_HEIGHT);
		fputs(w->sections[i].panels, f);
		fputs("</g>\n", f);
		at += w->sections[i].panel_count;
	}
	frag_svg_end(f);
}

static void put_style(const struct writing *w, FILE *f)
{
	(void)w;
	fputs(frag_page_css, f);
}

static void put_script(const struct writing *w, FILE *f)
{
	(void)w;
	fputs(frag_page_js, f);
}

static const struct { const char *name; void (*put)(const struct writing *w, FILE *f); } parts[] = {
	{ "style", put_style }, { "verdict", put_verdicts }, { "picture", put_svg },
	{ "facts", put_facts }, { "script", put_script },
};

/* A part of the template is named as {{name}}. */
static void put_page(const struct writing *w, FILE *f)
{
	const char *p = frag_page_html, *mark;

	for (; (mark = strstr(p, "{{")) != NULL; p = strstr(mark, "}}") + 2) {
		fwrite(p, 1, (size_t)(mark - p), f);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			if (strncmp(mark + 2, parts[i].name, strlen(parts[i].name)) == 0)
				parts[i].put(w, f);
	}
	fputs(p, f);
}

int frag_page_print(struct frag_page_section *sections, uint32_t count, const char *command,
		    const struct frag_page_answer *answer, FILE *f, struct frag_error *err)
{
	char *json = malloc(6 * strlen(command) + 3);

	if (!json)
		return frag_fail_nomem(err);
	*frag_put_json(json, command, strlen(command)) = '\0';
	if (count)
		qsort(sections, count, sizeof(*sections), by_badness);
	put_page(&(struct writing){ sections, count, json, answer }, f);
	free(json);
	return 0;
}

int frag_page_write(struct frag_page_section *sections, uint32_t count, const char *command,
		    struct frag_outfile *out, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(out);
	int rc;

	if (!f)
		return frag_outfile_status(out, err);
	rc = frag_page_print(sections, count, command, NULL, f, err);
	frag_outfile_stream_end(out, f);
	return rc ? rc : frag_outfile_status(out, err);
}

int frag_page_write_svg(struct frag_page_section *sections, uint32_t count,
			struct frag_outfile *out, struct frag_error *err)
{
	const struct writing w = { .sections = sections, .count = count };
	FILE *f = frag_outfile_stream(out);

	if (!f)
		return frag_outfile_status(out, err);
	qsort(sections, count, sizeof(*sections), by_badness);
	put_svg(&w, f);
	frag_outfile_stream_end(out, f);
	return frag_outfile_status(out, err);
}
