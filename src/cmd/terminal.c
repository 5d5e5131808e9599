/* terminal.c - what there is to know of a terminal. */
#include "cmd/terminal.h"

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
