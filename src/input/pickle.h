/*
 * pickle.h - a reader of Python's pickles that knows data only.
 *
 * Numbers, strings, lists, tuples and dicts in protocols 2 to 5. Opcodes that name a class or
 * call a function are refused, so no code of the file is ever executed, and the file's length
 * bounds the memory.
 */
#ifndef INPUT_PICKLE_H
#define INPUT_PICKLE_H

#include "input/value_tree.h"
#include "input/input.h"

/*
 * The object of the pickle; bytes after its end are ignored. what names the
 * bytes in messages. -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_pickle_read(struct frag_values *values, struct frag_value *root, const char *bytes,
		     size_t length, const char *what, struct frag_error *err);
/*
 * The same out of an input from its window on, which is read to its end and is not
 * kept. The values begin empty, and may take memory for the bytes that were read.
 */
int frag_pickle_stream(struct frag_values *values, struct frag_value *root,
		       struct frag_input *in, struct frag_error *err);

#endif
