/*
 * row_writer.h - one line a step: the metrics (--steps) and the placements
 * (--placements) of fragsim-result(5), as observers of a simulation.
 */
#ifndef ANSWERS_ROW_WRITER_H
#define ANSWERS_ROW_WRITER_H

#include <stdbool.h>

#include "base/atomic_file.h"
#include "fragsim/engine.h"
#include "answers/columns.h"

enum frag_rows_form { FRAG_ROWS_CSV, FRAG_ROWS_NDJSON };

/* A column: what precedes its value is the same in each row. */
struct frag_cell {
	char before[24];
	uint8_t before_length;
	uint8_t column;
	const struct frag_metric *metric;       /* NULL: one of the step's own */
};

struct frag_rows {
	struct frag_outfile *out;       /* borrowed */
	enum frag_rows_form form;
	bool many_devices;
	struct frag_cell cells[FRAG_COLUMN_ALL];        /* of steps, one a column */
	uint32_t cell_count;
	char *prefix;                   /* the policy's column or member; may be empty */
	size_t prefix_length;
	bool follows;                   /* the policy moves blocks: each slot's id is kept */
	char **ids;                     /* as JSON, by slot */
	uint32_t id_count, id_capacity;
};

/*
 * columns: of steps, else NULL; policy NULL: there is only one, and it is not named.
 * False: out of memory.
 */
bool frag_rows_init(struct frag_rows *rows, struct frag_outfile *out, enum frag_rows_form form,
		    const struct frag_columns *columns, const char *policy, bool many_devices);
/* Of placements: the policy moves blocks, so their ids are kept. */
void frag_rows_keep_ids(struct frag_rows *rows);
void frag_rows_fini(struct frag_rows *rows);

/* The first line of a CSV of steps. */
void frag_steps_header(struct frag_outfile *out, const struct frag_columns *columns, bool policy);

/* Observers; ctx is the struct frag_rows. */
int frag_steps_observe(void *ctx, const struct frag_step *step, struct frag_error *err);
int frag_placements_observe(void *ctx, const struct frag_step *step, struct frag_error *err);

#endif
