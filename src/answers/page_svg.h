/* page_svg.h - the timeline of a run as a picture without a script. */
#ifndef ANSWERS_PAGE_SVG_H
#define ANSWERS_PAGE_SVG_H

#include <stdio.h>

#include "fragsim/metrics.h"
#include "html_report/page.h"

#define FRAG_SVG_WIDTH 960
#define FRAG_SVG_HEIGHT 240     /* of a panel */

/* A panel of a picture; name: of the trace, where it is to be said. */
void frag_svg_panel(const struct frag_result *run, const struct frag_page_device *d,
		    const char *name, uint32_t number, FILE *f);

/* Around so many panels. */
void frag_svg_begin(uint32_t panels, FILE *f);
void frag_svg_end(FILE *f);

/* Text with <, >, &, quotes and what is not printable as references; for HTML too. */
void frag_put_markup(const char *text, size_t length, FILE *f);

#endif
