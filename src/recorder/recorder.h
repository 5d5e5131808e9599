/*
 * recorder.h - whether a process is recorded, and the thread that writes what was noted.
 *
 * fragsim record sets the environment; without it nothing is wrapped:
 *   FRAGSIM_RECORD_FILE    the output file, an absolute path
 *   FRAGSIM_RECORD_STACKS  if set, tags are whole stacks
 *   FRAGSIM_RECORD_START   the zero of times: CLOCK_MONOTONIC in nanoseconds
 *   FRAGSIM_RECORD_OLD     DEVICE:INODE of the file that the recording replaces
 *   FRAGSIM_RECORD_PROCESS the process that `fragsim record` became
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

bool frag_recorder_on(void);
bool frag_recorder_stacks(void);

/* Before the first note of a process: there is a thread that writes. False: it is not recorded. */
bool frag_recorder_begin(void);

/* Writes what is there in this thread, where there is no other for it. */
bool frag_recorder_flush_here(void);

/* The program is about to end, or to become another one: all that was noted is written. */
void frag_recorder_finish(void);

/* The program ends: prints a message if none of its processes called the driver. */
void frag_recorder_end(void);

/* Of CLOCK_MONOTONIC. */
uint64_t frag_recorder_now(void);

#endif
