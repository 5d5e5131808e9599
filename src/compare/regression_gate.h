/* regression_gate.h - a comparison held to conditions: what broke. */
#ifndef COMPARE_REGRESSION_GATE_H
#define COMPARE_REGRESSION_GATE_H

#include "compare/compare.h"
#include "compare/condition.h"

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
	bool same_traces;       /* a trace whose content has changed is broken */
	bool new_traces;        /* one that the base does not have is not */
	struct frag_broken *broken;     /* traces first */
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
void frag_gate_fini(struct frag_gate *gate);

/* "x.ndjson is another trace: 5 events, before 10, ...", without the name. */
const char *frag_changed_text(char *buf, size_t size, const struct frag_group *group);
#define CHANGED_TEXT(group) frag_changed_text((char[512]){ 0 }, 512, (group))

/* "traces/x.ndjson.gz, bestfit"; of several devices "... on device 1": what a line is about.
 * Of a trace itself, pair NULL, its name. */
const char *frag_pair_name(char *buf, size_t size, const struct frag_group *group,
			   const struct frag_pair *pair);
/* The same in an array that is valid until the end of the enclosing block. */
#define PAIR_NAME(group, pair) frag_pair_name((char[1024]){ 0 }, 1024, (group), (pair))

/* The reason, as text. */
const char *frag_broken_text(const struct frag_broken *broken);

#endif
