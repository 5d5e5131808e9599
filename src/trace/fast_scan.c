/* fast_scan.c - the events that are nearly all of a trace, known by their spelling. */
#include "trace/fast_scan.h"

#include <string.h>

#include "base/inline.h"
#include "input/json_scan.h"

/*
 * A literal that starts inside the window may extend into the zeros behind it. The next
 * comparison starts only after the previous one matched.
 */
#define BEGINS(p, literal) (memcmp(p, literal, sizeof(literal) - 1) == 0)
#define AFTER(p, literal) ((p) + sizeof(literal) - 1)

/* Below 10^15, and no zeros before it. */
static inline const char *integer(const char *p, uint64_t *out)
{
	const uint32_t n = frag_scan_digits(p, out);

	return n - 1 < 15 && (n == 1 || *p != '0') ? p + n : NULL;
}

/* Streams and devices are numbered from 0, so most of these numbers are one digit. */
static inline const char *small_integer(const char *p, uint64_t *out)
{
	const uint32_t digit = (uint32_t)(unsigned char)*p - '0';

	if (digit > 9 || (p[1] != ',' && p[1] != '}'))
		return integer(p, out);
	*out = digit;
	return p + 1;
}

/* Scans a number with a fraction, a sign or an exponent; accepts JSON numbers only. */
static const char *any_number(const char *p, const char *end, double *out)
{
	struct frag_scan s = { .end = end };

	p = frag_scan_number(&s, p, out);
	return p && *out - *out == 0 ? p : NULL;        /* an infinite one is a flaw */
}

static inline const char *microseconds(const char *begin, const char *end, struct frag_record *rec)
{
	uint64_t whole;
	const char *p = integer(begin, &whole);

	rec->t = (double)whole;
	if (!p || *p == '.' || *p == 'e' || *p == 'E')
		p = any_number(begin, end, &rec->t);
	if (p)
		rec->t_text = (struct frag_text){
			.text = begin, .length = (uint32_t)(p - begin),
		};
	return p;
}

/* Plain ASCII; what has an escape or another character needs a closer look. */
static inline const char *text(const char *p, struct frag_text *out)
{
	const char *end = frag_scan_plain(p);

	*out = (struct frag_text){ .text = p, .length = (uint32_t)(end - p) };
	return *end == '"' ? end + 1 : NULL;
}

/* Members that may follow, in any order, each once. */
FRAG_INLINE const char *others(const char *p, const char *end, uint32_t members,
					struct frag_record *rec)
{
	uint32_t member;

	while (p && *p != '}') {
		if (BEGINS(p, ",\"t\":")) {
			member = FRAG_HAS_T;
			p = microseconds(AFTER(p, ",\"t\":"), end, rec);
		} else if (BEGINS(p, ",\"tag\":\"")) {
			member = FRAG_HAS_TAG;
			p = text(AFTER(p, ",\"tag\":\""), &rec->tag);
		} else if (BEGINS(p, ",\"stream\":")) {
			member = FRAG_HAS_STREAM;
			rec->stream.text = NULL;
			p = small_integer(AFTER(p, ",\"stream\":"), &rec->stream.number);
		} else if (BEGINS(p, ",\"device\":")) {
			member = FRAG_HAS_DEVICE;
			p = small_integer(AFTER(p, ",\"device\":"), &rec->device);
		} else {
			return NULL;
		}
		if (members & member)
			return NULL;
		members |= member;
	}
	rec->members = members;
	return p ? p + 1 : NULL;
}

FRAG_INLINE const char *scan_usual(const char *p, const char *end, struct frag_record *rec)
{
	uint32_t members = FRAG_HAS_OP | FRAG_HAS_ID;

	rec->id.text = NULL;
	if (BEGINS(p, "{\"op\":\"a") && BEGINS(p + 8, "lloc\",\"id\":")) {
		rec->op = FRAG_OP_ALLOC;
		p = integer(AFTER(p, "{\"op\":\"alloc\",\"id\":"), &rec->id.number);
		if (!p || !BEGINS(p, ",\"size\":"))
			return NULL;
		members |= FRAG_HAS_SIZE;
		p = integer(AFTER(p, ",\"size\":"), &rec->size);
	} else if (BEGINS(p, "{\"op\":\"f") && BEGINS(p + 8, "ree\",\"id\":")) {
		rec->op = FRAG_OP_FREE;
		p = integer(AFTER(p, "{\"op\":\"free\",\"id\":"), &rec->id.number);
	} else {
		return NULL;
	}
	return others(p, end, members, rec);
}

const char *frag_fast_scan_event(const char *p, const char *end, struct frag_record *rec)
{
	return scan_usual(p, end, rec);
}

uint32_t frag_usual_lines(const char *window, size_t *at, const char *end,
			  struct frag_record *recs, uint32_t max)
{
	const char *p = window + *at;
	uint32_t n = 0;

	for (; n < max; n++) {
		const char *after = scan_usual(p, end, &recs[n]);

		if (!after || *after != '\n')
			break;
		recs[n].at = (uint64_t)(p - window);
		p = after + 1;
	}
	*at = (size_t)(p - window);
	return n;
}
