/* convert.c - fragsim convert: writes a trace in another form. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "fragsim/trace.h"
#include "trace/sinks.h"

enum { OPT_TO = 1, OPT_LENIENT, OPT_QUIET };

static const struct frag_opt opts[] = {
	{ 't', "to", "FORM", "lines, object, fsb, minimalloc or rmm (by OUT's ending)", OPT_TO },
	{ 0, "lenient", NULL, "leave out events that are bad in themselves", OPT_LENIENT },
	{ 'q', "quiet", NULL, "no warnings", OPT_QUIET },
	{ 0 },
};

struct convert {
	const struct frag_sink_ops *form;       /* NULL: by the name's ending */
	enum frag_packing packing;
	bool lenient, quiet;
};

static void warn(void *ctx, const char *message)
{
	const struct convert *c = ctx;

	if (!c->quiet)
		fprintf(stderr, "fragsim: warning: %s\n", message);
}

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct convert *c = ctx;

	if (id == OPT_LENIENT)
		c->lenient = true;
	else if (id == OPT_QUIET)
		c->quiet = true;
	else
		c->form = frag_sink_named(value);
	if (id == OPT_TO && !c->form)
		return frag_fail(err, FRAG_EUSAGE, "--to %.60s: lines, object, fsb, minimalloc or rmm"
				 " is wanted", value);
	return 0;
}

/* The form and the packing that the name stands for. */
static int find_form(struct convert *c, const char *path, struct frag_error *err)
{
	size_t length;

	c->packing = frag_packing_of(path, &length);
	if (c->form)
		return 0;
	c->form = strcmp(path, "-") == 0 ? frag_sink_named("lines")
					 : frag_sink_ending(path, length);
	if (c->form)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "%s: no form has a name that ends so (.ndjson, .json, .fsb,"
			 " each also with .gz or .zst); --to says which one", path);
}

static int copy(struct frag_trace *trace, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_batch batch;
	int rc = sink->ops->begin(sink, frag_trace_info(trace), err);

	while (!rc) {
		rc = frag_trace_next(trace, &batch, err);
		if (rc || batch.count == 0)
			break;
		for (uint32_t i = 0; i < batch.count && !rc; i++)
			rc = sink->ops->event(sink, &batch.records[i], &batch.events[i], err);
		if (!rc && frag_interrupted(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	}
	return rc ? rc : sink->ops->end(sink, err);
}

static void tell_losses(struct convert *c, const struct frag_sink *sink, const char *path)
{
	char losses[400], message[600];

	frag_sink_losses(sink, losses, sizeof(losses));
	if (!*losses)
		return;
	snprintf(message, sizeof(message), "%.100s: the form %s has no place for: %s", path,
		 sink->ops->name, losses);
	warn(c, message);
}

static int convert(struct convert *c, const char *from, const char *to, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = c->lenient, .records = true, .log = { .warn = warn, .ctx = c },
	};
	struct frag_outfile out = { .fd = -1 };
	struct frag_sink sink = { .ops = c->form, .out = &out };
	struct frag_trace *trace = NULL;
	int rc = frag_trace_open(&trace, from, &options, err);

	rc = rc ? rc : frag_outfile_open(&out, to, err);
	rc = rc ? rc : frag_outfile_pack(&out, c->packing, err);
	if (!rc) {
		frag_guard_file(&out);
		rc = copy(trace, &sink, err);
	}
	rc = rc ? rc : frag_outfile_commit(&out, err);
	if (!rc)
		tell_losses(c, &sink, from);
	frag_guard_file(NULL);
	if (sink.ops->fini && sink.state)
		sink.ops->fini(&sink);
	frag_outfile_abandon(&out);
	frag_trace_close(trace);
	if (rc && frag_interrupted(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc;
}

static int convert_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			struct frag_error *err)
{
	struct convert c = { .form = NULL };
	int rest, rc;

	(void)status;
	rc = frag_options(cmd, argc, argv, &c, set_option, &rest, err);
	if (rc || !rest)
		return rc;
	if (argc - rest != 2)
		return frag_usage(cmd, argc - rest < 2 ? "IN and OUT are wanted" : "too many files",
				  err);
	rc = find_form(&c, argv[rest + 1], err);
	return rc ? rc : convert(&c, argv[rest], argv[rest + 1], err);
}

const struct frag_cmd frag_cmd_convert = {
	.name = "convert",
	.args = "[options] IN OUT",
	.summary = "write a trace in another form",
	.opts = opts,
	.exec = convert_exec,
};
