/* param.h - the keys of a policy: which there are, and what values they take. */
#ifndef POLICY_PARAM_H
#define POLICY_PARAM_H

#include "fragsim/policy.h"

uint32_t frag_param_count(const struct frag_policy_ops *ops);

/* The place of this name among the first n keys; n where it is not one of them. */
uint32_t frag_param_find(const struct frag_policy_ops *ops, uint32_t n, const char *name,
			 size_t length);

/*
 * Does the key take this value? Of a type of its own: does it say how values are read? Of a
 * file: is it none?
 */
bool frag_param_fits(const struct frag_param_spec *spec, uint64_t value);

/*
 * The value of key i that the text names; a file or a name is the caller's to drop. param: the
 * other keys' values, of which `beside` is known. -FRAG_EUSAGE with policy, key and what is
 * expected; -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_param_parse(const struct frag_policy_ops *ops, uint64_t *param, uint32_t i,
		     const char *text, size_t length, struct frag_error *err);

/* Gives back what a value owns, a file or a name, and sets it to none; the others own nothing. */
void frag_param_drop(const struct frag_param_spec *spec, uint64_t *value);

/* A value as it is written on the command line, sizes in bytes. Returns buf. */
const char *frag_param_text(const struct frag_param_spec *spec, uint64_t value,
			    char buf[FRAG_PARAM_TEXT]);

/* Does key i have the value that it would have if nobody had given one? */
bool frag_param_is_default(const struct frag_choice *choice, uint32_t i);
/* Is it left out of what is written of a run? */
bool frag_param_is_omitted(const struct frag_choice *choice, uint32_t i);

#endif
