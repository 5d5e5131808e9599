/* param.h - the keys of a policy: which there are, and what values they take. */
#pragma once

#include "base/parse.h"
#include "fragsim/policy.h"

uint32_t frag_param_count(const struct frag_policy_ops *ops);

/* The place of this name among the first n keys; n where it is not one of them. */
static inline uint32_t frag_param_find(const struct frag_policy_ops *ops, uint32_t n,
				       const char *name, size_t length)
{
	uint32_t i = 0;

	while (i < n && !frag_is_word(name, length, ops->params[i].name))
		i++;
	return i;
}

/*
 * Does the key take this value? A key of type FRAG_PARAM_OWN: does it have functions that read
 * values? A key for a file: is the value none?
 */
static inline bool frag_param_fits(const struct frag_param_spec *spec, uint64_t value)
{
	if (spec->type == FRAG_PARAM_OWN)
		return spec->expects && spec->parse && spec->print;
	if (spec->type == FRAG_PARAM_FILE || spec->type == FRAG_PARAM_NAME)
		return value == 0;
	if (value < spec->min || value > (spec->max ? spec->max : FRAG_SIZE_LIMIT - 1))
		return false;
	/* 0 has passed where the minimum is 0 */
	return !spec->power_of_two || (value & (value - 1)) == 0;
}

/* Formats a value for the command line, sizes in bytes. Returns buf. */
const char *frag_param_text(const struct frag_param_spec *spec, uint64_t value,
			    char buf[FRAG_PARAM_TEXT]);

/* Does key i have its default value? */
bool frag_param_is_default(const struct frag_choice *choice, uint32_t i);
/* Is it left out of what is written of a run? */
bool frag_param_is_omitted(const struct frag_choice *choice, uint32_t i);
