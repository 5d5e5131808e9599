/* json_members.c - JSON files, read member by member. */
#include "documents/json_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "input/input.h"
#include "input/json_scan.h"

#define COUNT_REQUIRED "an integer from 0 to 2^53-1 is required"
#define SUM_REQUIRED "an integer from 0 to 2^63-1 is required"

/* "runs[0].peak.reserved" */
static int json_reader_put_place(char *buf, size_t size, const struct frag_at *at)
{
	int used;

	if (!at->up)
		return 0;
	used = json_reader_put_place(buf, size, at->up);
	if ((size_t)used >= size)
		return used;
	if (at->key)
		return used + snprintf(buf + used, size - (size_t)used, "%s%.60s", used ? "." : "",
				       at->key);
	return used + snprintf(buf + used, size - (size_t)used, "[%u]", at->index);
}

void frag_bad(struct frag_members *r, const struct frag_at *at, const char *wanted)
{
	char place[400] = "";

	if (r->rc)
		return;
	json_reader_put_place(place, sizeof(place), at);
	r->rc = frag_fail(r->err, FRAG_ETRACE, "%s: %s%s%s", r->path, place, *place ? ": " : "",
			  wanted);
}

void frag_bad_memory(struct frag_members *r)
{
	if (!r->rc)
		r->rc = frag_fail_nomem(r->err);
}

/* How often the member is there, by its name or by the one that version 1 had; *node is one. */
static uint32_t find_member(const struct frag_at *in, const char *key, struct frag_node_ref *node)
{
	const uint32_t count = frag_json_member(in->node, key, node);
	const char *old = count ? NULL : frag_old_name(key);

	return old ? frag_json_member(in->node, old, node) : count;
}

struct frag_at frag_take(struct frag_members *r, const struct frag_at *in, const char *key,
		      enum frag_json_kind kind, const char *wanted)
{
	struct frag_at at = { .up = in, .key = key };
	uint32_t count;

	if (r->rc || !in->node.node)
		return at;
	count = find_member(in, key, &at.node);
	if (count == 0)
		frag_bad(r, &at, "this member is missing");
	else if (count > 1)
		frag_bad(r, &at, "this member is specified more than once");
	else if (frag_json_kind(at.node) != kind)
		frag_bad(r, &at, wanted);
	if (r->rc)
		at.node.node = NULL;
	return at;
}

struct frag_at frag_take_object(struct frag_members *r, const struct frag_at *in, const char *key)
{
	return frag_take(r, in, key, FRAG_JSON_OBJECT, "an object is required");
}

bool frag_has(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_node_ref ignored;

	return !r->rc && find_member(in, key, &ignored) > 0;
}

bool frag_is_null(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_node_ref node;

	return !r->rc && find_member(in, key, &node) == 1
	       && frag_json_kind(node) == FRAG_JSON_NULL;
}

char *frag_take_text(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_at at = frag_take(r, in, key, FRAG_JSON_STRING, "a string is required");
	char *copy = r->rc ? NULL : strdup(frag_json_string(at.node));

	if (!r->rc && !copy)
		frag_bad_memory(r);
	return copy;
}

static uint64_t as_natural(struct frag_members *r, const struct frag_at *at, int64_t max,
			   const char *wanted)
{
	int64_t value;

	if (r->rc)
		return 0;
	if (frag_json_integer(at->node, &value) && value >= 0 && value <= max)
		return (uint64_t)value;
	frag_bad(r, at, wanted);
	return 0;
}

uint64_t frag_as_sum(struct frag_members *r, const struct frag_at *at)
{
	return as_natural(r, at, INT64_MAX, SUM_REQUIRED);
}

uint64_t frag_take_count(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_at at = frag_take(r, in, key, FRAG_JSON_NUMBER, COUNT_REQUIRED);

	return as_natural(r, &at, FRAG_SIZE_LIMIT - 1, COUNT_REQUIRED);
}

uint64_t frag_take_sum(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_at at = frag_take(r, in, key, FRAG_JSON_NUMBER, SUM_REQUIRED);

	return frag_as_sum(r, &at);
}

bool frag_take_bool(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_at at = frag_take(r, in, key, FRAG_JSON_BOOL, "a boolean is required");

	return !r->rc && frag_json_is_true(at.node);
}

int64_t frag_take_signed(struct frag_members *r, const struct frag_at *in, const char *key)
{
	const char *const required = "an integer or null is required";
	struct frag_at at = frag_take(r, in, key, FRAG_JSON_NUMBER, required);
	int64_t value = 0;

	if (!r->rc && !frag_json_integer(at.node, &value))
		frag_bad(r, &at, required);
	return value;
}

