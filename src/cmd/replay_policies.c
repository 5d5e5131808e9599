/* replay_policies.c - the policies of a replay, one after the other on the same GPUs. */
#include "cmd/replay_policies.h"

#include <stdlib.h>

#include "cmd/interrupt.h"
#include "cmd/default_policy.h"
#include "cmd/gpu_probe_process.h"

/* The first reading of the trace says how many GPUs there must be. */
static int open_gpus(struct frag_replay_policies *t, struct frag_trace *trace, struct frag_error *err)
{
	struct frag_replay_args *args = t->args;
	uint32_t devices = frag_trace_info(trace)->device_count;
	struct frag_gpu_probe_process witness;
	struct frag_gpu_witness look;
	int rc;

	if (devices > FRAG_REPLAY_GPUS)
		return frag_fail(err, FRAG_EDEVICE, "%s has %u devices: replay drives %d at most",
				 t->path, devices, FRAG_REPLAY_GPUS);
	if (args->gpu_count && args->gpu_count != devices)
		return frag_fail(err, FRAG_EUSAGE, "--device is given %u times, and %s has %u "
				 "device%s", args->gpu_count, t->path, devices,
				 devices == 1 ? "" : "s");
	if (args->run.write_profile && devices > 1)
		return frag_fail(err, FRAG_EUSAGE, "--write-profile is for one GPU, and %s has %u "
				 "devices", t->path, devices);
	for (uint32_t i = 0; i < devices && !args->gpu_count; i++)
		args->gpus[i] = i;
	frag_witness_begin(&witness, &look);
	rc = frag_gpu_open(t->gpus, args->gpus, devices, args->limit, &look, err);
	frag_witness_end(&witness);
	if (rc)
		return rc;
	t->gpu_count = devices;
	t->device_count = devices;
	t->session->gpu = *frag_gpu_look(t->gpus[0]);
	return frag_session_room(t->session, devices, err);
}

/* Of several times the same only the first one is probed. */
static int open_turn(struct frag_replay_policies *t, struct frag_turn *turn,
		     uint32_t i, bool first, struct frag_error *err)
{
	struct frag_replay_args *args = t->args;
	const bool given = i < args->run.choice_count;
	const struct frag_trace_options reading = {
		.lenient = args->run.lenient,
		.sized = true,  /* by the GPU */
		.log = {
			.warn = turn == t->turn ? frag_session_warn : NULL, .ctx = t->session,
		},
		.configured = frag_configured_next, .configured_ctx = &turn->configured,
	};
	const struct frag_replay_options options = {
		.on_oom_continue = args->run.sim.on_oom_continue, .check = args->run.sim.check,
		.on_oom = &frag_oom_explain,
		.verify = args->verify, .pace = args->pace, .limit = args->limit, .stop = frag_interrupted,
		.probe_marks = args->probe_marks && first,
		.probe_every = first ? args->probe_every : 0,
		.progress = frag_session_progress, .ctx = t->session,
	};
	int rc;

	if (!frag_configured_init(&turn->configured, given ? &args->run.choices[i] : NULL, given))
		return frag_fail_nomem(err);
	rc = frag_trace_open(&turn->trace, t->path, &reading, err);
	rc = frag_or_interrupted(rc, err);
	rc = rc ? rc : frag_run_default(&args->run, turn->trace, &turn->configured, &reading.log,
					err);
	if (!rc && !t->gpu_count)
		rc = open_gpus(t, turn->trace, err);
	return rc ? rc : frag_replay_new(&turn->replay, &args->run.choices[i], turn->trace,
					 t->gpus, &options, err);
}

static void close_turn(struct frag_turn *turn)
{
	frag_replay_del(turn->replay);
	frag_trace_close(turn->trace);
	frag_configured_fini(&turn->configured);
	*turn = (struct frag_turn){ .trace = NULL };
}

int frag_turns_open(struct frag_replay_policies *t, struct frag_error *err)
{
	/* where none is given, the trace says which it is */
	const uint32_t count = t->args->run.choice_count ? t->args->run.choice_count : 1;
	int rc = 0;

	t->turn = calloc(count, sizeof(*t->turn));
	if (!t->turn)
		return frag_fail_nomem(err);
	while (t->count < count && !rc) {
		struct frag_turn *turn = &t->turn[t->count];

		rc = open_turn(t, turn, t->count++, true, err);
		rc = rc ? rc : frag_session_add(t->session, frag_replay_sim(turn->replay), err);
	}
	return rc ? rc : frag_session_open(t->session, err);
}

/* The further times: only their costs count. */
static int repeat(struct frag_replay_policies *t, uint32_t i, struct frag_error *err)
{
	int rc = 0;

	for (uint64_t n = 1; n < t->args->repeat && !rc; n++) {
		struct frag_turn again = { .trace = NULL };

		rc = open_turn(t, &again, i, false, err);
		rc = rc ? rc : frag_replay_run(again.replay, err);
		if (!rc) {
			frag_replay_retire(again.replay, false);
			rc = frag_replay_join(t->turn[i].replay, again.replay, err);
		}
		close_turn(&again);
	}
	return rc;
}

int frag_turns_run(struct frag_replay_policies *t, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->count && !rc; i++) {
		rc = frag_replay_run(t->turn[i].replay, err);
		if (rc && rc != -FRAG_EINTERRUPTED)
			return rc;
		frag_replay_retire(t->turn[i].replay, rc != 0);
		rc = rc ? rc : repeat(t, i, err);
	}
	return rc;
}

int frag_turns_end(struct frag_replay_policies *t, int rc, struct frag_error *err)
{
	const bool good = !rc || rc == -FRAG_EINTERRUPTED;
	struct frag_error late = { .code = 0 };
	int closed;

	/* what has not had its turn was interrupted before its first step */
	for (uint32_t i = 0; i < t->count; i++)
		if (t->turn[i].replay && good)
			frag_replay_retire(t->turn[i].replay, true);
		else
			close_turn(&t->turn[i]);
	closed = frag_gpu_close(t->gpus, t->gpu_count, &late);
	t->gpu_count = 0;
	return closed && good ? frag_fail(err, FRAG_EDEVICE, "%s", late.message) : rc;
}

void frag_turns_fini(struct frag_replay_policies *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		close_turn(&t->turn[i]);
	free(t->turn);
}
