/* condition.h - what is bad: the conditions of --fail-if (fragsim-run(1), Conditions). */
#ifndef COMPARE_CONDITION_H
#define COMPARE_CONDITION_H

#include "fragsim/error.h"
#include "fragsim/metrics.h"

enum frag_relation { FRAG_GT, FRAG_GE, FRAG_LT, FRAG_LE, FRAG_EQ, FRAG_NE };

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

/* -FRAG_EUSAGE if the condition is a change, for commands without a baseline. */
int frag_condition_absolute(const struct frag_condition *c, struct frag_error *err);

/* What a condition found. */
struct frag_finding {
	const struct frag_condition *condition;
	bool has_base;
	double base, value;     /* in the precision of the output */
	char line[512];         /* which value, which bound */
};

/*
 * Returns 1 if it holds, and fills *found with the reason; 0 if not. base may be NULL, except for
 * a change. Messages name the run by `who`. -FRAG_EUSAGE: the run has no value at the path.
 */
int frag_condition_holds(const struct frag_condition *c, const struct frag_result *run,
			 const struct frag_result *base, const char *who,
			 struct frag_finding *found, struct frag_error *err);

/*
 * The same for a command with a few values and no baseline: the path must be one of `paths`,
 * which NULL ends. -FRAG_EUSAGE
 */
int frag_condition_among(struct frag_condition *c, const char *text, const char *const *paths,
			 struct frag_error *err);

/* Does it hold for this value? Then *found has the reason. INFINITY: no value exists. */
bool frag_condition_true(const struct frag_condition *c, double value, struct frag_finding *found);

#endif
