/* initial_state_text.h - what a trace begins with, where a device has no room for it. */
#ifndef ANSWERS_INITIAL_STATE_TEXT_H
#define ANSWERS_INITIAL_STATE_TEXT_H

#include <stdbool.h>

#include "fragsim/engine.h"

#define FRAG_BEGINNING_ROOM 700

/*
 * That the device cannot hold what is live before the first event; or, where it can, that its
 * segments do not fit and the run begins without them. Of several runs on one device the first
 * tells the former, each the latter. False: there is nothing to be told.
 */
bool frag_beginning_text(const struct frag_result *run, bool first, char buf[FRAG_BEGINNING_ROOM]);

#endif
