/*
 * condition.h - what is bad: the conditions of --fail-if (fragsim-run(1), Conditions), and the
 * gate, a comparison that is held to them.
 */
#pragma once

#include "base/format.h"
#include "compare/compare.h"
#include "fragsim/error.h"
#include "fragsim/metrics.h"

/* A bit for each order in which it holds: less, equal, greater, and none, as of NAN. */
enum frag_relation {
	FRAG_LT = 1, FRAG_EQ = 2, FRAG_LE = 3, FRAG_GT = 4, FRAG_GE = 6, FRAG_NE = 13,
};

enum frag_bound { FRAG_ABSOLUTE, FRAG_CHANGE, FRAG_CHANGE_PERCENT };

struct frag_condition {
	char path[96];
	enum frag_relation relation;
	char text[160];         /* as written */
	enum frag_bound kind;   /* the changes are those against a baseline */
	double bound;
	bool implied;           /* by `any`: without a value the condition does not hold */
	bool of_gate;           /* --gate's own: a change is judged of comparable runs only */
};

#define FRAG_CONDITIONS_MAX 5   /* that one text can stand for */

/* "any" stands for several, which are implied: *count of them are set. -FRAG_EUSAGE */
int frag_condition_parse(struct frag_condition out[FRAG_CONDITIONS_MAX], uint32_t *count,
			 const char *text, struct frag_error *err);

/* "oom", "peak.reserved": the short name of the path where it has one. */
const char *frag_condition_name(const struct frag_condition *c);

/* -FRAG_EUSAGE if the condition is a change, for commands without a baseline. */
int frag_condition_absolute(const struct frag_condition *c, struct frag_error *err);

/* What a condition found. */
struct frag_finding {
	const struct frag_condition *condition;
	bool judged;            /* the run, and its base, have such a value */
	double base, value;     /* in the precision of the output */
	char line[512];         /* which value, which bound */
};

/*
 * Recordings that are parts of their programs, as bits. Peaks, counts and the smallest device of a
 * part are lower bounds of those of the program.
 */
enum frag_judged_parts { FRAG_PART_RUN = 1, FRAG_PART_BASE = 2 };

/*
 * Returns 1 if it holds, or if a bound does not decide it, and fills *found with the reason; 0 if
 * it does not hold. base may be NULL, except for a change. Messages name the run by `who`.
 * -FRAG_EUSAGE: the run has no value at the path.
 */
int frag_condition_holds(const struct frag_condition *c, const struct frag_result *run,
			 const struct frag_result *base, unsigned parts, const char *who,
			 struct frag_finding *found, struct frag_error *err);

/* The values that a condition was held to. */
struct frag_checked {
	uint32_t runs;
	double least, most;
};

/* Adds what a condition found, where it was judged. */
void frag_checked_note(struct frag_checked *c, const struct frag_finding *found);

/* "7", "7 to 12", of one run at least. */
#define FRAG_RANGE_ROOM (2 * FRAG_NUMBER_ROOM + 8)
const char *frag_checked_range(char buf[FRAG_RANGE_ROOM], const struct frag_checked *c);

/*
 * The same for a command with a few values and no baseline: the path must be one of `paths`,
 * which NULL ends. -FRAG_EUSAGE
 */
int frag_condition_among(struct frag_condition *c, const char *text, const char *const *paths,
			 struct frag_error *err);

/*
 * Does it hold for this value, INFINITY: no value exists? If at_least is a number, for that value or
 * any larger one? True also where that does not decide it. *found has the reason.
 */
bool frag_condition_true(const struct frag_condition *c, double value, double at_least,
			 struct frag_finding *found);

/*
 * One condition that holds for one run; a run that has nothing to be judged by; or a trace
 * that is another one now.
 */
struct frag_broken {
	const struct frag_group *group;
	const struct frag_pair *pair;   /* NULL: the trace itself */
	bool alone;             /* the condition is a change, and one side is missing */
	struct frag_finding found;      /* of a run that is not alone; of a trace the line only */
};

struct frag_gate {
	const struct frag_condition *conditions;        /* borrowed */
	uint32_t condition_count;
	struct frag_checked *checked;   /* one a condition; the caller's to free */
	uint32_t judged;                /* runs with a condition that could be judged */
	bool missing;           /* what cannot be judged, as a side lacks it, is not broken */
	bool partial;           /* recordings that are parts are judged as if they were whole */
	bool same_traces;       /* a trace whose content has changed is broken */
	bool new_traces;        /* one that the base does not have is not */
	struct frag_broken *broken;     /* traces first; the caller's to free */
	uint32_t count, capacity;
	uint32_t traces;        /* of those, how many are traces */
	uint32_t runs;          /* how many runs are broken */
	uint32_t verdict[FRAG_MIXED + 1];       /* of those that are compared */
};

/* What --gate stands for, ended by NULL. */
extern const char *const frag_gate_defaults[];

/* Is this the first of the conditions that its text stands for? `any` is several. */
bool frag_gate_begins_text(const struct frag_gate *gate, uint32_t i);

/* Holds all pairs to all conditions. -FRAG_EUSAGE where a path has no value. */
int frag_gate_judge(struct frag_gate *gate, const struct frag_comparison *c,
		    struct frag_error *err);

/* "x.ndjson is another trace: 5 events, before 10, ...", without the name. */
const char *frag_changed_text(char *buf, size_t size, const struct frag_group *group);
#define CHANGED_TEXT(group) frag_changed_text((char[512]){ 0 }, 512, (group))

/* The trace's name for a message; the base's where there is no other. */
const char *frag_group_path(const struct frag_group *group);

/* "traces/x.ndjson.gz, bestfit"; of several devices "... on device 1": what a line is about.
 * Of a trace itself, pair NULL, its name. */
const char *frag_pair_name(char *buf, size_t size, const struct frag_group *group,
			   const struct frag_pair *pair);
/* The same in an array that is valid until the end of the enclosing block. */
#define PAIR_NAME(group, pair) frag_pair_name((char[1024]){ 0 }, 1024, (group), (pair))

/* The reason, as text. */
const char *frag_broken_text(const struct frag_broken *broken);
