/* peaks.c - a trace under two policies, and the most that each reserved. */
#include <inttypes.h>
#include <stdio.h>

#include <fragsim/engine.h>

int main(int argc, char **argv)
{
	const char *const policies[2] = { "bestfit", "pytorch:expandable_segments=True" };
	struct frag_sim *sims[2] = { NULL, NULL };
	struct frag_trace *trace = NULL;
	struct frag_choice choice;
	struct frag_error err;
	uint32_t devices;
	int rc = frag_trace_open(&trace, argc > 1 ? argv[1] : "-", NULL, &err);

	for (int i = 0; i < 2 && !rc; i++) {
		rc = frag_choice_parse(&choice, policies[i], &err);
		if (!rc)
			rc = frag_sim_new(&sims[i], &choice, trace, NULL, &err);
	}
	if (!rc)
		rc = frag_workers_run(sims, 2, trace, NULL, &err);
	for (int i = 0; i < 2 && !rc; i++)
		printf("%s reserved %" PRIu64 " bytes\n", policies[i],
		       frag_sim_results(sims[i], false, &devices)[0].peak.reserved);
	if (rc)
		fprintf(stderr, "peaks: %s\n", err.message);
	frag_sim_del(sims[0]);
	frag_sim_del(sims[1]);
	frag_trace_close(trace);
	return frag_error_status(rc);
}
