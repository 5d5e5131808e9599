/* params.h - the parameters of a policy as text: "align=512,segment=2097152". */
#ifndef COMPARE_PARAMS_H
#define COMPARE_PARAMS_H

#include <stddef.h>

#include "fragsim/policy.h"

/* Every key with its value; the caller's to free. NULL where memory is short. */
char *frag_params_text(const struct frag_choice *choice);

/*
 * The value of a key in such a text, up to the next key, and its length; NULL: no
 * such key. It is inside the text, not ended by a NUL.
 */
const char *frag_params_find(const char *params, const char *key, size_t key_length,
			     size_t *length);

#endif
