/* info.c - fragsim info: what a trace is. */
#include <stdio.h>

#include "cmd/command.h"
#include "report/report.h"

enum { OPT_JSON = 1, OPT_LENIENT, OPT_QUIET };

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", OPT_JSON },
	{ 0, "lenient", NULL, "leave out events that are bad in themselves", OPT_LENIENT },
	{ 'q', "quiet", NULL, "no warnings", OPT_QUIET },
	{ 0 },
};

struct info {
	const char *json;
	bool lenient, quiet;
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct info *info = ctx;

	(void)err;
	if (id == OPT_JSON)
		info->json = value;
	else if (id == OPT_LENIENT)
		info->lenient = true;
	else
		info->quiet = true;
	return 0;
}

static void warn(void *ctx, const char *message)
{
	const struct info *info = ctx;

	if (!info->quiet)
		fprintf(stderr, "fragsim: warning: %s\n", message);
}

static int look(struct frag_survey *survey, struct frag_trace *trace, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; i < batch.count && !rc; i++)
			if (!frag_survey_event(survey, &batch.events[i]))
				rc = frag_fail_nomem(err);
		if (!rc && frag_interrupted(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	} while (!rc && batch.count);
	return rc;
}

static int write_json(const struct info *info, const struct frag_survey *survey,
		      const struct frag_trace_info *trace, struct frag_error *err)
{
	struct frag_outfile out;
	int rc = frag_outfile_open(&out, info->json, err);

	if (rc)
		return rc;
	frag_guard_file(&out);
	rc = frag_report_info_json(survey, trace, &out, err);
	rc = rc ? rc : frag_outfile_commit(&out, err);
	frag_outfile_abandon(&out);
	frag_guard_file(NULL);
	return rc;
}

static int tell(struct info *info, const char *path, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = info->lenient, .log = { .warn = warn, .ctx = info },
	};
	struct frag_survey survey;
	struct frag_trace *trace;
	int rc = frag_trace_open(&trace, path, &options, err);

	if (!rc) {
		bool made = frag_survey_init(&survey, frag_trace_info(trace)->device_count);

		rc = made ? look(&survey, trace, err) : frag_fail_nomem(err);
		if (!rc && info->json)
			rc = write_json(info, &survey, frag_trace_info(trace), err);
		else if (!rc)
			frag_report_info(&survey, frag_trace_info(trace), stdout);
		frag_survey_fini(&survey);
		frag_trace_close(trace);
	}
	if (rc && frag_interrupted(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc;
}

static int info_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		     struct frag_error *err)
{
	struct info info = { .json = NULL };
	int rest, rc = frag_options(cmd, argc, argv, &info, set_option, &rest, err);

	(void)status;
	if (rc || !rest)
		return rc;
	if (argc - rest != 1)
		return frag_usage(cmd, argc == rest ? "which trace?" : "one trace at a time", err);
	return tell(&info, argv[rest], err);
}

const struct frag_cmd frag_cmd_info = {
	.name = "info",
	.args = "[options] TRACE",
	.summary = "tell what a trace is",
	.opts = opts,
	.exec = info_exec,
};
