/* replay.c - fragsim replay: a trace under policies on the GPUs of this machine. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "cmd/session.h"
#include "device/gpu.h"
#include "policy/choice.h"
#include "replay/gpu_and_sim.h"

#define FRAG_REPLAY_GPUS 64

/* The trace under one policy. */
struct replay_turn {
	struct frag_loaded_trace traced;
	struct frag_replay *replay;
	struct frag_sim *sim;           /* of it: the one on the GPUs */
};

struct replay {
	struct frag_run_options run;    /* what `run` has too */
	uint32_t ordinals[FRAG_REPLAY_GPUS];    /* of the trace's device 0, 1, ... */
	uint32_t ordinal_count; /* 0: not given */
	uint64_t limit;         /* bytes; UINT64_MAX: not given */
	uint64_t repeat;        /* at least 1 */
	double pace;            /* 0: as fast as possible */
	bool verify;
	bool probe_marks;
	uint64_t probe_every;   /* steps; 0: not */
	const char *path;
	struct frag_session session;
	struct frag_gpu *gpus[FRAG_REPLAY_GPUS];
	uint32_t gpu_count;             /* open */
	struct replay_turn *turn;
	uint32_t count;                 /* open */
};

#define REPEATS_MAX 1000000

static int add_gpu(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct replay *r = at;
	uint64_t n;
	int rc = frag_option_count(&n, o->name, value, 0, FRAG_REPLAY_GPUS - 1, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < r->ordinal_count; i++)
		if (r->ordinals[i] == n)
			return frag_fail(err, FRAG_EUSAGE, "--device %.60s: specified more than once", value);
	r->ordinals[r->ordinal_count++] = (uint32_t)n;
	return 0;
}

static int set_probe(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct replay *r = at;

	(void)o;
	r->probe_marks = strcmp(value, "marks") == 0;
	r->probe_every = 0;
	if (r->probe_marks || (frag_parse_count(value, strlen(value), &r->probe_every)
				  && r->probe_every))
		return 0;
	return frag_fail(err, FRAG_EUSAGE,
			 "--probe %.60s: marks, or a number of events from 1 on, is "
			 "required", value);
}

static const struct frag_opt opts[] = {
	{ 'd', "device", "N", "GPU for the trace's next device; repeatable (0, 1, ...)",
	  FRAG_CALL(add_gpu) },
	FRAG_POLICY_ROW("placement policy, NAME[:key=value,...]; repeatable (by the trace)"),
	{ 0, "allocator", "NAME", "cuda-async[:key=value,...], the driver's own pool; repeatable",
	  FRAG_CALL(frag_run_add_policy) },
	FRAG_ALLOC_CONF_ROW(FRAG_ALLOC_CONF_HELP),
	{ 0, "limit", "SIZE", "most memory to take of each GPU (90 % of what is free)",
	  FRAG_SIZE(struct replay, limit, 0), .usual = UINT64_MAX },
	{ 0, "pace", "FACTOR", "follow the trace's times, FACTOR times as fast",
	  FRAG_NUMBER(struct replay, pace, DBL_TRUE_MIN, DBL_MAX, "a factor above 0 is required; 1 is"
		      " the trace's own time, 10 ten times as fast") },
	{ 0, "repeat", "N", "replay N times, for the costs (1)",
	  FRAG_COUNT(struct replay, repeat, 1, REPEATS_MAX), .usual = 1 },
	{ 0, "verify", NULL, "fill each block with a pattern, and look whether it stays",
	  FRAG_FLAG(struct replay, verify) },
	{ 0, "probe", "WHEN", "measure the largest possible cudaMalloc: at marks or every N events",
	  FRAG_CALL(set_probe) },
	FRAG_RESULT_ROWS("write the answer to a file, .json", FRAG_NO_PAGE),
	FRAG_STEPS_ROWS,
	{ 0, "write-profile", "FILE", "write what was learned of the GPU, for run --profile",
	  FRAG_RUN_OUTPUT(write_profile) },
	FRAG_COLOR_ROW,
	{ 'v', "verbose", NULL, "with all metrics, charts and marks", FRAG_RUN_FLAG(verbose) },
	FRAG_QUIET_ROW("no report, warnings or progress"),
	FRAG_ON_OOM_ROW,
	FRAG_LENIENT_ROW,
	{ 0, "fail-if", "CONDITION",
	  "exit with 1 if it is true: 'prediction.error_percent > 1'; repeatable",
	  FRAG_CALL(frag_run_add_condition) },
	{ 0, "check", NULL, "recompute all metrics and invariants after each event (slow)",
	  FRAG_RUN_FLAG(sim.check) },
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "placements allocator", "=--placements and --allocator at once: the driver's own pool does"
				  " not report where it places a block" },
	{ 0 },
};

