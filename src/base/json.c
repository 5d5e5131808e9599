/* json.c - JSON documents, written and read: a thin cover over cJSON. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"

#define EXACT_LIMIT 9007199254740992.0        /* 2^53: below, each integer is a double */

struct frag_node_ref frag_json_begin(struct frag_json *doc)
{
	*doc = (struct frag_json){ .root = cJSON_CreateObject(), .top = UINT32_MAX };
	doc->failed = !doc->root;
	return (struct frag_node_ref){ .doc = doc, .node = doc->root };
}

void frag_json_end(struct frag_json *doc)
{
	cJSON_Delete(doc->root);
	doc->root = NULL;
}

static struct frag_node_ref json_add(struct frag_node_ref in, const char *key, struct cJSON *item)
{
	cJSON_bool done = false;

	if (item && in.node)
		done = key ? cJSON_AddItemToObject(in.node, key, item)
			   : cJSON_AddItemToArray(in.node, item);
	if (!done) {
		cJSON_Delete(item);
		item = NULL;
		in.doc->failed = true;
	}
	return (struct frag_node_ref){ .doc = in.doc, .node = item };
}

struct frag_node_ref frag_json_object(struct frag_node_ref in, const char *key)
{
	return json_add(in, key, cJSON_CreateObject());
}

struct frag_node_ref frag_json_object_or_null(struct frag_node_ref in, const char *key, bool there)
{
	if (there)
		return frag_json_object(in, key);
	frag_json_null(in, key);
	return (struct frag_node_ref){ .doc = in.doc };
}

struct frag_node_ref frag_json_array(struct frag_node_ref in, const char *key)
{
	return json_add(in, key, cJSON_CreateArray());
}

void frag_json_u64(struct frag_node_ref in, const char *key, uint64_t value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_u64(text, value) = '\0';
	json_add(in, key, cJSON_CreateRaw(text));
}

void frag_json_i64(struct frag_node_ref in, const char *key, int64_t value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_i64(text, value) = '\0';
	json_add(in, key, cJSON_CreateRaw(text));
}

void frag_json_fixed4(struct frag_node_ref in, const char *key, double value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_fixed4(text, value) = '\0';
	json_add(in, key, cJSON_CreateRaw(text));
}

void frag_json_bool(struct frag_node_ref in, const char *key, bool value)
{
	json_add(in, key, cJSON_CreateBool(value));
}

void frag_json_null(struct frag_node_ref in, const char *key)
{
	json_add(in, key, cJSON_CreateNull());
}

void frag_json_text(struct frag_node_ref in, const char *key, const char *text)
{
	frag_json_words(in, key, text, text ? strlen(text) : 0);
}

void frag_json_words(struct frag_node_ref in, const char *key, const char *text, size_t length)
{
	char *json = text ? frag_new_json(text, length) : NULL;

	in.doc->failed |= text && !json;
	frag_json_raw(in, key, json);
	free(json);
}

void frag_json_raw(struct frag_node_ref in, const char *key, const char *json)
{
	json_add(in, key, json ? cJSON_CreateRaw(json) : cJSON_CreateNull());
}

uint32_t frag_json_shown(struct frag_node_ref in, const char *key, uint32_t count)
{
	struct frag_node_ref more;

	if (count <= in.doc->top)
		return count;
	if (!in.node)
		return 0;
	frag_json_member(in, "more", &more);
	if (!more.node)
		more = frag_json_object(in, "more");
	frag_json_u64(more, key, count - in.doc->top);
	return in.doc->top;
}

int frag_json_write(struct frag_json *doc, struct frag_outfile *f, struct frag_error *err)
{
	char *text = doc->failed ? NULL : cJSON_Print(doc->root);

	frag_json_end(doc);
	if (!text)
		return frag_fail_nomem(err);
	frag_outfile_write(f, text, strlen(text));
	frag_outfile_write(f, "\n", 1);
	cJSON_free(text);
	return frag_outfile_status(f, err);
}

