/*
 * recording_number.h - texts that tell at which number a program was recorded.
 *
 * "step0 len256" of a recording at 256 is what "step0 len512" is of one at 512. The number stands
 * there as such: in decimal, with no digit beside it.
 */
#ifndef TRANSFORM_RECORDING_NUMBER_H
#define TRANSFORM_RECORDING_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "fragsim/trace.h"

/* Are they the same but for each recording's own number? */
bool frag_text_same_except_number(struct frag_text a, uint32_t a_number, struct frag_text b,
			  uint32_t b_number);

/* How long text can get, at the longest. */
#define FRAG_OWN_NUMBER_ROOM(length) ((size_t)(length) * 10 + 1)

/*
 * Text a as the program would have it at another number, of two that are the same in that way:
 * where they differ that number stands. out: FRAG_OWN_NUMBER_ROOM(a.length) bytes.
 */
struct frag_text frag_own_number_at(struct frag_text a, struct frag_text b, uint32_t number,
				    char *out);

#endif
