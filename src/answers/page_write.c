/*
 * page_write.c - a report as one HTML file, and its timelines as SVG.
 *
 * Text from a trace is hostile until it is escaped: texts of the HTML go through put_markup(), and
 * in the JSON of the script nothing can end the script.
 */
#include "answers/page_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/atomic_file.h"
#include "fragsim/version.h"
#include "policy/choice.h"

#include <page_files.inc>

#define SVG_WIDTH 960
#define SVG_HEIGHT 240     /* of a panel */

#define LEFT 84
#define RIGHT 12
#define TOP 34
#define BOTTOM 26
#define COLUMNS 432             /* of the picture: each as wide as two of its units */
#define TEXT_FAR 1.35           /* a device larger than the peak by this factor is an arrow */

/* Where things are in a panel. */
struct panel {
	const struct frag_line *line;
	double scale;                   /* units a byte */
	uint32_t columns;
	FILE *f;
};

static const struct { enum frag_line_figure figure; const char *colour, *name; } figures[] = {
	{ FRAG_LINE_RESERVED, "#b9c6d3", "reserved" },
	{ FRAG_LINE_ALLOCATED, "#0072b2", "allocated" },
	{ FRAG_LINE_NON_RELEASABLE, "#d55e00", "non_releasable" },
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

/* Text with <, >, &, quotes and unprintable characters as references; for HTML too. */
static void put_markup(const char *text, size_t length, FILE *f)
{
	for (const char *p = text, *end = text + length; p < end; ) {
		const char c = *p;

		if (c & ~0x7f) {
			fprintf(f, "&#%" PRIu32 ";", frag_code_point(&p, end));
			continue;
		}
		if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
			fprintf(f, "&#%d;", c);
		else if (c == '\n' || (c >= ' ' && c < 0x7f))
			fputc(c, f);
		else
			fputs("&#65533;", f);
		p++;
	}
}

static uint64_t most_of(const struct panel *p, uint32_t column, enum frag_line_figure figure)
{
	const uint64_t count = p->line->count;
	const uint64_t from = column * count / p->columns, to = (column + 1) * count / p->columns;
	uint64_t most = 0;

	for (uint64_t i = from; i < to; i++)
		most = frag_max(most, p->line->bucket[i].most[figure]);
	return most;
}

/* Steps of whole units from the left, and up and down to the next value. */
static void put_area(const struct panel *p, enum frag_line_figure figure, const char *colour)
{
	const int bottom = SVG_HEIGHT - BOTTOM;
	int last = bottom;

	fprintf(p->f, "<path fill=\"%s\" d=\"M%d %d", colour, LEFT, bottom);
	for (uint32_t i = 0; i < p->columns; i++) {
		const int y = bottom - (int)((double)most_of(p, i, figure) * p->scale + 0.5);

		if (y != last)
			fprintf(p->f, "H%" PRIu32 "V%d", LEFT + i * (SVG_WIDTH - LEFT - RIGHT)
				/ p->columns, y);
		last = y;
	}
	fprintf(p->f, "H%dV%dZ\"/>\n", SVG_WIDTH - RIGHT, bottom);
}

static void page_svg_put_ooms(const struct panel *p, const struct frag_result *run, uint64_t end)
{
	for (uint32_t i = 0; i < run->oom_count && i < 20 && end; i++) {
		const int x = LEFT + (int)((double)run->ooms[i].step / (double)end
					   * (SVG_WIDTH - LEFT - RIGHT));

		fprintf(p->f, "<path stroke=\"#a00\" stroke-width=\"2\" d=\"M%d %dV%d\"/>\n", x,
			TOP, SVG_HEIGHT - BOTTOM);
	}
}

static void put_axis(const struct panel *p, const struct frag_result *run, uint64_t top,
		     uint64_t end)
{
	const int bottom = SVG_HEIGHT - BOTTOM;
	const uint64_t room = frag_usable_bytes(run);

	fprintf(p->f, "<path stroke=\"#888\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP,
		bottom, SVG_WIDTH - RIGHT);
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
		bottom - (int)((double)run->peak.reserved * p->scale) + 4,
		SIZE(run->peak.reserved));
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>\n",
		LEFT - 6, bottom + 4);
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">event %" PRIu64 "</text>\n",
		SVG_WIDTH - RIGHT, SVG_HEIGHT - 8, end ? end - 1 : 0);
	if (room && room <= top)
		fprintf(p->f, "<path stroke=\"#a00\" stroke-dasharray=\"6 4\" d=\"M%d %dH%d\"/>\n",
			LEFT, bottom - (int)((double)room * p->scale), SVG_WIDTH - RIGHT);
}

