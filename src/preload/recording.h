/*
 * recording.h - the file of a process: a header, which may be written again, and lines.
 *
 * The first process that records has the name that was asked for; any other, also one that a
 * process became by exec, has the number of the process behind it. Where the name ends in .zst,
 * each batch is a zstd frame of its own, so all that was written can be read, whenever the
 * program ends. libzstd is loaded when it is first needed; without it the lines stay as they
 * are, which every reader sees by itself.
 */
#ifndef PRELOAD_RECORDING_H
#define PRELOAD_RECORDING_H

#include <stddef.h>

void frag_recording_name(const char *path);

/* Loads what is needed: not from the thread that writes, as the program may be in dlopen. */
void frag_recording_prepare(void);

/* Whole lines. The file is created with the first; what fails is told once. */
void frag_recording_write(const char *text, size_t length);

/* Of a forked child: the file is the parent's. */
void frag_recording_forget(void);

#endif
