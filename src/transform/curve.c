/* curve.c - a size as a function of a number that a program was recorded at. */
#include "transform/curve.h"

#include "base/parse.h"

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

/* Of three: above 0 where growth gets faster, 0 on a line. */
static whole bend(const struct frag_numbers *n, const uint64_t *sizes)
{
	return rise(sizes, 1) * steps(n, 0, 1) - rise(sizes, 0) * steps(n, 1, 2);
}

/* Does the parabola through three that bends upwards rise from the first on? */
static bool rises(const struct frag_numbers *n, const uint64_t *sizes)
{
	return rise(sizes, 0) * steps(n, 0, 2) * steps(n, 1, 2)
	       >= bend(n, sizes) * steps(n, 0, 1);
}

enum frag_growth frag_growth_of(const struct frag_numbers *n, const uint64_t *sizes)
{
	const uint32_t last = n->count - 1;

	if (sizes[0] == sizes[1] && sizes[1] == sizes[last])
		return FRAG_CONSTANT;
	if (n->count == 2 || bend(n, sizes) == 0)
		return sizes[0] < sizes[1] ? FRAG_LINEAR : FRAG_UNEXPLAINED;
	return bend(n, sizes) > 0 && rises(n, sizes) ? FRAG_QUADRATIC : FRAG_UNEXPLAINED;
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

/* Lagrange's, its three terms with one denominator. */
static struct fraction parabola(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x)
{
	const whole a = (whole)x - n->at[0], b = (whole)x - n->at[1], c = (whole)x - n->at[2];

	return (struct fraction){
		.over = sizes[0] * b * c * steps(n, 1, 2) - sizes[1] * a * c * steps(n, 0, 2)
			+ sizes[2] * a * b * steps(n, 0, 1),
		.under = steps(n, 0, 1) * steps(n, 1, 2) * steps(n, 0, 2),
	};
}

/* Rounded up, from 0 to FRAG_SIZE_LIMIT. */
static uint64_t round_up(struct fraction f)
{
	const whole value = f.over > 0 ? (f.over + f.under - 1) / f.under : 0;

	return value < (whole)FRAG_SIZE_LIMIT ? (uint64_t)value : FRAG_SIZE_LIMIT;
}

/* At a recorded number every curve has the size that was recorded. */
static bool was_recorded(const struct frag_numbers *n, uint32_t x)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (n->at[i] == x)
			return true;
	return false;
}

bool frag_size_at(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x,
		  uint64_t *size)
{
	const enum frag_growth growth = frag_growth_of(n, sizes);
	const uint32_t last = n->count - 1, from = n->count == 3 && x > n->at[1];
	struct fraction value;

	if (growth == FRAG_CONSTANT) {
		*size = sizes[0];
		return true;
	}
	value = growth == FRAG_QUADRATIC ? parabola(n, sizes, x) : line(n, sizes, from, x);
	*size = round_up(value);
	if (growth != FRAG_UNEXPLAINED)
		return value.over >= 0 && value.over % value.under == 0;
	if (x > n->at[last] && *size < sizes[last])
		*size = sizes[last];
	return was_recorded(n, x);
}