static void put_legend(const struct panel *p)
{
	int x = LEFT;

	for (size_t i = 0; i < FIGURES; i++, x += 96)
		fprintf(p->f, "<path fill=\"%s\" d=\"M%d %dh10v10h-10z\"/><text x=\"%d\" y=\"%d\">"
			"%s</text>\n", figures[i].colour, x, SVG_HEIGHT - 17, x + 14,
			SVG_HEIGHT - 8, figures[i].name);
}

/* Scaled to the peak; a device far above it is a text. */
static void svg_panel(const struct frag_result *run, const struct frag_page_device *d,
		    uint32_t number, FILE *f)
{
	const uint64_t room = frag_usable_bytes(run);
	const uint64_t peak = run->peak.reserved ? run->peak.reserved : 1;
	const bool near = room > peak && (double)room < TEXT_FAR * (double)peak;
	const uint64_t top = near ? room : peak;
	const struct panel p = {
		.line = &d->line, .f = f,
		.scale = (SVG_HEIGHT - TOP - BOTTOM) / (double)top,
		.columns = d->line.count < COLUMNS ? d->line.count : COLUMNS,
	};

	fprintf(f, "<g transform=\"translate(0 %" PRIu32 ")\">\n<text x=\"%d\" y=\"20\""
		" font-weight=\"bold\">", number * SVG_HEIGHT, LEFT);
	put_markup(run->choice.text, strlen(run->choice.text), f);
	if (room)
		fprintf(f, ", device %" PRIu32 ", %s usable", run->device,
			SIZE(room));
	fputs("</text>\n", f);
	for (size_t i = 0; i < FIGURES && p.columns; i++)
		put_area(&p, figures[i].figure, figures[i].colour);
	page_svg_put_ooms(&p, run, d->end);
	put_axis(&p, run, top, d->end);
	put_legend(&p);
	fputs("</g>\n", f);
}

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

/* The command that simulates the suggestion; its path is quoted for a shell. */
static void print_proof(const struct frag_report *r)
{
	const struct frag_result *run = r->runs[0].result;
	char conf[FRAG_CONF_ROOM], device[4 * FRAG_NUMBER_ROOM] = "";

	if (r->run_count > 1 || !r->answers || !r->answers[0].fix.found
	    || strchr(r->trace->path, '\''))
		return;
	frag_conf_text(&r->answers[0].fix.choice, conf, sizeof(conf));
	if (run->total)
		snprintf(device, sizeof(device), " --device-bytes %" PRIu64 " --context-bytes %"
			 PRIu64 " --other-bytes %" PRIu64, run->total, run->context, run->other);
	frag_put_row(&r->to, "proof", "fragsim run --alloc-conf '%s'%s '%s'", conf, device,
		       r->trace->path);
}

static void print_section_verdict(const struct frag_report *report, FILE *f)
{
	struct frag_report r = *report;

	r.to = (struct frag_text_style){ .f = f };
	frag_print_verdict(&r);
	print_proof(&r);
	if (r.run_count > 1) {
		fputc('\n', f);
		frag_print_settings(&r);
	}
}

/* One of the numbers that the answer rests on, and what it counts. */
static void put_fact(uint64_t bytes, const char *what, FILE *f)
{
	fprintf(f, "<p><b>%s</b> %s</p>", SIZE(bytes), what);
}

