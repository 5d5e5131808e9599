/* glob.c - whether a name is one of those that a pattern means. */
#include "base/glob.h"

/*
 * Where the text does not go on as the pattern does, the last star takes one character more: those
 * before it need not be tried again, as what they have taken is the least that they can.
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
