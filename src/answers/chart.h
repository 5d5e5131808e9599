/* chart.h - a run over its steps in a few lines of plain characters. */
#ifndef ANSWERS_CHART_H
#define ANSWERS_CHART_H

#include <stdio.h>

#include "fragsim/engine.h"

#define FRAG_CHART_MAX 256      /* stretches; twice that many steps share one, and so on */

struct frag_chart_stretch {
	uint64_t reserved, allocated;   /* the highest in it */
	double fi_device;
};

struct frag_chart {
	uint32_t count;                 /* stretches in use */
	uint64_t width;                 /* steps in each but the last */
	uint64_t in_last;
	bool opaque;                    /* fi_device is not known */
	struct frag_chart_stretch stretch[FRAG_CHART_MAX];
};

/* Observer; ctx is an array of struct frag_chart, one a device. */
int frag_chart_observe(void *ctx, const struct frag_step *step, struct frag_error *err);

/* As wide as the terminal's columns allow; 0: as wide as usual. */
void frag_chart_print(const struct frag_chart *chart, int columns, FILE *f);

#endif
