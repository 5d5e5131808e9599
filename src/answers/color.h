/* color.h - colours of a terminal. */
#ifndef ANSWERS_COLOR_H
#define ANSWERS_COLOR_H

#include <stdbool.h>

enum frag_color_code {
	INK_PLAIN, INK_BOLD, INK_RED, INK_GREEN, INK_YELLOW
};

/* What is printed to write in this ink from here on; "" without colour. */
static inline const char *frag_color_code(bool colour, enum frag_color_code which)
{
	static const char *const codes[] = {
		"\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[33m",
	};

	return colour ? codes[which] : "";
}

#endif
