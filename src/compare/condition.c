/*
 * condition.c - what is bad: the conditions of --fail-if (fragsim-run(1), Conditions), and what
 * broke of a comparison that is held to them.
 */
#include "compare/condition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "metrics/metric.h"

/* The longer of two that begin alike comes first. */
static const struct {
	const char *text;
	enum frag_relation relation;
} relations[] = {
	{ ">=", FRAG_GE }, { "<=", FRAG_LE }, { "==", FRAG_EQ }, { "!=", FRAG_NE },
	{ ">", FRAG_GT }, { "<", FRAG_LT },
};

static const char *const any_paths[FRAG_CONDITIONS_MAX] = {
	"peak.reserved", "fi_device.mean", "fi_device.max", "counts.ooms", "counts.retries",
};

#define SPACES " \t\n\v\f\r"

static const char *condition_skip_space(const char *p)
{
	return p + strspn(p, SPACES);
}

static size_t condition_trimmed(const char *p)
{
	size_t n = strlen(p);

	while (n && strchr(SPACES, p[n - 1]))
		n--;
	return n;
}

/* A number, or bytes with a suffix. */
static bool parse_bound(const char *p, size_t n, double *bound)
{
	uint64_t bytes;
	char copy[64];
	char *end;

	if (frag_parse_size(p, n, true, &bytes)) {
		*bound = (double)bytes;
		return true;
	}
	if (n == 0 || n >= sizeof(copy) || !frag_is_digit(*p)
	    || strspn(p, "0123456789.eE+-") < n)
		return false;
	memcpy(copy, p, n);
	copy[n] = '\0';
	*bound = frag_strtod(copy, &end);
	return *end == '\0' && isfinite(*bound);
}

/* +2%, -5, +100MiB: a change against the baseline. */
static bool parse_change(const char *p, size_t n, struct frag_condition *c)
{
	bool percent = p[n - 1] == '%';

	FRAG_ASSERT(n > 0 && (*p == '+' || *p == '-'));
	c->kind = percent ? FRAG_CHANGE_PERCENT : FRAG_CHANGE;
	if (percent && !frag_is_digit(p[n - 2]))
		return false;
	if (!parse_bound(p + 1, n - 1 - percent, &c->bound))
		return false;
	if (*p == '-')
		c->bound = -c->bound;
	return true;
}

/* The paths of a metric, by its unit. */
#define PATHS_BYTES(name) "peak." #name, "last." #name,
#define PATHS_SIGNED(name) PATHS_BYTES(name)
#define PATHS_COUNT(name) PATHS_BYTES(name)
#define PATHS_PERCENT(name)                                                                 \
	"last." #name, #name ".min", #name ".mean", #name ".p50", #name ".p95",             \
	#name ".p99", #name ".max", #name ".last", #name ".severe_steps",                   \
	#name ".time_weighted_mean",
#define PATHS(name, unit, ...) PATHS_##unit(name)

/* " fi.X," for each percentage */
#define HEAD_BYTES(name)
#define HEAD_SIGNED(name)
#define HEAD_COUNT(name)
#define HEAD_PERCENT(name) " " #name ".X,"
#define HEAD(name, unit, ...) HEAD_##unit(name)

/* What a path may be, for a hint; frag_result_value() decides. */
static const char *const all_paths[] = {
	FRAG_METRICS(PATHS)
#define X(name, ...) "counts." #name,
	FRAG_COUNTS(X)
#undef X
#define X(name) "prediction." #name,
	FRAG_PREDICTION(X)
#undef X
#define X(name, ...) "modelled." #name,
	FRAG_MODELLED(X)
#undef X
#define X(name, ...) "compaction." #name,
	FRAG_COMPACTION(X)
#undef X
#define X(name, ...) "planned." #name,
	FRAG_PLANNED(X)
#undef X
	"steps", "lower_bound", "smallest", "oom", "any",
};