struct frag_at frag_take_array(struct frag_members *r, const struct frag_at *in, const char *key)
{
	return frag_take(r, in, key, FRAG_JSON_ARRAY, "an array is required");
}

double frag_take_percent(struct frag_members *r, const struct frag_at *in, const char *key)
{
	struct frag_at at = frag_take(r, in, key, FRAG_JSON_NUMBER,
				      "a number from 0 to 100 is required");
	double value = r->rc ? 0 : frag_json_number(at.node);

	if (value < 0 || value > 100)
		frag_bad(r, &at, "a number from 0 to 100 is required");
	return value;
}

bool frag_next_element(struct frag_members *r, const struct frag_at *list, struct frag_at *at)
{
	if (r->rc || !list->node.node)
		return false;
	at->index = at->up ? at->index + 1 : 0;
	at->node = at->up ? frag_json_next(at->node) : frag_json_first(list->node);
	at->up = list;
	return at->node.node != NULL;
}

uint32_t frag_length_of(struct frag_members *r, const struct frag_at *list)
{
	uint32_t n = 0;

	if (r->rc)
		return 0;
	for (struct frag_node_ref e = frag_json_first(list->node); e.node; e = frag_json_next(e))
		n++;
	return n;
}

/*
 * Format and version come first, so that a file of another kind is called that and
 * not a file with missing members.
 */
uint32_t frag_take_format(struct frag_members *r, const struct frag_at *root,
			  const char *const *formats, const char *wanted)
{
	const struct frag_at version = { .up = root, .key = "version" };
	struct frag_at format = { .up = root, .key = "format" };
	uint64_t number;
	uint32_t i = 0;

	FRAG_ASSERT(formats[0]);
	if (r->rc)
		return 0;
	if (frag_json_kind(root->node) != FRAG_JSON_OBJECT)
		frag_bad(r, root, wanted);
	else if (!frag_has(r, root, format.key))
		frag_bad(r, &format, wanted);
	if (r->rc)
		return 0;
	format = frag_take(r, root, format.key, FRAG_JSON_STRING, "a string is required");
	while (!r->rc && formats[i] && strcmp(frag_json_string(format.node), formats[i]) != 0)
		i++;
	if (!formats[i])
		frag_bad(r, &format, wanted);
	number = frag_take_count(r, root, version.key);
	if (number != 1 && number != 2)
		frag_bad(r, &version, "this fragsim reads versions 1 and 2");
	return i;
}

void frag_want_object(struct frag_members *r, const struct frag_at *at)
{
	if (!r->rc && frag_json_kind(at->node) != FRAG_JSON_OBJECT)
		frag_bad(r, at, "an object is required");
}

/* Is it one JSON text of RFC 8259? The error contains the place of the first violation. */
static int check_text(const char *path, const char *what, char *text, size_t length,
		      struct frag_error *err)
{
	struct frag_scan scan = { .end = text + length };
	const char *p = text;
	size_t line = 1, column = 1;

	p = frag_scan_space(&scan, p);
	p = p ? frag_scan_skip(&scan, p, 1) : NULL;
	p = p ? frag_scan_space(&scan, p) : NULL;
	if (p == scan.end)
		return 0;
	if (p) {
		scan.fail_at = p;
		scan.fail_text = "something follows the end";
	} else if (scan.fail == FRAG_SCAN_MORE) {
		scan.fail_text = length ? "it ends in the middle" : "there is nothing in it";
	}
	for (p = text; p < scan.fail_at; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return frag_fail(err, FRAG_ETRACE, "%s:%zu:%zu: no %s, because no JSON: %s", path, line,
			 column, what, scan.fail_text);
}

/*
 * The text is checked to be strict JSON before the library parses it, which
 * accepts more than that.
 */
struct frag_at frag_members_parse(struct frag_members *r, struct frag_json *doc, char *text,
				  size_t length, const char *what)
{
	struct frag_at root = { .up = NULL };

	*doc = (struct frag_json){ .root = NULL };
	r->rc = check_text(r->path, what, text, length, r->err);
	if (!r->rc) {
		root.node = frag_json_parse(doc, text, length);
		if (!root.node.node)
			frag_bad_memory(r);
	}
	return root;
}

struct frag_at frag_members_open(struct frag_members *r, struct frag_json *doc, const char *path,
				const char *what, struct frag_error *err)
{
	struct frag_at root = { .up = NULL };
	size_t length = 0;
	char *text = NULL;

	*r = (struct frag_members){
		.path = frag_input_name(path), .err = err,
	};
	*doc = (struct frag_json){ .root = NULL };
	r->rc = frag_text_file(&text, &length, path, err);
	if (!r->rc)
		root = frag_members_parse(r, doc, text, length, what);
	free(text);
	return root;
}
