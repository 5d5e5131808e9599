/*
 * trace_file.h - the file of a recording; the thread that writes calls these functions.
 *
 * A header, which may be written again, and lines. Where the name ends in .zst, each batch is a
 * separate zstd frame, so all written batches can be read, whenever the program ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Loads libzstd, if the name requires that; without it the lines stay plain, as readers detect. */
void frag_file_prepare(const char *name);

/* The memory that writing takes; false: there is none. In a thread of the program. */
bool frag_file_reserve(void);

/*
 * Creates the file: `name` for the first process that records, which replaces the file `old`; any
 * other process, also one after exec, appends its number. 0, or an error's number.
 */
int frag_file_begin(const char *name, const struct stat *old);

/*
 * Whole lines, and how many events were lost before their end. 0, or an error's number; then the
 * file has the lines before the error, and the others are lost, too.
 */
int frag_file_write(const char *text, size_t length, uint64_t lost);

/* As the user knows it. */
const char *frag_file_path(void);
