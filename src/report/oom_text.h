/* oom_text.h - an out-of-memory, for a person. */
#ifndef REPORT_OOM_TEXT_H
#define REPORT_OOM_TEXT_H

#include "fragsim/metrics.h"

#define FRAG_OOM_ADVICE_ROOM 512

/* What was in the way of the request, and how memory was; in buf, which is returned. */
const char *frag_oom_advice(const struct frag_oom *oom, char buf[FRAG_OOM_ADVICE_ROOM]);

#endif
