/* smallest.c - the smallest device on which a policy survives a trace, from one reading of it. */
#include <inttypes.h>
#include <stdio.h>

#include <fragsim/engine.h>

/* One run that stops where memory runs out, the same with any total below *end_capacity. */
static int survives(const struct frag_choice *choice, const struct frag_tape *tape,
		    uint64_t total, bool *yes, uint64_t *end_capacity, struct frag_error *err)
{
	const struct frag_device_figures device = {
		.total = total, .granularity = FRAG_GRANULARITY,
	};
	const struct frag_sim_options options = {
		.devices = &device, .level = FRAG_LEVEL_SURVIVE,
	};
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	struct frag_sim *sim = NULL;
	uint32_t count;
	int rc = reader ? frag_sim_on_tape(&sim, choice, tape, &options, err)
			: frag_fail_nomem(err);

	rc = rc ? rc : frag_sim_play(sim, reader, UINT64_MAX, err);
	if (!rc) {
		const struct frag_result *result = frag_sim_results(sim, false, &count);

		*yes = result->status == FRAG_RUN_OK;
		*end_capacity = result->end_capacity;
	}
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

int main(int argc, char **argv)
{
	const char *const path = argc > 1 ? argv[1] : "-";
	const char *const policy = argc > 2 ? argv[2] : "bestfit";
	struct frag_trace *trace = NULL;
	struct frag_tape *tape = NULL;
	struct frag_choice choice;
	struct frag_error err;
	uint64_t total = FRAG_GRANULARITY, end_capacity = 0;
	bool yes = false;
	int runs = 0, rc = frag_choice_parse(&choice, policy, &err);

	rc = rc ? rc : frag_trace_open(&trace, path, NULL, &err);
	rc = rc ? rc : frag_tape_new(&tape, trace, NULL, &err);
	/* a larger device may fail where a smaller one survives: upwards, and none left out */
	for (; !rc && !yes; runs++) {
		if (runs)
			total = (end_capacity + FRAG_GRANULARITY - 1) / FRAG_GRANULARITY
				* FRAG_GRANULARITY;
		rc = survives(&choice, tape, total, &yes, &end_capacity, &err);
	}
	if (!rc)
		printf("%s survives on %" PRIu64 " bytes (%d runs)\n", policy, total, runs);
	else
		fprintf(stderr, "smallest: %s\n", err.message);
	frag_tape_del(tape);
	frag_trace_close(trace);
	return frag_error_status(rc);
}
