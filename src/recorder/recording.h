/*
 * recording.h - the file of a process: a header, which may be written again, and lines.
 *
 * The first process that records has the name that was asked for; any other, also one that a
 * process became by exec, has the number of the process behind it. Where the name ends in .zst,
 * each batch is a zstd frame of its own, so all that was written can be read, whenever the
 * program ends. libzstd is loaded when it is first needed; without it the lines stay as they
 * are, which every reader sees by itself.
 */
#ifndef RECORDER_RECORDING_H
#define RECORDER_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

void frag_recording_name(const char *path);

/*
 * Creates the file, with its header. A thread of the program does it: the one that writes must
 * not load libraries, as the program may be in dlopen, and wait for it. What fails is told once.
 */
bool frag_recording_begin(void);

/* Whole lines. */
void frag_recording_write(const char *text, size_t length);

/* Of a forked child: the file is the parent's. */
void frag_recording_forget(void);

#endif
