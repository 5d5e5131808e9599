/*
 * c_locale.h - printf and strtod as the C locale has them.
 *
 * The program around the library may have set a locale that writes numbers with a
 * comma. The library reads and writes them with a point all the same: whatever
 * prints or reads a number with a fraction does it here. Only the calling thread's
 * locale changes, and only for the time of the call.
 */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

double frag_strtod(const char *text, char **end);

int frag_vsnprintf(char *buf, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
int frag_snprintf(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int frag_fprintf(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for calls of another library: between the two this thread has the C locale. */
locale_t frag_locale_begin(void);
void frag_locale_end(locale_t before);

#endif
