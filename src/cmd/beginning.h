/* beginning.h - what a trace begins with, where a device has no room for it. */
#ifndef CMD_BEGINNING_H
#define CMD_BEGINNING_H

#include "fragsim/engine.h"

/*
 * A note that the device cannot hold what is live before the first event; or, where it
 * can, that its segments do not fit and the run begins without them. Of several runs on
 * one device the first tells the former, each the latter.
 */
void frag_note_beginning(const struct frag_result *run, bool first, const struct frag_log *log);

#endif
