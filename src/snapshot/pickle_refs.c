/* pickle_refs.c - references of a pickle, and lists that end as others have ended. */
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "snapshot/pickle_machine.h"

uint8_t frag_pickle_depth(const struct pickle *p, const uint32_t *items, uint32_t n)
{
	uint8_t depth = n ? p->values->table[items[0]].depth : FRAG_PICKLE_NO_DEPTH;

	for (uint32_t i = 1; i < n; i++)
		if (p->values->table[items[i]].depth != depth)
			return FRAG_PICKLE_NO_DEPTH;
	return depth;
}

int frag_pickle_note_run(struct pickle *p, uint32_t list, uint8_t depth, uint32_t count,
			 const unsigned char *end)
{
	uint32_t before = p->run_capacity;

	if (depth == FRAG_PICKLE_NO_DEPTH || p->before != p->marked)
		return 0;
	if (!frag_grow(&p->runs, &p->run_capacity, (uint64_t)p->run_count + 1, sizeof(*p->runs)))
		return frag_fail_nomem(p->err);
	if (!frag_values_take(p->values, (uint64_t)(p->run_capacity - before) * sizeof(*p->runs)))
		return frag_pickle_added(p, FRAG_ADD_TOO_MUCH);
	p->runs[p->run_count++] = (struct run){
		.begin = (uint32_t)(p->marked - p->begin), .end = (uint32_t)(end - p->begin),
		.list = list, .count = count, .depth = depth,
	};
	return 0;
}

/* How many bytes from a and from b on are the same, n at most. */
static size_t same_bytes(const unsigned char *a, const unsigned char *b, size_t n)
{
	size_t i = 0;

	if (memcmp(a, b, n) == 0)
		return n;
	while (n - i >= 8 && frag_word_at((const char *)a + i) == frag_word_at((const char *)b + i))
		i += 8;
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* The place for the reference of this number, by what stands behind it. */
static struct seen *find_seen(const struct pickle *p, uint32_t index, const unsigned char *at)
{
	return &p->seen[frag_hash_mix(frag_word_at((const char *)at) + index) % FRAG_PICKLE_SEEN];
}

/*
 * Does the list end as the one of the reference did? *end, behind its end. What
 * was compared in vain is not compared again: each byte is looked at twice at most.
 */
static bool ends_alike(struct pickle *p, const struct seen *seen, const unsigned char *at,
		       const unsigned char **end)
{
	const struct run *run;
	size_t rest, same;

	if (seen->behind <= p->seen_from || seen->run >= p->run_count)
		return false;
	run = &p->runs[seen->run];
	if (seen->behind <= run->begin || seen->behind > run->end)
		return false;
	rest = run->end + 1 - seen->behind;
	if ((size_t)(p->end - at) < rest)
		return false;
	same = same_bytes(at, p->begin + seen->behind, rest);
	*end = at + same;
	p->quiet = *end;
	return same == rest;
}

/* The list ends like that run from the item on: its own are the values above the mark. */
static int share(struct pickle *p, const struct seen *seen, const unsigned char *end)
{
	const struct run run = p->runs[seen->run];
	uint32_t ground_at = frag_pickle_ground(p), n = p->count - ground_at;
	uint32_t list = p->stack[ground_at - 1];
	int rc = frag_pickle_note_run(p, list, run.depth, n + run.count - seen->item, end - 1);

	if (!rc)
		rc = frag_pickle_added(p, frag_values_share(p->values, list, p->stack + ground_at,
							    n, run.list, seen->item, run.count,
							    (uint8_t)(run.depth + 1)));
	p->count = ground_at;
	p->mark_count--;
	p->listing = false;
	p->at = end;
	return rc;
}

/*
 * Most of a snapshot is frames of stacks, each a number of the memo: those of the
 * short forms that are plainly good are pushed here, the rest is left to step().
 */
int frag_pickle_get_many(struct pickle *p)
{
	const unsigned char *at = p->at, *last = p->end - 16, *end;
	const uint32_t *memo = p->memo, memo_count = p->memo_count;
	uint32_t *to = p->stack + p->count, *full = p->stack + p->capacity;
	const uint32_t *first = p->stack + frag_pickle_ground(p);

	while (to < full && at <= last) {
		uint32_t index, length;
		struct seen *seen;

		if (*at == BINGET) {
			index = at[1];
			length = 2;
		} else if (*at == LONG_BINGET) {
			index = (uint32_t)frag_pickle_little(p, at + 1, 4);
			length = 5;
		} else {
			break;
		}
		if (index >= memo_count || memo[index] == FRAG_PICKLE_HOLE)
			break;
		*to++ = memo[index];
		at += length;
		if (!p->listing || at < p->quiet)
			continue;
		seen = find_seen(p, index, at);
		if (seen->behind && ends_alike(p, seen, at, &end)) {
			p->count = (uint32_t)(to - p->stack);
			if (frag_pickle_depth(p, first, (uint32_t)(to - first))
			    == p->runs[seen->run].depth)
				return share(p, seen, end);
		}
		*seen = (struct seen){ .behind = (uint32_t)(at - p->begin), .run = p->run_count,
				       .item = (uint32_t)(to - first) };
	}
	p->count = (uint32_t)(to - p->stack);
	p->at = at;
	return 0;
}

/* An integer of the short forms that is not negative; NULL: something else. */
static inline const unsigned char *plain_integer(const struct pickle *p, const unsigned char *at,
						 uint64_t *out)
{
	size_t n = at[1];

	if (*at == LONG1 && n - 1 < 8 && !(at[1 + n] & 0x80)) {
		*out = frag_pickle_little(p, at + 2, n);
		return at + 2 + n;
	}
	if (*at != BININT1 && *at != BININT2)
		return NULL;
	n = *at == BININT1 ? 1 : 2;
	*out = frag_pickle_little(p, at + 1, n);
	return at + 1 + n;
}

/*
 * The rest is events: a key, which is a number of the memo, and an integer or
 * another number of the memo. What is plainly good of it is done here.
 */
void frag_pickle_get_members(struct pickle *p)
{
	struct frag_values *v = p->values;
	const unsigned char *at = p->at, *last = p->end - 16, *behind;
	uint32_t *to = p->stack + p->count, *full = p->stack + p->capacity;
	uint32_t number = v->count, index;
	uint64_t magnitude;

	while (full - to > 1 && number < v->capacity && at <= last) {
		if (*at == BINGET)
			index = at[1];
		else if (*at == LONG_BINGET)
			index = (uint32_t)frag_pickle_little(p, at + 1, 4);
		else
			break;
		if (index >= p->memo_count || p->memo[index] == FRAG_PICKLE_HOLE)
			break;
		*to++ = p->memo[index];
		at += *at == BINGET ? 2 : 5;
		behind = at <= last ? plain_integer(p, at, &magnitude) : NULL;
		if (!behind)
			continue;
		v->table[number] = (struct frag_value){
			.kind = FRAG_INTEGER, .as.magnitude = magnitude,
		};
		*to++ = number++;
		at = behind;
	}
	p->count = (uint32_t)(to - p->stack);
	p->at = at;
	v->count = number;
}
