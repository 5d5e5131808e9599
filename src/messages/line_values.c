/* line_values.c - reads the sizes of a line by the words next to each. */
#include "messages/line_values.h"

#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "messages/account_tables.h"

#define LABEL_MOST 48           /* bytes of words before a size that name it */

/* The first row whose word is in the label names the size. */
static const struct {
	const char *word;
	enum frag_said said;
} words[] = {
	{ "already", FRAG_SAID_ALLOCATED }, { "allocated", FRAG_SAID_ALLOCATED },
	{ "in use", FRAG_SAID_ALLOCATED }, { "used", FRAG_SAID_ALLOCATED },
	{ "free", FRAG_SAID_FREE }, { "available", FRAG_SAID_FREE }, { "remaining", FRAG_SAID_FREE },
	{ "total", FRAG_SAID_TOTAL }, { "capacity", FRAG_SAID_TOTAL },
	{ "allocations", FRAG_SAID_ALL },       /* what others hold: no request */
	{ "alloc", FRAG_SAID_ASKED }, { "request", FRAG_SAID_ASKED }, { "tried", FRAG_SAID_ASKED },
	{ "need", FRAG_SAID_ASKED }, { "require", FRAG_SAID_ASKED }, { "malloc", FRAG_SAID_ASKED },
};

static enum frag_said said_of(const char *label)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(label, words[i].word))
			return words[i].said;
	return FRAG_SAID_ALL;
}

/* The words that belong to a size end at punctuation between values. */
static void label_before(const char *line, const char *at, char label[LABEL_MOST + 1])
{
	size_t length = 0;

	while (at - length > line && length < LABEL_MOST && !strchr(",;|", at[-(ptrdiff_t)length - 1]))
		length++;
	frag_snprintf(label, LABEL_MOST + 1, "%.*s", (int)length, at - length);
}

void frag_line_values(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	char line[FRAG_ACCOUNT_LINE], label[LABEL_MOST + 1];

	frag_line_text(in, at, line, sizeof(line));
	for (char *p = line; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
	for (const char *p = line, *s; *p; p++) {
		struct frag_message_value size = { .there = true };
		enum frag_said said;

		s = p;
		if (!frag_is_digit(*p) || (p > line && (frag_is_digit(p[-1]) || frag_is_letter(p[-1])
							 || strchr("_.-", p[-1])))
		    || !frag_plain_size(&s, 0, &size.bytes))
			continue;
		label_before(line, p, label);
		said = said_of(label);
		if (said == FRAG_SAID_ALL) {
			frag_snprintf(label, sizeof(label), "%.*s", (int)strcspn(s, ",;|.0123456789"), s);
			said = said_of(label);
		}
		size.error = size.bytes / 200;
		frag_message_note(m, said, size);
		p = s - 1;
	}
}