/* Without white space; false: out of memory. */
static bool write_item(const struct cJSON *item, struct frag_outfile *f)
{
	char *text = cJSON_PrintUnformatted(item);

	if (text)
		frag_outfile_write(f, text, strlen(text));
	cJSON_free(text);
	return text != NULL;
}

int frag_json_write_dense(struct frag_json *doc, struct frag_outfile *f, struct frag_error *err)
{
	const struct cJSON *root = doc->root;
	bool whole = !doc->failed;

	for (const struct cJSON *item = root ? root->child : NULL; whole && item; item = item->next) {
		frag_outfile_write(f, item->prev->next ? ",\"" : "{\"", 2);
		frag_outfile_write(f, item->string, strlen(item->string));
		frag_outfile_write(f, "\":", 2);
		if (!cJSON_IsArray(item)) {
			whole = write_item(item, f);
			continue;
		}
		for (const struct cJSON *c = item->child; whole && c; c = c->next) {
			frag_outfile_write(f, c->prev->next ? ",\n" : "[\n", 2);
			whole = write_item(c, f);
		}
		frag_outfile_write(f, item->child ? "\n]" : "[]", 2);
	}
	frag_outfile_write(f, "}\n", 2);
	frag_json_end(doc);
	return whole ? frag_outfile_status(f, err) : frag_fail_nomem(err);
}

int frag_json_print(const struct frag_json *doc, FILE *f, struct frag_error *err)
{
	char *text = doc->failed ? NULL : cJSON_Print(doc->root);

	if (!text)
		return frag_fail_nomem(err);
	fprintf(f, "%s\n", text);
	cJSON_free(text);
	return 0;
}

static bool is_container(const struct cJSON *item)
{
	return cJSON_IsArray(item) || cJSON_IsObject(item);
}

/* Does this child of a container begin a line? */
static bool begins_line(const struct cJSON *in, const struct cJSON *child, const char *first)
{
	if (cJSON_IsArray(in) || child == in->child)
		return cJSON_IsArray(in);
	return is_container(child) || is_container(child->prev)
	       || strcmp(child->string, first) == 0;
}

/* The tree of a document that is written: numbers and strings are raw text. */
static void print_item(const struct cJSON *item, uint32_t depth, uint32_t levels,
		       const char *first, FILE *f)
{
	const char *const brackets = cJSON_IsArray(item) ? "[]" : "{}";

	if (!is_container(item)) {
		fputs(cJSON_IsRaw(item)	  ? item->valuestring
		      : cJSON_IsNull(item) ? "null"
		      : cJSON_IsTrue(item) ? "true" : "false", f);
		return;
	}
	putc(brackets[0], f);
	for (const struct cJSON *c = item->child; c; c = c->next) {
		const bool line = depth < levels && begins_line(item, c, first);

		fputs(c == item->child ? "" : line ? "," : ", ", f);
		if (line)
			fprintf(f, "\n%*s", (int)depth + 1, "");
		if (c->string)
			fprintf(f, "\"%s\": ", c->string);
		print_item(c, depth + 1, levels, first, f);
	}
	if (depth < levels && cJSON_IsArray(item))
		fprintf(f, "\n%*s", (int)depth, "");
	putc(brackets[1], f);
}

int frag_json_print_lines(const struct frag_json *doc, uint32_t levels, const char *first, FILE *f,
			  struct frag_error *err)
{
	if (doc->failed)
		return frag_fail_nomem(err);
	print_item(doc->root, 0, levels, first, f);
	putc('\n', f);
	return 0;
}

/* Where the next number begins; it is in no string. */
static const char *next_number(const char *p)
{
	for (; *p != '-' && (*p < '0' || *p > '9'); p++)
		if (*p == '"')
			for (p++; *p != '"'; p++)
				p += *p == '\\';
	return p;
}

