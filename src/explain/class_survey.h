/* class_survey.h - the class of every block that a tape allocates, and the bytes of unknown ones. */
#pragma once

#include "explain/block_classes.h"

struct frag_class_survey {
	uint8_t *of;            /* by number of alloc: enum frag_life_class */
	uint32_t count;
	uint64_t unknown;       /* the most bytes at once of blocks whose class says nothing of their
				 * growth: unknown ones, long-lived and other ones, and temporary ones
				 * where lifetimes alone say so */
};

/* Call frag_class_survey_fini() also after a failure. -FRAG_ENOMEM */
int frag_class_survey_find(struct frag_class_survey *survey, const struct frag_tape *tape,
			   struct frag_error *err);
void frag_class_survey_fini(struct frag_class_survey *survey);  /* a zeroed one is valid */
