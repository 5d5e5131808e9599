/* regression_gate.c - a comparison held to conditions: what broke. */
#include "compare/regression_gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"

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

static int regression_gate_add(struct frag_gate *gate, const struct frag_broken *broken,
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

/*
 * Without a counterpart a change cannot be judged, and that breaks the gate once;
 * conditions without a change are judged all the same.
 */
static int judge_pair(struct frag_gate *gate, const struct frag_comparison *c,
		      struct frag_broken *broken, struct frag_error *err)
{
	const struct frag_pair *pair = broken->pair;
	const char *who = PAIR_NAME(broken->group, pair);
	int rc = 0;

	broken->alone = !pair->run || (!pair->base && !c->policies
				       && !(gate->new_traces && !broken->group->base));
	if (broken->alone && speaks_of_changes(gate))
		rc = regression_gate_add(gate, broken, err);
	broken->alone = false;
	if (!pair->run)
		return rc;
	for (uint32_t i = 0; i < gate->condition_count && !rc; i++) {
		const struct frag_condition *condition = &gate->conditions[i];

		if (condition->kind != FRAG_ABSOLUTE && !can_change(condition, pair))
			continue;
		rc = frag_condition_holds(condition, &pair->run->result,
					  pair->base ? &pair->base->result : NULL, who,
					  &broken->found, err);
		if (rc == 1)
			rc = regression_gate_add(gate, broken, err);
	}
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
		rc = regression_gate_add(gate, &broken, err);
		gate->traces++;
	}
	return rc;
}

int frag_gate_judge(struct frag_gate *gate, const struct frag_comparison *c,
		    struct frag_error *err)
{
	int rc = gate->same_traces ? judge_traces(gate, c, err) : 0;

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
	return rc;
}

void frag_gate_fini(struct frag_gate *gate)
{
	free(gate->broken);
	gate->broken = NULL;
}
