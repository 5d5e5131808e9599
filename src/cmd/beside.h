/* beside.h - files of ours that the program needs while it runs. */
#ifndef CMD_BESIDE_H
#define CMD_BESIDE_H

#include <limits.h>

#include "fragsim/error.h"

struct frag_beside {
	const char *file;       /* beside the program, where it was built */
	const char *installed;  /* the folder, from the program's, in which make install puts it */
	const char *variable;   /* of the environment: the path, which goes before both */
};

/* Its whole path. -FRAG_EUSAGE: in none of the places, which the message names. */
int frag_find_beside(const struct frag_beside *what, char path[PATH_MAX], struct frag_error *err);

#endif