/* The first reading of the trace determines the number of GPUs. */
static int open_gpus(struct replay *r, struct frag_trace *trace, struct frag_error *err)
{
	uint32_t devices = frag_trace_info(trace)->device_count;
	int rc;

	if (devices > FRAG_REPLAY_GPUS)
		return frag_fail(err, FRAG_EDEVICE, "%s has %u devices: replay drives %d at most",
				 r->path, devices, FRAG_REPLAY_GPUS);
	if (r->ordinal_count && r->ordinal_count != devices)
		return frag_fail(err, FRAG_EUSAGE, "--device is given %u times, and %s has %u "
				 "device%s", r->ordinal_count, r->path, devices,
				 frag_s(devices));
	if (r->run.write_profile && devices > 1)
		return frag_fail(err, FRAG_EUSAGE, "--write-profile is for one GPU, and %s has %u "
				 "devices", r->path, devices);
	for (uint32_t i = 0; i < devices && !r->ordinal_count; i++)
		r->ordinals[i] = i;
	rc = frag_gpu_open(r->gpus, r->ordinals, devices, r->limit, true, err);
	if (rc)
		return rc;
	r->gpu_count = devices;
	r->session.gpu = *frag_gpu_look(r->gpus[0]);
	return 0;
}

/* Of several times the same only the first one is probed. */
static int open_turn(struct replay *r, struct replay_turn *turn, uint32_t i, bool first,
		     struct frag_error *err)
{
	struct frag_run_options run = r->run;
	struct frag_taped_reading silent = { .quiet = true };
	struct frag_taped_reading *reading = turn == r->turn ? &r->session.reading : &silent;
	const struct frag_replay_options options = {
		.on_oom_continue = r->run.sim.on_oom_continue,
		.check = r->run.sim.check,
		.on_oom = &frag_oom_explain,
		.verify = r->verify,
		.pace = r->pace,
		.limit = r->limit,
		.read = { frag_interrupted, frag_taped_show, &r->session.reading },
		.probe_marks = r->probe_marks && first,
		.probe_every = first ? r->probe_every : 0,
	};
	int rc;

	if (run.choice_count) {
		run.choice_count = 1;
		run.choices += i;
		if (run.follows_release)
			run.settings.at += i;
	}
	/* the capacity is the GPU's */
	rc = frag_taped_open(&turn->traced, r->path, &run, frag_usual_policy, reading, err);
	if (!rc && !r->gpu_count)
		rc = open_gpus(r, turn->traced.trace, err);
	return rc ? rc : frag_replay_new(&turn->replay, &turn->sim, turn->traced.choices,
					 turn->traced.trace, r->gpus, &options, err);
}

static void close_turn(struct replay_turn *turn)
{
	frag_replay_del(turn->replay);
	frag_taped_close(&turn->traced, 1);
	turn->replay = NULL;
}

/* Opens the GPUs, the trace for each policy, and the session's files. */
static int turns_open(struct replay *r, struct frag_error *err)
{
	/* without a policy option, the trace specifies the policy */
	const uint32_t count = r->run.choice_count ? r->run.choice_count : 1;
	int rc = 0;

	r->turn = calloc(count, sizeof(*r->turn));
	if (!r->turn)
		return frag_fail_nomem(err);
	while (r->count < count && !rc) {
		struct replay_turn *turn = &r->turn[r->count];

		rc = open_turn(r, turn, r->count++, true, err);
		rc = rc ? rc : frag_session_add(&r->session, turn->sim, turn->traced.choices, count,
						r->gpu_count, err);
	}
	return rc;
}

