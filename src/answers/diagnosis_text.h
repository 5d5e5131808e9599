/* diagnosis_text.h - the answers that a report begins with. */
#ifndef ANSWERS_DIAGNOSIS_TEXT_H
#define ANSWERS_DIAGNOSIS_TEXT_H

#include "answers/report.h"

/*
 * A line that says whether it fits; where there is one run, what it needs, why it failed, what
 * to try. The report's answers may be missing, and then it says less.
 */
void frag_print_verdict(const struct frag_report *r, FILE *f);

/* A row a run, its status first, and one for each setting that was tried beside. */
void frag_print_settings(const struct frag_report *r, FILE *f);

/* What is to be known of each run that failed, or of the peak of a single one that did not. */
void frag_print_details(const struct frag_report *r, FILE *f);

/*
 * Does a run have rows about another setting? Not where one of the same device fits beside it: who
 * compares settings has made a choice of them already.
 */
bool frag_report_has_remedy(const struct frag_report_run *runs, uint32_t count, uint32_t i);

#endif
