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

/* How a run came along with its plan; `there` is false under another policy, or without a plan. */
const struct frag_planned *frag_plan_followed(const struct frag_policy *p);

/*
 * Which plug-in a thread runs, and at which step, for a program that reports crashes: the code of
 * a plug-in is native, and takes the process with it where it fails. The library catches no
 * signals.
 */
struct frag_plugin_watch {
	/* This thread runs the plug-in. *step is the step it is at; NULL: there is none yet. */
	void (*begin)(const char *name, const uint64_t *step);
	void (*end)(void);
};

/* NULL: none. Set before the first plug-in is loaded. */
extern const struct frag_plugin_watch *frag_plugin_watch;

/* Is that the table of a plug-in? */
bool frag_is_plugin(const struct frag_policy_ops *ops);

/* Around whatever calls a plug-in; not nested. Both borrowed until the end. */
static inline void frag_plugin_begin(const char *name, const uint64_t *step)
{
	if (frag_plugin_watch)
		frag_plugin_watch->begin(name, step);
}

static inline void frag_plugin_end(void)
{
	if (frag_plugin_watch)
		frag_plugin_watch->end();
}
