/* rings.c - what the threads of the program note, and one order of it all. */
#include "recorder/rings.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define NOTES 8192u             /* of a ring; a power of two */

enum { FREE, USED, LEFT };      /* LEFT: its thread has ended, and it may still have notes */

struct ring {
	struct frag_note notes[NOTES];
	_Alignas(64) _Atomic uint32_t head;     /* the thread's: where the next note goes */
	uint32_t tail_seen;                     /* how far it knows the flusher to be */
	uint64_t thread;
	_Alignas(64) _Atomic uint32_t tail;     /* the flusher's */
	_Atomic int state;
	struct ring *next;                      /* never changes once it is in the list */
};

static _Atomic(struct ring *) rings;
static _Alignas(64) _Atomic uint64_t tickets;
static _Alignas(64) uint64_t due;       /* the flusher's: the ticket that comes next */
static struct ring *current;            /* the flusher's: the ring that had the last one */
static _Atomic uint64_t threads;
static _Atomic uint32_t wake;           /* the futex on which the flusher sleeps */
static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static __thread struct ring *own __attribute__((tls_model("initial-exec")));

static void rings_leave(void *ring)
{
	struct ring *r = ring;

	own = NULL;
	atomic_store_explicit(&r->state, LEFT, memory_order_release);
}

static void make_key(void)
{
	pthread_key_create(&leaving, rings_leave);
}

/* Returns a ring without an owner, or a new one; NULL: out of memory. */
static struct ring *find_ring(void)
{
	struct ring *r;
	int was;

	for (r = atomic_load(&rings); r; r = r->next) {
		was = FREE;
		if (atomic_compare_exchange_strong(&r->state, &was, USED))
			return r;
	}
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED)
		return NULL;
	atomic_store(&r->state, USED);
	r->next = atomic_load(&rings);
	while (!atomic_compare_exchange_weak(&rings, &r->next, r))
		continue;
	return r;
}

static struct ring *own_ring(void)
{
	if (own)
		return own;
	pthread_once(&once, make_key);
	own = find_ring();
	if (!own)
		return NULL;
	own->thread = atomic_fetch_add(&threads, 1) + 1;
	pthread_setspecific(leaving, own);
	return own;
}

uint64_t frag_ring_thread(void)
{
	const struct ring *r = own_ring();

	return r ? r->thread : 0;
}

static void wake_up(void)
{
	if (atomic_exchange(&wake, 1) == 0)
		syscall(SYS_futex, &wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The flusher is behind: it is woken, and has what it needs. */
static void rings_wait_for_room(struct ring *r, uint32_t head)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	while (head - (r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire))
	       >= NOTES) {
		wake_up();
		if (!frag_recorder_flush_here())
			nanosleep(&moment, NULL);
	}
}

/* The ticket is taken when the note fits, so no thread waits between ticket and note. */
void frag_ring_add(const struct frag_note *note)
{
	struct ring *r = own_ring();
	struct frag_note *to;
	uint32_t head;

	if (!r)
		return;
	head = atomic_load_explicit(&r->head, memory_order_relaxed);
	if (head - r->tail_seen >= NOTES / 2) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head - r->tail_seen >= NOTES / 2)
			wake_up();
		if (head - r->tail_seen >= NOTES)
			rings_wait_for_room(r, head);
	}
	to = &r->notes[head % NOTES];
	*to = *note;
	to->ticket = atomic_fetch_add_explicit(&tickets, 1, memory_order_acq_rel);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

static const struct frag_note *rings_first_of(struct ring *r)
{
	const uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	const int state = atomic_load_explicit(&r->state, memory_order_acquire);

	if (tail != atomic_load_explicit(&r->head, memory_order_acquire))
		return &r->notes[tail % NOTES];
	if (state == LEFT)
		atomic_store(&r->state, FREE);
	return NULL;
}

const struct frag_note *frag_rings_next(void)
{
	const struct frag_note *note = current ? rings_first_of(current) : NULL;

	if (note && note->ticket == due)
		return note;
	for (struct ring *r = atomic_load(&rings); r; r = r->next) {
		note = rings_first_of(r);
		if (note && note->ticket == due) {
			current = r;
			return note;
		}
	}
	return NULL;
}

void frag_rings_take(void)
{
	due++;
	atomic_fetch_add_explicit(&current->tail, 1, memory_order_release);
}

bool frag_rings_pending(void)
{
	return atomic_load(&tickets) != due;
}

/* The rings of other threads have no owner now. */
void frag_rings_forget(void)
{
	for (struct ring *r = atomic_load(&rings); r; r = r->next) {
		atomic_store(&r->tail, atomic_load(&r->head));
		r->tail_seen = atomic_load(&r->head);
		if (r != own)
			atomic_store(&r->state, FREE);
	}
	due = 0;
	atomic_store(&tickets, 0);
	current = NULL;
}

void frag_rings_wait(long ns)
{
	const struct timespec patience = { .tv_nsec = ns };

	syscall(SYS_futex, &wake, FUTEX_WAIT_PRIVATE, 0, &patience, NULL, 0);
	atomic_store(&wake, 0);
}
