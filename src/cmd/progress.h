/*
 * progress.h - how far a long command is, and what ends it early: its time, or a signal.
 *
 * The first SIGHUP, SIGINT or SIGTERM is noted, and who works asks for it between
 * two events; a second one ends the program at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic_file.h"
#include "fragsim/trace.h"

/* Before anything else, and before any plug-in is loaded: a crash of one is named. */
void frag_catch_signals(void);

/* Before another program replaces this one: it ignores what the caller ignored. */
void frag_release_signals(void);

/* Has there been one? For a `stop`, which has a ctx; that is not used. */
bool frag_interrupted(void *ctx);

/* rc, or -FRAG_EINTERRUPTED where that has made a call fail. */
int frag_or_interrupted(int rc, struct frag_error *err);

/* Not to be left half written by a second signal, from its opening on; NULL forgets all. */
void frag_register_partial_file(const struct frag_outfile *f);

/* Opens it so; a path that is NULL is none. */
int frag_open_guarded(struct frag_outfile *f, const char *path, struct frag_error *err);

/*
 * A file that one function writes: opened, guarded, and in its place when that is done. Of a
 * failure nothing is left. only_new: an existing file stays, also one that appears meanwhile:
 * -FRAG_EOUTPUT
 */
int frag_write_file(const char *path, bool only_new,
		    int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
		    void *ctx, struct frag_error *err);

struct frag_progress {
	bool wanted;            /* standard error is a terminal */
	int shown;              /* columns that it takes now */
	double begun, last;     /* seconds */
	double part;            /* likewise: when what is counted now began */
	uint64_t told;          /* the amount of the last line for another program */
	double told_at;
};

/*
 * Where the environment's FRAGSIM_PROGRESS_FD is the number of a descriptor, each step is also a
 * line there, `DONE TOTAL WHAT` (TOTAL 0: unknown), with --quiet too. There are at most ten
 * lines a second. -FRAG_EUSAGE where nothing can be written to it. The variable is removed.
 */
int frag_progress_open(struct frag_error *err);

void frag_progress_begin(struct frag_progress *p, bool wanted);
void frag_progress_show(struct frag_progress *p, const struct frag_trace_info *info);
/* The same for `count` things ("traces"), `done` of them complete. */
void frag_progress_count(struct frag_progress *p, const char *what, uint32_t done,
			 uint32_t count);
/* Something else is counted from here on. */
void frag_progress_part(struct frag_progress *p);
/* Takes the line away. */
void frag_progress_end(struct frag_progress *p);

/* Seconds of a search without --time. */
#define FRAG_TIME_USUAL 60

/* A search begins: its time counts from now on. Called before its threads start. */
void frag_time_begin(double seconds);

/*
 * The `stop` of a search: true after a signal, and once its time is up. ctx is not used. Returns
 * the same as frag_interrupted() where no search has begun.
 */
bool frag_time_is_up(void *ctx);

/* True once half of the time has passed: the search prefers an upper bound to the exact answer. */
bool frag_time_is_short(void *ctx);

/* Did a search that returned rc end because its time was up, and not by a signal? */
bool frag_time_ended(int rc);

/* How many columns it has; 0 where the descriptor is no terminal. */
int frag_terminal_columns(int fd);

/* What --color said; AUTO at first. */
enum frag_color { FRAG_COLOR_AUTO, FRAG_COLOR_ALWAYS, FRAG_COLOR_NEVER };
extern int frag_color;

/*
 * Does a terminal of `columns` columns get colour? --color decides; without it the environment
 * can forbid or force colour.
 */
bool frag_terminal_colour(int columns);
