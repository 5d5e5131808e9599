/* terminal.h - what there is to know of a terminal. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>

/* How many columns it has; 0 where the descriptor is no terminal. */
int frag_terminal_columns(int fd);

/* Is colour written to one of so many columns? The environment may forbid or force it. */
bool frag_terminal_colour(int columns);

#endif
