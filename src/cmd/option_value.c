/* option_value.c - what options take: sizes, numbers, one of a few words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/listed.h"
#include "base/parse.h"
#include "cmd/command.h"

int frag_option_size(uint64_t *out, const char *name, const char *value, uint64_t least,
		     struct frag_error *err)
{
	if (frag_parse_size(value, strlen(value), true, out) && *out >= least)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: a size such as 4.5GiB, from %" PRIu64
			 " and below 2^53 bytes, is wanted", name, value, least);
}

int frag_option_count(uint64_t *out, const char *name, const char *value, uint64_t least,
		      uint64_t most, struct frag_error *err)
{
	char last[FRAG_NUMBER_ROOM] = "2^53-1";

	if (frag_parse_count(value, strlen(value), out) && *out >= least && *out <= most)
		return 0;
	if (most < FRAG_COUNT_MOST)
		snprintf(last, sizeof(last), "%" PRIu64, most);
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: a number from %" PRIu64 " to %s is wanted",
			 name, value, least, last);
}

int frag_option_word(int *out, const char *name, const char *value, const char *const *words,
		     struct frag_error *err)
{
	struct frag_listed all = { .used = 0 };

	for (int i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) == 0) {
			*out = i;
			return 0;
		}
		frag_listed_add(&all, words[i]);
	}
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: %s is wanted", name, value,
			 frag_listed_text(&all, " or "));
}
