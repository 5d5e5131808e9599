/* course.h - a run over its steps, in a few stretches. */
#ifndef COMPARE_COURSE_H
#define COMPARE_COURSE_H

#include <stdint.h>

#include "fragsim/engine.h"

#define FRAG_COURSE_MOST 64     /* stretches */

struct frag_stretch {
	uint64_t from;                  /* its first step */
	uint64_t reserved, allocated;   /* the highest in it */
};

/* However long the run: when they run out, neighbours become one. */
struct frag_course {
	uint64_t width;                 /* steps of the device in each but the last */
	uint64_t in_last;
	uint32_t count;                 /* 0: not known */
	struct frag_stretch stretch[FRAG_COURSE_MOST];
};

void frag_course_add(struct frag_course *course, const struct frag_step *step);

/* Joins neighbours until each stretch has at least so many steps. */
void frag_course_widen(struct frag_course *course, uint64_t width);

/* Joins neighbours until there are at most so many. */
void frag_course_shorten(struct frag_course *course, uint32_t most);

#endif