static int check_path(const struct frag_condition *c, struct frag_error *err)
{
	const struct frag_result nothing = { .steps = 0 };
	struct frag_suggestion near = frag_near_to(c->path, strlen(c->path));
	char hint[FRAG_HINT_ROOM];
	double value;
	bool absent;

	if (frag_result_value(&nothing, c->path, &value, &absent))
		return 0;
	for (size_t i = 0; i < sizeof(all_paths) / sizeof(all_paths[0]); i++)
		if (!strchr(all_paths[i], '.') == !strchr(c->path, '.'))
			frag_near_offer(&near, all_paths[i]);
	return frag_fail(
		err, FRAG_EUSAGE,
		"--fail-if '%s': a result has no \"%s\";%s valid values: peak.X,"
		" last.X, counts.X," FRAG_METRICS(HEAD) " steps, lower_bound, smallest, oom and"
							" any",
		c->text, c->path, frag_near_hint(&near, "", hint));
}

/* Parses "PATH OP" at the start of the text; stores the end of it. */
static int parse_head(struct frag_condition *c, const char *text, const char **rest,
		      struct frag_error *err)
{
	const char *word = condition_skip_space(text), *p = word;
	size_t length = strcspn(p, " \t<>=!");
	char old[sizeof(c->path)];

	snprintf(c->text, sizeof(c->text), "%s", text);
	if (length == 0 || length >= sizeof(c->path))
		return frag_fail(err, FRAG_EUSAGE,
				 "--fail-if '%.100s': PATH OP VALUE is required, as in"
				 " 'peak.reserved > 4GiB'", text);
	memcpy(old, p, length);
	old[length] = '\0';
	frag_new_path(old, c->path, sizeof(c->path));
	if (strcmp(c->path, "oom") == 0)
		snprintf(c->path, sizeof(c->path), "counts.ooms");
	p = condition_skip_space(p + length);
	for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
		size_t n = strlen(relations[i].text);

		if (strncmp(p, relations[i].text, n) != 0)
			continue;
		c->relation = relations[i].relation;
		*rest = condition_skip_space(p + n);
		return 0;
	}
	return frag_fail(err, FRAG_EUSAGE,
			 "--fail-if '%.100s': one of > >= < <= == != is required after"
			 " %.*s", text, (int)length, word);
}

/* Parses one condition: the metric and the operator, then a bound or a change. */
static int condition_parse(struct frag_condition *c, const char *text, struct frag_error *err)
{
	const char *value = "";
	char advice[FRAG_ADVICE_ROOM];
	size_t sign;
	bool good;
	int rc;

	*c = (struct frag_condition){ .bound = 0 };
	rc = parse_head(c, text, &value, err);
	if (rc)
		return rc;
	sign = *value == '+' || *value == '-';
	if (sign)
		good = parse_change(value, condition_trimmed(value), c);
	else
		good = parse_bound(value, condition_trimmed(value), &c->bound);
	frag_size_advice(advice, value + sign, condition_trimmed(value) - sign);
	if (!good)
		return frag_fail(err, FRAG_EUSAGE,
				 "--fail-if '%.100s': \"%.40s\" is neither a number"
				 " nor a size%s%s", text, value, *advice ? "; " : "", advice);
	return 0;
}

/*
 * `any` stands for several conditions with one text. These are implied: an implied condition
 * without a value in the run does not hold; for a written one that is an error.
 */
int frag_condition_parse(struct frag_condition out[FRAG_CONDITIONS_MAX], uint32_t *count,
			 const char *text, struct frag_error *err)
{
	struct frag_condition c;
	int rc = condition_parse(&c, text, err);

	if (rc)
		return rc;
	*count = 1;
	out[0] = c;
	if (strcmp(c.path, "any") != 0)
		return check_path(&c, err);
	*count = FRAG_CONDITIONS_MAX;
	c.implied = true;
	for (uint32_t i = 0; i < FRAG_CONDITIONS_MAX; i++) {
		out[i] = c;
		snprintf(out[i].path, sizeof(out[i].path), "%s", any_paths[i]);
	}
	return 0;
}

