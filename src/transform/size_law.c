/* size_law.c - a size as a function of the number that a program was recorded at. */
#include "base/parse.h"
#include "transform/recordings.h"

__extension__ typedef __int128 whole;

/* A value as a fraction; the denominator is above 0. */
struct fraction {
	whole over, under;
};

static whole steps(const struct frag_numbers *n, uint32_t from, uint32_t to)
{
	return (whole)n->at[to] - n->at[from];
}

static whole rise(const uint64_t *sizes, uint32_t from)
{
	return (whole)sizes[from + 1] - (whole)sizes[from];
}

/* Of three, from recording i on: above 0 where growth gets faster, 0 on a line. */
static whole bend(const struct frag_numbers *n, const uint64_t *sizes, uint32_t i)
{
	return rise(sizes, i + 1) * steps(n, i, i + 1) - rise(sizes, i) * steps(n, i + 1, i + 2);
}

/* Does the parabola through the first three, which bends upwards, rise from the first on? */
static bool rises(const struct frag_numbers *n, const uint64_t *sizes)
{
	return rise(sizes, 0) * steps(n, 0, 2) * steps(n, 1, 2)
	       >= bend(n, sizes, 0) * steps(n, 0, 1);
}

/* Do both have the same multiple of the square of their number? */
static bool is_square(const struct frag_numbers *n, const uint64_t *sizes, uint32_t from, uint32_t to)
{
	const whole a = n->at[from], b = n->at[to];

	return a && sizes[from] && sizes[from] * b * b == sizes[to] * a * a;
}

bool frag_size_is_missing(const struct frag_sizes *sizes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (sizes->at[i] == FRAG_NO_SIZE)
			return true;
	return false;
}

bool frag_size_is_steep(const struct frag_numbers *n, const uint64_t *sizes)
{
	return n->count == 2 && frag_growth_of(n, sizes) == FRAG_LINEAR
	       && (whole)sizes[1] * n->at[0] > (whole)sizes[0] * n->at[1];
}

static bool is_constant(const struct frag_numbers *n, const uint64_t *sizes)
{
	for (uint32_t i = 1; i < n->count; i++)
		if (sizes[i] != sizes[0])
			return false;
	return true;
}

static bool is_line(const struct frag_numbers *n, const uint64_t *sizes)
{
	for (uint32_t i = 0; i + 2 < n->count; i++)
		if (bend(n, sizes, i) != 0)
			return false;
	return true;
}

static struct fraction parabola(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x);

/* Are the others on the parabola through the last three? */
static bool is_parabola(const struct frag_numbers *n, const uint64_t *sizes)
{
	for (uint32_t i = 0; i + 3 < n->count; i++) {
		const struct fraction value = parabola(n, sizes, n->at[i]);

		if (value.over != (whole)sizes[i] * value.under)
			return false;
	}
	return true;
}

enum frag_growth frag_growth_of(const struct frag_numbers *n, const uint64_t *sizes)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (sizes[i] == FRAG_NO_SIZE)
			return FRAG_UNEXPLAINED;
	if (is_constant(n, sizes))
		return FRAG_CONSTANT;
	if (n->count == 2 && is_square(n, sizes, 0, 1))
		return FRAG_QUADRATIC;
	if (is_line(n, sizes))
		return sizes[0] < sizes[1] ? FRAG_LINEAR : FRAG_UNEXPLAINED;
	return bend(n, sizes, 0) > 0 && rises(n, sizes) && is_parabola(n, sizes) ? FRAG_QUADRATIC
										  : FRAG_UNEXPLAINED;
}

/* Through the recording `from` and the next one. */
static struct fraction line(const struct frag_numbers *n, const uint64_t *sizes, uint32_t from,
			    uint32_t x)
{
	const whole under = steps(n, from, from + 1);

	return (struct fraction){
		.over = sizes[from] * under + rise(sizes, from) * ((whole)x - n->at[from]),
		.under = under,
	};
}

/* Lagrange's, through the last three: its terms with one denominator. */
static struct fraction parabola(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x)
{
	const uint32_t i = n->count - 3, j = i + 1, k = i + 2;
	const whole a = (whole)x - n->at[i], b = (whole)x - n->at[j], c = (whole)x - n->at[k];

