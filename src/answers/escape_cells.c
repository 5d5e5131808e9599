/* escape_cells.c - fields of CSV and cells of Markdown. */
#include "answers/escape_cells.h"

#include <string.h>

#include "base/escape.h"

void frag_csv_text(FILE *f, const char *text)
{
	char shown[FRAG_PRINTABLE_ROOM];

	text = frag_printable(shown, text);
	if (!strpbrk(text, ",\"\n\r")) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', f);
		putc(*text, f);
	}
	putc('"', f);
}

void frag_markdown_text(FILE *f, const char *text)
{
	char shown[FRAG_PRINTABLE_ROOM];

	for (text = frag_printable(shown, text); *text; text++) {
		if (strchr("|\\`*_<>[]#&", *text))
			putc('\\', f);
		putc(*text, f);
	}
}
