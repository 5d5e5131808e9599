/* main_cause.h - the kind of block that keeps most of the non-releasable memory reserved. */
#pragma once

#include "explain/explanation.h"

/*
 * After the moves are found: fills in the main cause of the moment, of the segments that the first
 * move leaves, else of all. Only segments of more than 2 MiB that are at least a
 * quarter free count, by the class of most of their live bytes: long-lived blocks that were
 * allocated in a segment reserved for others, or short-lived blocks.
 */
void frag_main_cause_find(struct frag_explained *m);
