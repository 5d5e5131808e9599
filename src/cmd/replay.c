/* replay.c - fragsim replay: a trace under policies on the GPUs of this machine. */
#include <string.h>

#include "cmd/replay_policies.h"
#include "policy/compact.h"

/*
 * What cannot work is refused before a GPU is opened. After an interruption there
 * are results only if a simulation had begun.
 */
static int replay(struct frag_replay_policies *t, int *status, struct frag_error *err)
{
	const struct frag_run_options *o = &t->args->run;
	struct frag_session *s = t->session;
	int rc, done;

	if (t->args->pool && o->placements)
		return frag_fail(err, FRAG_EUSAGE,
				 "--placements and --allocator at once: the driver's "
				 "own pool does not report where it places a block");
	for (uint32_t i = 0; i < o->choice_count; i++)
		if (frag_compact_is(o->choices[i].ops))
			return frag_fail(err, FRAG_EUSAGE, "policy compact moves live blocks, which"
					 " replay does not: a GPU would have to copy what the"
					 " program has there; fragsim run simulates it");
	if (strcmp(t->path, "-") == 0 && (o->choice_count > 1 || t->args->repeat > 1))
		return frag_fail(err, FRAG_EUSAGE, "standard input can be read once only: one "
				 "policy, once, or a file");
	rc = frag_session_begin(s, o, t->path, err);
	rc = rc ? rc : frag_turns_open(t, err);
	if (!rc) {
		frag_progress_begin(&s->progress, !o->quiet);
		rc = frag_turns_run(t, err);
		frag_progress_end(&s->progress);
	}
	rc = frag_turns_end(t, rc, err);
	if (rc && (rc != -FRAG_EINTERRUPTED || !s->sim_count))
		return rc;
	frag_session_collect(s, true);
	done = frag_session_report(s, t->turn[0].trace, status, err);
	return done ? done : rc;
}

/* Everything is released here, in the order in which one thing uses another. */
static int replay_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		       struct frag_error *err)
{
	struct frag_replay_args args;
	struct frag_session session = { .options = NULL };
	struct frag_replay_policies turns = { .args = &args, .session = &session };
	int rest, rc;

	frag_replay_args_init(&args);
	rc = frag_options(cmd, argc, argv, &args, frag_replay_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	rc = frag_run_options_check(&args.run, cmd, err);
	if (!rc && argc - rest != 1)
		rc = frag_usage(cmd, argc == rest ? "which trace?" : "one trace at a time", err);
	turns.path = argv[rest];
	rc = rc ? rc : replay(&turns, status, err);
out:
	frag_session_fini(&session);
	frag_turns_fini(&turns);
	frag_replay_args_fini(&args);
	return rc;
}

const struct frag_cmd frag_cmd_replay = {
	.name = "replay",
	.job = FRAG_JOB_SIMULATE,
	.args = "[options] TRACE",
	.summary = "run a trace under one or more policies on real GPUs",
	.opts = frag_replay_opts,
	.exec = replay_exec,
};
