/* sweep_record.c - a run of a sweep as a line. */
#include "documents/sweep_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/hash.h"
#include "base/string_stream.h"
#include "documents/documents.h"
#include "fragsim/version.h"

#define MANIFEST ", \"manifest\": \""
#define CHECK ", \"check\": \""
#define DIGITS 16
#define TAIL (sizeof(CHECK) - 1 + DIGITS + sizeof("\"}") - 1)

/* Its line ends go, and the blanks behind them: strings have none of the former. */
static size_t join_lines(char *text, size_t length)
{
	char *to = text;

	for (const char *p = text; p < text + length;) {
		if (*p != '\n') {
			*to++ = *p++;
			continue;
		}
		p += strspn(p, "\n ");
		if (to > text && to[-1] == ',')
			*to++ = ' ';
	}
	*to = '\0';
	return (size_t)(to - text);
}

static int sweep_record_put_head(FILE *f, uint32_t run, uint64_t manifest, const char *policy,
				 uint64_t total)
{
	char *json = malloc(strlen(policy) * 6 + 3);

	if (!json)
		return -1;
	*frag_put_json(json, policy, strlen(policy)) = '\0';
	fprintf(f, FRAG_RUN_LINE_BEGIN "%" PRIu32 MANIFEST "%016" PRIx64 "\", \"tool\": "
		"{\"name\": \"fragsim\", \"version\": \"" FRAG_VERSION "\"}, \"policy\": %s, "
		"\"device_bytes\": ", run, manifest, json);
	if (total == UINT64_MAX)
		fputs("null, ", f);
	else
		fprintf(f, "%" PRIu64 ", ", total);
	free(json);
	return 0;
}

/* The object of the trace begins with a brace, which the head has already, and ends with one. */
int frag_run_line_write(const struct frag_runs *runs, uint32_t run, uint64_t manifest,
			const char *policy, uint64_t total, char **text, size_t *length,
			struct frag_error *err)
{
	struct frag_memory body, line;
	const char *p;
	size_t n;
	int failed;

	*text = NULL;
	if (!frag_memory_open(&body))
		return frag_fail_nomem(err);
	failed = frag_baseline_trace(runs, body.f);
	failed |= !frag_memory_close(&body);
	if (failed || !frag_memory_open(&line)) {
		free(body.text);
		return frag_fail_nomem(err);
	}
	n = join_lines(body.text, body.size);
	p = strchr(body.text, '{') + 1;
	failed = sweep_record_put_head(line.f, run, manifest, policy, total);
	fwrite(p, 1, n - (size_t)(p - body.text) - 1, line.f);
	free(body.text);
	/* what is there is known after that only */
	failed |= fflush(line.f) != 0 || !line.text;
	if (!failed)
		fprintf(line.f, CHECK "%016" PRIx64 "\"}\n",
			frag_hash_content(line.text, line.size, 0));
	failed |= !frag_memory_close(&line);
	if (failed) {                   /* the text of a stream that was closed in vain is gone */
		free(line.text);
		return frag_fail_nomem(err);
	}
	*text = line.text;
	*length = line.size;
	return 0;
}

/* Exactly 16 digits, as they are written. */
static const char *take_digits(const char *p, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < DIGITS; i++, p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return NULL;
	}
	return p;
}

bool frag_run_line_parse(struct frag_run_line *line, const char *text, size_t length)
{
	const size_t begin = sizeof(FRAG_RUN_LINE_BEGIN) - 1;
	const size_t least = begin + 1 + sizeof(MANIFEST) - 1 + DIGITS + 1 + TAIL;
	const char *tail = text + length - TAIL, *p = text + begin, *digits = p;
	uint64_t run = 0;

	if (length < least || memcmp(text, FRAG_RUN_LINE_BEGIN, begin) != 0
	    || memcmp(tail, CHECK, sizeof(CHECK) - 1) != 0
	    || memcmp(text + length - 2, "\"}", 2) != 0)
		return false;
	for (; p < digits + 8 && *p >= '0' && *p <= '9'; p++)
		run = run * 10 + (uint64_t)(*p - '0');
	if (p == digits || (size_t)(tail - p) < sizeof(MANIFEST) + DIGITS
	    || memcmp(p, MANIFEST, sizeof(MANIFEST) - 1) != 0)
		return false;
	line->run = (uint32_t)run;
	return take_digits(p + sizeof(MANIFEST) - 1, &line->manifest)
	       && take_digits(tail + sizeof(CHECK) - 1, &line->check)
	       && frag_hash_content(text, (size_t)(tail - text), 0) == line->check;
}
