/* terminal.c - what there is to know of a terminal. */
#include "cmd/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL 80

int frag_terminal_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL;
}

/* Of the process, as the environment is that it goes before. */
static enum frag_color said = FRAG_COLOR_AUTO;

void frag_terminal_set_color(enum frag_color color)
{
	said = color;
}

bool frag_terminal_colour(int columns)
{
	const char *never = getenv("NO_COLOR"), *always = getenv("CLICOLOR_FORCE");
	const char *terminal = getenv("TERM");

	if (said != FRAG_COLOR_AUTO)
		return said == FRAG_COLOR_ALWAYS;
	if (never && *never)
		return false;
	if (always && *always && strcmp(always, "0") != 0)
		return true;
	return columns && !(terminal && strcmp(terminal, "dumb") == 0);
}
