/*
 * recording.h - the file of a process: a header, which may be written again, and lines.
 *
 * The first process that records has the name that was requested for; any other, also one that a
 * process became by exec, has the number of the process behind it. Where the name ends in .zst,
 * each batch is a zstd frame of its own, so all that was written can be read, whenever the
 * program ends. libzstd is loaded when it is first needed; without it the lines stay as they
 * are, which every reader sees by itself.
 */
#ifndef RECORDER_RECORDING_H
#define RECORDER_RECORDING_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Call before any other. `replaced`, "DEVICE:INODE", is the file of that name which the recording
 * replaces; NULL: there was none. */
void frag_recording_name(const char *path, const char *replaced);

/* Whether a process of this recording has written the file of that name. */
bool frag_recording_exists(void);

/* The descriptor of the file, which the program must not close; -1: none. */
int frag_recording_descriptor(void);

/* Around a write of ours, also to standard error: what signals it raises are consumed. */
struct frag_signal_guard {
	sigset_t ours, before;
};
void frag_recording_guard(struct frag_signal_guard *guard);
void frag_recording_unguard(const struct frag_signal_guard *guard);

/*
 * Creates the file, with its header, and only then gives it its name: a file that had the name
 * before is replaced as a whole. A thread of the program does it: the one that writes must
 * not load libraries, as the program may be in dlopen, and wait for it. What fails is told once.
 */
bool frag_recording_begin(void);

/* Whole lines. */
void frag_recording_write(const char *text, size_t length);

/* Of a forked child: the file is the parent's. */
void frag_recording_forget(void);

#endif
