/* unwrap.c - takes the text out of JSON lines of a container's log, and out of a notebook. */
#include "messages/unwrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST ((size_t)256 << 10)   /* longer ones pass unchanged */
#define NARROW 4096
#define DECIDE_MOST ((size_t)2 << 10)   /* bytes in which a notebook names its cells */

enum wrapping { UNDECIDED, PLAIN, JSON_LINES, NOTEBOOK, NOTEBOOK_LINE };

struct frag_unwrap {
	int (*text)(void *ctx, const char *bytes, size_t n);
	void *ctx;
	enum wrapping wrapping;
	bool raw;               /* the remainder of a line that was too long */
	bool begun;
	bool wide;              /* UTF-16: its NUL bytes are dropped */
	/* of a notebook in one line: whether the byte is in a string, behind a backslash, in one of a picture */
	bool in_string, escaped, picture;
	char key[8];            /* how the last string begins, which a colon makes the key */
	size_t key_length;
	size_t used;
	char line[LINE_MOST];
};

struct frag_unwrap *frag_unwrap_new(int (*text)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	struct frag_unwrap *u = malloc(sizeof(*u));

	if (!u)
		return NULL;
	u->text = text;
	u->ctx = ctx;
	u->wrapping = UNDECIDED;
	u->raw = u->begun = u->wide = false;
	u->in_string = u->escaped = u->picture = false;
	u->key_length = 0;
	u->used = 0;
	return u;
}

void frag_unwrap_del(struct frag_unwrap *u)
{
	free(u);
}

/* Where the string that begins at `i` ends, at its quote; n: nowhere. */
static size_t string_end(const char *line, size_t i, size_t n)
{
	for (i++; i < n && line[i] != '"'; i++)
		i += line[i] == '\\';
	return i < n ? i : n;
}

static size_t behind_blanks(const char *line, size_t i, size_t n)
{
	while (i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
		i++;
	return i;
}

static bool unwrap_is_word(const char *line, size_t from, size_t to, const char *word)
{
	return to - from == strlen(word) && memcmp(line + from, word, to - from) == 0;
}

struct span {
	size_t from, to;
};

/*
 * The string that a logger's object has as its message. False: it has none, or it is an event or
 * the head of a trace.
 */
static bool logged(const char *line, size_t n, struct span *text)
{
	size_t i = behind_blanks(line, 0, n), depth = 0;
	bool found = false;

	if (i == n || line[i] != '{')
		return false;
	for (; i < n; i++) {
		size_t end, value;

		depth += line[i] == '{' || line[i] == '[';
		depth -= (line[i] == '}' || line[i] == ']') && depth;
		if (line[i] != '"')
			continue;
		end = string_end(line, i, n);
		value = end < n ? behind_blanks(line, end + 1, n) : n;
		if (depth == 1 && value < n && line[value] == ':') {
			value = behind_blanks(line, value + 1, n);
			if (unwrap_is_word(line, i + 1, end, "format") || unwrap_is_word(line, i + 1, end, "op"))
				return false;
			if (!found && value < n && line[value] == '"'
			    && (unwrap_is_word(line, i + 1, end, "log") || unwrap_is_word(line, i + 1, end, "message")
				|| unwrap_is_word(line, i + 1, end, "msg"))) {
				end = string_end(line, value, n);
				*text = (struct span){ value + 1, end };
				found = true;
			}
		}
		i = end;
	}
	return found;
}

/* The string of a notebook's line: an element of an array, or the value of a member but of a picture. */
static bool of_notebook(const char *line, size_t n, struct span *text)
{
	size_t i = behind_blanks(line, 0, n), end, value;

	if (i == n || line[i] != '"')
		return false;
	end = string_end(line, i, n);
	value = end < n ? behind_blanks(line, end + 1, n) : n;
	if (value == n || line[value] != ':') {
		*text = (struct span){ i + 1, end };
		return true;
	}
	if (end - i > 6 && memcmp(line + i + 1, "image/", 6) == 0)
		return false;
	value = behind_blanks(line, value + 1, n);
	if (value == n || line[value] != '"')
		return false;
	*text = (struct span){ value + 1, string_end(line, value, n) };
	return true;
}

static bool unwrap_contains(const char *text, size_t n, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = 0; i + length <= n; i++)
		if (memcmp(text + i, words, length) == 0)
			return true;
	return false;
}

static int unwrap_line(struct frag_unwrap *u, const char *line, size_t n, bool ended)
{
	const bool lines = u->wrapping == JSON_LINES;
	struct span text;
	int rc = 0;

	if (lines ? logged(line, n, &text) : of_notebook(line, n, &text))
		rc = u->text(u->ctx, line + text.from, text.to - text.from);
	else if (lines || unwrap_contains(line, n, "[{"))
		rc = u->text(u->ctx, line, n);
	return rc || !ended ? rc : u->text(u->ctx, "\n", 1);
}

/* A byte of a notebook in one line that is in no string. */
static void between_strings(struct frag_unwrap *u, char c)
{
	if (c == '"') {
		u->in_string = true;
		u->key_length = 0;
	} else if (c == ':') {
		u->picture = u->key_length >= 6 && memcmp(u->key, "image/", 6) == 0;
	} else if (c == '}') {
		u->picture = false;
	}
}