	return (struct fraction){
		.over = sizes[i] * b * c * steps(n, j, k) - sizes[j] * a * c * steps(n, i, k)
			+ sizes[k] * a * b * steps(n, i, j),
		.under = steps(n, i, j) * steps(n, j, k) * steps(n, i, k),
	};
}

/* Rounded up, from 0 to FRAG_SIZE_LIMIT. */
static uint64_t round_up(struct fraction f)
{
	const whole value = f.over > 0 ? (f.over + f.under - 1) / f.under : 0;

	return value < (whole)FRAG_SIZE_LIMIT ? (uint64_t)value : FRAG_SIZE_LIMIT;
}

/* Of a recording at `from`: its multiple of the square of the number. */
static struct fraction square(const struct frag_numbers *n, const uint64_t *sizes, uint32_t from,
			      uint32_t x)
{
	return (struct fraction){
		.over = (whole)sizes[from] * x * x, .under = (whole)n->at[from] * n->at[from],
	};
}

/* In proportion to the number, from a recording at `from`. */
static struct fraction proportion(const struct frag_numbers *n, const uint64_t *sizes, uint32_t from,
				  uint32_t x)
{
	return (struct fraction){
		.over = (whole)sizes[from] * (n->at[from] ? x : 1),
		.under = n->at[from] ? n->at[from] : 1,
	};
}

/* At a recorded number every curve has the size that was recorded. */
static bool was_recorded(const struct frag_numbers *n, uint32_t x)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (n->at[i] == x)
			return true;
	return false;
}

/* Of a block that all recordings have. */
static bool whole_size_at(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x,
			  uint64_t *size)
{
	const enum frag_growth growth = frag_growth_of(n, sizes);
	const uint32_t last = n->count - 1;
	uint32_t from = 0;
	struct fraction value;

	while (from + 1 < last && x > n->at[from + 1])
		from++;

	if (growth == FRAG_CONSTANT) {
		*size = sizes[0];
		return true;
	}
	value = growth != FRAG_QUADRATIC ? line(n, sizes, from, x)
		: n->count == 2 ? square(n, sizes, 1, x) : parabola(n, sizes, x);
	*size = round_up(value);
	if (growth != FRAG_UNEXPLAINED)
		return value.over >= 0 && value.over % value.under == 0;
	if (x > n->at[last] && *size < sizes[last])
		*size = sizes[last];
	return was_recorded(n, x);
}

/*
 * Of a block that a recording lacks. From the last two that have it follows a constant, a line that does not
 * fall below 0, or the square; else the larger of both proportions, which never is too small where a
 * library has an upper bound for its buffer.
 */
static bool late_size_at(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x,
			 uint64_t *size)
{
	uint32_t first = FRAG_RECORDINGS_MAX, last = 0;
	struct fraction value;
	bool explained = true;

	for (uint32_t i = 0; i < n->count; i++) {
		if (sizes[i] == FRAG_NO_SIZE && x <= n->at[i]) {
			*size = 0;
			return true;
		}
		if (sizes[i] == FRAG_NO_SIZE)
			continue;
		first = first == FRAG_RECORDINGS_MAX ? i : last;
		last = i;
		if (n->at[i] == x) {
			*size = sizes[i];
			return true;
		}
	}
	value = proportion(n, sizes, last, x > n->at[last] ? x : n->at[last]);
	if (last == first) {
		explained = false;
	} else if (sizes[first] == sizes[last]) {
		value = (struct fraction){ .over = sizes[last], .under = 1 };
	} else if (is_square(n, sizes, first, last)) {
		value = square(n, sizes, last, x);
	} else if (sizes[first] < sizes[last] && last == first + 1
		   && (whole)sizes[last] * n->at[first] <= (whole)sizes[first] * n->at[last]) {
		value = line(n, sizes, first, x);
		explained = value.over % value.under == 0;
	} else {
		const struct fraction other = proportion(n, sizes, first, x);

		explained = false;
		if (other.over * value.under > value.over * other.under)
			value = other;
	}
	*size = round_up(value);
	return explained;
}

bool frag_size_at(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x,
		  uint64_t *size)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (sizes[i] == FRAG_NO_SIZE)
			return late_size_at(n, sizes, x, size);
	return whole_size_at(n, sizes, x, size);
}
