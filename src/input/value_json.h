/* value_json.h - a JSON document as values. */
#ifndef INPUT_VALUE_JSON_H
#define INPUT_VALUE_JSON_H

#include "input/value_tree.h"

/*
 * The document in bytes, followed by a 0; values borrow their text from
 * there. what names the bytes in messages. -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_value_json_read(struct frag_values *values, struct frag_value *root, const char *bytes,
			 size_t length, const char *what, struct frag_error *err);

#endif
