/* row_writer.h - the lines of --steps and --placements, written by observers of a simulation. */
#pragma once

#include <stdbool.h>

#include "base/atomic_file.h"
#include "fragsim/engine.h"
#include "fragsim/error.h"
#include "fragsim/metrics.h"

/* Columns about the step itself; the metrics follow, by their number in the table. */
enum frag_row_column_number {
	FRAG_COLUMN_STEP, FRAG_COLUMN_T, FRAG_COLUMN_DEVICE, FRAG_COLUMN_OP, FRAG_COLUMN_ID,
	FRAG_COLUMN_SIZE, FRAG_COLUMN_STATUS, FRAG_COLUMN_METRICS,
	FRAG_COLUMN_ALL = FRAG_COLUMN_METRICS + FRAG_METRIC_ALL,
};

/* Those of a file, in their order, none of them twice. */
struct frag_columns {
	uint8_t at[FRAG_COLUMN_ALL];    /* their numbers */
	uint32_t count;
};

/* "NAME,..." or "all"; NULL: the usual ones. -FRAG_EUSAGE */
int frag_columns_parse(struct frag_columns *columns, const char *text, struct frag_error *err);

struct frag_row_column {
	const char *name, *text;                /* text: a few words of what it is */
	const struct frag_metric *metric;       /* NULL: it is one of the step's own */
};

/* Column i, below FRAG_COLUMN_ALL. */
struct frag_row_column frag_row_column(uint32_t i);

enum frag_rows_form { FRAG_ROWS_CSV, FRAG_ROWS_NDJSON };

/*
 * The format of a file of rows by its ending, .gz and .zst left out; without an ending it is `usual`.
 * CSV is for steps only. -FRAG_EUSAGE: no format has this ending.
 */
int frag_rows_ending(const char *option, const char *path, enum frag_rows_form usual,
		     enum frag_rows_form *form, struct frag_error *err);

/* A column: what precedes its value is the same in each row. */
struct frag_row_cell {
	char before[24];
	uint8_t before_length;
	uint8_t column;
	const struct frag_metric *metric;       /* NULL: one of the step's own */
};

struct frag_rows {
	struct frag_outfile *out;       /* borrowed */
	enum frag_rows_form form;
	bool many_devices;
	struct frag_row_cell cells[FRAG_COLUMN_ALL];        /* of steps, one a column */
	uint32_t cell_count;
	char *prefix;                   /* the policy's column or member; may be empty */
	size_t prefix_length;
	bool follows;                   /* of placements: the policy moves blocks, so each slot's id
					 * is kept; set it after init */
	char **ids;                     /* as JSON, by slot */
	uint32_t id_count, id_capacity;
};

/*
 * columns: of steps, else NULL; policy NULL: there is only one, and it is not named. first: the file
 * begins with these rows, and a CSV with its header. False: out of memory.
 */
bool frag_rows_init(struct frag_rows *rows, struct frag_outfile *out, enum frag_rows_form form,
		    const struct frag_columns *columns, const char *policy, bool many_devices,
		    bool first);
void frag_rows_fini(struct frag_rows *rows);

/* An observer of steps or, without columns, of placements; ctx is the struct frag_rows. */
int frag_rows_observe(void *ctx, const struct frag_step *step, struct frag_error *err);
