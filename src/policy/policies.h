/*
 * policies.h - the tables that policy.c lists, and declarations that several files of this
 * module share.
 */
#pragma once

#include <string.h>

#include "fragsim/policy.h"

extern const struct frag_policy_ops frag_policy_bestfit;
extern const struct frag_policy_ops frag_policy_bfc;
extern const struct frag_policy_ops frag_policy_buddy;
extern const struct frag_policy_ops frag_policy_compact;
extern const struct frag_policy_ops frag_policy_cupy;
extern const struct frag_policy_ops frag_policy_direct;
extern const struct frag_policy_ops frag_policy_firstfit;
extern const struct frag_policy_ops frag_policy_nextfit;
extern const struct frag_policy_ops frag_policy_plan;
extern const struct frag_policy_ops frag_policy_pytorch;
extern const struct frag_policy_ops frag_policy_rmm;
extern const struct frag_policy_ops frag_policy_sizeclass;
extern const struct frag_policy_ops frag_policy_tlsf;
extern const struct frag_policy_ops frag_policy_worstfit;

/*
 * The policy that the first `name` characters say: one of ours, or a plug-in's path. -FRAG_EUSAGE
 */
int frag_policy_named(const struct frag_policy_ops **out, const char *text, size_t name,
		      struct frag_error *err);

/*
 * Loads the policy of the plug-in in this file, once and permanently. -FRAG_EPOLICY,
 * -FRAG_ENOMEM
 */
int frag_plugin_load(const struct frag_policy_ops **out, const char *path, struct frag_error *err);

/* The length of the first of several settings; commas in brackets are a value's own. */
static inline size_t frag_setting_length(const char *text)
{
	size_t n = strcspn(text, ",[");

	if (text[n] == '[') {
		n += strcspn(text + n, "]");
		n += strcspn(text + n, ",");
	}
	return n;
}

/* A key of PYTORCH_CUDA_ALLOC_CONF, as PyTorch reads it. */
struct frag_setting {
	const char *key;
	const char *unit;       /* of the values, "MiB"; NULL: none */
	char values[120];       /* which are accepted */
	char usual[40];         /* the default: a value, or the key whose value it is; "": not set */
	char since[8];          /* the first version that has it; "2.1": or an earlier one */
	char help[120];         /* its meaning, in one line */
	bool simulated;         /* it has an effect here */
};
/* The i-th, in no order; false behind the last. */
bool frag_pytorch_setting(uint32_t i, struct frag_setting *out);
/* -FRAG_EUSAGE: PyTorch has no such key; with the one that may be meant. */
int frag_pytorch_unknown_setting(const char *key, size_t length, struct frag_error *err);
