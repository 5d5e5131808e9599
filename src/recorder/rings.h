/*
 * rings.h - what the threads of the program note, and one order of it all.
 *
 * Each thread has a ring of notes that it alone writes and the flusher alone reads. A note has
 * a ticket, the next number of one counter; tickets have no gaps, so the flusher takes the notes
 * of all threads in their order, up to the first that is not there yet.
 */
#ifndef RECORDER_RINGS_H
#define RECORDER_RINGS_H

#include <stdbool.h>
#include <stdint.h>

enum frag_note_op {
	FRAG_NOTE_ALLOC, FRAG_NOTE_FREE, FRAG_NOTE_FREE_FAILED, FRAG_NOTE_FAILED,
	FRAG_NOTE_CREATE, FRAG_NOTE_RETAIN, FRAG_NOTE_RELEASE, FRAG_NOTE_RELEASE_FAILED,
	FRAG_NOTE_MAP, FRAG_NOTE_UNMAP, FRAG_NOTE_SYNC_STREAM, FRAG_NOTE_SYNC_DEVICE,
	FRAG_NOTE_EVENT, FRAG_NOTE_SYNC_EVENT, FRAG_NOTE_POOL_GONE, FRAG_NOTE_DEVICE_RESET
};

/* A line of the cache. */
struct frag_note {
	uint64_t ticket, t_ns;
	uint64_t key; /* of what is allocated: an address, or a handle; an event, a pool */
	uint64_t size;
	uint64_t stream;        /* see frag_stream_key(); mapped: the handle */
	uint64_t pool;          /* its handle, 0: none */
	uint64_t caller; /* a return address, or with FRAG_NOTE_STACK the number of a stack */
	uint8_t  op, call;      /* enum frag_note_op, enum frag_driver_call */
	uint16_t device;
	int32_t  error;         /* what the driver answered */
};

#define FRAG_NOTE_STACK (UINT64_C(1) << 63)

/* A per-thread default stream is no pointer: the number of the thread, and this. */
#define FRAG_STREAM_OF_THREAD (UINT64_C(1) << 62)

/* Appends a note of this thread: its ticket is given here. Waits where the ring is full. */
void frag_ring_add(const struct frag_note *note);

/* The number of this thread, from 1 on. */
uint64_t frag_ring_thread(void);

/* The flusher's: the next note in order; NULL: it is not there yet. It stays until taken. */
const struct frag_note *frag_rings_next(void);
void frag_rings_take(void);

/* Whether notes were begun that frag_rings_next() has not given yet. */
bool frag_rings_pending(void);

/* Of a forked child: nothing was noted, and this is the only thread. */
void frag_rings_forget(void);

/* Sleeps for `ns` nanoseconds, or until a ring is half full. */
void frag_rings_wait(long ns);

#endif
