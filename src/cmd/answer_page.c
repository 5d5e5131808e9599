/* answer_page.c - the page of an answer: the answer as printed, and the runs that it rests on, drawn. */
#include "cmd/answer_page.h"

#include <stdlib.h>

#include "answers/report.h"
#include "base/array_grow.h"
#include "cmd/progress.h"
#include "engine/tape_run.h"
#include "iterations/leak_detect.h"

int frag_drawing_init(struct frag_html_page *d, uint32_t policies, struct frag_error *err)
{
	if (policies > FRAG_PAGE_POLICIES_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%u policies: a page shows at most %d", policies,
				 FRAG_PAGE_POLICIES_MAX);
	d->pages = calloc(policies, sizeof(*d->pages));
	return d->pages ? 0 : frag_fail_nomem(err);
}

int frag_drawing_end(struct frag_html_page *d, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->count && !rc; i++)
		rc = frag_page_end(&d->pages[i], err);
	return rc;
}

int frag_drawing_section(struct frag_html_page *d, struct frag_page_trace *made,
		      const struct frag_tape *tape, struct frag_page_section *section,
		      struct frag_error *err)
{
	const struct frag_report *report = made->report;
	const bool marked = report->run_count
			    && report->runs[0].result->mark_count >= FRAG_ITERATIONS_MIN;
	struct frag_leaks leaks = { .leak_count = 0 };
	int rc = marked && tape && !made->leaks ? frag_leaks_find(&leaks, tape, NULL, UINT64_MAX, NULL, err) : 0;

	made->pages = d->pages;
	made->tape = tape;
	made->page_count = report->run_count / report->trace->device_count;
	if (!made->leaks && leaks.iterations.count)
		made->leaks = &leaks;
	rc = rc ? rc : frag_page_section_init(section, made, err);
	frag_leaks_fini(&leaks);
	return rc;
}

void frag_drawing_fini(struct frag_html_page *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		frag_page_fini(&d->pages[i]);
	free(d->pages);
}

int frag_redrawn_init(struct frag_redrawn *x, const struct frag_loaded_trace *taped,
			 struct frag_error *err)
{
	*x = (struct frag_redrawn){ .taped = taped, .look = UINT64_MAX };
	return frag_drawing_init(&x->drawing, FRAG_PAGE_POLICIES_MAX, err);
}

void frag_redrawn_fini(struct frag_redrawn *x)
{
	frag_drawing_fini(&x->drawing);
	for (uint32_t i = 0; i < x->sim_count; i++)
		frag_sim_del(x->sims[i]);
}

static int answer_page_play(struct frag_redrawn *x, struct frag_sim *sim, struct frag_error *err)
{
	const struct frag_job job = { .stop = frag_interrupted };
	struct frag_tape_reader *reader = frag_tape_reader_new(x->taped->tape);
	int rc = reader ? frag_tape_play(sim, reader, UINT64_MAX, &job, err) : frag_fail_nomem(err);

	frag_tape_reader_del(reader);
	return rc;
}

int frag_redrawn_run(struct frag_redrawn *x, const struct frag_choice *choice,
		     const struct frag_device_figures *devices, struct frag_error *err)
{
	struct frag_sim_options options = { .model = NULL };
	struct frag_sim *sim;
	int rc;

	if (x->sim)
		options = *x->sim;
	options.devices = devices;
	options.on_oom = &frag_oom_explain;
	if (x->sim_count == FRAG_PAGE_POLICIES_MAX)
		return 0;
	rc = frag_sim_on_tape(&sim, choice, x->taped->tape, &options, err);
	if (rc)
		return rc;
	x->sims[x->sim_count++] = sim;
	/* a policy that fails has no page; the others have */
	rc = frag_page_init(&x->drawing.pages[x->drawing.count++], sim, err);
	if (!rc)
		x->drawing.pages[x->drawing.count - 1].look = x->look;
	return rc ? rc : answer_page_play(x, sim, err);
}

