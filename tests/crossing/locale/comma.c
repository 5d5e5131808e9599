/*
 * comma.c - a library to be loaded before all others, which makes the program what
 * some programs around fragsim's library are: one whose locale writes numbers with a
 * comma. It ends with status 97 where that was not so at the start, and with 98
 * where it no longer is at the end.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int writes_commas(void)
{
	char text[8];

	snprintf(text, sizeof(text), "%.1f", 0.5);
	return strcmp(text, "0,5") == 0 && strtod("0,5", NULL) == 0.5;
}

__attribute__((constructor)) static void begin(void)
{
	if (!setlocale(LC_ALL, "de_DE.UTF-8") || !writes_commas())
		_exit(97);
}

__attribute__((destructor)) static void end(void)
{
	const char *name = setlocale(LC_ALL, NULL);

	if (!name || strcmp(name, "de_DE.UTF-8") != 0 || !writes_commas())
		_exit(98);
}
