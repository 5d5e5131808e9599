/* transform_trace.h - commands that read a trace and write one. */
#pragma once

#include "cmd/command.h"
#include "cmd/progress.h"
#include "trace/trace_formats.h"
#include "fragsim/trace.h"

/*
 * The options that all of them have, to be at the head of their tables; rewrite is the offset of
 * the struct frag_rewrite.
 */
#define FRAG_REWRITE_LENIENT_ROWS(rewrite)                                                     \
	{ 0, "lenient", NULL, "skip invalid events", .kind = FRAG_OPT_FLAG,                    \
	  .at = (rewrite) + FRAG_MEMBER(struct frag_rewrite, lenient, bool) },                 \
	{ 'q', "quiet", NULL, "no warnings", .kind = FRAG_OPT_FLAG,                            \
	  .at = (rewrite) + FRAG_MEMBER(struct frag_rewrite, quiet, bool) }
#define FRAG_REWRITE_OPTS(rewrite)                                                             \
	{ 't', "to", "FORM", "lines, object, fsb, minimalloc or rmm (by OUT's ending)",        \
	  .at = (rewrite), .set = frag_rewrite_set_form },                                     \
	FRAG_REWRITE_LENIENT_ROWS(rewrite)

struct frag_rewrite {
	const struct frag_sink_ops *form;       /* NULL: by the name's ending */
	enum frag_packing packing;
	bool lenient, quiet;
	bool part;                      /* not all of the trace is written */
	bool complete;                  /* fsb keeps the snapshot that is read */
	enum frag_stacks stacks;        /* what is read of a trace that has whole stacks */
	/* optional: the head that is written, a copy of the trace's */
	int (*head)(void *ctx, struct frag_trace_info *info, struct frag_error *err);
	/* optional: handles an event; the default writes it. 1: it was the last */
	int (*event)(void *ctx, struct frag_sink *sink, const struct frag_record *rec,
		     const struct frag_event *ev, struct frag_error *err);
	/* optional: after the last event, before the file is finished */
	int (*end)(void *ctx, struct frag_error *err);
	void *ctx;
};

/* --to; at is the struct frag_rewrite */
frag_set_option frag_rewrite_set_form;

/* The form and packing that OUT's name stands for, unless one was given. -FRAG_EUSAGE */
int frag_rewrite_find_form(struct frag_rewrite *r, const char *path, struct frag_error *err);

/* Reads the trace and writes it, event by event. */
int frag_rewrite(struct frag_rewrite *r, const char *from, const char *to, struct frag_error *err);

/*
 * A trace that one function writes, from the sink's begin to its end, into a file
 * of the form: opened, guarded, packed, and in its place when that is done. What
 * the form has lost of `from` is reported.
 */
int frag_rewrite_into(struct frag_rewrite *r, const char *from, const char *to,
		      int (*write)(void *ctx, struct frag_sink *sink, struct frag_error *err),
		      void *ctx, struct frag_error *err);

/*
 * Leaves the state at the beginning out of the head that is written, with a warning. Nothing where
 * there is none.
 */
void frag_drop_beginning(struct frag_trace_info *head, const char *why, bool *quiet);

/* frag_warn() as a log; quiet is borrowed */
#define FRAG_WARN_LOG(silent) (&(const struct frag_log){ .warn = frag_warn, .ctx = (silent) })
