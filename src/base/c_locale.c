/* c_locale.c - printf and strtod as the C locale has them. */
#include "base/c_locale.h"

#include <pthread.h>
#include <stdlib.h>

static locale_t c_locale;

/* glibc and musl have this locale ready: it is never allocated or freed. */
static void find_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t frag_locale_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_c_locale);
	return uselocale(c_locale);
}

void frag_locale_end(locale_t before)
{
	uselocale(before);
}

/* A name in parentheses calls the function that banned.h poisons for all other files. */
double frag_strtod(const char *text, char **end)
{
	const locale_t before = frag_locale_begin();
	const double value = (strtod)(text, end);

	frag_locale_end(before);
	return value;
}

int frag_vsnprintf(char *buf, size_t size, const char *format, va_list args)
{
	const locale_t before = frag_locale_begin();
	const int length = (vsnprintf)(buf, size, format, args);

	frag_locale_end(before);
	return length;
}

int frag_snprintf(char *buf, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = frag_vsnprintf(buf, size, format, args);
	va_end(args);
	return length;
}

int frag_fprintf(FILE *f, const char *format, ...)
{
	const locale_t before = frag_locale_begin();
	va_list args;
	int length;

	va_start(args, format);
	length = vfprintf(f, format, args);
	va_end(args);
	frag_locale_end(before);
	return length;
}
