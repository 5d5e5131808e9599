/* html_page.c - a page of the runs of a trace. */
#include "cmd/html_page.h"

#include <stdlib.h>
#include <string.h>

int frag_drawing_room(struct frag_html_page *d, uint32_t policies, struct frag_error *err)
{
	if (policies > FRAG_PAGE_POLICIES_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%u policies: a page has room for %d", policies,
				 FRAG_PAGE_POLICIES_MAX);
	d->pages = calloc(policies, sizeof(*d->pages));
	return d->pages ? 0 : frag_fail_nomem(err);
}

int frag_drawing_watch(struct frag_html_page *d, struct frag_sim *sim, uint32_t devices,
		       struct frag_error *err)
{
	struct frag_page *page = &d->pages[d->count++];
	const struct frag_observer watch = { .step = frag_page_observe, .ctx = page };
	int rc = frag_page_init(page, sim, devices, err);

	if (!rc && frag_sim_observe(sim, &watch))
		rc = frag_fail_nomem(err);
	return rc;
}

int frag_drawing_end(struct frag_html_page *d, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->count && !rc; i++)
		rc = frag_page_end(&d->pages[i], err);
	return rc;
}

/* Most traces have no iterations that are marked, and that is no failure. */
static int html_page_find_leaks(struct frag_leaks *leaks, const struct frag_tape *tape,
				uint32_t devices, bool *found, struct frag_error *err)
{
	uint64_t *rooms = calloc(devices, sizeof(*rooms));
	struct frag_error none;
	int rc;

	if (!rooms)
		return frag_fail_nomem(err);
	rc = tape ? frag_leaks_find(leaks, tape, NULL, rooms, &none) : -FRAG_ETRACE;
	free(rooms);
	*found = rc == 0;
	return rc && rc != -FRAG_ETRACE ? frag_fail_nomem(err) : 0;
}

int frag_drawing_make(struct frag_html_page *d, struct frag_page_trace *made,
		      const struct frag_tape *tape, struct frag_page_section *section,
		      struct frag_error *err)
{
	const struct frag_report *report = made->report;
	const bool marked = report->run_count
			    && report->runs[0].result->mark_count >= FRAG_ITERATIONS_MIN;
	struct frag_leaks leaks = { .leak_count = 0 };
	bool found = false;
	int rc = html_page_find_leaks(&leaks, marked ? tape : NULL, report->trace->device_count,
				      &found, err);

	made->pages = d->pages;
	made->page_count = d->count;
	made->leaks = found ? &leaks : NULL;
	rc = rc ? rc : frag_page_section_init(section, made, err);
	frag_leaks_fini(&leaks);
	return rc;
}

int frag_drawing_section(struct frag_html_page *d, const struct frag_session *s,
			 const struct frag_trace *trace, const struct frag_tape *tape,
			 struct frag_page_section *section, struct frag_error *err)
{
	const struct frag_report report = {
		.trace = frag_trace_info(trace), .runs = s->runs, .run_count = s->run_count,
		.answers = s->answers, .by_default = s->options->by_default,
	};
	struct frag_page_trace made = {
		.report = &report, .symbols = frag_trace_symbols(trace), .look = UINT64_MAX,
	};

	return frag_drawing_make(d, &made, tape, section, err);
}

void frag_drawing_fini(struct frag_html_page *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		frag_page_fini(&d->pages[i]);
	free(d->pages);
}

/* What has more than the usual characters is quoted. */
char *frag_command_line(const char *command, int argc, char *const *argv)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=:,./@%";
	size_t length = strlen("fragsim ") + strlen(command) + 1;
	char *text, *p;

	for (int i = 1; i < argc; i++)
		length += 4 * strlen(argv[i]) + 3;
	text = p = malloc(length);
	if (!text)
		return NULL;
	p = stpcpy(stpcpy(p, "fragsim "), command);
	for (int i = 1; i < argc; i++) {
		const bool quoted = !*argv[i] || argv[i][strspn(argv[i], plain)];

		p = stpcpy(p, quoted ? " '" : " ");
		for (const char *c = argv[i]; *c; c++)
			if (*c == '\'')
				p = stpcpy(p, "'\\''");
			else
				*p++ = *c;
		p = stpcpy(p, quoted ? "'" : "");
	}
	return text;
}
