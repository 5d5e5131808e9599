/* value_json.c - a JSON document as values: strict, and no deeper than 64. */
#include "input/value_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "input/input.h"
#include "input/json_scan.h"

struct reader {
	struct frag_values *values;
	const char *begin;
	const char *what;
	struct frag_scan scan;
	char *scratch;
	uint32_t *stack;                /* numbers of the items of the boxes that are open */
	uint32_t count, capacity;
	struct frag_error *err;
	int rc;
};

static const char *value_json_fail(struct reader *r, enum frag_add rc, const char *p)
{
	if (rc == FRAG_ADD_NOMEM)
		r->rc = frag_fail_nomem(r->err);
	else if (rc == FRAG_ADD_TOO_MUCH && r->values->file)
		r->rc = frag_kept_too_much(r->what, r->values->file, r->err);
	else
		r->rc = frag_fail(r->err, FRAG_ETRACE, "%s: byte %zu: %s", r->what,
				  (size_t)(p - r->begin), rc == FRAG_ADD_TOO_DEEP
				  ? "nested deeper than 64"
				  : "more values than a document of this size has");
	return NULL;
}

static const char *push_number(struct reader *r, uint32_t number, const char *p)
{
	if (!frag_grow(&r->stack, &r->capacity, (uint64_t)r->count + 1, sizeof(*r->stack)))
		return value_json_fail(r, FRAG_ADD_NOMEM, p);
	r->stack[r->count++] = number;
	return p;
}

static const char *value_json_push(struct reader *r, const struct frag_value *value, const char *p)
{
	uint32_t number;
	enum frag_add rc = frag_values_new(r->values, value, &number);

	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	return push_number(r, number, p);
}

/*
 * Text without escapes is borrowed from the document. With escapes it was made in
 * the scratch, which the next string overwrites, so it is copied.
 */
static const char *read_text(struct reader *r, const char *p, struct frag_value *out)
{
	struct frag_text text;
	enum frag_add rc;
	const char *end;
	char *copy;

	r->scan.scratch = r->scratch;   /* what the scan puts there moves it on */
	end = frag_scan_string(&r->scan, p, &text);
	if (!end)
		return NULL;
	*out = (struct frag_value){ .kind = FRAG_STRING, .length = text.length,
				    .as.text = text.text };
	if (text.text >= r->begin && text.text <= r->scan.end)
		return end;
	rc = frag_values_text(r->values, text.length, &copy);   /* it had escapes */
	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	memcpy(copy, text.text, text.length);
	out->as.text = copy;
	return end;
}

/*
 * The quick path knows integers below 2^53 without sign. A real that is a whole
 * number, -5 or 1e3, is an integer too, as in a pickle.
 */
static const char *read_number(struct reader *r, const char *p, struct frag_value *out)
{
	double real;
	const char *end;

	*out = (struct frag_value){ .kind = FRAG_INTEGER };
	end = frag_scan_integer(p, &out->as.magnitude);
	if (end)
		return end;
	end = frag_scan_number(&r->scan, p, &real);
	if (!end)
		return NULL;
	*out = (struct frag_value){ .kind = FRAG_REAL, .as.real = real };
	if (real < 18446744073709551616.0 && real > -18446744073709551616.0
	    && real == (double)(uint64_t)(real < 0 ? -real : real) * (real < 0 ? -1 : 1))
		*out = (struct frag_value){
			.kind = FRAG_INTEGER, .minus = real < 0,
			.as.magnitude = (uint64_t)(real < 0 ? -real : real),
		};
	return end;
}

static const char *read_word(struct reader *r, const char *p, struct frag_value *out)
{
	const char *end = frag_scan_skip(&r->scan, p, 1);

	*out = (struct frag_value){ .kind = *p == 'n' ? FRAG_NULL : FRAG_TRUTH,
				    .as.magnitude = *p == 't' };
	return end;
}

/* Reads a value and pushes it. As values nest, so do the calls: 64 at most. */
static const char *read_value(struct reader *r, const char *p, uint32_t depth);

