/*
 * json_scan.h - JSON tokens, strictly as RFC 8259, out of a window of bytes, and a large document,
 * part by part through the window.
 *
 * Each function takes the place where a token begins and returns the place after it. On NULL,
 * the scan's `fail` is MORE when the window is too short, or describes the error and its place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/word64.h"
#include "fragsim/error.h"
#include "input/input.h"

#define FRAG_DEPTH_MAX 64

enum frag_scan_fail { FRAG_SCAN_FINE, FRAG_SCAN_MORE, FRAG_SCAN_BAD };

struct frag_scan {
	const char *end;        /* of the window; *end is 0 */
	/* where strings with escapes go, each after the one before. A window's worth is enough
	 * for one scan of all of it: whoever scans a place again sets it back first */
	char *scratch;
	bool one_line;          /* a line end is not white space (events in the NDJSON format) */
	enum frag_scan_fail fail;
	const char *fail_at;
	const char *fail_text;  /* the message for BAD */
};

/* Fails at p: with MORE where p is the window's end, else with BAD and the text. */
const char *frag_scan_bad(struct frag_scan *s, const char *p, const char *text);

/* Anything but a space: the slow half of frag_scan_space. */
const char *frag_scan_spaces(struct frag_scan *s, const char *p);

static inline const char *frag_scan_space(struct frag_scan *s, const char *p)
{
	return (unsigned char)*p > ' ' ? p : frag_scan_spaces(s, p);
}

/* p is after the opening quote. The text is borrowed from the window or the scratch. */
const char *frag_scan_string(struct frag_scan *s, const char *p, struct frag_text *out);

/*
 * Up to the first byte that is not plain ASCII within a string: a quote or a backslash, a
 * control character, such as the zero behind the window, or one above 0x7f. Looks up to 15
 * bytes ahead.
 */
static inline const char *frag_scan_plain(const char *p)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i space = _mm_set1_epi8(' ');

	for (;; p += 16) {
		const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		const __m128i either =
			_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash));
		/* as signed bytes, those above 0x7f are below a space too */
		const int special =
			_mm_movemask_epi8(_mm_or_si128(either, _mm_cmplt_epi8(v, space)));

		if (special)
			return p + __builtin_ctz((unsigned)special);
	}
#else
	const uint64_t highs = FRAG_WORD_ONES * 0x80;

	for (;; p += 8) {
		const uint64_t w = frag_word_at(p);
		const uint64_t quote = w ^ FRAG_WORD_ONES * '"', slash = w ^ FRAG_WORD_ONES * '\\';
		const uint64_t special = (w | (w - FRAG_WORD_ONES * 0x20) | (quote - FRAG_WORD_ONES)
					  | (slash - FRAG_WORD_ONES)) & highs;

		/* a borrow marks only bytes after a true one: the lowest mark is true */
		if (special)
			return p + __builtin_ctzll(special) / 8;
	}
#endif
}

/* Length of a well-formed UTF-8 sequence of two to four bytes; 0 where it is not. */
uint32_t frag_utf8_length(const unsigned char *p);

/* Are these n bytes UTF-8, whole? Looks up to three bytes further. */
bool frag_utf8_is(const unsigned char *p, uint64_t n);

/* p is at a digit or '-'. out may be NULL. *out may be infinite. */
const char *frag_scan_number(struct frag_scan *s, const char *p, double *out);

/*
 * Counts up to 16 digits and computes their value; 17 where there are more. Reads up to 17
 * bytes ahead.
 */
static inline uint32_t frag_scan_digits(const char *p, uint64_t *value)
{
	static const uint32_t tens[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
	};
	uint32_t n = frag_word_digits(frag_word_at(p), value), more;
	uint64_t low;

	if (n < 8)
		return n;
	more = frag_word_digits(frag_word_at(p + 8), &low);
	*value = *value * tens[more] + low;
	return more == 8 && p[16] >= '0' && p[16] <= '9' ? 17 : 8 + more;
}

/*
 * An integer below 2^53 without sign, fraction and exponent: its end. NULL
 * without a fail where it is a value of another kind. Looks ahead likewise.
 */
