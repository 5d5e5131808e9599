/* csv_lines.c - lines of a CSV file through the window, and the fields between their commas. */
#include "trace/csv_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "input/json_scan.h"

/*
 * A line that the window cuts is searched again from its start once that is the window's first
 * byte. Only the last line of the file may lack its end.
 */
int frag_csv_next_line(struct frag_csv_file *f, struct frag_text *line, struct frag_error *err)
{
	for (;;) {
		const char *begin = f->in.buf + f->at;
		const char *end = memchr(begin, '\n', f->in.end - f->at);
		size_t length;
		int rc;

		if (!end && !f->in.eof) {
			rc = frag_input_fill(&f->in, f->at, err);
			f->at = 0;
			if (rc < 0)
				return rc;
			continue;
		}
		if (!end && f->at == f->in.end)
			return 0;
		length = end ? (size_t)(end - begin) : f->in.end - f->at;
		f->begin = f->at;
		f->at += length + (end != NULL);
		f->line++;
		if (length && begin[length - 1] == '\r')
			length--;
		*line = (struct frag_text){ .text = begin, .length = (uint32_t)length };
		return 1;
	}
}

int frag_csv_bad(struct frag_csv_file *f, const char *at, struct frag_error *err,
		 const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ":%zu: %s", f->in.path, f->line,
			 (size_t)(at - (f->in.buf + f->begin)) + 1, text);
}

bool frag_csv_integer(struct frag_text field, int64_t *out)
{
	bool negative = field.length && *field.text == '-';
	uint64_t value;

	if (!frag_parse_count(field.text + negative, field.length - negative, &value))
		return false;
	*out = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

bool frag_csv_is_text(struct frag_text field)
{
	const unsigned char *p = (const unsigned char *)field.text, *end = p + field.length;

	while (p < end) {
		uint32_t n = *p < 0x80 ? *p >= 0x20 && *p != 0x7f : frag_utf8_length(p);

		if (n == 0)
			return false;
		p += n;
	}
	return p == end;
}

const char *frag_csv_show(struct frag_text field, char buf[48])
{
	uint32_t n = field.length < 40 ? field.length : 40;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = field.text[i] >= 0x20 && field.text[i] < 0x7f ? field.text[i] : '?';
	buf[n] = '\0';
	return buf;
}

int frag_csv_wanted(struct frag_csv_file *f, struct frag_text field, const char *wanted,
		    struct frag_error *err)
{
	char shown[48];

	return frag_csv_bad(f, field.text, err, "%s is required, not \"%s\"", wanted,
		       frag_csv_show(field, shown));
}
uint32_t frag_csv_split(struct frag_text line, struct frag_text *fields, uint32_t max)
{
	const char *p = line.text, *end = p + line.length;
	uint32_t count = 0;

	for (;;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma ? comma : end;

		if (count < max)
			fields[count] = (struct frag_text){ p, (uint32_t)(stop - p) };
		count++;
		if (!comma)
			return count;
		p = comma + 1;
	}
}
