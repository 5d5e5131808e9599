/*
 * json.h - JSON documents, written and read: a thin cover over a library, whose
 * only user is json.c.
 *
 * The library would print 2^53-1 wrong and cut strings at a NUL, so numbers and strings are
 * passed as JSON text. A failure (host memory) is kept in the document; frag_json_write()
 * reports it. The library's parser accepts more than JSON, so callers check first that the text
 * is strict JSON.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/atomic_file.h"

struct frag_json {
	void *root;
	bool failed;
	uint32_t top;           /* rows that a list shows which frag_json_shown() counts; begin sets
				 * UINT32_MAX: all */
};

/* An object or array inside the document; borrowed. */
struct frag_node_ref {
	struct frag_json *doc;
	void *node;
};

struct frag_node_ref frag_json_begin(struct frag_json *doc);
void frag_json_end(struct frag_json *doc);

/* key NULL: into an array. */
struct frag_node_ref frag_json_object(struct frag_node_ref in, const char *key);
/* null where it is not there; then, as on out of memory, no node is returned. */
struct frag_node_ref frag_json_object_or_null(struct frag_node_ref in, const char *key, bool there);
struct frag_node_ref frag_json_array(struct frag_node_ref in, const char *key);
void frag_json_u64(struct frag_node_ref in, const char *key, uint64_t value);
void frag_json_i64(struct frag_node_ref in, const char *key, int64_t value);
void frag_json_fixed4(struct frag_node_ref in, const char *key, double value);
void frag_json_bool(struct frag_node_ref in, const char *key, bool value);
void frag_json_null(struct frag_node_ref in, const char *key);
/* A C string; NULL gives null. */
void frag_json_text(struct frag_node_ref in, const char *key, const char *text);
void frag_json_words(struct frag_node_ref in, const char *key, const char *text, size_t length);
/*
 * How many rows of this list in the object the document shows. The number of the others is a member
 * of that name in the object's member `more`, which only an object with such a list has.
 */
uint32_t frag_json_shown(struct frag_node_ref in, const char *key, uint32_t count);
/* Text that is JSON already; NULL gives null. */
void frag_json_raw(struct frag_node_ref in, const char *key, const char *json);

/* Writes the document and a line end, and ends the document. */
int frag_json_write(struct frag_json *doc, struct frag_outfile *f, struct frag_error *err);
/* The same with a line for each element of a list in it: white space would be a third of a long list. */
int frag_json_write_dense(struct frag_json *doc, struct frag_outfile *f, struct frag_error *err);

/* Prints it to a stream; the document goes on. */
int frag_json_print(const struct frag_json *doc, FILE *f, struct frag_error *err);

/*
 * The same as lines for people who compare files. Down to `levels` an element of an array
 * begins a line, and so does a member that is a container, that follows one, or that is called
 * `first`. levels 0: all is one line.
 */
int frag_json_print_lines(const struct frag_json *doc, uint32_t levels, const char *first, FILE *f,
			  struct frag_error *err);

/* Text that is JSON already, and a NUL. node is NULL where the host is out of memory. */
struct frag_node_ref frag_json_parse(struct frag_json *doc, const char *text, size_t length);

enum frag_json_kind {
	FRAG_JSON_NULL, FRAG_JSON_BOOL, FRAG_JSON_NUMBER, FRAG_JSON_STRING, FRAG_JSON_ARRAY,
	FRAG_JSON_OBJECT,
};

enum frag_json_kind frag_json_kind(struct frag_node_ref node);

/* How many members of this name an object has, and the first; node NULL: none. */
uint32_t frag_json_member(struct frag_node_ref object, const char *key,
			  struct frag_node_ref *member);

/* The first child of an array or object, and the next of the same; node NULL: none. */
struct frag_node_ref frag_json_first(struct frag_node_ref parent);
struct frag_node_ref frag_json_next(struct frag_node_ref child);

/* A member's name; borrowed. */
const char *frag_json_key(struct frag_node_ref member);

/* Of a string, a number, a boolean; borrowed. */
const char *frag_json_string(struct frag_node_ref node);
double frag_json_number(struct frag_node_ref node);
/* A number that is an integer of 64 bits, exactly; else false. */
bool frag_json_integer(struct frag_node_ref node, int64_t *value);
bool frag_json_is_true(struct frag_node_ref node);

/* The version of the library that the documents are made with. */
const char *frag_json_library(void);
