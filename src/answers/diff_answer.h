/* diff_answer.h - a comparison, for people and for programs. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "answers/table.h"
#include "base/format.h"
#include "compare/condition.h"
#include "fragsim/error.h"

struct frag_diff {
	const struct frag_comparison *comparison;
	const struct frag_gate *gate;
	const struct frag_outcome *outcome;
	const struct frag_policy_summary *standings;
	uint32_t standing_count;
	bool updated;           /* the baseline is being rewritten */
};

/* Its document, see fragsim-diff(1). */
extern const struct frag_document_type frag_comparison_document;

/* For a struct frag_diff; the text is the first, NULL ends them. */
extern const struct frag_format *const frag_diff_formats[];
extern const struct frag_format frag_diff_github;
extern const struct frag_format frag_diff_junit;
extern const struct frag_format frag_diff_markdown;
extern const struct frag_format frag_diff_text;

/* Words that several formats share ------------------------------------------- */

/*
 * The value of a run: "4.46 GiB", "12.34", "7"; ">=4.46 GiB" if it ended early, "-" if its end hides
 * the value.
 */
const char *frag_run_figure_text(char buf[FRAG_NUMBER_ROOM], const struct frag_figure *figure,
				 const struct frag_run *run);
/* "ok", "OOM", "interrupted". */
const char *frag_run_status_word(const struct frag_run *run);
/* Of a value of this path; one that no table has is whole, or has decimals. */
enum frag_unit frag_unit_of(const char *path, double value);
/* Does a list of all metrics have a line for this one? */
bool frag_figure_is_listed(const struct frag_figure *figure, const struct frag_change *change);
/* With its sign; "=" where it is 0. */
const char *frag_difference_text(char buf[FRAG_NUMBER_ROOM], enum frag_unit unit, double value);
/* "+12.11%"; "" where the value is unchanged or has no percentage. */
const char *frag_percent_text(char buf[FRAG_NUMBER_ROOM], const struct frag_change *change);
/* The same, each in an array that is valid until the end of the enclosing block. */
#define RUN_FIGURE(figure, run) \
	frag_run_figure_text((char[FRAG_NUMBER_ROOM]){ 0 }, (figure), (run))
#define DIFFERENCE(unit, value) \
	frag_difference_text((char[FRAG_NUMBER_ROOM]){ 0 }, (unit), (value))
#define PERCENT(change) frag_percent_text((char[FRAG_NUMBER_ROOM]){ 0 }, (change))

#define FRAG_PLACE_ROOM 512
#define PLACE(where) frag_place_text((char[FRAG_PLACE_ROOM]){ 0 }, (where))
#define PLACE_VALUES(where) frag_place_values((char[FRAG_PLACE_ROOM]){ 0 }, (where))
/* "step 7 (alloc of 512 bytes, id 3), after mark x": where two diverge, or differ most. */
const char *frag_place_text(char buf[FRAG_PLACE_ROOM], const struct frag_divergence_point *where);
/* "reserved 4.00 MiB (+2.00 MiB), allocated 2.00 MiB (=)" */
const char *frag_place_values(char buf[FRAG_PLACE_ROOM], const struct frag_divergence_point *where);

/* "bestfit", "bestfit @1" on another device than the first; of --alloc-conf its string. */
const char *frag_run_name(char *buf, size_t size, const struct frag_run *run);
#define RUN_NAME(run) frag_run_name((char[600]){ 0 }, 600, (run))

/* Does a run of the group say what the driver would take? */
bool frag_any_modelled(const struct frag_group *group);
/* Was the smallest device of one of the runs searched for? */
bool frag_any_smallest(const struct frag_group *group);

/*
 * Copies the next of several lines, truncated to the buffer, and moves *lines after it.
 * False: no line is left; *lines may be NULL.
 */
#define FRAG_LINE_ROOM 1024
bool frag_next_line(const char **lines, char line[FRAG_LINE_ROOM]);

/* Did more than one trace have runs? */
bool frag_many_traces(const struct frag_comparison *c);

/* Better than before in what decides, in one run at least? */
static inline bool frag_any_better(const struct frag_diff *diff)
{
	return !diff->comparison->policies
	       && diff->outcome->verdict[FRAG_BETTER] + diff->outcome->verdict[FRAG_MIXED] > 0;
}
/* The same, and it can be the new measure: not where that would take in what is broken, too. */
bool frag_better_base(const struct frag_diff *diff);

/*
 * What a table of a comparison has a row for: a trace, the status of a pair of runs, and each metric of
 * the pair. `index` and `at` say where the next one is searched for; of a zeroed row it is the first.
 */
struct frag_diff_row {
	const struct frag_group *group;
	const struct frag_pair *pair;           /* NULL: the trace */
	const struct frag_figure *figure;       /* NULL: the status, or the trace */
	struct frag_change change;              /* of the metric */
	uint32_t index;                         /* of the group */
	uint64_t at;                            /* in the group */
};
/* Moves to the next one that `shows` lets pass. False: there is none. */
bool frag_diff_next(struct frag_diff_row *row, const struct frag_comparison *c,
		    bool (*shows)(const struct frag_diff_row *row));
/* Its trace, for a column. */
const char *frag_diff_trace(const void *row, char *buf);

/* Why values of the two are not compared: they ended at different steps; "" where they are. */
#define FRAG_REASON_ROOM 256
const char *frag_unfinished_text(char buf[FRAG_REASON_ROOM], const struct frag_pair *pair);

/* "passed" or "broken"; NULL where nothing is judged. */
const char *frag_gate_word(const struct frag_diff *diff);

/* "3 runs, oom is 0, peak.reserved is 2.00 GiB to 3.36 GiB": what was held to the conditions. */
#define FRAG_CHECKED_ROOM 1024
const char *frag_checked_text(char buf[FRAG_CHECKED_ROOM], const struct frag_gate *gate);
#define CHECKED(gate) frag_checked_text((char[FRAG_CHECKED_ROOM]){ 0 }, (gate))

/*
 * The line with the outcome: "3 runs compared: 1 worse, 2 same", with a gate
 * "broken: 3 runs compared: 1 broken, 2 same".
 */
const char *frag_outcome_text(char *buf, size_t size, const struct frag_diff *diff);
#define OUTCOME(diff) frag_outcome_text((char[512]){ 0 }, 512, (diff))
