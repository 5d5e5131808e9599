/*
 * compare_ranks.c - compares the ranks of a distributed job: finds those that differ, and their
 * tags.
 */
#include "ranks/compare_ranks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const frag_rank_figure_names[FRAG_RANK_FIGURES] = {
	[FRAG_RANK_RESERVED] = "reserved", [FRAG_RANK_REQUESTED] = "requested",
	[FRAG_RANK_LOST] = "wasted",
};

#define BESIDE 10       /* a device with 1/10 of the bytes of another is not compared */

static int compare_ranks_by_value(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Of an even number the mean of the two in the middle, rounded down. The values are sorted. */
static uint64_t median_of(uint64_t *values, uint32_t count)
{
	uint64_t low, high;

	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_ranks_by_value);
	low = values[(count - 1) / 2];
	high = values[count / 2];
	return low + (high - low) / 2;
}

static uint64_t apart_by(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Where a rank has much on one device, and little on another, the little strayed there: it is
 * no rank to compare with. Rows of one source are side by side.
 */
static void choose_compared(struct frag_ranking *r)
{
	for (uint32_t i = 0, end; i < r->count; i = end) {
		uint64_t most = 0;

		for (end = i; end < r->count && r->rows[end].source == r->rows[i].source; end++)
			if (r->rows[end].figure[FRAG_RANK_RESERVED] > most)
				most = r->rows[end].figure[FRAG_RANK_RESERVED];
		for (uint32_t k = i; k < end; k++) {
			r->rows[k].compared =
				r->rows[k].figure[FRAG_RANK_RESERVED] >= most / BESIDE;
			r->compared += r->rows[k].compared;
		}
	}
}

/* values: space for one a row. */
static void compare_ranks_measure(struct frag_ranking *r, enum frag_rank_figure figure,
				  uint64_t *values)
{
	uint64_t median, distance;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->rows[i].compared)
			values[n++] = r->rows[i].figure[figure];
	median = median_of(values, n);
	r->median[figure] = median;
	r->least[figure] = values[0];
	r->most[figure] = values[n - 1];
	for (uint32_t i = 0; i < n; i++)
		values[i] = apart_by(values[i], median);
	distance = median_of(values, n);
	r->limit[figure] = distance > UINT64_MAX / FRAG_RANK_SPREADS
			   ? UINT64_MAX : FRAG_RANK_SPREADS * distance;
}

static void set_limits(struct frag_ranking *r)
{
	if (r->floor == UINT64_MAX)
		r->floor = r->median[FRAG_RANK_RESERVED] / FRAG_RANK_FLOOR_PART;
	r->alike = true;
	for (int k = 0; k < FRAG_RANK_FIGURES; k++) {
		if (r->limit[k] < r->floor)
			r->limit[k] = r->floor;
		r->alike &= r->least[k] == r->most[k];
	}
}

/* Those that are far from the median, and those that ran out of memory where most did not. */
static void compare_ranks_judge(struct frag_ranking *r)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < r->count; i++)
		failed += r->rows[i].compared && r->rows[i].ooms;
	r->alike &= !failed || failed == r->compared;
	for (uint32_t i = 0; i < r->count && r->compared >= FRAG_RANK_COMPARED_MIN; i++) {
		struct frag_ranked *row = &r->rows[i];

		if (!row->compared)
			continue;
		for (int k = 0; k < FRAG_RANK_FIGURES; k++)
			if (apart_by(row->figure[k], r->median[k]) > r->limit[k])
				row->apart |= 1U << k;
		row->apart_oom = row->ooms && failed < r->compared - failed;
		r->apart += row->apart || row->apart_oom;
	}
}

static bool is_worse(const struct frag_ranked *a, const struct frag_ranked *b)
{
	if (!a->ooms != !b->ooms)
		return a->ooms != 0;
	return a->figure[FRAG_RANK_RESERVED] > b->figure[FRAG_RANK_RESERVED];
}

/* From the last to the first, so that of equals the first remains. */
static void find_extremes(struct frag_ranking *r)
{
	for (uint32_t i = r->count; i-- > 0;) {
		const struct frag_ranked *row = &r->rows[i];
		const uint64_t reserved = row->figure[FRAG_RANK_RESERVED];

		r->ooms += row->ooms != 0;
		if (i + 1 == r->count || !is_worse(&r->rows[r->worst], row))
			r->worst = i;
		if (row->compared && reserved == r->most[FRAG_RANK_RESERVED])
			r->highest = i;
		if (row->compared && reserved == r->least[FRAG_RANK_RESERVED])
			r->lowest = i;
	}
}