/* A member's name and colon. */
static const char *read_key(struct reader *r, const char *p)
{
	struct frag_value key;

	if (*p != '"')
		return frag_scan_bad(&r->scan, p, "a member's name is expected here");
	p = read_text(r, p + 1, &key);
	p = p ? frag_scan_space(&r->scan, p) : NULL;
	if (p && *p != ':')
		return frag_scan_bad(&r->scan, p, "a colon is expected here");
	p = p ? value_json_push(r, &key, p) : NULL;
	return p ? frag_scan_space(&r->scan, p + 1) : NULL;
}

/*
 * Items wait on the stack above those of outer boxes until their number is known.
 * The condition of the loop lets an empty box end at once, but refuses a comma
 * before the end.
 */
static const char *read_box(struct reader *r, const char *p, uint32_t depth)
{
	const bool dict = *p == '{';
	const char close = dict ? '}' : ']';
	const uint32_t ground = r->count;
	const struct frag_value empty = { .kind = dict ? FRAG_DICT : FRAG_LIST };
	enum frag_add rc = FRAG_ADD_TOO_DEEP;
	uint32_t box;

	if (depth <= FRAG_VALUES_DEEP)
		rc = frag_values_new(r->values, &empty, &box);
	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	p = frag_scan_space(&r->scan, p + 1);
	while (p && (*p != close || r->count > ground)) {
		p = dict ? read_key(r, p) : p;
		p = p ? read_value(r, p, depth + 1) : NULL;
		p = p ? frag_scan_space(&r->scan, p) : NULL;
		if (!p || *p == close)
			break;
		if (*p != ',')
			return frag_scan_bad(&r->scan, p, "a comma or the end is expected here");
		p = frag_scan_space(&r->scan, p + 1);
	}
	if (!p)
		return NULL;
	rc = frag_values_add(r->values, box, r->stack + ground, r->count - ground);
	r->count = ground;
	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	return push_number(r, box, p + 1);
}

/*
 * Whatever begins as nothing else is scanned as a number, whose scan then words
 * the error.
 */
static const char *read_value(struct reader *r, const char *p, uint32_t depth)
{
	struct frag_value value;

	switch (*p) {
	case '{':
	case '[':
		return read_box(r, p, depth);
	case '"':
		p = read_text(r, p + 1, &value);
		break;
	case 't':
	case 'f':
	case 'n':
		p = read_word(r, p, &value);
		break;
	default:
		p = read_number(r, p, &value);
	}
	return p ? value_json_push(r, &value, p) : NULL;
}

/*
 * Unescaping makes no string longer, so a scratch of the document's length is
 * enough for any.
 */
int frag_value_json_read(struct frag_values *values, struct frag_value *root, const char *bytes,
			 size_t length, const char *what, struct frag_error *err)
{
	struct reader r = {
		.values = values, .begin = bytes, .what = what, .err = err,
		.scan = { .end = bytes + length }, .scratch = malloc(length + 16),
	};
	const char *p = NULL;

	if (!r.scratch)
		return frag_fail_nomem(err);
	p = frag_scan_space(&r.scan, bytes);
	p = p ? read_value(&r, p, 1) : NULL;
	p = p ? frag_scan_space(&r.scan, p) : NULL;
	if (p && p < r.scan.end)
		p = frag_scan_bad(&r.scan, p, "bytes after the end of the document");
	if (p)
		*root = values->table[r.stack[0]];
	free(r.stack);
	free(r.scratch);
	if (r.rc)
		return r.rc;
	if (p)
		return 0;
	if (r.scan.fail == FRAG_SCAN_MORE)
		return frag_fail(err, FRAG_ETRACE, "%s: byte %zu: truncated: the input ends here",
				 what, length);
	return frag_fail(err, FRAG_ETRACE, "%s: byte %zu: %s", what,
			 (size_t)(r.scan.fail_at - bytes), r.scan.fail_text);
}