static inline const char *frag_scan_integer(const char *p, uint64_t *out)
{
	uint64_t value;
	uint32_t n = frag_scan_digits(p, &value);
	char next;

	/* 16 digits hold 2^53 */
	if (n == 0 || n > 16 || value >= UINT64_C(1) << 53 || (*p == '0' && n > 1))
		return NULL;
	next = p[n];
	if (next != ',' && next != '}' && (next == '.' || next == 'e' || next == 'E'))
		return NULL;
	*out = value;
	return p + n;
}

/*
 * An integer of 64 bits, with a sign or without: up to after its digits; at the end of the window more
 * may follow. NULL, without a fail of the scanner, where there is none.
 */
const char *frag_scan_wide(const char *p, bool *negative, uint64_t *out);

/* Any value, itself at this depth (the outermost value is at depth 1). Needs no scratch. */
const char *frag_scan_skip(struct frag_scan *s, const char *p, uint32_t depth);

/* "name": up to the value. name may be NULL. NULL as the scanner. */
const char *frag_scan_name(struct frag_scan *s, const char *p, struct frag_text *name);

/*
 * After a value: past the comma to the next one, or with *end to after the
 * bracket. NULL as the scanner.
 */
const char *frag_scan_next(struct frag_scan *s, const char *p, char bracket, bool *end);

/* What is at p, at most 40 bytes of it, for a message. */
const char *frag_excerpt(const struct frag_scan *s, const char *p, char buf[64]);

/*
 * A function of the caller scans one part of a document (a member, an element). Where the window
 * ends inside a part, the window moves on and the part is scanned again from its start. So each
 * part must fit the window, but the document need not.
 */
struct frag_document {
	struct frag_input in;
	struct frag_scan scan;
	char *scratch;
	size_t scratch_size;
	size_t at;              /* the window is used up to here */
	bool by_line;           /* messages name lines, also where there is one */
	bool in_events;         /* messages name the event: */
	uint64_t step;          /* events so far */
	bool nomem;             /* set by a part that ran out of memory */
	const char *wrong_at;   /* set by a part that is good JSON and yet no good: where */
	char wrong[320];        /* and why */
};

/* Takes the input over, also on failure. */
int  frag_document_init(struct frag_document *d, struct frag_input *in, struct frag_error *err);
void frag_document_fini(struct frag_document *d);

/*
 * Scans one part: from d->at on, to after it. scan returns the place after the
 * part, or NULL as the scanner does, or with nomem or wrong_at set. What it notes
 * must bear being noted again.
 */
int frag_document_part(struct frag_document *d,
		       const char *(*scan)(void *ctx, struct frag_scan *s, const char *p),
		       void *ctx, struct frag_error *err);

/* The steps of that: the scanner over the present window; */
static inline void frag_document_aim(struct frag_document *d, bool one_line)
{
	d->scan = (struct frag_scan){
		.end = d->in.buf + d->in.end, .scratch = d->scratch, .one_line = one_line,
	};
}

/* the window moves on to d->at (1, or 0 at the end of the input); */
int frag_document_fill(struct frag_document *d, struct frag_error *err);
/* after a scan that stopped: 0 where there is more input now, else why it stopped. */
int frag_document_go_on(struct frag_document *d, struct frag_error *err);
/* -FRAG_ETRACE with the place. */
int frag_document_bad(struct frag_document *d, const char *at, const char *text,
		      struct frag_error *err);

/* Moves d->at past white space: 1; 0 at the end of the input. */
int frag_document_space(struct frag_document *d, struct frag_error *err);
/* Nothing but white space may follow; `whole` names what ends here, for the message. */
int frag_document_end(struct frag_document *d, const char *whole, struct frag_error *err);

/* Notes why a part is no good; NULL, for the part to return. */
const char *frag_document_wrong(struct frag_document *d, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same of a member whose value is not what it should be, unless the scanner has a reason. */
const char *frag_document_mistyped(struct frag_document *d, const char *at, const char *name,
				   const char *required);
