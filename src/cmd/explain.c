/* explain.c - fragsim explain: why memory ran out, and what to do. */
#include <string.h>

#include "cmd/explain_message.h"
#include "cmd/outputs.h"
#include "cmd/run_options.h"

enum { OPT_MESSAGE = FRAG_OPT_FIRST_OWN };

static const struct frag_opt opts[] = {
	{ 0, "message", NULL, "explain out-of-memory messages: of a paste, or of a whole log",
	  OPT_MESSAGE },
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_OPT_JSON },
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	{ 0 },
};

struct explain {
	bool message, quiet;
	const char *json;
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct explain *explain = ctx;

	switch (id) {
	case OPT_MESSAGE:
		explain->message = true;
		return 0;
	case FRAG_OPT_JSON:
		explain->json = value;
		return 0;
	case FRAG_OPT_COLOR:
		return frag_option_color(value, err);
	default:
		explain->quiet = true;
		return 0;
	}
}

/* Without a file, what is pasted or piped. */
static int explain_message(const struct explain *explain, const struct frag_cmd *cmd,
			   char *const *operands, int count, struct frag_error *err)
{
	const struct frag_explain_message how = {
		.path = count ? operands[0] : "-", .json = explain->json,
		.quiet = explain->quiet,
	};

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
	struct explain explain = { .json = NULL };
	int rest, rc = frag_options(cmd, argc, argv, &explain, set_option, &rest, err);

	(void)status;
	if (rc || !rest)
		return rc;
	if (explain.message)
		return explain_message(&explain, cmd, argv + rest, argc - rest, err);
	return frag_usage(cmd, "a trace cannot be explained yet; --message reads out-of-memory"
			  " messages", err);
}

const struct frag_cmd frag_cmd_explain = {
	.name = "explain",
	.job = FRAG_JOB_LOOK,
	.args = "--message [options] [FILE]",
	.summary = "say why memory ran out, and what to do",
	.opts = opts,
	.exec = explain_exec,
};
