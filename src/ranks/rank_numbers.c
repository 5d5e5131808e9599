/* rank_numbers.c - the numbers of ranks, by their names. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ranks/compare_ranks.h"

#define DIGITS_MAX 15

/* The number that *text begins with, which moves behind it. False: none, or too large a one. */
static bool rank_numbers_take_number(const char **text, uint64_t *number)
{
	const size_t n = strspn(*text, "0123456789");

	*number = 0;
	for (size_t i = 0; i < n && n <= DIGITS_MAX; i++)
		*number = 10 * *number + (uint64_t)((*text)[i] - '0');
	*text += n;
	return n && n <= DIGITS_MAX;
}

/* "out/rank-03/trace.gz": 3 */
static bool number_after_rank(const char *name, uint64_t *number)
{
	bool found = false;
	uint64_t n;

	for (const char *p = name; *p; p++) {
		const char *digits = p + 4;

		if (strncasecmp(p, "rank", 4) != 0)
			continue;
		digits += *digits && strchr("_-.= ", *digits);
		if (!rank_numbers_take_number(&digits, &n))
			continue;
		*number = n;
		found = true;
	}
	return found;
}

/* The place among the numbers of a name at which it differs from another one. */
struct difference {
	uint32_t at;
	uint64_t one, other;
	uint32_t count;
};

/* False: they differ in more than numbers. */
static bool find_difference(const char *one, const char *other, struct difference *d)
{
	uint32_t at = 0;
	uint64_t a, b;

	d->count = 0;
	while (*one && *other) {
		if (isdigit((unsigned char)*one) && isdigit((unsigned char)*other)) {
			if (!rank_numbers_take_number(&one, &a)
			    || !rank_numbers_take_number(&other, &b))
				return false;
			if (a != b) {
				d->count++;
				d->at = at;
				d->one = a;
				d->other = b;
			}
			at++;
		} else if (*one++ != *other++) {
			return false;
		}
	}
	return *one == *other;
}

/* Of "snap-2.pickle" and "snap-10.pickle" 2 and 10. */
static bool numbers_that_differ(const char *const *names, uint32_t count, uint64_t *numbers)
{
	struct difference d;
	uint32_t at = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (!find_difference(names[0], names[i], &d) || d.count != 1
		    || (i > 1 && d.at != at))
			return false;
		at = d.at;
		numbers[0] = d.one;
		numbers[i] = d.other;
	}
	return count > 1;
}

static int rank_numbers_by_value(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Short of memory nobody knows, which is no. */
static bool are_different(const uint64_t *numbers, uint32_t count)
{
	uint64_t *sorted = malloc((size_t)count * sizeof(*sorted));
	bool different = sorted != NULL;

	if (!sorted)
		return false;
	memcpy(sorted, numbers, (size_t)count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), rank_numbers_by_value);
	for (uint32_t i = 1; i < count && different; i++)
		different = sorted[i] != sorted[i - 1];
	free(sorted);
	return different;
}

bool frag_rank_numbers(const char *const *names, uint32_t count, uint64_t *numbers)
{
	uint32_t named = 0;

	while (named < count && number_after_rank(names[named], &numbers[named]))
		named++;
	if (named == count && are_different(numbers, count))
		return true;
	if (numbers_that_differ(names, count, numbers) && are_different(numbers, count))
		return true;
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = i;
	return false;
}