/* Of a failure: the request, the memory that there was, and the size that fits. */
static void put_failed(const struct frag_page_trace *t, const struct frag_result *run,
		       const struct frag_diagnosis *a, FILE *f)
{
	const struct frag_oom *oom = &run->ooms[0];
	const int64_t left = oom->metrics.device_free;
	const uint64_t device = left > 0 ? (uint64_t)left : 0, free = oom->metrics.free + device;
	const enum frag_oom_verdict verdict = frag_diagnosis_oom(a, run).verdict;
	char of[80];

	snprintf(of, sizeof(of), "requested, rounded up to %s", SIZE(oom->tried));
	put_fact(oom->size, strcmp(SIZE(oom->size), SIZE(oom->tried)) ? of : "requested", f);
	snprintf(of, sizeof(of), "largest contiguous block, of %s free", SIZE(free));
	if (verdict == FRAG_VERDICT_FRAGMENTATION)
		put_fact(frag_oom_piece(oom), of, f);
	else if (verdict == FRAG_VERDICT_LIMIT && oom->limit != UINT64_MAX)
		put_fact(oom->limit, "allowed by the program's own limit", f);
	else if (frag_diagnosis_exceeds_capacity(a, run) || verdict == FRAG_VERDICT_TOO_LARGE)
		put_fact(frag_usable_bytes(run), "usable", f);
	else
		put_fact(free, "free in total", f);
	snprintf(of, sizeof(of), "smallest device that %s", frag_fits_words(&t->report->trace->scope));
	if (t->cured)
		put_fact(t->cured_runs->peak.reserved, "peak reserved with the setting", f);
	else if (verdict == FRAG_VERDICT_LIMIT)
		put_fact(device, "free on the device", f);
	else if (a && a->smallest)
		put_fact(a->reliable ? a->reliable : a->smallest, of, f);
	else if (a && a->requested)
		put_fact(frag_diagnosis_lower_bound(a, run),
				      "lower bound: no smaller device fits", f);
}

/* How many settings were simulated in vain. */
static void put_vain_settings(const struct frag_diagnosis *a, FILE *f)
{
	fprintf(f, "<div class=\"row\">  set       no setting helps (%" PRIu32 " simulated)</div>",
		a->fixes);
}

/* The three numbers of a single run; after an OOM, those of the first one. */
static void put_main_facts(const struct frag_page_trace *t, FILE *f)
{
	const struct frag_result *run = t->report->runs[0].result;
	const struct frag_diagnosis *a = t->report->answers;
	uint64_t lost;
	char what[80];

	if (t->report->run_count != 1 || (t->silent && !a) || run->status == FRAG_RUN_INTERRUPTED)
		return;
	lost = run->peak.reserved > run->peak.requested
	       ? run->peak.reserved - run->peak.requested : 0;
	fputs("<div class=\"numbers\">", f);
	if (run->oom_count) {
		put_failed(t, run, a, f);
	} else {
		snprintf(what, sizeof(what), "peak reserved, of %s usable",
			 SIZE(frag_usable_bytes(run)));
		put_fact(run->peak.reserved, run->total ? what : "peak reserved", f);
		put_fact(run->peak.requested, "peak requested", f);
		frag_snprintf(what, sizeof(what), "overhead, %.1f %%",
			      100 * (double)lost / (double)(run->peak.requested ? run->peak.requested : 1));
		put_fact(lost, what, f);
	}
	fputs("</div>", f);
	if (run->oom_count && a && a->fixes && !a->fix.found)
		put_vain_settings(a, f);
}

static void print_panels(const struct frag_page_trace *t, FILE *f)
{
	const struct frag_report *r = t->report;
	const uint32_t devices = r->trace->device_count;

	for (uint32_t i = 0; i < r->run_count; i++)
		svg_panel(r->runs[i].result, &t->pages[i / devices].devices[i % devices], i, f);
}

/* Writes the parts of a section to memory: sections are sorted before they are printed. */
int frag_page_section_init(struct frag_page_section *s, struct frag_page_trace *t,
			   struct frag_error *err)
{
	struct frag_memory facts = { .f = NULL }, numbers = facts, verdict = facts, panels = facts;
	int rc = 0;

	*s = (struct frag_page_section){
		.panel_count = t->report->run_count, .badness = badness(t->report),
	};
	s->path = strdup(t->report->trace->path);
	if (s->path && frag_memory_open(&facts) && frag_memory_open(&numbers)
	    && frag_memory_open(&verdict) && frag_memory_open(&panels)) {
		rc = frag_page_facts(t, facts.f, err);
		put_main_facts(t, numbers.f);
		if (!t->silent)
			print_section_verdict(t->report, verdict.f);
		print_panels(t, panels.f);
	}
	s->facts = end_text(&facts);
	s->numbers = end_text(&numbers);
	s->verdict = end_text(&verdict);
	s->panels = end_text(&panels);
	if (!rc && !(s->facts && s->numbers && s->verdict && s->panels))
		rc = frag_fail_nomem(err);
	return rc;
}

