/*
 * escape.h - text from outside, as it may be shown to people.
 *
 * Names, paths and settings come from files that others wrote, and go to
 * terminals and to the logs of CI services. What would steer these, or hide from
 * the reader, is shown as an escape: control characters (\n, \u001b), bytes that
 * are no UTF-8 (\xff), separators of lines and paragraphs, marks that turn the
 * direction of text, and the beginnings of the commands that such services look
 * for in logs: "##[", "##vso[", and "::" where a line may begin. All else stays as it is, so
 * text that was escaped once is not escaped again.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* At p, without a NUL; returns the place after it. Room: 6 for each byte of text. */
char *frag_put_printable(char *p, const char *text, size_t length);

/* The text itself where nothing is to be escaped; else in buf, as much as there is room for. */
#define FRAG_PRINTABLE_ROOM 1024
const char *frag_printable(char buf[FRAG_PRINTABLE_ROOM], const char *text);

/* As snprintf, with such escapes, and never cut within one or within a character. */
void frag_format_printable(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void frag_vformat_printable(char *buf, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#endif