/* A value as the result object shows it: whole, or with four decimals. */
static double as_shown(double value, char text[FRAG_NUMBER_ROOM])
{
	if (value == floor(value) && fabs(value) < 0x1p63) {
		*frag_put_i64(text, (int64_t)value) = '\0';
		return value;
	}
	*frag_put_fixed4(text, value) = '\0';
	return frag_strtod(text, NULL);
}

static bool related(double value, enum frag_relation relation, double bound)
{
	const int order = value < bound ? 0 : value == bound ? 1 : value > bound ? 2 : 3;

	return relation >> order & 1;
}

const char *frag_condition_name(const struct frag_condition *c)
{
	return strcmp(c->path, "counts.ooms") == 0 ? "oom" : c->path;
}

/* Is it related to `least` and to every larger value? 0 or 1; else neither, and 2. */
static int related_from(double least, enum frag_relation relation, double bound)
{
	const int orders = FRAG_GT | (least <= bound ? FRAG_EQ : 0) | (least < bound ? FRAG_LT : 0);
	const int holds = (int)relation & orders;

	return !holds ? 0 : holds == orders ? 1 : 2;
}

/* value: what is known; NULL: nothing. */
static void cannot_be_judged(struct frag_finding *found, const char *value)
{
	const struct frag_condition *c = found->condition;

	snprintf(found->line, sizeof(found->line), "'%s' cannot be judged: the recording is a part"
		 " of its program%s%s%s%s; --allow-partial judges the part", c->text,
		 value ? ", and " : "", value ? c->path : "", value ? " is at least " : "",
		 value ? value : "");
}

/* Values of a part that those of its program are no less than. */
static bool is_lower_bound(const struct frag_condition *c)
{
	return strncmp(c->path, "peak.", strlen("peak.")) == 0
	       || strncmp(c->path, "counts.", strlen("counts.")) == 0
	       || strcmp(c->path, "lower_bound") == 0 || strcmp(c->path, "smallest") == 0;
}

int frag_condition_absolute(const struct frag_condition *c, struct frag_error *err)
{
	if (c->kind == FRAG_ABSOLUTE)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--fail-if '%.100s': %.40s is a change, which needs a"
			 " baseline to compare with", c->text, c->text + strcspn(c->text, "+-"));
}

static bool has_value(const struct frag_condition *c, const struct frag_result *run)
{
	double ignored;
	bool absent;

	return frag_result_value(run, c->path, &ignored, &absent) && !absent;
}

/* Names the option that adds a missing value to a run; base: the run is the baseline. */
static const char *advice(const struct frag_condition *c, const struct frag_result *run, bool base)
{
	if (strncmp(c->path, "modelled.", strlen("modelled.")) == 0)
		return "; --profile FILE gives it one";
	if (strncmp(c->path, "compaction.", strlen("compaction.")) == 0)
		return "; policy compact gives it one";
	if (strncmp(c->path, "planned.", strlen("planned.")) == 0)
		return "; policy plan:file=FILE gives it one";
	if (strncmp(c->path, "prediction.", strlen("prediction.")) == 0)
		return "; fragsim replay gives it one";
	if (strcmp(c->path, "smallest") == 0)
		return run->smallest ? ": it fits on no device that was tried"
				     : "; fragsim diff --smallest gives it one";
	if (!frag_result_unread(run, c->path))
		return "";
	return base ? "; the baseline is older than this metric: write it again"
		    : "; its file is older than this metric: write it again";
}

static int condition_value_of(const struct frag_condition *c, const struct frag_result *run,
			      bool base, const char *who, double *value,
			      char text[FRAG_NUMBER_ROOM], struct frag_error *err)
{
	bool absent;

	if (!frag_result_value(run, c->path, value, &absent) || absent)
		return frag_fail(err, FRAG_EUSAGE,
				 "--fail-if '%s': %s has no value in the run of %s%s", c->text,
				 c->path, who, advice(c, run, base));
	*value = as_shown(*value, text);
	return 0;
}

