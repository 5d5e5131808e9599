/* replay_options.c - the options of fragsim replay. */
#include "cmd/replay_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/c_locale.h"

#define REPEATS_MAX 1000000

enum {
	OPT_DEVICE = FRAG_OPT_FIRST_OWN, OPT_LIMIT, OPT_PACE, OPT_REPEAT, OPT_VERIFY,
	OPT_WRITE_PROFILE, OPT_PROBE, OPT_ALLOCATOR,
};

const struct frag_opt frag_replay_opts[] = {
	{ 'd', "device", "N", "GPU for the trace's next device; repeatable (0, 1, ...)",
	  OPT_DEVICE },
	{ 'p', "policy", "NAME",
	  "placement policy, NAME[:key=value,...]; repeatable (by the trace)", FRAG_OPT_POLICY },
	{ 0, "allocator", "NAME", "cuda-async[:key=value,...], the driver's own pool; repeatable",
	  OPT_ALLOCATOR },
	FRAG_ALLOC_CONF_ROW(0),
	{ 0, "limit", "SIZE", "most memory to take of each GPU (90 % of what is free)", OPT_LIMIT },
	{ 0, "pace", "FACTOR", "follow the trace's times, FACTOR times as fast", OPT_PACE },
	{ 0, "repeat", "N", "replay N times, for the costs (1)", OPT_REPEAT },
	{ 0, "verify", NULL, "fill each block with a pattern, and look whether it stays",
	  OPT_VERIFY },
	{ 0, "probe", "WHEN", "find the largest cudaMalloc there is: at marks, or every N steps",
	  OPT_PROBE },
	{ 'o', "steps", "FILE", "write a row of metrics a step, CSV or .ndjson", FRAG_OPT_STEPS },
	FRAG_COLUMNS_ROW(0),
	{ 0, "placements", "FILE", "write where every block went, NDJSON", FRAG_OPT_PLACEMENTS },
	{ 0, "json", "FILE", "write the result object (- is standard output)", FRAG_OPT_JSON },
	{ 0, "write-profile", "FILE", "write what was learned of the GPU, for run --profile",
	  OPT_WRITE_PROFILE },
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'v', "verbose", NULL, "with every figure, charts and marks", FRAG_OPT_VERBOSE },
	{ 'q', "quiet", NULL, "no report, warnings or progress", FRAG_OPT_QUIET },
	FRAG_ON_OOM_ROW(0),
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),
	{ 0, "fail-if", "CONDITION",
	  "exit with 1 if it is true: 'prediction.error_percent > 1'; repeatable",
	  FRAG_OPT_FAIL_IF },
	{ 0, "check", NULL, "recompute all metrics and invariants after each step (slow)",
	  FRAG_OPT_CHECK },
	{ 0 },
};

void frag_replay_args_init(struct frag_replay_args *args)
{
	*args = (struct frag_replay_args){ .limit = UINT64_MAX, .repeat = 1 };
	frag_run_options_init(&args->run);
}

void frag_replay_args_fini(struct frag_replay_args *args)
{
	frag_run_options_fini(&args->run);
}

static int add_gpu(struct frag_replay_args *args, const char *value, struct frag_error *err)
{
	uint64_t n;
	int rc = frag_option_count(&n, "device", value, 0, FRAG_REPLAY_GPUS - 1, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < args->gpu_count; i++)
		if (args->gpus[i] == n)
			return frag_fail(err, FRAG_EUSAGE, "--device %.60s: given twice", value);
	args->gpus[args->gpu_count++] = (uint32_t)n;
	return 0;
}

static int set_pace(struct frag_replay_args *args, const char *value, struct frag_error *err)
{
	char *end;

	args->pace = frag_strtod(value, &end);
	if (*value && !*end && args->pace > 0 && isfinite(args->pace))
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--pace %.60s: a factor above 0 is required; 1 is the "
			 "trace's own time, 10 ten times as fast", value);
}

static int set_probe(struct frag_replay_args *args, const char *value, struct frag_error *err)
{
	args->probe_marks = strcmp(value, "marks") == 0;
	args->probe_every = 0;
	if (args->probe_marks || (frag_parse_count(value, strlen(value), &args->probe_every)
				  && args->probe_every))
		return 0;
	return frag_fail(err, FRAG_EUSAGE,
			 "--probe %.60s: marks, or a number of steps from 1 on, is "
			 "required", value);
}

int frag_replay_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct frag_replay_args *args = ctx;

	switch (id) {
	case OPT_DEVICE:
		return add_gpu(args, value, err);
	case OPT_LIMIT:
		return frag_option_size(&args->limit, "limit", value, 0, err);
	case OPT_PACE:
		return set_pace(args, value, err);
	case OPT_REPEAT:
		return frag_option_count(&args->repeat, "repeat", value, 1, REPEATS_MAX, err);
	case OPT_VERIFY:
		args->verify = true;
		return 0;
	case OPT_ALLOCATOR:
		args->pool = true;
		return frag_run_add_allocator(&args->run, value, err);
	case OPT_PROBE:
		return set_probe(args, value, err);
	case OPT_WRITE_PROFILE:
		args->run.write_profile = value;
		return 0;
	default:
		return frag_run_set_option(&args->run, id, value, err);
	}
}
