/*
 * line.h - figures over the steps of a run: the least and the most of each stretch, exactly,
 * and single steps around a few of them.
 */
#ifndef PAGE_LINE_H
#define PAGE_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum frag_line_figure {
	FRAG_LINE_RESERVED, FRAG_LINE_ALLOCATED, FRAG_LINE_REQUESTED, FRAG_LINE_STRANDED,
	FRAG_LINE_FIGURES,
};

#define FRAG_LINE_MAX 2048

struct frag_line_bucket {
	uint64_t least[FRAG_LINE_FIGURES], most[FRAG_LINE_FIGURES];
};

/* Bucket i has the steps from i << shift on. One without a step has a least above its most. */
struct frag_line {
	uint32_t count, shift;
	struct frag_line_bucket bucket[FRAG_LINE_MAX];
};

/* A ring of the last steps, or what was taken of it. */
#define FRAG_WINDOW_MAX 512
struct frag_line_step {
	uint64_t step;
	uint64_t at[FRAG_LINE_FIGURES];
};
struct frag_window_line {
	uint64_t seen;          /* steps so far; of a ring */
	uint32_t count;         /* of what was taken */
	bool taken;
	struct frag_line_step step[FRAG_WINDOW_MAX];
};

/* Steps come in order. */
void frag_line_add(struct frag_line *line, uint64_t step, const uint64_t at[FRAG_LINE_FIGURES]);

/* After the last one: a bucket without a step becomes as the one before it. */
void frag_line_fill(struct frag_line *line);

void frag_window_add(struct frag_window_line *ring, uint64_t step,
		     const uint64_t at[FRAG_LINE_FIGURES]);
/* Takes what the ring has, the oldest first. */
void frag_window_take(struct frag_window_line *to, const struct frag_window_line *ring);

#endif
