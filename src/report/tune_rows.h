/* tune_rows.h - which settings are shown of many that were tried. */
#ifndef REPORT_TUNE_ROWS_H
#define REPORT_TUNE_ROWS_H

#include "search/tune_search.h"

#define FRAG_TUNE_ROWS 10

/*
 * The best, the best without expandable segments, the defaults, plain expandable segments, and
 * those that do as well, each once. How many there are.
 */
uint32_t frag_tune_rows(const struct frag_tune *tune, struct frag_point rows[FRAG_TUNE_ROWS]);

#endif