/* Passes the strings on, each with a line end behind it, except those of pictures. */
static int feed_strings(struct frag_unwrap *u, const char *bytes, size_t n)
{
	size_t from = 0;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		if (!u->in_string) {
			between_strings(u, bytes[i]);
			from = i + 1;
			continue;
		}
		if (bytes[i] != '"' || u->escaped) {
			if (u->key_length < sizeof(u->key))
				u->key[u->key_length] = bytes[i];
			u->key_length++;
			u->escaped = bytes[i] == '\\' && !u->escaped;
			continue;
		}
		u->in_string = false;
		if (!u->picture)
			rc = u->text(u->ctx, bytes + from, i - from);
		if (!u->picture && !rc)
			rc = u->text(u->ctx, "\n", 1);
		from = i + 1;
	}
	if (u->in_string && !u->picture && !rc && from < n)
		rc = u->text(u->ctx, bytes + from, n - from);
	return rc;
}

/* Is the first line of a notebook all of it? */
static bool is_one_line(const char *line, size_t n)
{
	const size_t most = n < DECIDE_MOST ? n : DECIDE_MOST;

	return unwrap_contains(line, most, "\"cells\"") && unwrap_contains(line, most, "\"cell_type\"");
}

/* Of the first bytes; `all`: there are no others. */
static enum wrapping decide(const char *bytes, size_t n, bool all)
{
	const char *end = n ? memchr(bytes, '\n', n) : NULL;
	size_t i = behind_blanks(bytes, 0, n);
	struct span text;

	if (n && (i == n || bytes[i] != '{'))
		return i == n && !all ? UNDECIDED : PLAIN;
	if (!end && !all && n < LINE_MOST)
		return UNDECIDED;
	if (logged(bytes, end ? (size_t)(end - bytes) : n, &text))
		return JSON_LINES;
	if (is_one_line(bytes, end ? (size_t)(end - bytes) : n))
		return NOTEBOOK_LINE;
	if (end && unwrap_contains(bytes, n < DECIDE_MOST ? n : DECIDE_MOST, "\"cells\""))
		return NOTEBOOK;
	return all || n >= DECIDE_MOST ? PLAIN : UNDECIDED;
}

/* Passes whole lines on, and keeps the beginning of one. */
static int feed_lines(struct frag_unwrap *u, const char *bytes, size_t n)
{
	int rc = 0;

	while (n && !rc) {
		const char *end = memchr(bytes, '\n', n);
		const size_t length = end ? (size_t)(end - bytes) : n;

		if (u->raw || u->used + length > LINE_MOST) {
			rc = u->text(u->ctx, u->line, u->used);
			rc = rc ? rc : u->text(u->ctx, bytes, length + (end != NULL));
			u->used = 0;
			u->raw = !end;
		} else if (end && !u->used) {
			rc = unwrap_line(u, bytes, length, true);
		} else {
			memcpy(u->line + u->used, bytes, length);
			u->used += length;
			if (end) {
				rc = unwrap_line(u, u->line, u->used, true);
				u->used = 0;
			}
		}
		bytes += length + (end != NULL);
		n -= length + (end != NULL);
	}
	return rc;
}

/* Decides when enough bytes are there; those that were kept for it come first. */
static int decided(struct frag_unwrap *u, bool all)
{
	const size_t n = u->used;
	char *kept;
	int rc;

	u->wrapping = decide(u->line, n, all);
	if (u->wrapping == UNDECIDED)
		return 0;
	u->used = 0;
	if (u->wrapping == PLAIN)
		return u->text(u->ctx, u->line, n);
	kept = malloc(n + 1);
	if (!kept) {
		u->wrapping = PLAIN;
		return u->text(u->ctx, u->line, n);
	}
	memcpy(kept, u->line, n);
	rc = u->wrapping == NOTEBOOK_LINE ? feed_strings(u, kept, n) : feed_lines(u, kept, n);
	free(kept);
	return rc;
}

/* Bytes of one width. */
static int unwrap_narrow(struct frag_unwrap *u, const char *bytes, size_t n)
{
	size_t taken;
	int rc = 0;

	if (u->wrapping == UNDECIDED) {
		taken = n < LINE_MOST - u->used ? n : LINE_MOST - u->used;
		memcpy(u->line + u->used, bytes, taken);
		u->used += taken;
		bytes += taken;
		n -= taken;
		rc = decided(u, u->used == LINE_MOST);
	}
	if (rc || !n)
		return rc;
	if (u->wrapping == NOTEBOOK_LINE)
		return feed_strings(u, bytes, n);
	return u->wrapping == PLAIN ? u->text(u->ctx, bytes, n) : feed_lines(u, bytes, n);
}

/* Is it UTF-16, with a mark of its order or by the NUL bytes of its first two letters? */
static bool is_wide(const char *bytes, size_t n)
{
	return n >= 4 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0
			  || (!bytes[0] != !bytes[1] && !bytes[0] == !bytes[2] && !bytes[1] == !bytes[3]));
}

int frag_unwrap_feed(struct frag_unwrap *u, const char *bytes, size_t n)
{
	char narrow[NARROW];
	size_t used = 0;
	int rc = 0;

	if (!u->begun && n) {
		u->begun = true;
		u->wide = is_wide(bytes, n);
	}
	if (!u->wide)
		return unwrap_narrow(u, bytes, n);
	for (size_t i = 0; i < n && !rc; i++) {
		if (bytes[i] && (unsigned char)bytes[i] < 0xfe)
			narrow[used++] = bytes[i];
		if (used == NARROW || (used && i + 1 == n)) {
			rc = unwrap_narrow(u, narrow, used);
			used = 0;
		}
	}
	return rc;
}

int frag_unwrap_end(struct frag_unwrap *u)
{
	int rc = u->wrapping == UNDECIDED ? decided(u, true) : 0;

	if (rc || !u->used || u->wrapping == PLAIN || u->wrapping == NOTEBOOK_LINE)
		return rc;
	return unwrap_line(u, u->line, u->used, false);
}
