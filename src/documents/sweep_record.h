/*
 * sweep_record.h - a run of a sweep as a line: in the files of its shards, and in the merged one.
 *
 * A line is an object of a baseline's list of traces, with one run a device; the run's number and
 * the manifest's id are before that, and behind it is a hash of all that comes before.
 */
#ifndef DOCUMENTS_SWEEP_RECORD_H
#define DOCUMENTS_SWEEP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/runs.h"
#include "fragsim/error.h"

#define FRAG_RUN_LINE_BEGIN "{\"run\": "

/* What stands around the figures. */
struct frag_run_line {
	uint64_t manifest;
	uint64_t check;         /* the hash */
	uint32_t run;
};

/*
 * *text: the line, with its end; the caller's. total: of the manifest, UINT64_MAX what the trace
 * has. -FRAG_ENOMEM
 */
int frag_run_line_write(const struct frag_runs *runs, uint32_t run, uint64_t manifest,
			const char *policy, uint64_t total, char **text, size_t *length,
			struct frag_error *err);

/* False where the line, which is without its end, is damaged. */
bool frag_run_line_parse(struct frag_run_line *line, const char *text, size_t length);

#endif
