/* condition.h - what is bad: the conditions of --fail-if (SPEC 10). */
#ifndef REPORT_CONDITION_H
#define REPORT_CONDITION_H

#include "fragsim/error.h"
#include "fragsim/metrics.h"

enum frag_relation { FRAG_GT, FRAG_GE, FRAG_LT, FRAG_LE, FRAG_EQ, FRAG_NE };

struct frag_condition {
	char path[96];
	enum frag_relation relation;
	char text[160];         /* as written */
	double bound;
};

#define FRAG_CONDITIONS_MOST 5  /* that one text can stand for */

/* "any" stands for several: *count of them are set. -FRAG_EUSAGE */
int frag_condition_parse(struct frag_condition out[FRAG_CONDITIONS_MOST], uint32_t *count,
			 const char *text, struct frag_error *err);

/* 1: it holds, and line says for which run and value; 0: not. -FRAG_EUSAGE where null. */
int frag_condition_holds(const struct frag_condition *c, const struct frag_result *run,
			 char line[1024], struct frag_error *err);

#endif
