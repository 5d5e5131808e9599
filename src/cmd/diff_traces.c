/* diff_traces.c - fragsim diff OLD NEW: why one recording reserves more than another. */
#include "cmd/diff_traces.h"

#include <stdio.h>
#include <string.h>

#include "answers/answers.h"
#include "cmd/default_policy.h"
#include "cmd/interrupt.h"
#include "cmd/loaded_trace.h"
#include "cmd/pytorch_version.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"
#include "search/trace_change.h"

const char *const frag_trace_change_paths[] = {
	"change.reserved", "change.requested", "change.rounding", "change.fragmentation", NULL,
};

bool frag_trace_change_is_wanted(const char *old, const char *now)
{
	return strcmp(old, "-") != 0 && strcmp(now, "-") != 0 && !frag_file_has_runs(old)
	       && !frag_file_has_runs(now);
}

/* A `usual`: PyTorch's allocator as it was recorded. */
static int as_recorded(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		       const struct frag_trace *trace, const struct frag_log *log,
		       struct frag_error *err)
{
	*count = 1;
	return frag_choose_pytorch(&choices[0], trace, NULL, log, err);
}

/* The settings of a choice that another version knows; the others are named in a warning. */
static int keep_known_settings(struct frag_choice *out, const struct frag_choice *from,
			       uint64_t version, bool quiet, struct frag_error *err)
{
	char text[FRAG_CONF_ROOM], *rest = text;
	int rc = frag_choose_version(out, (uint32_t)version, err);

	frag_conf_text(from, text, sizeof(text));
	while (!rc && *rest) {
		int depth = 0;
		char *end = rest, warning[300];
		struct frag_choice more = *out;
		struct frag_error unknown;
		bool last;

		for (; *end && (*end != ',' || depth); end++)
			depth += (*end == '[') - (*end == ']');
		last = !*end;
		*end = '\0';
		if (frag_choice_settings(&more, rest, &unknown) == 0) {
			*out = more;
		} else if (!quiet) {
			snprintf(warning, sizeof(warning), "OLD's setting %.100s is omitted: PyTorch"
				 " 2.%u does not know it", rest, (unsigned)version);
			frag_warn(&quiet, warning);
		}
		rest = last ? end : end + 1;
	}
	return rc;
}

static bool same_params(const struct frag_choice *a, const struct frag_choice *b)
{
	return memcmp(a->param, b->param, sizeof(a->param)) == 0;
}

/* OLD under NEW's version, and under its settings too; only where that is another run. */
static int cross(struct frag_change_found *c, struct frag_choice crossed[2], bool quiet,
		 struct frag_error *err)
{
	const struct frag_choice *old = c->old.choice, *now = c->now.choice;
	int rc = 0;

	if (old->ops != &frag_policy_pytorch || now->ops != &frag_policy_pytorch
	    || same_params(old, now))
		return 0;
	crossed[0] = *old;
	if (old->param[VERSION] != now->param[VERSION]) {
		rc = keep_known_settings(&crossed[0], old, now->param[VERSION], quiet, err);
		c->as_version = &crossed[0];
	}
	crossed[1] = *now;
	if (!same_params(&crossed[0], now))
		c->as_both = &crossed[1];
	return rc;
}

static double change_value_at(const void *ctx, const char *path)
{
	const struct frag_change_found *c = ctx;

	path = strchr(path, '.') + 1;
	for (uint32_t i = 0; i < FRAG_PARTS; i++)
		if (strcmp(path, frag_change_part_names[i]) == 0)
			return (double)c->parts[i];
	return (double)c->reserved;
}

int frag_trace_change_run(struct frag_trace_change *t, const struct frag_cmd *cmd, int *status,
			  struct frag_error *err)
{
	struct frag_loaded_trace taped[2] = { { .trace = NULL } };
	struct frag_change_found change = { .stop = frag_interrupted };
	struct frag_change_side *sides[2] = { &change.old, &change.now };
	struct frag_run_options run = *t->run;
	struct frag_choice crossed[2];
	int rc = frag_printed_apart(&t->printed, cmd, t->paths, 2, "the trace", err);

	/* tags are what is compared */
	run.html = run.html ? run.html : "";
	rc = rc ? rc : frag_printed_open(&t->printed, err);
	rc = rc ? rc : frag_taped_read(taped, t->paths, 2, &run, as_recorded, err);
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		sides[i]->trace = frag_trace_info(taped[i].trace);
		sides[i]->tape = taped[i].tape;
		sides[i]->choice = &taped[i].choices[0];
		sides[i]->devices = taped[i].devices.figures;
	}
	rc = rc ? rc : cross(&change, crossed, run.quiet, err);
	rc = rc ? rc : frag_change_find(&change, err);
	rc = rc ? rc : frag_printed_write(&t->printed, &change, err);
	if (!rc)
		frag_conditions_judge(&t->conditions, change_value_at, &change, t->paths[1], status);
	frag_change_fini(&change);
	frag_taped_close(taped, 2);
	return rc;
}

void frag_trace_change_fini(struct frag_trace_change *t)
{
	frag_printed_fini(&t->printed);
	frag_conditions_fini(&t->conditions);
}
