/* row_writer.c - what the lines of steps and placements share. */
#include "answers/row_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"

static void add_cell(struct frag_rows *rows, uint8_t column)
{
	const char *comma = rows->cell_count ? "," : "";
	struct frag_cell *cell = &rows->cells[rows->cell_count++];
	int length;

	cell->column = column;
	cell->metric = frag_column_metric(column);
	if (rows->form == FRAG_ROWS_CSV)
		length = snprintf(cell->before, sizeof(cell->before), "%s", comma);
	else
		length = snprintf(cell->before, sizeof(cell->before), "%s\"%s\":", comma,
				  frag_column_name(column));
	FRAG_ASSERT(length >= 0 && (size_t)length < sizeof(cell->before));
	cell->before_length = (uint8_t)length;
}

/*
 * What all rows of a run begin with is formatted once: only the policy's name
 * needs escaping, and it never changes.
 */
bool frag_rows_init(struct frag_rows *rows, struct frag_outfile *out, enum frag_rows_form form,
		    const struct frag_columns *columns, const char *policy, bool many_devices)
{
	char *p;

	*rows = (struct frag_rows){ .out = out, .form = form, .many_devices = many_devices };
	for (uint32_t i = 0; columns && i < columns->count; i++)
		add_cell(rows, columns->at[i]);
	p = rows->prefix = malloc((policy ? strlen(policy) * 6 : 0) + 32);
	if (!p)
		return false;
	if (policy && form == FRAG_ROWS_CSV) {
		p = frag_put_csv(p, policy, strlen(policy));
		*p++ = ',';
	} else if (policy) {
		memcpy(p, "\"policy\":", 9);
		p = frag_put_json(p + 9, policy, strlen(policy));
		*p++ = ',';
	}
	rows->prefix_length = (size_t)(p - rows->prefix);
	return true;
}

void frag_rows_keep_ids(struct frag_rows *rows)
{
	rows->follows = true;
}

void frag_rows_fini(struct frag_rows *rows)
{
	for (uint32_t i = 0; i < rows->id_count; i++)
		free(rows->ids[i]);
	free(rows->ids);
	free(rows->prefix);
	rows->ids = NULL;
	rows->prefix = NULL;
	rows->id_count = rows->id_capacity = 0;
}