void frag_page_section_fini(struct frag_page_section *s)
{
	free(s->path);
	free(s->facts);
	free(s->numbers);
	free(s->verdict);
	free(s->panels);
}

static int by_badness(const void *a, const void *b)
{
	const struct frag_page_section *x = a, *y = b;

	return x->badness < y->badness ? 1 : x->badness > y->badness ? -1 : 0;
}

/* JSON with escapes for the characters that could end the script. */
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

static uint32_t path_count(const struct writing *w)
{
	return w->answer ? w->answer->path_count : w->count;
}

static const char *path_at(const struct writing *w, uint32_t i)
{
	return w->answer ? w->answer->paths[i] : w->sections[i].path;
}

/* Leaves only the names of the files in the text: a page is sent to others. */
static void drop_folders(char *text, const struct writing *w)
{
	for (uint32_t i = 0; i < path_count(w); i++) {
		const char *path = path_at(w, i), *name = frag_file_name(path);
		const size_t folders = (size_t)(name - path);

		for (char *at = text; folders && (at = strstr(at, path)) != NULL;)
			memmove(at, at + folders, strlen(at + folders) + 1);
	}
}

static void put_facts(const struct writing *w, FILE *f)
{
	fputs("{\"version\":\"" FRAG_VERSION "\",\"command\":", f);
	put_json(w->command, f);
	fputs(w->answer && w->answer->beside ? ",\"beside\":true" : "", f);
	if (w->answer && w->answer->document) {
		drop_folders(w->answer->document, w);
		fputs(",\"answer\":", f);
		put_json(w->answer->document, f);
	}
	if (w->answer && w->answer->curve) {
		fputs(",\"curve\":", f);
		put_json(w->answer->curve, f);
	}
	fputs(",\"sections\":[", f);
	for (uint32_t i = 0; i < w->count; i++) {
		fputs(i ? "," : "", f);
		put_json(w->sections[i].facts, f);
	}
	fputs("]}", f);
}

/* "  verdict   the reason": a label of at most nine letters, "top tags" too, and no columns. */
static bool is_row(const char *line, size_t length)
{
	const size_t indent = strspn(line, " ");

	const char *columns = length > 12 ? strstr(line + 12, "  ") : NULL;

	return length > 12 && (indent == 2 || indent == 12) && line[11] == ' ' && line[12] != ' '
	       && strspn(line + 2, "abcdefghijklmnopqrstuvwxyz ") >= 10
	       && (!columns || columns >= line + length);
}

/* A wrapped line is indented to its text; a line of a table is never wrapped. */
static void put_markup_line(const char *line, size_t length, bool row, FILE *f)
{
	fputs(row ? "<div class=\"row\">" : "", f);
	put_markup(line, length, f);
	fputs(row ? "</div>" : "\n", f);
}

/* The setting is what is copied, of "  set       PYTORCH_CUDA_ALLOC_CONF=... (simulated: fits)". */
static void put_copied_setting(const char *line, size_t length, FILE *f)
{
	const size_t label = 12, setting = strcspn(line + label, " \n");

	fputs("<div class=\"row set\">", f);
	put_markup(line, label, f);
	fputs("<code>", f);
	put_markup(line + label, setting, f);
	fputs("</code>", f);
	put_markup(line + label + setting, length - label - setting, f);
	fputs("</div>", f);
}

/* Rows as text; the lines between them are a table. */
static void put_lines(const char *text, FILE *f)
{
	bool in_table = false;

	for (const char *line = text, *next; *line; line = next) {
		const size_t length = strcspn(line, "\n");
		const bool row = is_row(line, length);

		next = line + length + (line[length] != '\0');
		/* a row about options of the command */
		if ((!length && !in_table) || strncmp(line, "  more      ", 12) == 0)
			continue;
		if (row == in_table)
			fputs(row ? "</pre>" : "<pre>", f);
		in_table = !row;
		if (row && strncmp(line, "  set       PYTORCH_", 20) == 0)
			put_copied_setting(line, length, f);
		else
			put_markup_line(line, length, row, f);
	}
	fputs(in_table ? "</pre>" : "", f);
}

