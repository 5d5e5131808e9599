/*
 * watch.h - for who reports a crash: which plug-in a thread runs, and at which step.
 *
 * The code of a plug-in is native, and takes the process with it where it fails.
 * The library catches no signals; a program that does can be notified.
 */
#ifndef POLICY_WATCH_H
#define POLICY_WATCH_H

#include "fragsim/policy.h"

struct frag_plugin_watch {
	/* This thread runs the plug-in. *step is the step it is at; NULL: there is none yet. */
	void (*begin)(const char *name, const uint64_t *step);
	void (*end)(void);
};

/* Before the first plug-in is loaded. */
void frag_plugin_set_watch(const struct frag_plugin_watch *watch);

/* Is that the table of a plug-in? */
bool frag_is_plugin(const struct frag_policy_ops *ops);

/* Around whatever calls a plug-in; not nested. Both borrowed until the end. */
void frag_plugin_begin(const char *name, const uint64_t *step);
void frag_plugin_end(void);

#endif
