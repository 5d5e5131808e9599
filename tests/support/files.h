/* files.h - files of a test, in a folder of its own that it removes again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* cmocka set-up and tear-down: *state is the folder's path. */
int files_begin(void **state);
int files_end(void **state);

/* "FOLDER/NAME" in one of a few buffers that take turns. */
const char *files_path(void *const *state, const char *name);

void files_write(const char *path, const void *bytes, size_t n);

/* The whole file with a NUL behind it, for free(); NULL where there is none. */
char *files_read(const char *path, size_t *n);

/* Does the file hold just this text? */
bool files_holds(const char *path, const char *text);

/* How many entries the folder has. */
unsigned files_count(void *const *state);
