/* support_files.h - files of ours that the program needs while it runs. */
#ifndef CMD_SUPPORT_FILES_H
#define CMD_SUPPORT_FILES_H

#include <limits.h>

#include "fragsim/error.h"

struct frag_support_file {
	const char *file;       /* beside the program, where it was built */
	const char *installed;  /* the folder, from the program's, in which make install puts it */
	const char *variable;   /* of the environment: the path, which goes before both */
};

/* Its whole path. -FRAG_EUSAGE: in none of the places, which the message names. */
int frag_find_support_file(const struct frag_support_file *what, char path[PATH_MAX],
			   struct frag_error *err);

#endif
