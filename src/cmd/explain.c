/* explain.c - fragsim explain: why memory ran out, and what to do. */
#include <string.h>

#include "cmd/explain_message.h"
#include "cmd/explain_trace.h"
#include "cmd/outputs.h"

enum { OPT_MESSAGE = FRAG_OPT_FIRST_OWN, OPT_OF_TRACE };

static const struct frag_opt opts[] = {
	{ 0, "message", NULL, "explain out-of-memory messages: of a paste, or of a whole log",
	  OPT_MESSAGE },
	{ 'p', "policy", "NAME", "placement policy, NAME[:key=value,...] (by the trace)",
	  FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	FRAG_EXPLAIN_ROWS(OPT_OF_TRACE),
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_OPT_JSON },
	FRAG_HTML_ROW(0),
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),
	FRAG_PROFILE_ROW(0),
	FRAG_DEVICE_ROWS(0),
	{ 0, "threads", "N", "simulations at a time (0: one a processor)", FRAG_OPT_THREADS },
	{ 0 },
};

struct explain {
	struct frag_explain_trace trace;
	bool message;
	const char *of_trace;           /* an option that only a trace has; NULL: none */
};

static const char *name_of(int id)
{
	const struct frag_opt *o = opts;

	while (o->id != id)
		o++;
	return o->name;
}

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct explain *explain = ctx;

	switch (id) {
	case OPT_MESSAGE:
		explain->message = true;
		return 0;
	case FRAG_OPT_JSON:
		explain->trace.json = value;
		return 0;
	case FRAG_OPT_COLOR:
		return frag_option_color(value, err);
	case FRAG_OPT_QUIET:
		explain->trace.run.quiet = true;
		return 0;
	default:
		explain->of_trace = name_of(id);
		if (id < OPT_OF_TRACE)
			return frag_run_set_option(&explain->trace.run, id, value, err);
		return frag_explain_trace_set(&explain->trace, id - OPT_OF_TRACE, value, err);
	}
}

/* Without a file, what is pasted or piped. */
static int explain_message(const struct explain *explain, const struct frag_cmd *cmd,
			   char *const *operands, int count, struct frag_error *err)
{
	const struct frag_explain_message how = {
		.path = count ? operands[0] : "-", .json = explain->trace.json,
		.quiet = explain->trace.run.quiet,
	};

	if (explain->of_trace)
		return frag_fail(err, FRAG_EUSAGE, "--%s is for a trace, and --message reads a"
				 " message", explain->of_trace);
	if (count > 1)
		return frag_usage(cmd, "one file at a time", err);
	if (how.json && strcmp(how.path, "-") != 0 && frag_same_file(how.json, how.path))
		return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the message",
				 how.json);
	return frag_explain_message(&how, err);
}

static int explain_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			struct frag_error *err)
{
	struct explain explain = { .message = false };
	int rest, rc;

	(void)status;
	frag_explain_trace_init(&explain.trace);
	rc = frag_redraw_init(&explain.trace.redraw, "explain", argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &explain, set_option, &rest, err);
	if (rc || !rest)
		goto out;
	if (explain.message)
		rc = explain_message(&explain, cmd, argv + rest, argc - rest, err);
	else if (argc - rest != 1)
		rc = frag_usage(cmd, argc == rest ? "which trace? --message reads an out-of-memory"
				" message" : "one trace at a time", err);
	else
		rc = frag_explain_trace(&explain.trace, cmd, argv[rest], err);
out:
	frag_explain_trace_fini(&explain.trace);
	return rc;
}

const struct frag_cmd frag_cmd_explain = {
	.name = "explain",
	.job = FRAG_JOB_LOOK,
	.args = "[options] TRACE | --message [options] [FILE]",
	.summary = "say why memory ran out, and what to do",
	.opts = opts,
	.exec = explain_exec,
};
