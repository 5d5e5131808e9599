/*
 * escape.h - text from outside, as it may be shown to people. Names, paths and settings come
 * from foreign files, and go to terminals and to the logs of CI services. Text that could
 * control these, or mislead a reader, is written as an escape: control characters (\n, \u001b),
 * bytes that are not UTF-8 (\xff), separators of lines and paragraphs, marks that change the
 * direction of text, and prefixes of CI commands: "##[", "##vso[", and "::" where a line may
 * begin. Other text stays unchanged, so escaping escaped text changes nothing.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes at p, without a NUL, up to 6 bytes for each byte of text; returns the place after it. */
char *frag_put_printable(char *p, const char *text, size_t length);

/* Returns the text itself if it needs no escape, else an escaped copy in buf, cut to fit. */
#define FRAG_PRINTABLE_ROOM 1024
const char *frag_printable(char buf[FRAG_PRINTABLE_ROOM], const char *text);

/* As snprintf, with such escapes, and never cut within one or within a character. */
void frag_format_printable(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void frag_vformat_printable(char *buf, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/*
 * Returns the bytes of the first line of at most `columns` columns. Lines break at a space,
 * except one between a number and its unit; a longer word is cut. A byte is a column, except
 * the bytes of colour codes, which have no width. The caller skips the spaces after the line.
 */
size_t frag_wrap(const char *text, size_t columns);

#define FRAG_SHORT_NAME 61
/*
 * Copies a JSON string with its quotes to buf; of one with more than 60 bytes only the
 * beginning, three dots and the closing quote. Returns buf.
 */
const char *frag_short_name(const char *json, char buf[FRAG_SHORT_NAME]);

#endif