/* The further times: only their costs count. */
static int repeat(struct replay *r, uint32_t i, struct frag_error *err)
{
	int rc = 0;

	for (uint64_t n = 1; n < r->repeat && !rc; n++) {
		struct replay_turn again = { .replay = NULL };

		rc = open_turn(r, &again, i, false, err);
		rc = rc ? rc : frag_replay_run(again.replay, err);
		rc = rc ? rc : frag_replay_join(r->turn[i].replay, again.replay, err);
		close_turn(&again);
	}
	return rc;
}

/* Replays them. -FRAG_EINTERRUPTED: what is there is good. */
static int turns_run(struct replay *r, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->count && !rc; i++) {
		rc = frag_replay_run(r->turn[i].replay, err);
		if (rc && rc != -FRAG_EINTERRUPTED)
			return rc;
		frag_replay_retire(r->turn[i].replay, rc != 0);
		rc = rc ? rc : repeat(r, i, err);
	}
	return rc;
}

/*
 * Releases all memory of the GPUs after a replay that returned rc. On 0 and -FRAG_EINTERRUPTED
 * the results remain, if turn[0] has a replay.
 */
static int turns_end(struct replay *r, int rc, struct frag_error *err)
{
	const bool good = !rc || rc == -FRAG_EINTERRUPTED;
	struct frag_error late = { .code = 0 };
	int closed;

	/* what has not had its turn was interrupted before its first step */
	for (uint32_t i = 0; i < r->count; i++)
		if (r->turn[i].replay && good)
			frag_replay_retire(r->turn[i].replay, true);
		else
			close_turn(&r->turn[i]);
	closed = frag_gpu_close(r->gpus, r->gpu_count, &late);
	r->gpu_count = 0;
	return closed && good ? frag_fail(err, FRAG_EDEVICE, "%s", late.message) : rc;
}

/*
 * What cannot work is refused before a GPU is opened. After an interruption there
 * are results only if a simulation had begun.
 */
static int replay(struct replay *r, int *status, struct frag_error *err)
{
	struct frag_run_options *o = &r->run;
	struct frag_session *s = &r->session;
	int rc, done;

	for (uint32_t i = 0; i < o->choice_count; i++)
		if (o->choices[i].ops->moves)
			return frag_fail(err, FRAG_EUSAGE, "policy %s moves live blocks, which"
					 " replay does not: a GPU would have to copy what the"
					 " program has there; fragsim run simulates it",
					 o->choices[i].ops->name);
	if (strcmp(r->path, "-") == 0 && (o->choice_count > 1 || r->repeat > 1))
		return frag_fail(err, FRAG_EUSAGE, "standard input can be read once only: one "
				 "policy, once, or a file");
	rc = frag_session_begin(s, o, err);
	rc = rc ? rc : turns_open(r, err);
	if (!rc) {
		frag_progress_begin(&s->reading.progress, !o->quiet);
		rc = turns_run(r, err);
		frag_progress_end(&s->reading.progress);
	}
	rc = turns_end(r, rc, err);
	if (rc && (rc != -FRAG_EINTERRUPTED || !s->sim_count))
		return rc;
	done = frag_session_report(s, r->turn[0].traced.trace, status, err);
	return done ? done : rc;
}

static int replay_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct replay *r = own;
	const int rc = frag_run_options_check(&r->run, args->cmd, err);

	r->path = args->words[0];
	return rc ? rc : replay(r, args->status, err);
}

/* In the order in which one thing uses another. */
static void replay_fini(void *own)
{
	struct replay *r = own;

	frag_session_fini(&r->session);
	for (uint32_t i = 0; i < r->count; i++)
		close_turn(&r->turn[i]);
	free(r->turn);
}

const struct frag_cmd frag_cmd_replay = {
	.name = "replay",
	.group = FRAG_GROUP_OTHER,
	.args = "[options] TRACE",
	.summary = "run a trace under one or more policies on real GPUs",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_RUN,
	.size = sizeof(struct replay),
	.exec = replay_exec,
	.fini = replay_fini,
};
