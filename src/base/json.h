/*
 * json.h - JSON documents to be written: a thin cover over a library, whose
 * only user is json.c.
 *
 * The library would print 2^53-1 wrong and cut strings at a NUL, so numbers and
 * strings go in as text that is JSON already. Failures (host memory) stick in
 * the document; frag_json_write() tells them.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outfile.h"

struct frag_json {
	void *root;
	bool failed;
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
struct frag_node_ref frag_json_array(struct frag_node_ref in, const char *key);
void frag_json_u64(struct frag_node_ref in, const char *key, uint64_t value);
void frag_json_i64(struct frag_node_ref in, const char *key, int64_t value);
void frag_json_fixed4(struct frag_node_ref in, const char *key, double value);
void frag_json_bool(struct frag_node_ref in, const char *key, bool value);
void frag_json_null(struct frag_node_ref in, const char *key);
/* A C string; NULL gives null. */
void frag_json_text(struct frag_node_ref in, const char *key, const char *text);
/* Text that is JSON already; NULL gives null. */
void frag_json_raw(struct frag_node_ref in, const char *key, const char *json);

/* Writes the document and a line end. */
int frag_json_write(const struct frag_json *doc, struct frag_outfile *f, struct frag_error *err);

#endif