/*
 * cJSON stores each number as a double. An integer too large for that keeps its digits as a
 * string as well: the nodes follow the order of the numbers in the text. Recursion is as deep
 * as the values nest, 64 levels at most. False: out of memory.
 */
static bool keep_digits(struct cJSON *item, const char **p)
{
	for (; item; item = item->next) {
		size_t length;

		if (item->child && !keep_digits(item->child, p))
			return false;
		if (!cJSON_IsNumber(item))
			continue;
		*p = next_number(*p);
		length = strspn(*p, "-0123456789");
		if (fabs(item->valuedouble) >= EXACT_LIMIT && !strchr(".eE", (*p)[length])) {
			item->valuestring = cJSON_malloc(length + 1);
			if (!item->valuestring)
				return false;
			memcpy(item->valuestring, *p, length);
			item->valuestring[length] = '\0';
		}
		*p += strspn(*p, "+-.eE0123456789");
	}
	return true;
}

struct frag_node_ref frag_json_parse(struct frag_json *doc, const char *text, size_t length)
{
	const locale_t before = frag_locale_begin();

	doc->root = cJSON_ParseWithLength(text, length);
	uselocale(before);
	if (doc->root && !keep_digits(doc->root, &text))
		frag_json_end(doc);
	doc->failed = !doc->root;
	return (struct frag_node_ref){ .doc = doc, .node = doc->root };
}

enum frag_json_kind frag_json_kind(struct frag_node_ref node)
{
	const struct cJSON *item = node.node;

	if (cJSON_IsBool(item))
		return FRAG_JSON_BOOL;
	if (cJSON_IsNumber(item))
		return FRAG_JSON_NUMBER;
	if (cJSON_IsString(item))
		return FRAG_JSON_STRING;
	if (cJSON_IsArray(item))
		return FRAG_JSON_ARRAY;
	return cJSON_IsObject(item) ? FRAG_JSON_OBJECT : FRAG_JSON_NULL;
}

uint32_t frag_json_member(struct frag_node_ref object, const char *key,
			  struct frag_node_ref *member)
{
	uint32_t count = 0;

	*member = (struct frag_node_ref){ .doc = object.doc, .node = NULL };
	for (struct frag_node_ref m = frag_json_first(object); m.node; m = frag_json_next(m))
		if (strcmp(frag_json_key(m), key) == 0 && count++ == 0)
			*member = m;
	return count;
}

struct frag_node_ref frag_json_first(struct frag_node_ref parent)
{
	const struct cJSON *item = parent.node;

	FRAG_ASSERT(item);
	return (struct frag_node_ref){ .doc = parent.doc, .node = item->child };
}

struct frag_node_ref frag_json_next(struct frag_node_ref child)
{
	const struct cJSON *item = child.node;

	FRAG_ASSERT(item);
	return (struct frag_node_ref){ .doc = child.doc, .node = item->next };
}

const char *frag_json_key(struct frag_node_ref member)
{
	const struct cJSON *item = member.node;

	FRAG_ASSERT(item);
	return item->string;
}

const char *frag_json_string(struct frag_node_ref node)
{
	return cJSON_GetStringValue(node.node);
}

double frag_json_number(struct frag_node_ref node)
{
	return cJSON_GetNumberValue(node.node);
}

bool frag_json_integer(struct frag_node_ref node, int64_t *value)
{
	const struct cJSON *item = node.node;
	const double number = frag_json_number(node);

	if (item->valuestring) {
		errno = 0;
		*value = strtoll(item->valuestring, NULL, 10);
		return errno == 0;
	}
	if (!(fabs(number) < EXACT_LIMIT) || number != floor(number))
		return false;
	*value = (int64_t)number;
	return true;
}

bool frag_json_is_true(struct frag_node_ref node)
{
	return cJSON_IsTrue(node.node);
}

const char *frag_json_library(void)
{
	return cJSON_Version();
}
