/* run.c - fragsim run: a trace under one or more policies. */
#include "cmd/session.h"

struct run {
	struct frag_run_options options;
	struct frag_session session;
};

/* An interruption still gives a report of what was simulated, and then is returned. */
static int run_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct run *run = own;
	struct frag_session *s = &run->session;
	const char *path = args->words[0];
	int rc = frag_run_options_check(&run->options, args->cmd, err), done;

	s->command = args->line;
	s->draws = run->options.html || run->options.svg;
	rc = rc ? rc : frag_session_begin(s, &run->options, err);
	rc = rc ? rc : frag_session_simulate(s, path, err);
	if (rc && (rc != -FRAG_EINTERRUPTED || !s->run_count))
		return rc;
	done = frag_session_report(s, s->traced.trace, args->status, err);
	return done ? done : rc;
}

static void run_fini(void *own)
{
	frag_session_fini(&((struct run *)own)->session);
}

const struct frag_cmd frag_cmd_run = {
	.name = "run",
	.group = FRAG_GROUP_FAILURE,
	.args = "[options] TRACE",
	.summary = "simulate a trace on a device: does it fit, and if not, why",
	.opts = frag_run_opts,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_RUN,
	.size = sizeof(struct run),
	.foreign = frag_run_foreign,
	.exec = run_exec,
	.fini = run_fini,
};
