/*
 * interrupt.h - signals: the work ends in good order, and no file stays half written.
 *
 * The first SIGHUP, SIGINT or SIGTERM is noted, and who works asks for it between
 * two events; a second one ends the program at once.
 */
#ifndef CMD_INTERRUPT_H
#define CMD_INTERRUPT_H

#include <stdbool.h>

#include "base/atomic_file.h"

/* Before anything else. */
void frag_catch_signals(void);

/* Has there been one? For a `stop`, which has a ctx; that is not used. */
bool frag_interrupted(void *ctx);

/* rc, or -FRAG_EINTERRUPTED where that has made a call fail. */
int frag_or_interrupted(int rc, struct frag_error *err);

/* Not to be left half written by a second signal, from its opening on; NULL forgets all. */
void frag_register_partial_file(const struct frag_outfile *f);

/* Removes what there is of these so far; a signal handler may do so. */
void frag_remove_partial_files(void);

/*
 * A file that one function writes: opened, guarded, and in its place when that
 * is done. Of a failure nothing is left.
 */
int frag_write_file(const char *path,
		    int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
		    void *ctx, struct frag_error *err);
/* The same, except that an existing file stays, also one that appears meanwhile: -FRAG_EOUTPUT */
int frag_write_new_file(const char *path,
			int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
			void *ctx, struct frag_error *err);

#endif
