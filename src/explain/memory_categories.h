/* memory_categories.h - the categories of PyTorch's memory timeline, which its reader makes tags. */
#pragma once

#include "explain/block_classes.h"
#include "fragsim/trace.h"

/* UNKNOWN: the tag is no category. */
enum frag_life_class frag_class_of_category(const struct frag_symbols *symbols, uint32_t tag);

/* Is every tag of the tape a category, and is there one? */
bool frag_states_categories(const struct frag_tape *tape);
