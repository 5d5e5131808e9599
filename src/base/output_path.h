/* output_path.h - where the name of an output leads. */
#ifndef BASE_OUTPUT_PATH_H
#define BASE_OUTPUT_PATH_H

#include <stdbool.h>
#include <sys/stat.h>

struct frag_output_path {
	char *name;             /* behind all links; the caller's to free */
	int   fd;               /* our own descriptor that the name stands for, as
				 * /dev/stdout and /dev/fd/3 do; -1: for none */
	bool  there;            /* there is something of that name, and this is it: */
	struct stat now;
};

/*
 * The number of the error, or 0. A link to nothing leads to the name where a file
 * would be created.
 */
int frag_destination_find(struct frag_output_path *d, const char *path);

/* Paths as messages show them. */
/* "standard input" for "-", two quotes for no name at all; else the path itself. */
const char *frag_input_name(const char *path);

/* Returns the part after the last slash, inside the path. */
const char *frag_file_name(const char *path);

#endif
