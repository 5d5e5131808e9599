/*
 * message.c - derives values from those of a message, and the verdicts that its rounding
 * permits.
 */
#include "messages/message.h"

#include "messages/speakers.h"

#include <stddef.h>

#define MIB ((int64_t)1 << 20)

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t message_verdict_within(int64_t value, int64_t low, int64_t high)
{
	return most(low, least(value, high));
}

int64_t frag_segment_of(int64_t asked, bool segments)
{
	if (!segments)
		return asked;
	return asked <= MIB ? 2 * MIB
	       : asked < 10 * MIB ? 20 * MIB : (asked + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

/* The smallest request whose segment exceeds the free bytes. */
static int64_t message_verdict_unserved(int64_t free, bool segments)
{
	if (!segments)
		return free + 1;
	return free < 2 * MIB ? 0 : free < 20 * MIB ? MIB + 1 : free / (2 * MIB) * (2 * MIB) + 1;
}

/* Percentages are compared a hundredfold, in integers: 2^53 of them fit. */
enum frag_shortage frag_shortage_of(const int64_t at[FRAG_AT_ALL], bool segments)
{
	const int64_t asked = at[FRAG_AT_ASKED], total = at[FRAG_AT_TOTAL], free = at[FRAG_AT_FREE];
	const int64_t room = free + at[FRAG_AT_UNALLOCATED];
	const int64_t outside = total - room - at[FRAG_AT_ALLOCATED];
	const struct frag_oom_facts facts = {
		.need = asked, .live = total - room, .usable = total,
		.retry_succeeds = frag_segment_of(asked, segments) <= free,
	};
	const enum frag_oom_verdict verdict = frag_oom_verdict_of(&facts);

	if (verdict == FRAG_VERDICT_TOO_LARGE)
		return FRAG_SHORT_OVER_DEVICE;
	if (verdict == FRAG_VERDICT_TRANSIENT)
		return FRAG_SHORT_REFUSED;
	if (verdict == FRAG_VERDICT_CAPACITY)
		return 100 * outside > 5 * total
		       && 100 * asked <= 100 * (room + outside) - 2 * total
		       ? FRAG_SHORT_OUTSIDE : FRAG_SHORT_CAPACITY;
	return frag_oom_is_nearly_full(&facts) ? FRAG_SHORT_TIGHT : FRAG_SHORT_FRAGMENTATION;
}

/*
 * Tries points to find the possible verdicts. For each verdict the points below include one
 * that has it if any point has: all conditions are linear. Where every condition of a verdict
 * becomes truer as a value moves in one direction, that value is at the end of its range. Where
 * two conditions pull a value in opposite directions, it follows from the others, and the ends
 * of its range are tried. Each point is judged like the message, so every verdict named here
 * has a point.
 */
struct search {
	const struct frag_shortage_ranges *r;
	int64_t low_unallocated, high_unallocated;      /* that some allocated bytes go with */
	uint32_t found;
};

/* With a number of allocated bytes that the reserved ones permit. */
static void try_at(struct search *s, int64_t asked, int64_t total, int64_t free,
		   int64_t allocated, int64_t unallocated)
{
	const struct frag_shortage_ranges *r = s->r;
	int64_t at[FRAG_AT_ALL] = { asked, total, free, allocated, unallocated };

	for (int i = 0; i < FRAG_AT_ALL; i++)
		at[i] = message_verdict_within(at[i], r->low[i], r->high[i]);
	at[FRAG_AT_UNALLOCATED] = message_verdict_within(at[FRAG_AT_UNALLOCATED],
							 s->low_unallocated, s->high_unallocated);
	at[FRAG_AT_ALLOCATED] = message_verdict_within(
		at[FRAG_AT_ALLOCATED],
		most(r->low[FRAG_AT_ALLOCATED], r->least_reserved - at[FRAG_AT_UNALLOCATED]),
		least(r->high[FRAG_AT_ALLOCATED], r->most_reserved - at[FRAG_AT_UNALLOCATED]));
	s->found |= 1U << frag_shortage_of(at, r->segments);
}

/* asked > total; and a segment of it <= free, which the total must not forbid. */
static void try_over_and_refused(struct search *s)
{
	const int64_t *low = s->r->low, *high = s->r->high;

	try_at(s, high[FRAG_AT_ASKED], low[FRAG_AT_TOTAL], low[FRAG_AT_FREE],
	       low[FRAG_AT_ALLOCATED], s->low_unallocated);
	try_at(s, low[FRAG_AT_ASKED], high[FRAG_AT_TOTAL], high[FRAG_AT_FREE],
	       low[FRAG_AT_ALLOCATED], s->low_unallocated);
	/* its segment is smaller than that of a little less */
	try_at(s, 10 * MIB, high[FRAG_AT_TOTAL], high[FRAG_AT_FREE], low[FRAG_AT_ALLOCATED],
	       s->low_unallocated);
}

/*
 * The most total, the minimum free. What is unallocated should be small, and what is allocated too;
 * but where the reserved bytes are known, one grows as the other shrinks: the candidates are the
 * ends of where allocated bytes satisfy each condition.
 */
static void try_outside(struct search *s)
{
	const struct frag_shortage_ranges *r = s->r;
	const int64_t total = r->high[FRAG_AT_TOTAL], free = r->low[FRAG_AT_FREE];
	const int64_t highest = least(r->high[FRAG_AT_ASKED], total);
	const int64_t candidates[] = {
		r->low[FRAG_AT_ALLOCATED], r->high[FRAG_AT_ALLOCATED],
		r->least_reserved - r->low[FRAG_AT_UNALLOCATED],
		r->least_reserved - r->high[FRAG_AT_UNALLOCATED],
		free + r->least_reserved + 1 - highest,
	};

	for (unsigned i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		const int64_t allocated = message_verdict_within(
			candidates[i], r->low[FRAG_AT_ALLOCATED], r->high[FRAG_AT_ALLOCATED]);
		const int64_t unallocated = most(r->low[FRAG_AT_UNALLOCATED],
						 r->least_reserved - allocated);

		try_at(s, most(r->low[FRAG_AT_ASKED], free + unallocated + 1), total, free,
		       allocated, unallocated);
	}
}

/* More than the total minus the allocated bytes, whoever uses it. */
static void try_capacity_beside(struct search *s)
{
	const struct frag_shortage_ranges *r = s->r;
	const int64_t asked = least(r->high[FRAG_AT_ASKED], r->high[FRAG_AT_TOTAL]);

	try_at(s, asked, most(r->low[FRAG_AT_TOTAL], asked), r->low[FRAG_AT_FREE],
	       r->high[FRAG_AT_ALLOCATED], s->low_unallocated);
}

/*
 * Little memory outside: free, unallocated and allocated bytes are as large as requested > free
 * + unallocated permits. A larger total permits more, until a value reaches its end. The breaks
 * are tried; between them all is linear, and nothing is convex.
 */
static void try_capacity_alone(struct search *s)
{
	const struct frag_shortage_ranges *r = s->r;
	const int64_t *low = r->low, *high = r->high;
	const int64_t totals[] = {
		low[FRAG_AT_TOTAL], high[FRAG_AT_TOTAL], low[FRAG_AT_ASKED], high[FRAG_AT_ASKED],
		high[FRAG_AT_FREE] + s->low_unallocated + 1,
		high[FRAG_AT_FREE] + s->high_unallocated + 1,
		high[FRAG_AT_FREE] + r->most_reserved - high[FRAG_AT_ALLOCATED] + 1,
	};

	for (unsigned i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
		const int64_t total =
			message_verdict_within(totals[i], low[FRAG_AT_TOTAL], high[FRAG_AT_TOTAL]);
		const int64_t asked = least(high[FRAG_AT_ASKED], total);
		const int64_t free = message_verdict_within(asked - 1 - s->low_unallocated,
							    low[FRAG_AT_FREE], high[FRAG_AT_FREE]);
		const int64_t unallocated = message_verdict_within(
			asked - 1 - free, s->low_unallocated, s->high_unallocated);

		try_at(s, asked, total, free,
		       least(high[FRAG_AT_ALLOCATED], r->most_reserved - unallocated), unallocated);
	}
}

/* Requests from 10 MiB on have their own smallest one: a smaller one may need a larger segment. */
static int64_t message_verdict_large_unserved(int64_t free)
{
	return most(10 * MIB, free / (2 * MIB) * (2 * MIB) + 1);
}

/* The allocated bytes do not matter: the largest total, and the fewest bytes that the request
 * needs. */
static void try_tight(struct search *s, int64_t unserved)
{
	const int64_t *low = s->r->low, *high = s->r->high;
	const int64_t total = high[FRAG_AT_TOTAL], left = (5 * total - 1) / 100;
	const int64_t asked = most(low[FRAG_AT_ASKED],
				   most(unserved, low[FRAG_AT_FREE] + s->low_unallocated - left));
	const int64_t free = message_verdict_within(asked - s->high_unallocated, low[FRAG_AT_FREE],
						    high[FRAG_AT_FREE]);

	try_at(s, asked, total, free, low[FRAG_AT_ALLOCATED],
	       message_verdict_within(asked - free, s->low_unallocated, s->high_unallocated));
}

/* The most bytes that a device without that much free memory can have. */
static void try_fragmentation(struct search *s, int64_t unserved)
{
	const int64_t *low = s->r->low, *high = s->r->high;
	const int64_t asked = message_verdict_within(unserved, low[FRAG_AT_ASKED], high[FRAG_AT_ASKED]);

	try_at(s, asked, most(low[FRAG_AT_TOTAL], asked),
	       least(high[FRAG_AT_FREE], frag_segment_of(asked, s->r->segments) - 1), low[FRAG_AT_ALLOCATED],
	       s->high_unallocated);
}

uint32_t frag_shortages_of(const struct frag_shortage_ranges *r)
{
	struct search s = {
		.r = r,
		.low_unallocated = most(r->low[FRAG_AT_UNALLOCATED],
					r->least_reserved - r->high[FRAG_AT_ALLOCATED]),
		.high_unallocated = least(r->high[FRAG_AT_UNALLOCATED],
					  r->most_reserved - r->low[FRAG_AT_ALLOCATED]),
	};

	try_over_and_refused(&s);
	try_outside(&s);
	try_capacity_beside(&s);
	try_capacity_alone(&s);
	try_tight(&s, message_verdict_unserved(r->low[FRAG_AT_FREE], r->segments));
	try_fragmentation(&s, message_verdict_unserved(r->low[FRAG_AT_FREE], r->segments));
	if (r->segments) {
		try_tight(&s, message_verdict_large_unserved(r->low[FRAG_AT_FREE]));
		try_fragmentation(&s, message_verdict_large_unserved(r->low[FRAG_AT_FREE]));
	}
	return s.found;
}

#define MOST ((UINT64_C(1) << 53) - 1)

static struct frag_message_value sum(struct frag_message_value a, struct frag_message_value b)
{
	return (struct frag_message_value){ .bytes = a.bytes + b.bytes, .error = a.error + b.error,
				     .there = a.there && b.there };
}

/* The difference, or 0 where the values are not of one moment and it would be negative. */
static struct frag_message_value difference(struct frag_message_value a, struct frag_message_value b)
{
	return (struct frag_message_value){ .bytes = a.bytes > b.bytes ? a.bytes - b.bytes : 0,
				     .error = a.error + b.error, .there = a.there && b.there };
}

/* "cached" excludes allocated bytes; where both together exceed the total, it includes them. */
static bool is_all_held(const struct frag_message *m)
{
	const struct frag_message_value *cached = &m->said[FRAG_SAID_CACHED];
	struct frag_message_value held = sum(sum(m->allocated, *cached), m->free);

	return held.bytes > m->total.bytes + m->total.error + held.error;
}

/* Reserved and unallocated bytes: of allocated ones, each follows from the other. */
static void settle_reserved(struct frag_message *m)
{
	const struct frag_message_value *said = m->said;
	const bool beside = said[FRAG_SAID_CACHED].there && !is_all_held(m);

	if (said[FRAG_SAID_UNALLOCATED].there || beside) {
		m->unallocated = said[beside ? FRAG_SAID_CACHED : FRAG_SAID_UNALLOCATED];
		m->reserved = sum(m->allocated, m->unallocated);
		return;
	}
	m->reserved = said[said[FRAG_SAID_CACHED].there ? FRAG_SAID_CACHED : FRAG_SAID_RESERVED];
	m->unallocated = difference(m->reserved, m->allocated);
	/* these allocators release their cache before they fail, or have none */
	if (m->wording == FRAG_WORDING_ASYNC || m->wording == FRAG_WORDING_MPS
	    || m->wording == FRAG_WORDING_TF_ASYNC || m->wording == FRAG_WORDING_VLLM_START
	    || m->wording == FRAG_WORDING_LLAMA)
		m->unallocated = (struct frag_message_value){ .there = true };
}

/* For a pool with a limit, the growth that it still permits; for MPS, the free memory. */
static void settle_free(struct frag_message *m)
{
	const struct frag_message_value *outside = &m->said[FRAG_SAID_OUTSIDE];

	m->free = m->said[FRAG_SAID_FREE];
	if (m->said[FRAG_SAID_USED].there)
		m->free = difference(m->total, m->said[FRAG_SAID_USED]);
	if (m->wording == FRAG_WORDING_LLAMA)
		m->free = difference(m->total, m->allocated);
	if (m->wording == FRAG_WORDING_TENSORRT && m->said[FRAG_SAID_KV_CACHE].there)
		m->free = difference(m->free, m->said[FRAG_SAID_KV_CACHE]);
	if (m->free.there)
		return;
	if (m->wording == FRAG_WORDING_MPS && outside->there)
		m->free = difference(m->total, sum(m->allocated, *outside));
	else if (m->wording == FRAG_WORDING_BFC || m->wording == FRAG_WORDING_RMM_POOL
		 || m->wording == FRAG_WORDING_CUPY)
		m->free = difference(m->total, m->said[FRAG_SAID_RESERVED]);
}

/* Together; there if one of them is. */
static struct frag_message_value joint(struct frag_message_value a, struct frag_message_value b)
{
	return !a.there ? b : !b.there ? a : sum(a, b);
}

static struct frag_message_value parts_of(const struct frag_message *m, const uint8_t *parts, int count)
{
	struct frag_message_value all = { .there = false };

	for (int i = 0; i < count; i++)
		all = joint(all, m->said[parts[i]]);
	return all;
}

/* vLLM fails before it has allocated anything; llama.cpp names its buffers on that device. */
static void settle_allocated(struct frag_message *m)
{
	static const uint8_t buffers[] = {
		FRAG_SAID_PARAMETERS, FRAG_SAID_KV_CACHE, FRAG_SAID_TEMPORARIES,
	};

	m->allocated = m->said[FRAG_SAID_ALLOCATED];
	if (m->wording == FRAG_WORDING_VLLM_START)
		m->allocated = (struct frag_message_value){ .there = true };
	else if (m->wording == FRAG_WORDING_LLAMA)
		m->allocated = parts_of(m, buffers, 3);
}

static void derived_values_settle(struct frag_message *m)
{
	m->total = m->said[FRAG_SAID_TOTAL];
	/* Paddle's allocated bytes are those of everyone: the total without the free ones */
	if (m->wording == FRAG_WORDING_PADDLE && !m->total.there)
		m->total = sum(m->said[FRAG_SAID_USED], m->said[FRAG_SAID_FREE]);
	settle_allocated(m);
	settle_free(m);
	settle_reserved(m);
	/* a limit and the bytes in use: the difference belongs to the allocator */
	if (m->wording == FRAG_WORDING_BFC && !m->reserved.there && !m->free.there) {
		m->unallocated = difference(m->total, m->allocated);
		m->free = (struct frag_message_value){ .there = m->unallocated.there };
	}
	m->outside = m->said[FRAG_SAID_OUTSIDE];
	if (!m->outside.there)
		m->outside = difference(m->total, sum(sum(m->free, m->allocated),
						      m->unallocated));
	m->precision = 0;
	for (int i = 0; i < FRAG_SAID_ALL; i++)
		if ((i <= FRAG_SAID_OUTSIDE || i > FRAG_SAID_POOLS) && m->said[i].there
		    && m->said[i].error > m->precision)
			m->precision = m->said[i].error;
}

void frag_message_note(struct frag_message *m, enum frag_said which, struct frag_message_value size)
{
	struct frag_message_value *said = &m->said[which];

	m->huge |= which == FRAG_SAID_ASKED && size.huge;
	if (which == FRAG_SAID_ALL || !size.there)
		return;
	if (which == FRAG_SAID_OTHERS && said->there) {         /* one for each process */
		said->bytes += size.bytes;
		said->error += size.error;
	} else if (!said->there) {
		*said = size;
	}
}

/* The parts, or the limit without what it leaves; SGLang's device is what was free for it. */
static void settle_budget(struct frag_message *m)
{
	static const uint8_t parts[] = {
		FRAG_SAID_PARAMETERS, FRAG_SAID_ACTIVATIONS, FRAG_SAID_GRAPHS, FRAG_SAID_OUTSIDE,
	};
	const struct frag_message_value *said = m->said, *left = &said[FRAG_SAID_KV_FREE];
	const struct frag_message_value *allowed = &said[FRAG_SAID_ALLOWED];
	const bool all = said[FRAG_SAID_PARAMETERS].there
			 && (said[FRAG_SAID_ACTIVATIONS].there || m->wording == FRAG_WORDING_SGLANG);

	m->outside = said[FRAG_SAID_OUTSIDE];
	m->need = (struct frag_message_value){ .there = false };
	if (all)
		m->need = parts_of(m, parts, 4);
	else if (allowed->there && left->there)
		m->need = left->negative ? sum(*allowed, *left) : difference(*allowed, *left);
	if (m->need.there && said[FRAG_SAID_ASKED].there)
		m->need = sum(m->need, said[FRAG_SAID_ASKED]);
	if (m->wording == FRAG_WORDING_SGLANG && !m->total.there)
		m->total = sum(said[FRAG_SAID_FREE], said[FRAG_SAID_PARAMETERS]);
}

/*
 * The message states that the needed bytes exceed the server's limit. More bytes than the device
 * has are capacity; more than were free at the start, memory outside.
 */
static void judge_budget(struct frag_message *m)
{
	const bool starts = m->wording != FRAG_WORDING_SGLANG && m->said[FRAG_SAID_FREE].there;
	const struct frag_message_value *need = &m->need;
	const struct frag_message_value *room = starts ? &m->said[FRAG_SAID_FREE] : &m->total;
	const uint32_t over = 1U << FRAG_SHORT_CAPACITY
			      | (starts ? 1U << FRAG_SHORT_OUTSIDE : 0);
	uint64_t error;

	settle_budget(m);
	error = need->error + room->error;
	m->possible = over;
	/* by the message its limit is exceeded; the values show whether the device is */
	m->shortage = FRAG_SHORT_LIMIT;
	if (!need->there || !room->there)
		return;
	if (need->bytes <= room->bytes)
		m->shortage = FRAG_SHORT_LIMIT;
	else if (!starts || (m->total.there && need->bytes > m->total.bytes))
		m->shortage = FRAG_SHORT_CAPACITY;
	else if (m->total.there)
		m->shortage = FRAG_SHORT_OUTSIDE;
	if (need->bytes + error < room->bytes)
		m->possible = 1U << FRAG_SHORT_LIMIT;
	else if (need->bytes > room->bytes + error)
		m->possible = over;
}

/* What it may be; what is not there, anything up to `highest`. */
static void set_range(struct frag_shortage_ranges *r, int which, const struct frag_message_value *figure,
		      int64_t highest)
{
	const int64_t bytes = (int64_t)figure->bytes, error = (int64_t)figure->error;

	r->low[which] = figure->there && bytes > error ? bytes - error : 0;
	r->high[which] = figure->there ? bytes + error : highest;
	if (r->high[which] < r->low[which])
		r->high[which] = r->low[which];
}

/*
 * A missing value can be anything that the others permit. Printed reserved bytes limit the sum
 * of the allocated and the unallocated ones, unless they contradict them.
 */
static void set_ranges(struct frag_shortage_ranges *r, const struct frag_message *m)
{
	int64_t left;

	set_range(r, FRAG_AT_ASKED, &m->said[FRAG_SAID_ASKED], 0);
	set_range(r, FRAG_AT_TOTAL, &m->total, (int64_t)MOST);
	left = m->reserved.there ? (int64_t)(m->reserved.bytes + m->reserved.error)
				 : r->high[FRAG_AT_TOTAL];
	set_range(r, FRAG_AT_ALLOCATED, &m->allocated, left);
	set_range(r, FRAG_AT_UNALLOCATED, &m->unallocated, left - r->low[FRAG_AT_ALLOCATED]);
	left = r->high[FRAG_AT_TOTAL] - r->low[FRAG_AT_ALLOCATED] - r->low[FRAG_AT_UNALLOCATED];
	set_range(r, FRAG_AT_FREE, &m->free, left > 0 ? left : 0);
	r->least_reserved = r->low[FRAG_AT_ALLOCATED] + r->low[FRAG_AT_UNALLOCATED];
	r->most_reserved = r->high[FRAG_AT_ALLOCATED] + r->high[FRAG_AT_UNALLOCATED];
	if (!m->said[FRAG_SAID_RESERVED].there || m->reserved.bytes < m->allocated.bytes)
		return;
	if ((int64_t)(m->reserved.bytes - m->reserved.error) > r->least_reserved)
		r->least_reserved = (int64_t)(m->reserved.bytes - m->reserved.error);
	if ((int64_t)(m->reserved.bytes + m->reserved.error) < r->most_reserved)
		r->most_reserved = (int64_t)(m->reserved.bytes + m->reserved.error);
}

/* Memory outside the process, or the allocator if no value is the process's, above one half. */
static bool is_held_outside(const struct frag_message *m)
{
	const struct frag_message_value *process = &m->said[FRAG_SAID_PROCESS];
	const struct frag_message_value outside =
		process->there ? difference(m->total, sum(m->free, *process)) : m->outside;

	return 2 * outside.bytes > m->total.bytes;
}

/* Does the request exceed a limit that the program has set itself, as far as the digits go? */
static bool is_over_limit(const struct frag_message *m)
{
	const struct frag_message_value *allowed = &m->said[FRAG_SAID_ALLOWED];
	const uint64_t held = m->reserved.there ? m->reserved.bytes : m->allocated.bytes;

	if (frag_message_is_budget(m))
		return true;
	/* the total is the limit that the program set its pool: what is not printed does not matter */
	if (m->wording == FRAG_WORDING_CUPY && m->total.there && m->reserved.there)
		return held + m->said[FRAG_SAID_ASKED].bytes > m->total.bytes;
	/* more than the limit itself is refused whatever is free */
	if (allowed->there && allowed->bytes < m->total.bytes
	    && m->said[FRAG_SAID_ASKED].bytes > allowed->bytes + 2 * m->precision)
		return true;
	return allowed->there && allowed->bytes < m->total.bytes
	       && (!m->free.there || m->free.bytes >= m->said[FRAG_SAID_ASKED].bytes)
	       && held + m->said[FRAG_SAID_ASKED].bytes + 3 * m->precision > allowed->bytes;
}

/* Values of one moment that cannot hold together, by more than their printed digits. */
static bool is_contradiction(const struct frag_message *m)
{
	const struct frag_message_value *said = m->said, *total = &said[FRAG_SAID_TOTAL];
	const struct frag_message_value held = sum(said[FRAG_SAID_ALLOCATED], said[FRAG_SAID_OUTSIDE]);

	if (m->wording > FRAG_WORDING_MPS || !total->there)
		return false;
	for (int i = FRAG_SAID_FREE; i <= FRAG_SAID_ALLOCATED; i++)
		if (said[i].there && said[i].bytes > total->bytes + total->error + said[i].error)
			return true;
	return held.there && held.bytes > total->bytes + total->error + held.error;
}

/*
 * Paddle prints what was free for everyone and what was allocated, and has released its idle chunks.
 * Perhaps other processes have part of it: memory outside stays possible.
 */
static bool is_short_of_free(const struct frag_message *m)
{
	const struct frag_message_value *asked = &m->said[FRAG_SAID_ASKED];

	return m->wording == FRAG_WORDING_PADDLE && asked->there && m->said[FRAG_SAID_USED].there
	       && m->free.there && asked->bytes > m->free.bytes + m->free.error + asked->error
	       && !(m->total.there && asked->bytes > m->total.bytes);
}

/* A verdict that needs no search. */
static bool judge_at_once(struct frag_message *m)
{
	const struct frag_speaker *speaker = &frag_speakers[m->wording];

	if (m->unread & (1U << FRAG_SAID_ASKED | 1U << FRAG_SAID_TOTAL | 1U << FRAG_SAID_FREE
			 | 1U << FRAG_SAID_ALLOCATED | 1U << FRAG_SAID_UNALLOCATED
			 | 1U << FRAG_SAID_ALLOWED))
		m->shortage = FRAG_SHORT_UNKNOWN;
	else if (m->huge)
		m->shortage = FRAG_SHORT_NOT_DEVICE_MEMORY;
	else if (is_contradiction(m))
		m->shortage = FRAG_SHORT_CONTRADICTION;
	else if (is_short_of_free(m))
		m->shortage = FRAG_SHORT_CAPACITY;
	else if (speaker->decided)
		m->shortage = speaker->shortage;
	else if (m->wording == FRAG_WORDING_VLLM_START || (m->over_limit && !frag_message_is_budget(m)))
		m->shortage = FRAG_SHORT_LIMIT;
	else if (m->wording == FRAG_WORDING_TENSORRT && !m->said[FRAG_SAID_ASKED].there && m->total.there
		 && m->said[FRAG_SAID_FREE].there && 20 * m->said[FRAG_SAID_FREE].bytes < m->total.bytes)
		m->shortage = FRAG_SHORT_CAPACITY;
	else if (m->said[FRAG_SAID_CONTIGUOUS].there && m->free.there
		 && m->free.bytes >= m->said[FRAG_SAID_ASKED].bytes)
		m->shortage = FRAG_SHORT_FRAGMENTATION;
	else if (m->wording == FRAG_WORDING_TPU && m->free.there && m->said[FRAG_SAID_ASKED].bytes
		 > m->free.bytes + m->free.error + m->said[FRAG_SAID_ASKED].error)
		m->shortage = FRAG_SHORT_CAPACITY;       /* one process has a chip, without a cache */
	else
		return false;
	m->possible = m->shortage == FRAG_SHORT_UNKNOWN ? (1U << FRAG_SHORTAGES) - 1 : 1U << m->shortage;
	if (is_short_of_free(m))
		m->possible |= 1U << FRAG_SHORT_OUTSIDE;
	return true;
}

/* With a missing value, a verdict is still given if only one is possible. */
void frag_message_judge(struct frag_message *m)
{
	struct frag_shortage_ranges r;

	derived_values_settle(m);
	m->over_limit = is_over_limit(m);
	if (judge_at_once(m))
		return;
	if (frag_message_is_budget(m)) {
		judge_budget(m);
		if (m->shortage != FRAG_SHORT_UNKNOWN)
			m->possible |= 1U << m->shortage;
		return;
	}
	if (!m->said[FRAG_SAID_ASKED].there) {
		m->possible = (1U << FRAG_SHORTAGES) - 1;
		m->shortage = FRAG_SHORT_UNKNOWN;
		return;
	}
	set_ranges(&r, m);
	r.segments = m->wording <= FRAG_WORDING_SENTENCES;
	m->possible = frag_shortages_of(&r);
	if (m->total.there && m->free.there && m->allocated.there && m->unallocated.there) {
		const int64_t at[FRAG_AT_ALL] = {
			(int64_t)m->said[FRAG_SAID_ASKED].bytes, (int64_t)m->total.bytes,
			(int64_t)m->free.bytes, (int64_t)m->allocated.bytes,
			(int64_t)m->unallocated.bytes,
		};

		m->shortage = frag_shortage_of(at, r.segments);
		/* without its unallocated bytes, what is outside is not known */
		if (m->wording == FRAG_WORDING_ASYNC && m->shortage == FRAG_SHORT_OUTSIDE)
			m->shortage = FRAG_SHORT_CAPACITY;
		m->possible |= 1U << m->shortage;
		if (m->shortage > FRAG_SHORT_OUTSIDE && is_held_outside(m)) {
			m->shortage = FRAG_SHORT_OUTSIDE;
			m->possible |= 1U << FRAG_SHORT_OUTSIDE;
		}
		/* what llama.cpp has free is what was, without the buffers that the log has: perhaps not all of them */
		if (m->wording == FRAG_WORDING_LLAMA && m->shortage == FRAG_SHORT_REFUSED)
			m->shortage = FRAG_SHORT_UNKNOWN;
		return;
	}
	m->shortage = FRAG_SHORT_UNKNOWN;
	for (int i = 0; i < FRAG_SHORTAGES; i++)
		if (m->possible == 1U << i)
			m->shortage = (enum frag_shortage)i;
}

const enum frag_oom_verdict frag_shortage_verdicts[] = {
	[FRAG_SHORT_OVER_DEVICE] = FRAG_VERDICT_TOO_LARGE,
	[FRAG_SHORT_REFUSED] = FRAG_VERDICT_REFUSED,
	[FRAG_SHORT_OUTSIDE] = FRAG_VERDICT_OUTSIDE,
	[FRAG_SHORT_CAPACITY] = FRAG_VERDICT_CAPACITY,
	[FRAG_SHORT_TIGHT] = FRAG_VERDICT_FRAGMENTATION,
	[FRAG_SHORT_FRAGMENTATION] = FRAG_VERDICT_FRAGMENTATION,
	[FRAG_SHORT_UNKNOWN] = FRAG_VERDICT_UNKNOWN,
	[FRAG_SHORT_CONTRADICTION] = FRAG_VERDICT_CONTRADICTION,
	[FRAG_SHORT_LIMIT] = FRAG_VERDICT_LIMIT,
	[FRAG_SHORT_NOT_DEVICE_MEMORY] = FRAG_VERDICT_NOT_DEVICE_MEMORY,
};

enum frag_oom_verdict frag_message_verdict(const struct frag_message *m)
{
	return frag_shortage_verdicts[m->shortage];
}

const char *const frag_missing_names[] = { "asked", "total", "free", "allocated", "reserved", NULL };

void frag_message_missing(const struct frag_message *m, const char *names[FRAG_MISSING_MAX + 1])
{
	const bool budget = frag_message_is_budget(m);
	/* by frag_missing_names */
	const bool there[FRAG_MISSING_MAX] = {
		m->said[FRAG_SAID_ASKED].there || m->wording == FRAG_WORDING_VLLM_CACHE
			|| m->wording == FRAG_WORDING_SGLANG,
		m->total.there, budget || m->free.there,
		budget ? m->need.there : m->allocated.there, budget || m->unallocated.there,
	};
	int count = 0;

	for (int i = 0; m->shortage == FRAG_SHORT_UNKNOWN && i < FRAG_MISSING_MAX; i++)
		if (!there[i])
			names[count++] = frag_missing_names[i];
	names[count] = NULL;
}
