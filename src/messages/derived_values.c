/* derived_values.c - a message's values, the values derived from them, and its verdict. */
#include "messages/message.h"

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
	/* these allocators release their cache before they fail */
	if (m->wording == FRAG_WORDING_ASYNC || m->wording == FRAG_WORDING_MPS)
		m->unallocated = (struct frag_message_value){ .there = true };
}

/* For a pool with a limit, the growth that it still permits; for MPS, the free memory. */
static void settle_free(struct frag_message *m)
{
	const struct frag_message_value *outside = &m->said[FRAG_SAID_OUTSIDE];

	m->free = m->said[FRAG_SAID_FREE];
	if (m->free.there)
		return;
	if (m->wording == FRAG_WORDING_MPS && outside->there)
		m->free = difference(m->total, sum(m->allocated, *outside));
	else if (m->wording == FRAG_WORDING_BFC || m->wording == FRAG_WORDING_RMM_POOL
		 || m->wording == FRAG_WORDING_CUPY)
		m->free = difference(m->total, m->said[FRAG_SAID_RESERVED]);
}

static void derived_values_settle(struct frag_message *m)
{
	m->total = m->said[FRAG_SAID_TOTAL];
	m->allocated = m->said[FRAG_SAID_ALLOCATED];
	settle_free(m);
	settle_reserved(m);
	m->outside = m->said[FRAG_SAID_OUTSIDE];
	if (!m->outside.there)
		m->outside = difference(m->total, sum(sum(m->free, m->allocated),
						      m->unallocated));
	m->precision = 0;
	for (int i = 0; i <= FRAG_SAID_OUTSIDE; i++)
		if (m->said[i].there && m->said[i].error > m->precision)
			m->precision = m->said[i].error;
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

static bool is_decided(const struct frag_message *m)
{
	return m->total.there && m->free.there && m->allocated.there && m->unallocated.there;
}

/* With a missing value, a verdict is still given if only one is possible. */
void frag_message_judge(struct frag_message *m)
{
	struct frag_shortage_ranges r;

	derived_values_settle(m);
	set_ranges(&r, m);
	m->possible = frag_shortages_of(&r);
	if (is_decided(m)) {
		const int64_t at[FRAG_AT_ALL] = {
			(int64_t)m->said[FRAG_SAID_ASKED].bytes, (int64_t)m->total.bytes,
			(int64_t)m->free.bytes, (int64_t)m->allocated.bytes,
			(int64_t)m->unallocated.bytes,
		};

		m->verdict = frag_shortage_of(at);
		m->possible |= 1U << m->verdict;
		return;
	}
	m->verdict = FRAG_SHORT_UNKNOWN;
	for (int i = 0; i < FRAG_SHORTAGES; i++)
		if (m->possible == 1U << i)
			m->verdict = (enum frag_oom_verdict)i;
}

enum frag_oom_cause frag_shortage_cause(enum frag_oom_verdict shortage)
{
	static const enum frag_oom_cause causes[] = {
		[FRAG_SHORT_OVER_DEVICE] = FRAG_CAUSE_TOO_LARGE,
		[FRAG_SHORT_REFUSED] = FRAG_CAUSE_TRANSIENT,
		[FRAG_SHORT_OUTSIDE] = FRAG_CAUSE_OUTSIDE,
		[FRAG_SHORT_CAPACITY] = FRAG_CAUSE_CAPACITY,
		[FRAG_SHORT_TIGHT] = FRAG_CAUSE_FRAGMENTATION,
		[FRAG_SHORT_FRAGMENTATION] = FRAG_CAUSE_FRAGMENTATION,
		[FRAG_SHORT_UNKNOWN] = FRAG_CAUSE_UNKNOWN,
	};

	return causes[shortage];
}

bool frag_message_is_over_limit(const struct frag_message *m)
{
	const struct frag_message_value *allowed = &m->said[FRAG_SAID_ALLOWED];
	const uint64_t held = m->reserved.there ? m->reserved.bytes : m->allocated.bytes;

	return allowed->there && allowed->bytes < m->total.bytes
	       && held + m->said[FRAG_SAID_ASKED].bytes + 3 * m->precision > allowed->bytes;
}

enum frag_oom_cause frag_message_cause(const struct frag_message *m)
{
	return m->verdict == FRAG_SHORT_REFUSED && frag_message_is_over_limit(m)
		       ? FRAG_CAUSE_LIMIT : frag_shortage_cause(m->verdict);
}
