/* wrap_lines.h - words in lines that fit the terminal. */
#ifndef ANSWERS_WRAP_LINES_H
#define ANSWERS_WRAP_LINES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Words after a head, in lines of so many columns; 0, no terminal: in one line. */
void frag_put_wrapped(int columns, const char *head, const char *text, FILE *f);

/*
 * "  label   text", likewise, the text as frag_fprintf() has it. No label: what is above goes on.
 */
void frag_put_row(int columns, const char *label, FILE *f, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void frag_put_vrow(int columns, const char *label, FILE *f, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

/* The row of an answer that its time (--time), or else a signal, has cut short. */
void frag_put_stopped(int columns, bool time_up, FILE *f);

#endif