/* "512 (12.50%) above 4096": how the value compares with the base. */
static void describe_change(char buf[160], double value, double base, const char *base_text)
{
	char text[FRAG_NUMBER_ROOM];
	const char *side = value > base ? "above" : "below";

	as_shown(fabs(value - base), text);
	if (value == base)
		snprintf(buf, 160, ", as before");
	else if (base == 0)
		snprintf(buf, 160, ", before 0");
	else
		frag_snprintf(buf, 160, ", %s (%.2f%%) %s %s", text,
			      100 * fabs((value - base) / base), side, base_text);
}

/*
 * Compares value and base in the precision of the output, so that a reader can check the verdict
 * against the printed result.
 */
int frag_condition_holds(const struct frag_condition *c, const struct frag_result *run,
			 const struct frag_result *base, unsigned parts, const char *who,
			 struct frag_finding *found, struct frag_error *err)
{
	char text[FRAG_NUMBER_ROOM], base_text[FRAG_NUMBER_ROOM], change[160] = "";
	double bound = c->bound;
	int rc, holds;

	FRAG_ASSERT(base || c->kind == FRAG_ABSOLUTE);
	*found = (struct frag_finding){ .condition = c };
	if (c->implied && !(has_value(c, run) && (!base || has_value(c, base))))
		return 0;
	found->judged = true;
	/* an absolute bound can be judged with an older baseline too */
	if (c->kind == FRAG_ABSOLUTE && base && frag_result_unread(base, c->path))
		base = NULL;
	rc = condition_value_of(c, run, false, who, &found->value, text, err);
	if (!rc && base)
		rc = condition_value_of(c, base, true, who, &found->base, base_text, err);
	if (rc)
		return rc;
	if (c->kind == FRAG_CHANGE)
		bound = found->base + c->bound;
	else if (c->kind == FRAG_CHANGE_PERCENT)
		bound = found->base + fabs(found->base) * c->bound / 100;
	parts = is_lower_bound(c) ? parts : 0;
	holds = parts & FRAG_PART_RUN ? related_from(found->value, c->relation, bound)
				      : related(found->value, c->relation, bound);
	if (parts & FRAG_PART_BASE && c->kind != FRAG_ABSOLUTE)
		holds = 2;
	if (holds == 2)
		cannot_be_judged(found, text);
	if (holds != 1)
		return holds != 0;
	if (base)
		describe_change(change, found->value, found->base, base_text);
	/* a run that ended early had no time to reserve more */
	snprintf(found->line, sizeof(found->line), "%s is %s%s%s, which fails '%s'", c->path,
		 (run->status != FRAG_RUN_OK || parts & FRAG_PART_RUN) && strncmp(c->path, "peak.", strlen("peak.")) == 0
		 ? "at least " : "", text, change, c->text);
	return 1;
}

int frag_condition_among(struct frag_condition *c, const char *text, const char *const *paths,
			 struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };
	int rc = condition_parse(c, text, err);

	/* such paths name a change, or a part of it, so the bound is a plain number */
	if (!rc && c->kind == FRAG_CHANGE
	    && (strncmp(c->path, "change.", strlen("change.")) == 0
		|| strncmp(c->path, "reserved.", strlen("reserved.")) == 0))
		c->kind = FRAG_ABSOLUTE;
	rc = rc ? rc : frag_condition_absolute(c, err);
	if (rc)
		return rc;
	for (; *paths; paths++) {
		if (strcmp(c->path, *paths) == 0)
			return 0;
		frag_listed_add(&names, *paths);
	}
	return frag_fail(err, FRAG_EUSAGE, "--fail-if '%s': unknown value \"%s\"; valid values: %s",
			 c->text, c->path, frag_listed_text(&names, ", "));
}

