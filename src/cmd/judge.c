/* judge.c - the exit status that finished runs ask for. */
#include "cmd/judge.h"

#include <stdio.h>

static int judge_run(const struct frag_run_options *o, const struct frag_result *result,
		     int *status, struct frag_error *err)
{
	struct frag_finding found;
	char who[600];

	snprintf(who, sizeof(who), "%s on device %u", result->choice.text, result->device);
	for (uint32_t k = 0; k < o->condition_count; k++) {
		int rc = frag_condition_holds(&o->conditions[k], result, NULL, who, &found, err);

		if (rc < 0)
			return rc;
		if (rc)
			frag_print_message("%s, device %u: %s", result->choice.text, result->device,
					   found.line);
		*status = rc ? 1 : *status;
	}
	return 0;
}

int frag_judge_runs(const struct frag_run_options *options, const struct frag_report_run *runs,
		    uint32_t count, int *status, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		if (runs[i].result->counts.ooms)
			*status = 3;
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = judge_run(options, runs[i].result, status, err);
	return rc;
}
