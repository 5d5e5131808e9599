/* path.h - paths, as messages speak of them. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* "standard input" for "-", two quotes for no name at all; else the path itself. */
const char *frag_input_name(const char *path);

/* What follows the last slash; inside the path. */
const char *frag_file_name(const char *path);

#endif
