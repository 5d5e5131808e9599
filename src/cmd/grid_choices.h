/* grid_choices.h - the settings of a grid, as policies to simulate. */
#ifndef CMD_GRID_CHOICES_H
#define CMD_GRID_CHOICES_H

#include "cmd/run_options.h"

/* The grids by the names that users give them, ended by NULL. */
extern const char *const frag_grid_words[];

/* Is it the name of a grid, and not of a file? */
bool frag_grid_is_named(const char *name);

/*
 * The choices become those of the grid, PyTorch's defaults first, and behind them what was given.
 * Each setting is there once. -FRAG_EUSAGE, naming the line of a file; -FRAG_ENOMEM
 */
int frag_grid_choices(struct frag_run_options *run, const char *name, struct frag_error *err);

#endif
