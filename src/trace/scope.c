/* scope.c - the scope of a recording as JSON, and as a member of `meta`. */
#include "trace/scope.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (INT64_C(1) << 62)    /* sums of sizes */
#define SCOPE_ROOM 256

const char *const frag_begins_words[] = { "start", "late", "state", NULL };
const char *const frag_ends_words[] = { "end", "oom", "cut", NULL };

static int scope_bad(const char *path, const char *what, const char *key, const char *expected,
		     struct frag_error *err)
{
	return frag_fail(err, FRAG_ETRACE, "%s: %s: member \"%s\" must be %s", path, what, key,
			 expected);
}

/* Which of the three words a member is; 3: none of them. */
static uint32_t scope_word(struct frag_node_ref o, const char *key, const char *const words[3])
{
	struct frag_node_ref m;
	uint32_t i = 0;

	if (frag_json_member(o, key, &m) != 1 || frag_json_kind(m) != FRAG_JSON_STRING)
		return 3;
	while (i < 3 && strcmp(frag_json_string(m), words[i]) != 0)
		i++;
	return i;
}

/* A number from 0; null and a member that is missing are 0. */
static bool scope_number(struct frag_node_ref o, const char *key, uint64_t *out)
{
	struct frag_node_ref m;
	int64_t number;

	*out = 0;
	if (!frag_json_member(o, key, &m) || frag_json_kind(m) == FRAG_JSON_NULL)
		return true;
	if (frag_json_kind(m) != FRAG_JSON_NUMBER || !frag_json_integer(m, &number) || number < 0
	    || number > BYTES_MAX)
		return false;
	*out = (uint64_t)number;
	return true;
}

int frag_scope_read(struct frag_scope *scope, struct frag_node_ref o, const char *path,
		    const char *what, struct frag_error *err)
{
	struct frag_node_ref before, grows;
	const uint32_t begins = scope_word(o, "begins", frag_begins_words);
	const uint32_t ends = scope_word(o, "ends", frag_ends_words);

	*scope = (struct frag_scope){ .stated = true };
	if (begins == 3)
		return scope_bad(path, what, "begins", "start, late or state", err);
	if (ends == 3)
		return scope_bad(path, what, "ends", "end, oom or cut", err);
	scope->begins = begins;
	scope->ends = ends;
	if (frag_json_member(o, "before", &before) && frag_json_kind(before) != FRAG_JSON_NULL
	    && (frag_json_kind(before) != FRAG_JSON_OBJECT
		|| !scope_number(before, "active", &scope->before_active)
		|| !scope_number(before, "reserved", &scope->before_reserved)))
		return scope_bad(path, what, "before", "null or an object of the bytes"
				 " active and reserved", err);
	if (frag_json_member(o, "grows", &grows) == 1 && frag_json_kind(grows) == FRAG_JSON_BOOL)
		scope->grows = frag_json_is_true(grows) ? FRAG_GROWS_YES : FRAG_GROWS_NO;
	if (!scope_number(o, "lost", &scope->lost))
		return scope_bad(path, what, "lost", "a number of events, or null", err);
	return 0;
}

/* After the value at p, of JSON that is known to be good: the comma or brace behind it. */
static char *scope_behind(char *p)
{
	uint32_t depth = 0;

	for (;; p++) {
		if (*p == '"') {
			for (p++; *p != '"'; p++)
				p += *p == '\\';
			continue;
		}
		if (depth == 0 && (*p == ',' || *p == '}'))
			return p;
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
	}
}

/*
 * The member, as the text between *from and the end that is returned, with one comma; NULL: none. A
 * name with escapes is another one.
 */
static char *scope_find(char *meta, char **from)
{
	static const char key[] = "\"scope\"";
	char *p = meta + 1;

	for (;;) {
		char *begin = p + strspn(p, " "), *end = scope_behind(begin);

		if (strncmp(begin, key, sizeof(key) - 1) == 0) {
			*from = *end == ',' || p == meta + 1 ? begin : p - 1;
			return end + (*end == ',');
		}
		if (*end == '}')
			return NULL;
		p = end + 1;
	}
}

int frag_scope_take(struct frag_scope *scope, char *meta, uint32_t *length, const char *path,
		    struct frag_error *err)
{
	struct frag_node_ref root, member;
	struct frag_json doc;
	char *from, *end = scope_find(meta, &from);
	bool object = false;
	int rc = 0;

	if (!end)
		return 0;
	root = frag_json_parse(&doc, meta, *length);
	if (!root.node)
		rc = frag_fail_nomem(err);
	else if (frag_json_member(root, "scope", &member) != 1)
		rc = frag_fail(err, FRAG_ETRACE, "%s: more than one \"scope\" in \"meta\"", path);
	else
		object = frag_json_kind(member) == FRAG_JSON_OBJECT;
	if (object)
		rc = frag_scope_read(scope, member, path, "\"scope\" in \"meta\"", err);
	frag_json_end(&doc);
	if (rc || !object)
		return rc;
	scope->grows = FRAG_GROWS_UNKNOWN;      /* of answers only */
	memmove(from, end, (size_t)(meta + *length + 1 - end));
	*length -= (uint32_t)(end - from);
	return 0;
}

bool frag_scope_knows_before(const struct frag_scope *scope)
{
	return scope->begins == FRAG_BEGINS_STATE
	       || (scope->begins == FRAG_BEGINS_LATE
		   && (scope->before_active || scope->before_reserved));
}

/* The member as text; it is known how long that can be. */
static void scope_text(char text[SCOPE_ROOM], const struct frag_scope *scope)
{
	char before[96] = "null", lost[24] = "null";

	if (frag_scope_knows_before(scope))
		snprintf(before, sizeof(before), "{\"active\":%" PRIu64 ",\"reserved\":%" PRIu64 "}",
			 scope->before_active, scope->before_reserved);
	if (scope->lost)
		snprintf(lost, sizeof(lost), "%" PRIu64, scope->lost);
	snprintf(text, SCOPE_ROOM, "\"scope\":{\"begins\":\"%s\",\"ends\":\"%s\",\"before\":%s,"
		 "\"lost\":%s}}", frag_begins_words[scope->begins], frag_ends_words[scope->ends], before,
		 lost);
}

char *frag_scope_meta(const struct frag_trace_info *info, struct frag_text *meta, bool *failed)
{
	const struct frag_scope *scope = &info->scope;
	char text[SCOPE_ROOM], *out;
	uint32_t length = info->meta.text ? info->meta.length : 1;

	*meta = info->meta;
	*failed = false;
	if (!scope->stated)
		return NULL;
	scope_text(text, scope);
	out = malloc(length + SCOPE_ROOM);
	*failed = !out;
	if (!out)
		return NULL;
	memcpy(out, info->meta.text ? info->meta.text : "{", length);
	if (info->meta.text) {          /* a comma for its brace, unless it has no members */
		length--;
		while (out[length - 1] == ' ')
			length--;
		if (out[length - 1] != '{')
			out[length++] = ',';
	}
	memcpy(out + length, text, sizeof(text));
	*meta = (struct frag_text){ .text = out, .length = length + (uint32_t)strlen(text) };
	return out;
}
