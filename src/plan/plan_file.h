/*
 * plan_file.h - a plan out of a file: fragsim's own JSON, or the CSV of google/minimalloc with a
 * column of offsets.
 */
#pragma once

#include "input/value_tree.h"
#include "plan/plan.h"
#include "trace/reader.h"

/* A buffer as the file has it. */
struct frag_plan_row {
	struct frag_handle id, pool;    /* text is the file's */
	uint64_t step, end;             /* of a CSV: its own time, and none */
	uint64_t size, offset;
	uint32_t device;
	bool carried;
	bool placed;                    /* of a CSV: it has an offset */
};

struct frag_plan_file {
	const char *path;               /* for messages; borrowed */
	char *text;                     /* all bytes, and some zeros; its own */
	struct frag_values values;      /* of a JSON: strings with escapes */
	struct frag_plan_row *rows;     /* in the order of the file; of a CSV by time */
	uint32_t count, capacity;
	struct frag_buffered *buffered; /* of a CSV: ids are its texts */
	bool csv;
};

/*
 * Reads what is in memory, which is copied. Release it also where this fails. -FRAG_ETRACE with
 * the place, or -FRAG_ENOMEM
 */
int frag_plan_file_parse(struct frag_plan_file *f, const char *path, const void *bytes,
			 size_t length, struct frag_error *err);
void frag_plan_file_fini(struct frag_plan_file *f);