static int compare_ranks_by_owner(const void *one, const void *other)
{
	const struct frag_rank_share *a = one, *b = other;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* What the compared rows have of one owner, the minimum first; what is none is not among them. */
static uint64_t median_among(const struct frag_rank_share *shares, uint32_t count, uint32_t rows)
{
	const uint32_t none = rows - count, at = (rows - 1) / 2, next = rows / 2;
	const uint64_t low = at < none ? 0 : shares[at - none].bytes;
	const uint64_t high = next < none ? 0 : shares[next - none].bytes;

	return low + (high - low) / 2;
}

/* The median of each tag that at least half of the rows have; by tag. */
struct usual {
	struct frag_rank_share *list;
	uint32_t count;
};

/* Sorts the tags of all compared rows, so that the rows of one tag are adjacent. */
static int find_usual(struct usual *usual, const struct frag_ranking *r, struct frag_error *err)
{
	size_t all = 0, used = 0, kept = 0;

	for (uint32_t i = 0; i < r->count; i++)
		all += r->rows[i].compared ? r->rows[i].held_count : 0;
	usual->list = malloc((all + 1) * sizeof(*usual->list));
	if (!usual->list)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->count; i++) {
		const struct frag_ranked *row = &r->rows[i];

		if (!row->compared || !row->held_count)
			continue;
		memcpy(usual->list + used, row->held, row->held_count * sizeof(*row->held));
		used += row->held_count;
	}
	qsort(usual->list, used, sizeof(*usual->list), compare_ranks_by_owner);
	for (size_t i = 0, end; i < used; i = end) {
		struct frag_rank_share one = usual->list[i];

		for (end = i; end < used && usual->list[end].owner == one.owner;)
			end++;
		one.bytes = median_among(usual->list + i, (uint32_t)(end - i), r->compared);
		if (one.bytes)
			usual->list[kept++] = one;
	}
	usual->count = (uint32_t)kept;
	return 0;
}

static int by_difference(const void *one, const void *other)
{
	const struct frag_rank_difference *a = one, *b = other;
	const uint64_t x = apart_by(a->bytes, a->other), y = apart_by(b->bytes, b->other);

	if (x != y)
		return x > y ? -1 : 1;
	return frag_owner_order(a->owner, b->owner);
}

/* Owner by owner through both, which are in the same order. */
static int find_differences(struct frag_rank_differences *out, const struct frag_ranked *row,
			    const struct usual *usual, const struct frag_owners *owners,
			    struct frag_error *err)
{
	struct frag_rank_difference *list = calloc((size_t)row->held_count + usual->count + 1,
						   sizeof(*list));
	uint32_t n = 0;

	if (!list)
		return frag_fail_nomem(err);
	for (uint32_t i = 0, k = 0; i < row->held_count || k < usual->count;) {
		const uint32_t has = i < row->held_count ? row->held[i].owner : UINT32_MAX;
		const uint32_t other = k < usual->count ? usual->list[k].owner : UINT32_MAX;
		struct frag_rank_difference d = {
			.owner = &owners->list[has < other ? has : other],
		};

		if (has <= other)
			d.bytes = row->held[i++].bytes;
		if (other <= has)
			d.other = usual->list[k++].bytes;
		if (d.bytes != d.other)
			list[n++] = d;
	}
	qsort(list, n, sizeof(*list), by_difference);
	out->list = list;
	out->all = n;
	out->count = n < FRAG_RANK_DIFFERENCES ? n : FRAG_RANK_DIFFERENCES;
	return 0;
}

/* Where none stands out there may yet be stages, or two halves, that hold other things. */
static int explain_spread(struct frag_ranking *r, const struct frag_owners *owners,
			  struct frag_error *err)
{
	const struct frag_ranked *lowest = &r->rows[r->lowest];
	const struct usual other = { .list = lowest->held, .count = lowest->held_count };

	if (r->most[FRAG_RANK_RESERVED] - r->least[FRAG_RANK_RESERVED] <= r->floor)
		return 0;
	return find_differences(&r->between, &r->rows[r->highest], &other, owners, err);
}

static int explain_apart(struct frag_ranking *r, const struct frag_owners *owners,
		   struct frag_error *err)
{
	struct usual usual = { .count = 0 };
	int rc = find_usual(&usual, r, err);

	for (uint32_t i = 0; i < r->count && !rc; i++)
		if (r->rows[i].apart || r->rows[i].apart_oom)
			rc = find_differences(&r->rows[i].from_median, &r->rows[i], &usual, owners,
					      err);
	free(usual.list);
	return rc;
}

int frag_ranking_compare(struct frag_ranking *r, const struct frag_owners *owners,
			 struct frag_error *err)
{
	uint64_t *values = malloc(((size_t)r->count + 1) * sizeof(*values));

	if (!values)
		return frag_fail_nomem(err);
	choose_compared(r);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		compare_ranks_measure(r, (enum frag_rank_figure)k, values);
	free(values);
	set_limits(r);
	compare_ranks_judge(r);
	find_extremes(r);
	return r->apart ? explain_apart(r, owners, err) : explain_spread(r, owners, err);
}

void frag_ranking_fini(struct frag_ranking *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		frag_ranked_fini(&r->rows[i]);
	free(r->rows);
	free(r->between.list);
}

uint64_t frag_ranking_most(const struct frag_ranking *r, int figure)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->rows[i].figure[figure] > most)
			most = r->rows[i].figure[figure];
	return most;
}

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

/* Are the numbers all different? Returns false on out of memory. */
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
