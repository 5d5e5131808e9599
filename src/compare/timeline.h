/* timeline.h - a run over its steps, in a few stretches. */
#ifndef COMPARE_TIMELINE_H
#define COMPARE_TIMELINE_H

#include <stdint.h>

#include "fragsim/engine.h"

#define FRAG_TIMELINE_MAX 64    /* stretches */

struct frag_stretch {
	uint64_t from;                  /* its first step */
	uint64_t reserved, allocated;   /* the highest in it */
};

/* However long the run: when they run out, neighbours become one. */
struct frag_timeline {
	uint64_t width;                 /* steps of the device in each but the last */
	uint64_t in_last;
	uint32_t count;                 /* 0: not known */
	struct frag_stretch stretch[FRAG_TIMELINE_MAX];
};

void frag_timeline_add(struct frag_timeline *timeline, const struct frag_step *step);

/* Joins neighbours until each stretch has at least so many steps. */
void frag_timeline_widen(struct frag_timeline *timeline, uint64_t width);

/* Joins neighbours until there are at most so many. */
void frag_timeline_shorten(struct frag_timeline *timeline, uint32_t max);

#endif