uint32_t frag_report_runs_of(struct frag_report_run *runs, struct frag_sim *const *sims,
			  uint32_t count, bool interrupted)
{
	uint32_t n = 0, devices;

	for (uint32_t i = 0; i < count; i++) {
		const struct frag_result *results = frag_sim_results(sims[i], interrupted, &devices);

		for (uint32_t d = 0; d < devices; d++)
			runs[n++].result = &results[d];
	}
	return n;
}

static int make_section(struct frag_redrawn *x, const struct frag_report_run *runs, uint32_t count,
			struct frag_answer_page *r, struct frag_error *err)
{
	const bool cured = x->answer && x->answer->fix.found;
	const struct frag_report report = {
		.trace = frag_tape_info(x->taped->tape), .runs = runs,
		.run_count = cured ? count / 2 : count, .answers = x->answer,
	};
	struct frag_page_trace made = {
		.report = &report, .symbols = frag_tape_symbols(x->taped->tape), .silent = true,
		.look = x->look, .fits = x->fits, .source = x->source, .leaks = x->leaks,
		.cured = cured ? &x->drawing.pages[1] : NULL,
		.cured_runs = cured ? runs[report.run_count].result : NULL,
	};

	if (!FRAG_EXTEND(r->sections, r->capacity, r->count, r->count))
		return frag_fail_nomem(err);
	return frag_drawing_section(&x->drawing, &made, x->taped->tape, &r->sections[r->count - 1], err);
}

/* After the last run: they become a section. */
static int redrawn_end(struct frag_redrawn *x, struct frag_answer_page *r, struct frag_error *err)
{
	const uint32_t devices = frag_tape_info(x->taped->tape)->device_count;
	struct frag_report_run *runs;
	int rc = frag_drawing_end(&x->drawing, err);

	if (rc)
		return rc;
	runs = calloc((size_t)x->sim_count * devices + 1, sizeof(*runs));
	rc = runs ? make_section(x, runs, frag_report_runs_of(runs, x->sims, x->sim_count, false), r,
				 err)
		  : frag_fail_nomem(err);
	free(runs);
	return rc;
}

int frag_answer_page_draw(struct frag_answer_page *r, const struct frag_loaded_trace *taped,
			  uint32_t source, frag_draw *draw, void *ctx, struct frag_error *err)
{
	struct frag_redrawn x;
	int rc = frag_redrawn_init(&x, taped, err);

	x.source = source;
	if (!rc && draw)
		rc = draw(ctx, &x, err);
	for (uint32_t i = 0; i < taped->choice_count && !rc && !draw; i++)
		rc = frag_redrawn_run(&x, &taped->choices[i], taped->devices.figures, err);
	rc = rc ? rc : redrawn_end(&x, r, err);
	frag_redrawn_fini(&x);
	return rc;
}

static int print_page(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	const struct frag_answer_page *r = what;
	struct frag_memory answer, document = { .f = NULL };
	const bool pictured = r->json && !r->count;
	int rc;

	if (!frag_memory_open(&answer))
		return frag_fail_nomem(err);
	rc = frag_format_print(r->text, r->what, paper, answer.f, err);
	if (!frag_memory_close(&answer) && !rc)
		rc = frag_fail_nomem(err);
	if (!rc && pictured && !frag_memory_open(&document))
		rc = frag_fail_nomem(err);
	if (document.f && !rc)
		rc = frag_format_print(r->json, r->what, paper, document.f, err);
	if (document.f && !frag_memory_close(&document) && !rc)
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_page_print(r->sections, r->count, r->command,
				       &(struct frag_page_answer){
					     .text = answer.text, .document = document.text, .curve = r->curve.text, .paths = r->paths,
					     .path_count = r->path_count, .bad = r->bad,
					     .beside = r->beside,
				     }, f, err);
	free(answer.text);
	free(document.text);
	return rc;
}

const struct frag_format frag_redraw_page = { .name = "html", .print = print_page };
