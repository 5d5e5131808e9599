/* class_survey.h - the class of every block that a tape allocates, and the bytes of unknown ones. */
#pragma once

#include "explain/block_classes.h"

/*
 * Of a block that is no activation, but has the size of one, and not of a weight, as the gradient of an
 * activation; and of the buffer of a sum over an activation, whose elements always have 4 bytes. Their
 * sizes depend on the batch.
 */
#define FRAG_LIKE_ACTIVATIONS FRAG_LIFE_CLASSES
#define FRAG_SUM_BUFFERS (FRAG_LIFE_CLASSES + 1)

struct frag_class_survey {
	uint8_t *of;            /* by number of alloc: enum frag_life_class, or one of these */
	uint32_t count;
	uint64_t unknown;       /* the most bytes at once of blocks whose class says nothing of their
				 * growth: unknown ones, long-lived and other ones, and temporary ones
				 * where lifetimes alone say so */
};

/*
 * The class alone of every block that a tape allocates, as an explanation of the tape has it: enum frag_life_class by
 * number of alloc, owned by the caller. -FRAG_ENOMEM
 */
int frag_alloc_classes(uint8_t **of, const struct frag_tape *tape, struct frag_error *err);

/* Call frag_class_survey_fini() also after a failure. -FRAG_ENOMEM */
int frag_class_survey_find(struct frag_class_survey *survey, const struct frag_tape *tape,
			   struct frag_error *err);
void frag_class_survey_fini(struct frag_class_survey *survey);  /* a zeroed one is valid */
