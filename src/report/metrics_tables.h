/* metrics_tables.h - the figures after the text report. */
#ifndef REPORT_METRICS_TABLES_H
#define REPORT_METRICS_TABLES_H

#include "report/report.h"

/* Peaks, indices and counts of each run, its timeline over the steps, and its worst marks. */
void frag_report_tables(const struct frag_report *r, FILE *f);

#endif
