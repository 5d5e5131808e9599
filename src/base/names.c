/* names.c - names that users type: patterns, lists for messages, suggestions, old names. */
#include "base/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static void name_list_append(struct frag_name_list *l, const char *joint)
{
	int n;

	if (!l->last || l->used >= sizeof(l->text))
		return;
	n = snprintf(l->text + l->used, sizeof(l->text) - l->used, "%s%s", l->used ? joint : "",
		     l->last);
	l->used += n > 0 ? (size_t)n : 0;
	l->last = NULL;
}

void frag_listed_add(struct frag_name_list *l, const char *name)
{
	name_list_append(l, ", ");
	l->last = name;
}

const char *frag_listed_text(struct frag_name_list *l, const char *joint)
{
	name_list_append(l, joint);
	return l->text;
}

#define LETTERS_MAX 63

static char plain(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '_' ? '-' : c;
}

static uint32_t suggest_min_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Distance of Damerau and Levenshtein (optimal string alignment): an insertion, a deletion, a
 * replacement or a swap of two adjacent letters counts once. A swap needs the row before the
 * previous one, so three rows are kept.
 */
uint32_t frag_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	/* distances of what precedes: two letters of a ago, one ago, and now */
	uint32_t rows[3][LETTERS_MAX + 1] = { { 0 } };
	uint32_t n = (uint32_t)(a_length < LETTERS_MAX ? a_length : LETTERS_MAX);
	uint32_t m = (uint32_t)(b_length < LETTERS_MAX ? b_length : LETTERS_MAX);

	for (uint32_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t *now = rows[i % 3];
		const uint32_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = i;
		for (uint32_t j = 1; j <= m; j++) {
			bool same = plain(a[i - 1]) == plain(b[j - 1]);

			now[j] = suggest_min_of(last[j - 1] + !same,
						suggest_min_of(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2])
			    && plain(a[i - 2]) == plain(b[j - 1]))
				now[j] = suggest_min_of(now[j], before[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

struct frag_suggestion frag_near_to(const char *word, size_t length)
{
	uint32_t enough = (uint32_t)(length < 9 ? length / 3 : 3);

	return (struct frag_suggestion){ .word = word, .length = length, .distance = enough + 1 };
}

void frag_near_offer(struct frag_suggestion *near, const char *name)
{
	size_t length = strlen(name);
	uint32_t distance;

	if (near->length == 0)
		return;
	distance = frag_distance(near->word, near->length, name, length);
	/* a word cut short is as good as one with a slip */
	if (near->length >= 3 && near->length < length
	    && distance == length - near->length
	    && frag_distance(near->word, near->length, name, near->length) == 0)
		distance = 1;
	if (distance < near->distance) {
		near->distance = distance;
		near->best = name;
	}
}

const char *frag_near_hint(const struct frag_suggestion *near, const char *before,
			   char buf[FRAG_HINT_ROOM])
{
	buf[0] = '\0';
	if (near->best)
		snprintf(buf, FRAG_HINT_ROOM, " did you mean %s%.64s?", before, near->best);
	return buf;
}

static const struct {
	const char *name, *old;
} renamed[] = {
	{ "non_releasable", "stranded" },
	{ "wasted", "lost" },
	{ "reliable", "safe" },
	{ "fits", "ok" },
};

#define COUNT (sizeof(renamed) / sizeof(renamed[0]))

const char *frag_old_name(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(renamed[i].name, name) == 0)
			return renamed[i].old;
	return NULL;
}

/* The new name of a part of a path, or the part itself. */
static const char *new_name(const char *part, size_t *length)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strlen(renamed[i].old) == *length
		    && memcmp(renamed[i].old, part, *length) == 0) {
			*length = strlen(renamed[i].name);
			return renamed[i].name;
		}
	return part;
}

void frag_new_path(const char *path, char *out, size_t room)
{
	size_t used = 0;

	*out = '\0';
	for (const char *dot = ""; *path && used < room; path += *path == '.') {
		const size_t length = strcspn(path, ".");
		size_t n = length;
		const char *name = new_name(path, &n);

		used += (size_t)snprintf(out + used, room - used, "%s%.*s", dot, (int)n, name);
		path += length;
		dot = ".";
	}
}
