/* what_if_options.c - what is changed in a hypothetical trace, as a command line has it. */
#include "transform/what_if_options.h"

#include <string.h>

#include "base/parse.h"

#define DIGITS 18               /* of a number: what comes of it stays within 128 bits */

static bool what_if_options_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, with a point where `point` allows it: value / scale. What follows is *end. */
static bool what_if_options_read_number(const char *text, bool point, uint64_t *value,
					uint64_t *scale, const char **end)
{
	uint32_t digits = 0;
	bool behind = false;

	*value = 0;
	*scale = 1;
	for (; what_if_options_is_digit(*text) || (point && !behind && digits && *text == '.');
	     text++) {
		if (*text == '.') {
			behind = true;
			continue;
		}
		if (++digits > DIGITS)
			return false;
		*value = *value * 10 + (uint64_t)(*text - '0');
		*scale *= behind ? 10 : 1;
	}
	*end = text;
	return digits && text[-1] != '.';
}

int frag_change_factor(struct frag_what_if_change *c, const char *value, struct frag_error *err)
{
	const char *end;
	uint64_t one;
	bool good = what_if_options_read_number(value, true, &c->numerator, &c->denominator, &end);

	if (good && *end == '/' && c->denominator == 1)
		good = what_if_options_read_number(end + 1, false, &c->denominator, &one, &end);
	if (good && !*end && c->numerator && c->denominator)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--scale %.60s: a number above 0 is required, such as"
			 " 0.5, 2 or 1/3, of %d digits at most", value, DIGITS);
}

static int no_isolation(const char *value, struct frag_error *err)
{
	return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: by=life, by=tag, by=tag:GLOB or"
			 " by=size:SIZE is required", value);
}

/* "1MiB,20MiB": each larger than the one before. */
static int read_limits(struct frag_what_if_change *c, const char *value, const char *text,
		       struct frag_error *err)
{
	for (;; text++) {
		const size_t length = strcspn(text, ",");
		uint64_t *limit = &c->limits[c->limit_count];

		if (c->limit_count == FRAG_CHANGE_LIMITS)
			return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: %d sizes are possible",
					 value, FRAG_CHANGE_LIMITS);
		if (!frag_parse_size(text, length, true, limit) || !*limit
		    || (c->limit_count && *limit <= limit[-1]))
			return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: sizes above 0 are"
					 " required, such as 1MiB, each larger than the one"
					 " before", value);
		c->limit_count++;
		text += length;
		if (!*text)
			return 0;
	}
}

int frag_change_isolation(struct frag_what_if_change *c, const char *value, struct frag_error *err)
{
	if (strcmp(value, "by=life") == 0) {
		c->by = FRAG_BY_LIFE;
		return 0;
	}
	if (strncmp(value, "by=tag", 6) == 0 && (!value[6] || (value[6] == ':' && value[7]))) {
		c->by = FRAG_BY_TAG;
		c->glob = value[6] ? value + 7 : NULL;
		return 0;
	}
	if (strncmp(value, "by=size:", 8) != 0)
		return no_isolation(value, err);
	c->by = FRAG_BY_SIZE;
	return read_limits(c, value, value + 8, err);
}
