/*
 * recorder.h - whether a process is recorded, what its threads note, and the thread that writes it.
 *
 * All threads note in one ring. The next number of a counter, the ticket, is the place of a note in
 * it and its place in the order, so signal handlers and threads that end anywhere disturb no other
 * note.
 *
 * fragsim record sets the environment; without it nothing is wrapped:
 *   FRAGSIM_RECORD_FILE    the output file, an absolute path
 *   FRAGSIM_RECORD_STACKS  if set, tags are whole stacks
 *   FRAGSIM_RECORD_START   the zero of times: CLOCK_MONOTONIC in nanoseconds
 *   FRAGSIM_RECORD_OLD     DEVICE:INODE of the file that the recording replaces
 *   FRAGSIM_RECORD_PROCESS the process that `fragsim record` became
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool frag_recorder_on(void);

/* Loads what recording takes from libraries: once, where the program looks for the driver. */
void frag_recorder_prepare(void);

/* Before the first note of a process: there is a thread that writes. False: it is not recorded. */
bool frag_recorder_begin(void);

/* The program is about to end, or to become another one: all that was noted is written, unless
 * that takes too long. */
void frag_recorder_finish(void);

/* The program ends: prints a message if none of its processes called the driver. */
void frag_recorder_end(void);

enum frag_note_op {
	FRAG_NOTE_ALLOC, FRAG_NOTE_FREE, FRAG_NOTE_FREE_FAILED, FRAG_NOTE_FAILED,
	FRAG_NOTE_CREATE, FRAG_NOTE_RETAIN, FRAG_NOTE_RELEASE, FRAG_NOTE_RELEASE_FAILED,
	FRAG_NOTE_MAP, FRAG_NOTE_UNMAP, FRAG_NOTE_SYNC_STREAM, FRAG_NOTE_SYNC_DEVICE,
	FRAG_NOTE_EVENT, FRAG_NOTE_SYNC_EVENT, FRAG_NOTE_POOL_GONE, FRAG_NOTE_DEVICE_RESET
};

struct frag_note {
	uint64_t t_ns;
	uint64_t key; /* of what is allocated: an address, or a handle; an event, a pool */
	uint64_t size;
	uint64_t stream;        /* see frag_stream_key(); mapped: the handle */
	uint64_t pool;          /* its handle, 0: none */
	uint64_t caller;        /* see frag_caller_here() */
	uint8_t  op, call;      /* enum frag_note_op, enum frag_driver_call */
	uint16_t device;
	int32_t  error;         /* what the driver answered */
};

/* A per-thread default stream is no pointer: the number of the thread, and this. */
#define FRAG_STREAM_OF_THREAD (UINT64_C(1) << 62)

/* Appends a note. In a ring that is full for a second, the note is lost, and counted. */
void frag_ring_add(const struct frag_note *note);

/* The number of this thread, from 1 on. */
uint64_t frag_ring_thread(void);
