/* line_values.h - reads the sizes of a line by the words next to each. */
#pragma once

#include "messages/match.h"

/*
 * Of a line whose program is not known: notes what its sizes are where the words before or behind
 * one say so, and only sizes that have a unit.
 */
void frag_line_values(const struct frag_stripped_text *in, size_t at, struct frag_message *m);
