/*
 * recording.h - the file of a process: a header, which may be written again, and lines.
 *
 * The first process that records uses the requested name; any other, also a process after exec,
 * appends its process number to the name. Where the name ends in .zst, each batch is a separate
 * zstd frame, so all written batches can be read, whenever the program ends. libzstd is loaded
 * at its first use; without it the lines stay uncompressed, which every reader detects.
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

/* Encloses a write of the recorder, also to standard error: the signals that it raises are
 * consumed. */
struct frag_signal_guard {
	sigset_t ours, before;
};
void frag_recording_guard(struct frag_signal_guard *guard);
void frag_recording_unguard(const struct frag_signal_guard *guard);

/*
 * Creates the file with its header, and then renames it: an older file of that name is replaced
 * as a whole. Must run in a thread of the program: the writing thread must not load libraries,
 * because the program may be in dlopen and wait for it. A failure is reported once.
 */
bool frag_recording_begin(void);

/* Whole lines. */
void frag_recording_write(const char *text, size_t length);

/* Of a forked child: the file is the parent's. */
void frag_recording_forget(void);

#endif
