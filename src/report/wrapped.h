/* wrapped.h - words in lines that fit the terminal. */
#ifndef REPORT_WRAPPED_H
#define REPORT_WRAPPED_H

#include <stdio.h>

/* Words after a head, in lines of so many columns; 0, no terminal: in one line. */
void frag_put_wrapped(int columns, const char *head, const char *text, FILE *f);

#endif
