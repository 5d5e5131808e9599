/* diff_gate.h - what broke, in the text of a comparison. */
#ifndef ANSWERS_DIFF_GATE_H
#define ANSWERS_DIFF_GATE_H

#include "answers/diff.h"

/* The bounds, the verdict, what broke and what is better than before. */
void frag_diff_text_gate(const struct frag_diff *diff, FILE *f);

#endif