const char *frag_checked_range(char buf[FRAG_RANGE_ROOM], const struct frag_checked *c)
{
	char text[FRAG_NUMBER_ROOM];
	int n;

	as_shown(c->least, text);
	n = snprintf(buf, FRAG_RANGE_ROOM, "%s", isfinite(c->least) ? text : "none");
	as_shown(c->most, text);
	if (c->most > c->least)
		snprintf(buf + n, FRAG_RANGE_ROOM - (size_t)n, " to %s",
			 isfinite(c->most) ? text : "none");
	return buf;
}

bool frag_condition_true(const struct frag_condition *c, double value, double at_least,
			 struct frag_finding *found)
{
	const bool exact = isnan(at_least);
	const int holds = exact ? related(value, c->relation, c->bound)
				: related_from(at_least, c->relation, c->bound);
	char text[FRAG_NUMBER_ROOM];

	value = exact ? value : at_least;
	*found = (struct frag_finding){ .condition = c, .judged = true, .value = value };
	if (isfinite(value))
		as_shown(value, text);
	else
		snprintf(text, sizeof(text), "none");
	if (holds == 2)
		cannot_be_judged(found, value == -INFINITY ? NULL : text);
	else
		snprintf(found->line, sizeof(found->line), "%s is %s%s, which fails '%s'", c->path,
			 exact ? "" : "at least ", text, c->text);
	return holds != 0;
}

/* A simulation repeats itself exactly, so memory may not grow by a byte; the
 * indices may move a little where that pays elsewhere. */
const char *const frag_gate_defaults[] = {
	"oom > +0",
	"peak.reserved > +0%",
	"fi_device.mean > +1",
	"fi_device.max > +5",
	"counts.retries > +0",
	NULL,
};

const char *frag_group_path(const struct frag_group *group)
{
	FRAG_ASSERT(group->runs || group->base);
	return frag_input_name(group->runs ? group->runs->path : group->base->path);
}

const char *frag_pair_name(char *buf, size_t size, const struct frag_group *group,
			   const struct frag_pair *pair)
{
	const struct frag_run *run = !pair ? NULL : pair->run ? pair->run : pair->base;
	const char *path = frag_group_path(group);

	if (!run)
		frag_format_printable(buf, size, "%s", path);
	else if (group->many_devices)
		frag_format_printable(buf, size, "%s, %s on device %u", path, run->policy,
				      run->result.device);
	else
		frag_format_printable(buf, size, "%s, %s", path, run->policy);
	return buf;
}

bool frag_gate_begins_text(const struct frag_gate *gate, uint32_t i)
{
	FRAG_ASSERT(i < gate->condition_count);
	return i == 0 || strcmp(gate->conditions[i].text, gate->conditions[i - 1].text) != 0;
}

const char *frag_broken_text(const struct frag_broken *broken)
{
	if (!broken->alone)
		return broken->found.line;
	return broken->pair->run ? "the baseline does not have this run, so no change can be judged"
				 : "the baseline has this run, and now it is missing";
}

const char *frag_changed_text(char *buf, size_t size, const struct frag_group *group)
{
	const struct frag_runs *now = group->runs, *base = group->base;

	FRAG_ASSERT(group->changed);
	frag_format_printable(buf, size, "the trace has changed: %" PRIu64 " event%s, before %"
			      PRIu64 "; content %.200s, before %.200s", now->events,
			      frag_s(now->events), base->events, now->content, base->content);
	return buf;
}

static int add_broken(struct frag_gate *gate, const struct frag_broken *broken,
			       struct frag_error *err)
{
	if (!FRAG_GROW(gate->broken, gate->capacity, gate->count))
		return frag_fail_nomem(err);
	gate->broken[gate->count++] = *broken;
	return 0;
}

static bool speaks_of_changes(const struct frag_gate *gate)
{
	for (uint32_t i = 0; i < gate->condition_count; i++)
		if (gate->conditions[i].kind != FRAG_ABSOLUTE)
			return true;
	return false;
}

/*
 * Is there a change to be judged? What --gate asks of peaks and indices is not asked of a
 * run that ended early: of it only that it did.
 */
