/* step_series.h - metrics over the steps of a run: buckets of all steps, and the last single ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Metrics over the steps of a run: exact minimum and maximum of each bucket, and single steps
 * around a few of them.
 */
enum frag_line_figure {
	FRAG_LINE_RESERVED, FRAG_LINE_ALLOCATED, FRAG_LINE_REQUESTED, FRAG_LINE_NON_RELEASABLE,
	FRAG_LINE_FIGURES,
};

#define FRAG_LINE_MAX 2048

struct frag_series_bucket {
	uint64_t least[FRAG_LINE_FIGURES], most[FRAG_LINE_FIGURES];
};

/* Bucket i has the steps from i << shift on. One without a step has a least above its most. */
struct frag_line {
	uint32_t count, shift;
	struct frag_series_bucket bucket[FRAG_LINE_MAX];
};

/* A ring of the last steps, or what was taken of it. */
#define FRAG_PAGE_STEPS_MAX 512
struct frag_line_step {
	uint64_t step;
	uint64_t at[FRAG_LINE_FIGURES];
};
struct frag_window_line {
	uint64_t seen;          /* steps so far; of a ring */
	uint32_t count;         /* of what was taken */
	bool taken;
	struct frag_line_step step[FRAG_PAGE_STEPS_MAX];
};

/*
 * The bucket of a step, made where it is none yet: all before it are, and may be without a step,
 * because of omitted steps or steps of another device.
 */
struct frag_series_bucket *frag_line_make(struct frag_line *line, uint64_t step);

/* Steps come in order, and there are many. */
static inline void frag_line_add(struct frag_line *line, uint64_t step,
			    const uint64_t at[FRAG_LINE_FIGURES])
{
	const uint64_t i = step >> line->shift;
	struct frag_series_bucket *b = i < line->count ? &line->bucket[i] : frag_line_make(line, step);

	for (int k = 0; k < FRAG_LINE_FIGURES; k++) {
		b->least[k] = at[k] < b->least[k] ? at[k] : b->least[k];
		b->most[k] = at[k] > b->most[k] ? at[k] : b->most[k];
	}
}

/* After the last one: a bucket without a step becomes as the one before it. */
void frag_line_fill(struct frag_line *line);

/* Adds a step to a ring. */
static inline void frag_window_add(struct frag_window_line *ring, uint64_t step,
			      const uint64_t at[FRAG_LINE_FIGURES])
{
	struct frag_line_step *to = &ring->step[ring->seen++ % FRAG_PAGE_STEPS_MAX];

	to->step = step;
	memcpy(to->at, at, sizeof(to->at));
}

/* Takes what the ring has, the oldest first. */
void frag_window_take(struct frag_window_line *to, const struct frag_window_line *ring);
