/* text_file.h - a whole file in memory. */
#ifndef INPUT_TEXT_FILE_H
#define INPUT_TEXT_FILE_H

#include <stddef.h>

#include "fragsim/error.h"

/*
 * "-" is standard input. The text, the caller's to free, is followed by zeros enough
 * for the scanner. -FRAG_ETRACE or -FRAG_ENOMEM; *text is NULL then.
 */
int frag_text_file(char **text, size_t *length, const char *path, struct frag_error *err);

#endif
