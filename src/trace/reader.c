/* reader.c - what readers of forms share: sniffs, and notes for users. */
#include "trace/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"

void frag_note(const struct frag_log *log, const char *format, ...)
{
	char message[640];
	va_list args;

	if (!log->warn)
		return;
	va_start(args, format);
	frag_vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	log->warn(log->ctx, message);
}

static const char *reader_skip_space(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
		p++;
	return p;
}

/* After the closing quote of the string that begins after p, or the end. */
static const char *reader_skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

/* Not JSON's grammar, only its nesting: the reader itself is strict. */
enum frag_sniff frag_sniff_json(const char *bytes, size_t length, bool in_array,
				const char *const *ours, const char *const *theirs)
{
	const char *end = bytes + length, *p = reader_skip_space(bytes);
	uint32_t depth = 0;
	bool key = true;

	if (in_array && *p == '[')
		p = reader_skip_space(p + 1);
	else if (in_array)
		return p < end ? FRAG_SNIFF_NO : FRAG_SNIFF_MORE;
	if (p < end && *p != '{')
		return FRAG_SNIFF_NO;
	while (p < end) {
		const char *begin = p + 1;
		struct frag_text name;

		if (*p == '"') {
			p = reader_skip_string(p, end);
			if (!key || depth != 1 || p == end)
				continue;
			key = false;
			name = (struct frag_text){ begin, (uint32_t)(p - 1 - begin) };
			if (ours[frag_text_among(name, ours)])
				return FRAG_SNIFF_YES;
			if (theirs[frag_text_among(name, theirs)])
				return FRAG_SNIFF_NO;
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		if (depth == 0)
			return FRAG_SNIFF_NO;
		key = key || *p == ',';
		p++;
	}
	return FRAG_SNIFF_MORE;
}

enum frag_sniff frag_sniff_prefix(const char *bytes, size_t length, const char *prefix,
				  size_t prefix_length)
{
	size_t n = length < prefix_length ? length : prefix_length;

	if (memcmp(bytes, prefix, n) != 0)
		return FRAG_SNIFF_NO;
	return length < prefix_length ? FRAG_SNIFF_MORE : FRAG_SNIFF_YES;
}
