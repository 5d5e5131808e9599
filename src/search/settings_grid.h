/* settings_grid.h - settings of PyTorch's allocator that are worth a try. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/engine.h"

#define FRAG_GRID_TEXT 192

/* Lines as PYTORCH_ALLOC_CONF takes them; "" are the defaults. */
struct frag_grid {
	char (*lines)[FRAG_GRID_TEXT];
	uint32_t count, capacity;
};

/* The grids by the names that users give them, ended by NULL. */
extern const char *const frag_grid_words[];

/* The lines of `short`, ended by NULL. */
extern const char *const frag_grid_short[];

/*
 * The grid of that name: `all` has all sensible combinations, `short` those few that come
 * out best on recorded traces, at most 12, the first one the most often; any other name is `all`. False: out of memory. Call fini in
 * each case.
 */
bool frag_grid_init(struct frag_grid *grid, const char *name);
/* One line more, copied; false also where it is longer than a grid takes. */
bool frag_grid_add(struct frag_grid *grid, const char *line);
void frag_grid_fini(struct frag_grid *grid);

/*
 * The grid of that name, or the lines of the file of that name. *is_file: no grid has it. Call fini
 * in each case. -FRAG_EUSAGE, naming the line of a file that PyTorch refuses; -FRAG_ENOMEM
 */
int frag_grid_read(struct frag_grid *grid, const char *name, bool *is_file, struct frag_error *err);

/*
 * Stores pytorch under each setting of frag_grid_read() as choices in an array that grows: the
 * defaults come first, as they win where nothing is better, and each setting is there once.
 */
int frag_grid_choices(struct frag_choice **choices, uint32_t *count, uint32_t *capacity,
		      const char *name, bool *is_file, struct frag_error *err);
