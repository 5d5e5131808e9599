/* text_style.c - text for people, in lines that fit the terminal. */
#include "answers/text_style.h"

#include <stdint.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "base/format.h"
#include "policy/evidence.h"

#define ROW_ROOM 4096
#define WRAPPED_MIN 30          /* columns; in fewer it is not worth it */

void frag_put_wrapped(int columns, const char *head, const char *text, FILE *f)
{
	const int indent = (int)strlen(head);
	const size_t room = columns > WRAPPED_MIN ? (size_t)(columns - indent) : SIZE_MAX;

	while (*text) {
		const size_t n = frag_wrap(text, room);

		fprintf(f, "%*s%.*s\n", indent, head, (int)n, text);
		text += n;
		text += strspn(text, " ");
		head = "";
	}
}

void frag_put_first_line(const struct frag_text_style *style, enum frag_color_code which,
			 const char *head, const char *text, FILE *f)
{
	fputs(frag_color_code(style->colour, which), f);
	frag_put_wrapped(style->columns, head, text, f);
	fputs(frag_color_code(style->colour, INK_PLAIN), f);
}

void frag_put_vrow(int columns, const char *label, FILE *f, const char *format, va_list args)
{
	char head[32], text[ROW_ROOM];

	frag_vsnprintf(text, sizeof(text), format, args);
	snprintf(head, sizeof(head), "  %-10s", label);
	frag_put_wrapped(columns, head, text, f);
}

void frag_put_row(int columns, const char *label, FILE *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	frag_put_vrow(columns, label, f, format, args);
	va_end(args);
}

void frag_put_evidence(int columns, const struct frag_choice *choice, const char *more, FILE *f)
{
	char text[FRAG_EVIDENCE_ROOM];

	frag_put_row(columns, "evidence", f, "%s%s%s", frag_evidence_text(choice, NULL, text),
		     *more ? "; " : "", more);
}

void frag_put_name(const char *name, int width, int indent, FILE *f)
{
	char shown[FRAG_PRINTABLE_ROOM];

	name = frag_printable(shown, name);
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, indent + width, "");
	else
		fprintf(f, "%-*s", width, name);
}

int frag_name_column(size_t longest, size_t min, size_t others, int columns)
{
	const size_t all = columns > 0 ? (size_t)columns : 0;
	const size_t left = all > others + min ? all - others : min;
	const size_t width = longest > min ? longest : min;

	return (int)(all && width > left ? left : width);
}

void frag_put_capacity(uint64_t bytes, FILE *f)
{
	fprintf(f, "  %11s", bytes == UINT64_MAX ? "-" : CAPACITY(bytes));
}

void frag_put_stopped(int columns, bool time_up, FILE *f)
{
	frag_put_row(columns, "stopped", f, "%s: the answer covers only the simulations until then",
		     time_up ? "the time was up (--time)" : "interrupted");
}