/* The first line is a heading. */
static void put_verdict(const char *class, const char *path, const char *numbers, const char *text,
			FILE *f)
{
	const size_t length = strcspn(text, "\n");

	fprintf(f, "<section class=\"verdict %s\"><h2>", class);
	if (path) {
		const char *name = frag_file_name(path);

		put_markup(name, strlen(name), f);
		fputs("<br>", f);
	}
	put_markup_line(text, length, false, f);
	fprintf(f, "</h2>%s", numbers);
	put_lines(text + length + (text[length] != '\0'), f);
	fputs("</section>\n", f);
}

static void put_verdicts(const struct writing *w, FILE *f)
{
	if (w->answer) {
		drop_folders(w->answer->text, w);
		put_verdict(w->answer->bad ? "bad" : "", NULL,
			    w->count ? w->sections[0].numbers : "", w->answer->text, f);
	}
	for (uint32_t i = 0; i < w->count; i++) {
		drop_folders(w->sections[i].verdict, w);
		if (*w->sections[i].verdict)
			put_verdict(w->sections[i].badness >= 2 ? "bad" : "good",
				    w->count > 1 ? w->sections[i].path : NULL,
				    w->sections[i].numbers, w->sections[i].verdict, f);
	}
}

static void put_svg(const struct writing *w, FILE *f)
{
	uint32_t panels = 0, at = 0;

	for (uint32_t i = 0; i < w->count; i++)
		panels += w->sections[i].panel_count;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32 "\""
		" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		SVG_WIDTH, panels * SVG_HEIGHT);
	for (uint32_t i = 0; i < w->count; i++) {
		fprintf(f, "<g transform=\"translate(0 %u)\">\n", at * SVG_HEIGHT);
		fputs(w->sections[i].panels, f);
		fputs("</g>\n", f);
		at += w->sections[i].panel_count;
	}
	fputs("</svg>\n", f);
}

static void put_title(const struct writing *w, FILE *f)
{
	const uint32_t count = path_count(w);
	const char *name = count ? frag_file_name(path_at(w, 0)) : "report";

	put_markup(name, strlen(name), f);
	if (count > 1)
		fprintf(f, " and %u more", count - 1);
}

/* A part is a text, or else a function writes it. */
static const struct {
	const char *name, *text;
	void (*put)(const struct writing *w, FILE *f);
} parts[] = {
	{ "title", NULL, put_title }, { "style", frag_page_css, NULL },
	{ "verdict", NULL, put_verdicts }, { "picture", NULL, put_svg },
	{ "facts", NULL, put_facts }, { "script", frag_page_js, NULL },
};

/* A part of the template is named as {{name}}. */
static void put_page(const struct writing *w, FILE *f)
{
	const char *p = frag_page_html, *mark;

	for (; (mark = strstr(p, "{{")) != NULL; p = strstr(mark, "}}") + 2) {
		fwrite(p, 1, (size_t)(mark - p), f);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			if (strncmp(mark + 2, parts[i].name, strlen(parts[i].name)) != 0)
				continue;
			fputs(parts[i].text ? parts[i].text : "", f);
			if (parts[i].put)
				parts[i].put(w, f);
		}
	}
	fputs(p, f);
}

int frag_page_print(struct frag_page_section *sections, uint32_t count, const char *command,
		    const struct frag_page_answer *answer, FILE *f, struct frag_error *err)
{
	char *json = frag_new_json(command, strlen(command));

	if (!json)
		return frag_fail_nomem(err);
	if (count && !(answer && answer->beside))
		FRAG_SORT(sections, count, by_badness);
	put_page(&(struct writing){ sections, count, json, answer }, f);
	free(json);
	return 0;
}

int frag_page_write(struct frag_page_section *sections, uint32_t count, const char *command,
		    struct frag_outfile *out, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(out);
	int rc = 0;

	if (!f)
		return frag_outfile_status(out, err);
	FRAG_SORT(sections, count, by_badness);
	if (command)
		rc = frag_page_print(sections, count, command, NULL, f, err);
	else
		put_svg(&(struct writing){ .sections = sections, .count = count }, f);
	frag_outfile_stream_end(out, f);
	return rc ? rc : frag_outfile_status(out, err);
}
