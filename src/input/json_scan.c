/* json_scan.c - JSON tokens, strictly as RFC 8259, and a document part by part. */
#include "input/json_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/inline.h"
#include "base/word64.h"

#define EXCERPT 40              /* the bytes of a value that messages show */

const char *frag_scan_bad(struct frag_scan *s, const char *p, const char *text)
{
	s->fail = p == s->end ? FRAG_SCAN_MORE : FRAG_SCAN_BAD;
	s->fail_at = p;
	s->fail_text = text;
	return NULL;
}

const char *frag_scan_spaces(struct frag_scan *s, const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r' || (*p == '\n' && !s->one_line))
		p++;
	if (*p == '\n')
		return frag_scan_bad(s, p, "the line ends inside an event");
	return p;
}

/* The window's slack of zeros lets it look ahead. */
uint32_t frag_utf8_length(const unsigned char *p)
{
	const char *begin = (const char *)p, *end = begin;

	frag_code_point(&end, begin + 4);
	return end - begin > 1 ? (uint32_t)(end - begin) : 0;
}

bool frag_utf8_is(const unsigned char *p, uint64_t n)
{
	const unsigned char *end = p + n;

	while (p < end) {
		uint32_t length = *p < 0x80 ? 1 : frag_utf8_length(p);

		if (length == 0)
			return false;
		p += length;
	}
	return p == end;
}

/* Four hexadecimal digits; -1 where they are not. */
static int32_t hex4(const char *p)
{
	int32_t value = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int digit = c >= '0' && c <= '9' ? c - '0'
			  : c >= 'a' && c <= 'f' ? c - 'a' + 10
			  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static char *put_utf8(char *to, uint32_t code)
{
	static const uint32_t first[] = { 0, 0xc0, 0xe0, 0xf0 };
	const int more = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);

	*to++ = (char)(first[more] | code >> 6 * more);
	for (int i = more; i-- > 0;)
		*to++ = (char)(0x80 | (code >> 6 * i & 0x3f));
	return to;
}

/* Where the window may have cut a token short, failing at its end asks for more. */
static const char *cut_or_bad(struct frag_scan *s, const char *p, size_t need, const char *text)
{
	if ((size_t)(s->end - p) < need && !memchr(p, '"', (size_t)(s->end - p)))
		return frag_scan_bad(s, s->end, text);
	return frag_scan_bad(s, p, text);
}

