/* layout.h - rows of the text report: a head, and words that fit the terminal. */
#ifndef ANSWERS_LAYOUT_H
#define ANSWERS_LAYOUT_H

#include "answers/report.h"

/* Words after a head, in lines that fit the terminal; elsewhere in one line. */
void frag_print_wrapped(const struct frag_report *r, const char *head, const char *text, FILE *f);

/* "  label   text", likewise. */
void frag_print_row(const struct frag_report *r, const char *label, FILE *f,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* How many the trace has; runs go policy by policy, and there device by device. */
uint32_t frag_device_count(const struct frag_report *r);
bool frag_many_devices(const struct frag_report *r);

#define FRAG_RUN_NAME_ROOM 600  /* a policy as it was written, and a device */
/* What a run is called where it is beside others; in buf. */
void frag_report_name(const struct frag_report *r, const struct frag_result *run,
		   char buf[FRAG_RUN_NAME_ROOM]);

/*
 * The first column of tables: as wide as `min` and the longest name, or as the terminal has
 * room for beside so many columns of figures.
 */
int frag_name_width(const struct frag_report *r, size_t min, size_t figures);
/* A name in it; one that is too long has a line of its own. */
void frag_print_name(const char *name, int width, FILE *f);

#endif
