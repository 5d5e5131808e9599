/* columns.h - the columns that a row of metrics may have: what --columns takes. */
#ifndef ANSWERS_COLUMNS_H
#define ANSWERS_COLUMNS_H

#include "fragsim/error.h"
#include "fragsim/metrics.h"

/* What a row says of its step; the metrics follow, by their number in the table. */
enum frag_column {
	FRAG_COLUMN_STEP, FRAG_COLUMN_T, FRAG_COLUMN_DEVICE, FRAG_COLUMN_OP, FRAG_COLUMN_ID,
	FRAG_COLUMN_SIZE, FRAG_COLUMN_STATUS, FRAG_COLUMN_METRICS,
	FRAG_COLUMN_ALL = FRAG_COLUMN_METRICS + FRAG_METRIC_ALL,
};

/* Those of a file, in their order, none of them twice. */
struct frag_columns {
	uint8_t at[FRAG_COLUMN_ALL];    /* enum frag_column, or a metric after it */
	uint32_t count;
};

/* What a row has where nobody asks for anything else. */
struct frag_columns frag_columns_usual(void);

/* "NAME,..." or "all". -FRAG_EUSAGE */
int frag_columns_parse(struct frag_columns *columns, const char *text, struct frag_error *err);

/* Of column i, below FRAG_COLUMN_ALL. */
const char *frag_column_name(uint32_t i);
/* A few words of what it is. */
const char *frag_column_text(uint32_t i);
/* NULL: it is one of the step's own. */
const struct frag_metric *frag_column_metric(uint32_t i);

#endif
