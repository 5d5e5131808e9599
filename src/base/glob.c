/* glob.c - whether a name is one of those that a pattern means. */
#include "base/glob.h"

/*
 * Where the text does not match the pattern, the last star takes one more character. Earlier
 * stars need no second attempt: each already matches the fewest characters possible.
 */
bool frag_glob_fits(const char *pattern, const char *text, size_t length)
{
	const char *star = NULL, *taken = text, *const end = text + length;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			taken = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++taken;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