static bool can_change(const struct frag_condition *condition, const struct frag_pair *pair)
{
	if (!pair->base)
		return false;
	if (!condition->of_gate || strcmp(condition->path, "counts.ooms") == 0)
		return true;
	if (strncmp(condition->path, "peak.", strlen("peak.")) == 0)
		return frag_peaks_comparable(&pair->base->result, &pair->run->result);
	return frag_results_comparable(&pair->base->result, &pair->run->result);
}

/* "ended at event 7": of a run that did not complete. */
static const char *ended_text(char buf[64], const struct frag_result *r)
{
	static const char *const ends[] = {
		[FRAG_RUN_OK] = "completed", [FRAG_RUN_OOM] = "ended",
		[FRAG_RUN_INTERRUPTED] = "was interrupted", [FRAG_RUN_ERROR] = "failed",
	};

	snprintf(buf, 64, r->status == FRAG_RUN_OK ? "%s" : "%s at event %" PRIu64,
		 ends[r->status], r->steps);
	return buf;
}

static unsigned parts_of(const struct frag_gate *gate, const struct frag_group *group)
{
	if (gate->partial)
		return 0;
	return (frag_runs_are_part(group->runs) ? FRAG_PART_RUN : 0)
	       | (frag_runs_are_part(group->base) ? FRAG_PART_BASE : 0);
}

/* Is it known neither whether the run fits nor that it does not? */
static bool ended_without(const struct frag_result *r)
{
	return r->status == FRAG_RUN_INTERRUPTED || r->status == FRAG_RUN_ERROR;
}

/*
 * Why the runs of a pair do not decide what --gate asks: one was interrupted, or both ended
 * early, at different events, with equally many OOMs. False: they do.
 */
static bool is_undecided(const struct frag_gate *gate, const struct frag_pair *pair,
			 char *line, size_t size)
{
	const struct frag_result *run = &pair->run->result;
	const struct frag_result *base = pair->base ? &pair->base->result : NULL;
	char now[64], before[64];

	if (ended_without(run)) {
		snprintf(line, size, "cannot be judged: the run %s", ended_text(now, run));
		return true;
	}
	if (!base || !speaks_of_changes(gate)
	    || (!ended_without(base)
		&& (frag_results_comparable(base, run) || run->counts.ooms != base->counts.ooms)))
		return false;
	snprintf(line, size, "cannot be judged: the run %s, the base %s", ended_text(now, run),
		 ended_text(before, base));
	return true;
}

/*
 * Why a condition that does not hold decides nothing: one of the two runs has no such value, or
 * the peak is that of the beginning of a run. False: it decides.
 */
static bool is_unknown(const struct frag_finding *found, const struct frag_pair *pair, char *line,
		       size_t size)
{
	const struct frag_condition *c = found->condition;
	const struct frag_result *run = &pair->run->result;
	const bool now = has_value(c, run), before = pair->base && has_value(c, &pair->base->result);

	if (!found->judged && c->kind != FRAG_ABSOLUTE && now != before) {
		snprintf(line, size, "%s cannot be judged: only the %s has a value", c->path,
			 now ? "run" : "base");
		return true;
	}
	if (!found->judged || run->status == FRAG_RUN_OK
	    || strncmp(c->path, "peak.", strlen("peak.")) != 0)
		return false;
	snprintf(line, size, "%s cannot be judged by '%s': the run ended at event %" PRIu64, c->path,
		 c->text, run->steps);
	return true;
}

void frag_checked_note(struct frag_checked *c, const struct frag_finding *found)
{
	if (!found->judged)
		return;
	if (!c->runs || found->value < c->least)
		c->least = found->value;
	if (!c->runs || found->value > c->most)
		c->most = found->value;
	c->runs++;
}

/* Holds a run to the conditions; *judged counts those that decided something. */
static int judge_conditions(struct frag_gate *gate, struct frag_broken *broken, uint32_t *judged,
			    struct frag_error *err)
{
	const struct frag_pair *pair = broken->pair;
	const char *who = PAIR_NAME(broken->group, pair);
	int rc = 0;

