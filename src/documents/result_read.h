/* result_read.h - runs out of a file: a result (fragsim-result(5)), or a baseline. */
#ifndef DOCUMENTS_RESULT_READ_H
#define DOCUMENTS_RESULT_READ_H

#include "compare/runs.h"

/*
 * "-" is standard input. -FRAG_ETRACE, naming the file and the place or the
 * member, where it is neither; members that nobody knows are passed over.
 */
int frag_read_runs(struct frag_run_set *set, const char *path, struct frag_error *err);

#endif
