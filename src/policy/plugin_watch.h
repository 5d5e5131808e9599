/* plugin_watch.h - whether a policy is a plug-in, and which one a thread runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/policy.h"

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