	for (uint32_t i = 0; i < gate->condition_count && !rc; i++) {
		const struct frag_condition *condition = &gate->conditions[i];
		bool bad;

		if (condition->kind != FRAG_ABSOLUTE && !can_change(condition, pair))
			continue;
		rc = frag_condition_holds(condition, &pair->run->result,
					  pair->base ? &pair->base->result : NULL,
					  parts_of(gate, broken->group), who,
					  &broken->found, err);
		if (rc < 0)
			break;
		frag_checked_note(&gate->checked[i], &broken->found);
		*judged += broken->found.judged;
		bad = rc || (!gate->missing && is_unknown(&broken->found, pair, broken->found.line,
							  sizeof(broken->found.line)));
		rc = bad ? add_broken(gate, broken, err) : 0;
	}
	return rc;
}

/*
 * Without a counterpart a change cannot be judged, and that breaks the gate once;
 * conditions without a change are judged all the same. What is missing now breaks either.
 */
static int judge_pair(struct frag_gate *gate, const struct frag_comparison *c,
		      struct frag_broken *broken, struct frag_error *err)
{
	const struct frag_pair *pair = broken->pair;
	const bool is_new = !pair->base && !c->policies
			    && !(gate->new_traces && !broken->group->base);
	uint32_t judged = 0;
	int rc = 0;

	broken->alone = pair->run ? is_new && speaks_of_changes(gate) : !gate->missing;
	if (broken->alone)
		rc = add_broken(gate, broken, err);
	broken->alone = false;
	if (!pair->run || rc)
		return rc;
	rc = judge_conditions(gate, broken, &judged, err);
	gate->judged += judged > 0;
	broken->found.condition = NULL;
	if (!rc && !gate->missing
	    && is_undecided(gate, pair, broken->found.line, sizeof(broken->found.line)))
		rc = add_broken(gate, broken, err);
	return rc;
}

static int judge_traces(struct frag_gate *gate, const struct frag_comparison *c,
			struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->count && !rc; i++) {
		struct frag_broken broken = { .group = &c->group[i] };

		if (!c->group[i].changed || gate->new_traces)
			continue;
		frag_changed_text(broken.found.line, sizeof(broken.found.line), &c->group[i]);
		rc = add_broken(gate, &broken, err);
		gate->traces++;
	}
	return rc;
}

/* Of a comparison in which no condition had a run to judge. */
static int judge_nothing(struct frag_gate *gate, const struct frag_comparison *c,
			 struct frag_error *err)
{
	struct frag_broken broken = { .group = c->group };

	if (!c->count)
		return frag_fail(err, FRAG_ETRACE, "%s: no run to judge",
				 c->now.path ? c->now.path : "the gate");
	snprintf(broken.found.line, sizeof(broken.found.line),
		 "no condition could be judged: there is no run with a counterpart");
	return add_broken(gate, &broken, err);
}

int frag_gate_judge(struct frag_gate *gate, const struct frag_comparison *c,
		    struct frag_error *err)
{
	int rc = gate->same_traces ? judge_traces(gate, c, err) : 0;

	gate->checked = calloc((size_t)gate->condition_count + 1, sizeof(*gate->checked));
	if (!gate->checked)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < c->count && !rc; i++) {
		for (uint32_t k = 0; k < c->group[i].count && !rc; k++) {
			struct frag_broken broken = {
				.group = &c->group[i], .pair = &c->group[i].pair[k],
			};

			const uint32_t before = gate->count;

			rc = judge_pair(gate, c, &broken, err);
			if (rc || gate->count == before)
				continue;
			gate->runs++;
			if (broken.pair->run && broken.pair->base)
				gate->verdict[broken.pair->verdict]++;
		}
	}
	return rc || gate->judged || gate->count || !gate->condition_count
	       ? rc : judge_nothing(gate, c, err);
}
