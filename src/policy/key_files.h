/* key_files.h - the files that keys of a policy name: read when the choice is made, and its own. */
#ifndef POLICY_KEY_FILES_H
#define POLICY_KEY_FILES_H

#include "fragsim/policy.h"

/* *value: the file that the text names, for frag_param_file(); 0 where it names none. */
int frag_file_open(const struct frag_policy_ops *ops, const struct frag_param_spec *spec,
		   const char *text, size_t length, uint64_t *value, struct frag_error *err);
void frag_file_close(uint64_t value);

#endif
