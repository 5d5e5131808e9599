/* run_options.c - the options of fragsim run, and what others have of them. */
#include "cmd/run_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "cmd/loaded_trace.h"
#include "cmd/frame.h"
#include "cmd/progress.h"
#include "policy/param.h"
#include "replay/gpu_and_sim.h"

#define POOL "cuda-async"
#define ONLY_IN_REPLAY "is the GPU driver's own pool, which nothing simulates: it exists only in " \
	"fragsim replay --allocator " POOL

const struct frag_misplaced_option frag_run_foreign[] = {
	{ "allocator", "what it names " ONLY_IN_REPLAY },
	{ NULL, NULL },
};

static bool is_pool(const char *text)
{
	const size_t length = strlen(POOL);

	return strncmp(text, POOL, length) == 0 && (!text[length] || text[length] == ':');
}

int frag_run_add_policy(void *at, const struct frag_opt *o, const char *text,
			struct frag_error *err)
{
	const bool pool = o && strcmp(o->name, "allocator") == 0;
	struct frag_run_options *run = at;
	struct frag_choice *choice;

	if (!pool && is_pool(text))
		return frag_fail(err, FRAG_EUSAGE, "--policy %.60s: that " ONLY_IN_REPLAY, text);
	if (pool && !is_pool(text))
		return frag_fail(err, FRAG_EUSAGE, "--allocator %.60s: there is only " POOL ", the "
				 "driver's own pool; policies are for --policy", text);
	if (!FRAG_GROW(run->choices, run->choice_capacity, run->choice_count))
		return frag_fail_nomem(err);
	choice = &run->choices[run->choice_count++];
	return pool ? frag_choice_of(choice, &frag_replay_pool, text, err)
		    : frag_choice_parse(choice, text, err);
}

int frag_run_add_condition(void *at, const struct frag_opt *o, const char *text,
			   struct frag_error *err)
{
	struct frag_run_options *run = at;
	uint32_t count;
	int rc;

	(void)o;
	if (!frag_grow(&run->conditions, &run->condition_capacity,
		       (uint64_t)run->condition_count + FRAG_CONDITIONS_MAX,
		       sizeof(*run->conditions)))
		return frag_fail_nomem(err);
	rc = frag_condition_parse(run->conditions + run->condition_count, &count, text, err);
	if (!rc && !run->has_base)
		rc = frag_condition_absolute(run->conditions + run->condition_count, err);
	if (!rc)
		run->condition_count += count;
	return rc;
}

const char *const frag_on_oom_words[] = { "stop", "continue", NULL };
const char *const frag_stacks_words[] = {
	[FRAG_STACKS_TOP] = "top", [FRAG_STACKS_ALL] = "all", [FRAG_STACKS_NONE] = "none",
	[FRAG_STACKS_PYTHON] = "python", NULL,
};
const char *const frag_result_formats[] = { "text", "json", NULL };
const char *const frag_page_formats[] = { "text", "json", "html", NULL };
static const char *const summary_words[] = { "pytorch", NULL };

int frag_run_set_columns(void *at, const struct frag_opt *o, const char *value,
			 struct frag_error *err)
{
	struct frag_run_options *run = at;

	(void)o;
	run->has_columns = true;
	return frag_columns_parse(&run->columns, value, err);
}

int frag_run_set_format(void *at, const struct frag_opt *o, const char *value,
			struct frag_error *err)
{
	struct frag_run_options *run = at;
	int format = 0, rc = frag_option_word(&format, o->name, value, o->words, err);

	if (!rc && strcmp(value, "json") == 0)
		run->json = "-";
	if (!rc && strcmp(value, "html") == 0)
		run->html = "-";
	return rc;
}

const struct frag_opt frag_run_opts[] = {
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...]; repeatable (by the trace)"),
	FRAG_RESULT_ROWS("write the answer to a file, .json or .html; repeatable", 0),
	FRAG_STEPS_ROWS,
	{ 0, "svg", "FILE", "write the timelines of the page, as one picture", FRAG_RUN_OUTPUT(svg) },
	{ 0, "summary", "WHAT", "pytorch: add the table of torch.cuda.memory_summary()",
	  FRAG_TRUTH(struct frag_run_options, summary, summary_words, 0) },
	FRAG_STACKS_ROW("stacks with -v: python, the program's own; all; top, just the tag;"
			   " none (python)"),
	FRAG_COLOR_ROW,
	{ 'v', "verbose", NULL, "with all metrics, charts and marks", FRAG_RUN_FLAG(verbose) },
	FRAG_QUIET_ROW("no report, warnings or progress"),
	FRAG_ON_OOM_ROW,
	FRAG_LENIENT_ROW,
	{ 0, "fail-if", "CONDITION",
	  "exit with 1 if it is true: 'peak.reserved > 4GiB'; repeatable",
	  FRAG_CALL(frag_run_add_condition) },
	FRAG_PARTIAL_ROW,
	FRAG_PROFILE_ROW,
	FRAG_DEVICE_ROWS,
	{ 0, "host", NULL, "simulate a snapshot's pinned host memory too, as a separate device",
	  FRAG_RUN_FLAG(host) },
	FRAG_THREADS_ROW("threads that read and simulate (0: one a processor)"),
	{ 0, "check", NULL, "recompute all metrics and invariants after each event (slow)",
	  FRAG_RUN_FLAG(sim.check) },
	{ 0 },
};

