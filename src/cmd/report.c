/* report.c - fragsim report: writes the runs of traces as one HTML report. */
#include <stdlib.h>

#include "cmd/session.h"

struct reporting {
	struct frag_run_options options;
	const char *html, *svg;
	struct frag_page_section *sections;
	uint32_t section_count;
	struct frag_outfile page, picture;
};

static const struct frag_opt opts[] = {
	{ 'o', "output", "FILE", "write the page there (- is standard output)",
	  FRAG_OUTPUT(struct reporting, html) },
	{ 0, "svg", "FILE", "write its timelines there, as one picture",
	  FRAG_OUTPUT(struct reporting, svg) },
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...]; up to six (by the trace)"),
	FRAG_STACKS_ROW(FRAG_STACKS_HELP " (python)"),
	FRAG_QUIET_ROW("no warnings or progress"),
	FRAG_ON_OOM_ROW,
	FRAG_LENIENT_ROW,
	FRAG_PROFILE_ROW,
	FRAG_DEVICE_ROWS,
	FRAG_SEARCH_THREADS_ROW,
	{ 0 },
};

/* Each trace, from its first event to its section. */
static int do_traces(struct reporting *r, const struct frag_args *args, struct frag_error *err)
{
	int rc = 0;

	r->sections = calloc(args->count, sizeof(*r->sections));
	if (!r->sections)
		return frag_fail_nomem(err);
	while (r->section_count < args->count && !rc) {
		const char *path = args->words[r->section_count];
		struct frag_session s = { .draws = true };

		rc = frag_session_begin(&s, &r->options, err);
		rc = rc ? rc : frag_session_simulate(&s, path, err);
		r->sections[r->section_count++] = s.section;
		s.section = (struct frag_page_section){ .path = NULL };
		frag_session_fini(&s);
	}
	return rc;
}

static int write_file(struct reporting *r, struct frag_outfile *f, const char *path,
		      const char *command, struct frag_error *err)
{
	int rc;

	if (!path)
		return 0;
	rc = frag_outfile_open(f, path, err);
	rc = rc ? rc : frag_page_write(r->sections, r->section_count, command, f, err);
	return rc ? rc : frag_outfile_finish(f, err);
}

static const struct frag_refusal refusals[] = {
	{ "!output !svg", "where to? -o FILE" }, { 0 },
};

static int report_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct reporting *r = own;
	struct frag_outfile *files[] = { &r->page, &r->picture };
	int rc = frag_run_options_check(&r->options, args->cmd, err);

	/* nothing is charted */
	r->options.report = false;
	rc = rc ? rc : do_traces(r, args, err);
	rc = rc ? rc : write_file(r, &r->page, r->html, args->line, err);
	rc = rc ? rc : write_file(r, &r->picture, r->svg, NULL, err);
	return rc ? rc : frag_outfile_commit_all(files, 2, err);
}

static void reporting_fini(void *own)
{
	struct reporting *r = own;

	frag_outfile_abandon(&r->page);
	frag_outfile_abandon(&r->picture);
	for (uint32_t i = 0; i < r->section_count; i++)
		frag_page_section_fini(&r->sections[i]);
	free(r->sections);
}

const struct frag_cmd frag_cmd_report = {
	.name = "report",
	.group = FRAG_GROUP_HOLDERS,
	.args = "[options] TRACE...",
	.summary = "write an HTML report",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_TRACES | FRAG_NEEDS_RUN,
	.size = sizeof(struct reporting),
	.exec = report_exec,
	.fini = reporting_fini,
};
