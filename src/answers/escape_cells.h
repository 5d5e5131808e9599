/* escape_cells.h - fields of CSV and cells of Markdown. */
#ifndef ANSWERS_ESCAPE_CELLS_H
#define ANSWERS_ESCAPE_CELLS_H

#include <stdio.h>

/* A field of CSV, quoted where RFC 4180 requires quotes. */
void frag_csv_text(FILE *f, const char *text);

/* Text of a Markdown cell: characters that are markup are escaped. */
void frag_markdown_text(FILE *f, const char *text);

#endif
