/* verdict.h - what fragsim verify prints. */
#ifndef ANSWERS_VERDICT_H
#define ANSWERS_VERDICT_H

#include <stdio.h>

#include "verify/verifier.h"

/* The scores, then the first differences with the log around them. */
void frag_report_verdict(const struct frag_verification *v, const struct frag_trace *trace,
			 const char *settings, FILE *f);

#endif