/* \uXXXX, and its second half where it is a surrogate; p is at the backslash. */
static const char *unicode_escape(struct frag_scan *s, const char *p, char **to)
{
	int32_t code = hex4(p + 2), low;

	if (code < 0)
		return cut_or_bad(s, p, 6, "\\u without four hexadecimal digits");
	if (code >= 0xdc00 && code <= 0xdfff)
		return frag_scan_bad(s, p, "a lone low surrogate");
	if (code < 0xd800 || code > 0xdbff) {
		*to = put_utf8(*to, (uint32_t)code);
		return p + 6;
	}
	low = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return cut_or_bad(s, p, 12, "a lone high surrogate");
	*to = put_utf8(*to, 0x10000 + ((uint32_t)(code - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
	return p + 12;
}

static const char *escape(struct frag_scan *s, const char *p, char **to)
{
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (p[1] == 'u')
		return unicode_escape(s, p, to);
	at = p[1] ? strchr(from, p[1]) : NULL;
	if (!at)
		return p + 1 == s->end ? frag_scan_bad(s, s->end, "")
				       : frag_scan_bad(s, p, "an unknown escape");
	*(*to)++ = plain[at - from];
	return p + 2;
}

/*
 * A string from its first byte that is not plain ASCII on; begin is after the
 * quote. Without out it is checked only, and the scratch is left alone.
 */
static const char *rest_of_string(struct frag_scan *s, const char *begin, const char *p,
				  struct frag_text *out)
{
	char ignored[4];
	char *copy = NULL, *to = ignored;

	for (;;) {
		unsigned char c = (unsigned char)*p;
		uint32_t n = 1;

		if (c == '"')
			break;
		if (c < 0x20)
			return frag_scan_bad(s, p, "a control character in a string");
		if (c == '\\') {
			if (!out) {
				to = ignored;
			} else if (!copy) {
				copy = to = s->scratch;
				memcpy(to, begin, (size_t)(p - begin));
				to += p - begin;
			}
			p = escape(s, p, &to);
			if (!p)
				return NULL;
			continue;
		}
		if (c >= 0x80) {
			n = frag_utf8_length((const unsigned char *)p);
			if (!n)
				return cut_or_bad(s, p, 4, "invalid UTF-8");
		}
		if (copy) {
			memcpy(to, p, n);
			to += n;
		}
		p += n;
	}
	if (!out)
		return p + 1;
	if (copy)
		s->scratch = to;
	*out = (struct frag_text){
		.text = copy ? copy : begin, .length = (uint32_t)(copy ? to - copy : p - begin),
	};
	return p + 1;
}

const char *frag_scan_string(struct frag_scan *s, const char *p, struct frag_text *out)
{
	const char *begin = p;

	p = frag_scan_plain(p);
	if (*p != '"')
		return rest_of_string(s, begin, p, out);
	*out = (struct frag_text){ .text = begin, .length = (uint32_t)(p - begin) };
	return p + 1;
}

static const char *json_scan_skip_string(struct frag_scan *s, const char *p)
{
	const char *end = frag_scan_plain(p);

	return *end == '"' ? end + 1 : rest_of_string(s, p, end, NULL);
}

static const char *json_scan_digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

/*
 * The usual number in one pass: at most 15 digits, no sign, no exponent. Mantissa
 * and power of ten are then exact, and so is their quotient (Clinger's fast path).
 * NULL where it is anything else: frag_scan_number() is the reference.
 */
static const char *quick_number(const char *p, double *out)
{
	static const double tens[] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
		1e15,
	};
	uint64_t mantissa, fraction;
	uint32_t whole = frag_scan_digits(p, &mantissa), part = 0;

	if (whole == 0 || whole > 15 || (*p == '0' && whole > 1))
		return NULL;
	p += whole;
	if (*p == '.') {
		part = frag_scan_digits(p + 1, &fraction);
		if (part == 0 || whole + part > 15)
			return NULL;
		mantissa = mantissa * (uint64_t)tens[part] + fraction;
		p += 1 + part;
	}
	if (*p == 'e' || *p == 'E' || *p == '\0')
		return NULL;
	*out = part ? (double)mantissa / tens[part] : (double)mantissa;
	return p;
}

/*
 * Checks the grammar of RFC 8259, section 6; strtod(), which accepts more than JSON, then
 * converts only text of that grammar.
 */
const char *frag_scan_number(struct frag_scan *s, const char *p, double *out)
{
	const char *begin = p, *q = out ? quick_number(p, out) : NULL;

	if (q)
		return q;
	p += *p == '-';
	q = json_scan_digits(p);
	if (q == p)
		return frag_scan_bad(s, p, "not a JSON value");
	if (*p == '0' && q > p + 1)
		return frag_scan_bad(s, p, "a number with a leading zero");
	p = q;
	if (*p == '.') {
		q = json_scan_digits(p + 1);
		if (q == p + 1)
			return frag_scan_bad(s, q, "a number without digits after the point");
		p = q;
	}
	if (*p == 'e' || *p == 'E') {
		p += p[1] == '+' || p[1] == '-' ? 2 : 1;
		q = json_scan_digits(p);
		if (q == p)
			return frag_scan_bad(s, q, "a number without digits in its exponent");
		p = q;
	}
	if (p == s->end)
		return frag_scan_bad(s, p, "");
	if (out)
		*out = frag_strtod(begin, NULL);        /* a byte that is no part of it follows */
	return p;
}

static const char *word(struct frag_scan *s, const char *p, const char *text)
{
	size_t i = 0;

	while (text[i] && p[i] == text[i])
		i++;
	return text[i] ? frag_scan_bad(s, p + i == s->end ? p + i : p, "not a JSON value") : p + i;
}

static const char *scalar(struct frag_scan *s, const char *p)
{
	switch (*p) {
	case '"':
		return json_scan_skip_string(s, p + 1);
	case 't':
		return word(s, p, "true");
	case 'f':
		return word(s, p, "false");
	case 'n':
		return word(s, p, "null");
	default:
		return frag_scan_number(s, p, NULL);
	}
}

/* Inlined where values are passed over: calls would take a sixth more there. */

FRAG_INLINE const char *scan_name(struct frag_scan *s, const char *p, struct frag_text *name)
{
	if (*p != '"')
		return frag_scan_bad(s, p, "a member's name is expected here");
	p = name ? frag_scan_string(s, p + 1, name) : json_scan_skip_string(s, p + 1);
	p = p ? frag_scan_space(s, p) : NULL;
	if (p && *p != ':')
		return frag_scan_bad(s, p, "a colon is expected here");
	return p ? frag_scan_space(s, p + 1) : NULL;
}

FRAG_INLINE const char *scan_next(struct frag_scan *s, const char *p, char bracket, bool *end)
{
	p = p ? frag_scan_space(s, p) : NULL;
	if (!p)
		return NULL;
	*end = *p == bracket;
	if (*end)
		return p + 1;
	if (*p != ',')
		return frag_scan_bad(s, p, bracket == '}' ? "a comma or } is expected here"
							  : "a comma or ] is expected here");
	return frag_scan_space(s, p + 1);
}

const char *frag_scan_wide(const char *p, bool *negative, uint64_t *out)
{
	char *end;

	*negative = *p == '-';
	p += *negative;
	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return NULL;
	errno = 0;
	*out = strtoull(p, &end, 10);
	return errno || *end == '.' || *end == 'e' || *end == 'E' ? NULL : end;
}

/*
 * Nesting needs no recursion: each open bracket stores the one that closes it. After a value the
 * scan closes as many brackets as end there; then a comma leads to the next value.
 */
const char *frag_scan_skip(struct frag_scan *s, const char *p, uint32_t depth)
{
	char close[FRAG_DEPTH_MAX + 1];
	uint32_t open = 0;
	bool end;

	FRAG_ASSERT(depth > 0);
	for (;;) {
		if (*p == '{' || *p == '[') {
			if (depth + open > FRAG_DEPTH_MAX)
				return frag_scan_bad(s, p, "nested deeper than 64");
			close[open++] = *p == '{' ? '}' : ']';
			p = frag_scan_space(s, p + 1);
			end = p && *p == close[open - 1];
		} else {
			p = scalar(s, p);
			end = true;
		}
		/* after a value, or at the bracket that ends an empty one */
		for (; end && open && p; open -= end)
			p = scan_next(s, p, close[open - 1], &end);
		if (!p || !open)
			return p;
		if (close[open - 1] == '}') {
			p = scan_name(s, p, NULL);
			if (!p)
				return NULL;
		}
	}
}

const char *frag_scan_name(struct frag_scan *s, const char *p, struct frag_text *name)
{
	return scan_name(s, p, name);
}

const char *frag_scan_next(struct frag_scan *s, const char *p, char bracket, bool *end)
{
	return scan_next(s, p, bracket, end);
}

const char *frag_excerpt(const struct frag_scan *s, const char *p, char buf[64])
{
	uint32_t n = 0;

	while (n < EXCERPT && p + n < s->end && (n == 0 || !strchr(",}]\r\n", p[n]))) {
		buf[n] = p[n] >= 0x20 && p[n] < 0x7f ? p[n] : '?';
		n++;
	}
	buf[n] = '\0';
	return buf;
}

int frag_document_init(struct frag_document *d, struct frag_input *in, struct frag_error *err)
{
	*d = (struct frag_document){ .in = *in, .scratch_size = in->capacity };
	d->scratch = malloc(d->scratch_size);
	if (d->scratch)
		return 0;
	frag_document_fini(d);
	return frag_fail_nomem(err);
}

void frag_document_fini(struct frag_document *d)
{
	frag_input_close(&d->in);
	free(d->scratch);
	d->scratch = NULL;
}

int frag_document_bad(struct frag_document *d, const char *at, const char *text,
		      struct frag_error *err)
{
	char where[512];

	frag_input_where(&d->in, (size_t)(at - d->in.buf), d->by_line, where, sizeof(where));
	if (d->in_events)
		return frag_fail(err, FRAG_ETRACE, "%s: event %" PRIu64 ": %s", where, d->step,
				 text);
	return frag_fail(err, FRAG_ETRACE, "%s: %s", where, text);
}

/* The scratch follows in size. */
int frag_document_fill(struct frag_document *d, struct frag_error *err)
{
	int rc = frag_input_fill(&d->in, d->at, err);

	d->at = 0;
	if (rc >= 0 && d->scratch_size < d->in.capacity) {
		free(d->scratch);
		d->scratch_size = d->in.capacity;
		d->scratch = malloc(d->scratch_size);
		if (!d->scratch)
			return frag_fail_nomem(err);
	}
	return rc;
}

int frag_document_go_on(struct frag_document *d, struct frag_error *err)
{
	int rc;

	if (d->nomem)
		return frag_fail_nomem(err);
	if (d->wrong_at)
		return frag_document_bad(d, d->wrong_at, d->wrong, err);
	if (d->scan.fail == FRAG_SCAN_BAD)
		return frag_document_bad(d, d->scan.fail_at, d->scan.fail_text, err);
	rc = d->in.eof ? 0 : frag_document_fill(d, err);
	if (rc)
		return rc < 0 ? rc : 0;
	return frag_document_bad(d, d->in.buf + d->in.end, "truncated: the input ends here", err);
}

int frag_document_part(struct frag_document *d,
		       const char *(*scan)(void *ctx, struct frag_scan *s, const char *p),
		       void *ctx, struct frag_error *err)
{
	FRAG_ASSERT(d->at <= d->in.end);
	for (;;) {
		const char *p;
		int rc;

		frag_document_aim(d, false);
		p = scan(ctx, &d->scan, d->in.buf + d->at);
		if (p) {
			d->at = (size_t)(p - d->in.buf);
			return 0;
		}
		rc = frag_document_go_on(d, err);
		if (rc)
			return rc;
	}
}

int frag_document_space(struct frag_document *d, struct frag_error *err)
{
	for (;;) {
		int rc;

		frag_document_aim(d, false);
		d->at = (size_t)(frag_scan_space(&d->scan, d->in.buf + d->at) - d->in.buf);
		if (d->at < d->in.end)
			return 1;
		rc = d->in.eof ? 0 : frag_document_fill(d, err);
		if (rc <= 0)
			return rc;
	}
}

int frag_document_end(struct frag_document *d, const char *whole, struct frag_error *err)
{
	char text[64];
	int rc = frag_document_space(d, err);

	if (rc <= 0)
		return rc;
	snprintf(text, sizeof(text), "bytes after the end of the %s", whole);
	return frag_document_bad(d, d->in.buf + d->at, text, err);
}

const char *frag_document_wrong(struct frag_document *d, const char *at, const char *format, ...)
{
	va_list args;

	d->wrong_at = at;
	va_start(args, format);
	frag_vsnprintf(d->wrong, sizeof(d->wrong), format, args);
	va_end(args);
	return NULL;
}

const char *frag_document_mistyped(struct frag_document *d, const char *at, const char *name,
				   const char *required)
{
	char value[64];

	if (d->scan.fail != FRAG_SCAN_FINE)
		return NULL;
	if (at == d->scan.end)  /* the value is yet to come */
		return frag_scan_bad(&d->scan, at, "");
	return frag_document_wrong(d, at, "member \"%s\": %s is required, not %s", name, required,
				   frag_excerpt(&d->scan, at, value));
}
