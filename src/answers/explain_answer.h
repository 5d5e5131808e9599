/* explain_answer.h - what fragsim explain found in a trace: its document, and what that shares with the text. */
#pragma once

#include "answers/answers.h"

/* The class that has more than half of its bytes; unknown where none has: it is of several kinds. */
enum frag_life_class frag_held_class(const struct frag_tag_memory *held);

/* what: a struct frag_explain_answer */
void frag_explain_document(struct frag_node_ref root, const void *what);
