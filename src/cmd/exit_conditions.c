/* exit_conditions.c - the exit status that finished runs ask for. */
#include "cmd/exit_conditions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array_grow.h"

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

int frag_exit_status_of_runs(const struct frag_run_options *options,
			     const struct frag_report_run *runs, uint32_t count, int *status,
			     struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		if (runs[i].result->counts.ooms)
			*status = 3;
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = judge_run(options, runs[i].result, status, err);
	return rc;
}

int frag_conditions_add(struct frag_conditions *w, const char *text,
			const char *const *paths, struct frag_error *err)
{
	if (!frag_grow(&w->of, &w->capacity, (uint64_t)w->count + 1, sizeof(*w->of)))
		return frag_fail_nomem(err);
	return frag_condition_among(&w->of[w->count++], text, paths, err);
}

int frag_conditions_set(void *at, const struct frag_opt *o, const char *value,
			struct frag_error *err)
{
	return frag_conditions_add(at, value, o->words, err);
}

void frag_conditions_fini(struct frag_conditions *w)
{
	free(w->of);
	*w = (struct frag_conditions){ .count = 0 };
}

void frag_conditions_judge(const struct frag_conditions *w, frag_value_at *value,
			   const void *ctx, const char *who, int *status)
{
	struct frag_finding found;

	for (uint32_t i = 0; i < w->count; i++) {
		if (!frag_condition_true(&w->of[i], value(ctx, w->of[i].path), &found))
			continue;
		frag_print_message("%s: %s", who, found.line);
		*status = 1;
	}
}