/* The keys that a choice was given which are no settings: ":version=2.8", say; or "". */
static const char *fixed_keys(const struct frag_choice *choice)
{
	const char *keys = choice->text + strcspn(choice->text, ":");
	const size_t name = *keys ? strcspn(keys + 1, "=,") : 0;

	for (uint32_t i = 0; i < frag_param_count(choice->ops); i++)
		if (choice->ops->params[i].no_setting && !strchr(keys, ',')
		    && frag_is_word(keys + 1, name, choice->ops->params[i].name))
			return keys;
	return "";
}

/* The choice under one of the settings. */
static int set_one(struct frag_choice *choice, const char *settings, bool keys,
		   struct frag_error *err)
{
	const char *fixed = fixed_keys(choice);
	char label[sizeof(choice->label)];
	int rc = frag_choice_settings(choice, settings, err);

	snprintf(label, sizeof(label), "%.100s%s%s", *fixed ? fixed + 1 : "", *fixed ? "," : "",
		 *settings ? settings : "default");
	rc = rc || !keys ? rc : frag_choice_expand_settings(choice, err);
	memcpy(choice->label, label, sizeof(label));
	return rc;
}

/* --alloc-conf is one way to give settings, keys are the other. */
static int count_readers(const struct frag_run_options *run, uint32_t *readers,
			 struct frag_error *err)
{
	*readers = 0;
	for (uint32_t i = 0; i < run->choice_count; i++) {
		const struct frag_choice *choice = &run->choices[i];

		if (choice->ops->settings && strchr(choice->text, ':') && !*fixed_keys(choice))
			return frag_fail(err, FRAG_EUSAGE, "policy %.100s: --alloc-conf and keys at"
					 " once; give all settings in one way", choice->text);
		*readers += choice->ops->settings != NULL;
	}
	return *readers ? 0 : frag_fail(err, FRAG_EUSAGE, "--alloc-conf is for policy pytorch,"
					" which is not among the policies: -p pytorch adds it");
}

/* Moves the choices, the last one first, to the end of their runs: no move overwrites a choice. */
int frag_run_settings(struct frag_run_options *run, bool keys, struct frag_error *err)
{
	const uint32_t n = run->settings.count;
	uint32_t readers, to;
	int rc;

	if (!n)
		return 0;
	run->follows_release = !run->choice_count;
	rc = run->follows_release ? frag_run_add_policy(run, NULL, "pytorch", err) : 0;
	rc = rc ? rc : count_readers(run, &readers, err);
	if (rc)
		return rc;
	to = run->choice_count + readers * (n - 1);
	if (!frag_grow(&run->choices, &run->choice_capacity, to, sizeof(*run->choices)))
		return frag_fail_nomem(err);
	memset(run->choices + run->choice_count, 0,
	       (to - run->choice_count) * sizeof(*run->choices));
	for (uint32_t i = run->choice_count; i-- > 0 && !rc;) {
		const struct frag_choice plain = run->choices[i];
		const uint32_t runs = plain.ops->settings ? n : 1;

		run->choices[i] = (struct frag_choice){ .ops = NULL };
		for (uint32_t k = runs; k-- > 0 && !rc;) {
			run->choices[--to] = plain;
			if (plain.ops->settings)
				rc = set_one(&run->choices[to], run->settings.at[k], keys || n > 1,
					     err);
		}
	}
	run->choice_count += readers * (n - 1);
	return rc;
}

int frag_run_read_profile(struct frag_run_options *run, struct frag_error *err)
{
	int rc;

	if (!run->profile_path || run->sim.model)
		return 0;
	rc = frag_profile_read(&run->profile, run->profile_path, err);
	run->sim.model = &run->profile.model;
	return rc;
}

uint64_t frag_run_card_context(const struct frag_run_options *run)
{
	return run->context == UINT64_MAX ? run->capacity.context : 0;
}

int frag_run_options_check(struct frag_run_options *run, const struct frag_cmd *cmd,
			   struct frag_error *err)
{
	bool standard = false;
	const char *const paths[] = {
		run->steps, run->placements, run->json, run->html, run->svg,
		run->write_profile,
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		standard = standard || (paths[i] && strcmp(paths[i], "-") == 0);
	if (run->has_columns && !run->steps)
		return frag_usage(cmd, "--columns chooses the columns of the file of --steps, which"
				  " is not there", err);
	if (!run->has_columns)
		frag_columns_parse(&run->columns, NULL, err);
	run->report = !standard && !run->quiet;
	return frag_run_settings(run, false, err);
}

int frag_run_grid(struct frag_run_options *run, const char *name, struct frag_error *err)
{
	struct frag_choice *given = run->choices;
	const uint32_t count = run->choice_count;
	int rc;

	run->choices = NULL;
	run->choice_count = run->choice_capacity = 0;
	rc = frag_grid_choices(&run->choices, &run->choice_count, &run->choice_capacity, name,
			       &run->grid_is_file, err);
	if (!rc && !frag_grow(&run->choices, &run->choice_capacity,
			      (uint64_t)run->choice_count + count, sizeof(*run->choices)))
		rc = frag_fail_nomem(err);
	run->grid_count = run->choice_count;
	for (uint32_t i = 0; i < count; i++) {
		if (rc)
			frag_choice_fini(&given[i]);
		else
			run->choices[run->choice_count++] = given[i];
	}
	free(given);
	return rc;
}
