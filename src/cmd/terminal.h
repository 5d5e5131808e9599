/* terminal.h - what there is to know of a terminal. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>

/* How many columns it has; 0 where the descriptor is no terminal. */
int frag_terminal_columns(int fd);

/* What --color said; AUTO at first. */
enum frag_color { FRAG_COLOR_AUTO, FRAG_COLOR_ALWAYS, FRAG_COLOR_NEVER };
void frag_terminal_set_color(enum frag_color color);

/*
 * Is colour written to one of so many columns? --color says it; else the environment may
 * forbid or force it.
 */
bool frag_terminal_colour(int columns);

#endif
