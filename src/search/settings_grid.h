/* settings_grid.h - settings of PyTorch's allocator that are worth a try. */
#ifndef SEARCH_SETTINGS_GRID_H
#define SEARCH_SETTINGS_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/engine.h"

#define FRAG_GRID_TEXT 192

/* Lines as PYTORCH_ALLOC_CONF takes them; "" are the defaults. */
struct frag_grid {
	char (*lines)[FRAG_GRID_TEXT];
	uint32_t count, capacity;
};

extern const char *const frag_grid_names[];     /* "default", "short", ended by NULL */

/* The few settings that are tried in addition to a run, the most successful one first. */
#define FRAG_FIXES 6
extern const char *const frag_fixes[FRAG_FIXES];

/*
 * The grid of that name: `default` has all sensible combinations, `short` those nine that came
 * out best on recorded traces. False: out of memory.
 */
bool frag_grid_init(struct frag_grid *grid, const char *name);
/* One line more, copied; false also where it is longer than a grid takes. */
bool frag_grid_add(struct frag_grid *grid, const char *line);
void frag_grid_fini(struct frag_grid *grid);

#endif
