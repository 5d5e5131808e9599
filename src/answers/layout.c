/* layout.c - rows of the text report. */
#include "answers/layout.h"

#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "answers/wrap_lines.h"

void frag_print_wrapped(const struct frag_report *r, const char *head, const char *text, FILE *f)
{
	frag_put_wrapped(r->columns, head, text, f);
}

void frag_print_row(const struct frag_report *r, const char *label, FILE *f,
		    const char *format, ...)
{
	va_list args;

	va_start(args, format);
	frag_put_vrow(r->columns, label, f, format, args);
	va_end(args);
}

uint32_t frag_device_count(const struct frag_report *r)
{
	uint32_t count = 1;

	while (count < r->run_count && r->runs[count].result->device == count)
		count++;
	return count;
}

bool frag_many_devices(const struct frag_report *r)
{
	return frag_device_count(r) > 1;
}

void frag_report_name(const struct frag_report *r, const struct frag_result *run,
		   char buf[FRAG_RUN_NAME_ROOM])
{
	if (frag_many_devices(r))
		frag_format_printable(buf, FRAG_RUN_NAME_ROOM, "%s @%u",
				      frag_choice_label(&run->choice), run->device);
	else
		frag_format_printable(buf, FRAG_RUN_NAME_ROOM, "%s",
				      frag_choice_label(&run->choice));
}

int frag_name_width(const struct frag_report *r, size_t min, size_t figures)
{
	const size_t columns = r->columns > 0 ? (size_t)r->columns : 0;
	const size_t room = columns > figures ? columns - figures : 0;
	size_t width = min;
	char name[FRAG_RUN_NAME_ROOM];

	for (uint32_t i = 0; i < r->run_count; i++) {
		frag_report_name(r, r->runs[i].result, name);
		if (strlen(name) > width)
			width = strlen(name);
	}
	if (columns && width > room)
		width = room > min ? room : min;
	return (int)width;
}

void frag_print_name(const char *name, int width, FILE *f)
{
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width, "");
	else
		fprintf(f, "%-*s", width, name);
}
