/* escape_cells.h - fields of CSV and cells of Markdown. */
#ifndef ANSWERS_ESCAPE_CELLS_H
#define ANSWERS_ESCAPE_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Quoted where it must be. */
void frag_csv_text(FILE *f, const char *text);
/* A comma, and the number where it is there. */
void frag_csv_number(FILE *f, bool there, uint64_t value);

/* "| text ": what would end the cell, or be markup, is escaped. */
void frag_markdown_cell(FILE *f, const char *text);
/* "text " */
void frag_markdown_text(FILE *f, const char *text);

#endif
