/*
 * recorder.c - whether a process is recorded, what its threads note, in one order, and the thread
 * that writes it.
 *
 * The first note starts the thread, so a program that never calls the driver has no thread and
 * leaves no file. A child starts over, with a separate file, whichever call made it: the kernel
 * clears the page of a process in its children.
 *
 * Notes come from anywhere: from a signal handler that interrupted malloc, from a thread that is
 * cancelled, from a child that has no other thread. So nothing here takes a lock, allocates from
 * the C library, or waits without a bound; rather, a note is lost. The thread that writes is the
 * kernel's alone. The C library does not know it, so it takes nothing of the C library, does not
 * keep a program alive whose last thread ends, and leaves the fast paths for one thread on. It has
 * its own table of descriptors: the program's numbers are as without it.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "recorder/address_name.h"
#include "recorder/driver_calls.h"
#include "recorder/driver_devices.h"
#include "recorder/raw.h"
#include "recorder/trace_file.h"
#include "recorder/trace_lines.h"

#define MS UINT64_C(1000000)
#define INTERVAL_NS (100 * MS)          /* between two writes */
#define LATE_NS (100 * MS)              /* after which a note that is missing is lost */
#define PATIENCE_NS (1000 * MS)         /* of a note, while the ring is full; of the beginning */
#define LAST_WORDS_NS (200 * MS)        /* of a program's end, while nothing is written */
#define BATCH (256u << 10)              /* bytes that are written at once */

/* Of `wanted`. FAILING: the writing thread has failed, and no thread of the program said so yet. */
enum { UNKNOWN, ON, FAILING, OFF };
enum { NOT_BEGUN, BEGINNING, BEGUN };   /* NOT_BEGUN is 0: so is a child */

/* Of one process: a separate page, which is zero in each child. */
struct life {
	_Atomic int state;
	_Atomic pid_t pid;
	_Atomic uint64_t began_ns;      /* no other process has this */
	_Atomic uint64_t threads;
	_Atomic uint64_t lost;          /* notes that were not taken */
	_Atomic bool late;              /* the beginning takes so long that no note waits for it */
};

static _Atomic(struct life *) life;
static _Atomic int wanted;              /* UNKNOWN until the environment was read */
static _Atomic int error_number;        /* why it is FAILING */
static struct stat standard_error;      /* when the library was loaded */
static char name[PATH_MAX - 64];        /* that was requested for */
static struct stat old;                 /* the file that had the name before; st_ino 0: none */
static pid_t first_process;
static uint64_t program_headers;
static bool with_stacks;

/* Encloses a write to standard error: its signals are consumed. */
struct signal_guard {
	sigset_t ours;
	uint64_t mask;
};

/* A write may raise SIGXFSZ or SIGPIPE in this thread: the program must not see either. */
static void recording_guard(struct signal_guard *guard)
{
	sigset_t pending;

	sigemptyset(&guard->ours);
	sigaddset(&guard->ours, SIGXFSZ);
	sigaddset(&guard->ours, SIGPIPE);
	guard->mask = frag_raw_block_signals();
	sigpending(&pending);
	/* one that was pending before is the program's */
	if (sigismember(&pending, SIGXFSZ))
		sigdelset(&guard->ours, SIGXFSZ);
	if (sigismember(&pending, SIGPIPE))
		sigdelset(&guard->ours, SIGPIPE);
}

static void recording_unguard(const struct signal_guard *guard)
{
	const struct timespec now = { 0 };

	while (frag_raw(SYS_rt_sigtimedwait, &guard->ours, NULL, &now, sizeof(guard->mask)) > 0)
		continue;
	frag_raw_set_signals(guard->mask);
}

/* Is standard error unchanged, or not a file? A daemon may have closed it, and opened one of
 * its files under that number, which must not get our messages. */
static bool may_print(void)
{
	struct stat now;

	return frag_raw(SYS_fstat, STDERR_FILENO, &now) == 0
	       && (!S_ISREG(now.st_mode)
		   || (now.st_dev == standard_error.st_dev
		       && now.st_ino == standard_error.st_ino));
}

static void recorder_print_line(const char *what, const char *why, const char *result)
{
	struct signal_guard guard;
	char line[512];
	struct frag_raw_text t = { .at = line, .room = sizeof(line) };

	frag_raw_put(&t, "fragsim record: ");
	frag_raw_put(&t, what);
	frag_raw_put(&t, ": ");
	frag_raw_put(&t, why);
	frag_raw_put(&t, result);
	t.used -= t.used == t.room;
	frag_raw_put(&t, "\n");
	if (!may_print())
		return;
	recording_guard(&guard);
	frag_raw(SYS_write, STDERR_FILENO, line, t.used);
	recording_unguard(&guard);
}

/* Without translation, which takes locks; glibc 2.32. */
extern const char *strerrordesc_np(int number) __attribute__((weak));

/* One line on standard error, by a thread of the program, as the stream is the program's. */
static void report_failure(void)
{
	int failing = FAILING;
	const char *why;

	if (!atomic_compare_exchange_strong(&wanted, &failing, OFF))
		return;
	why = strerrordesc_np ? strerrordesc_np(atomic_load(&error_number)) : NULL;
	recorder_print_line(*frag_file_path() ? frag_file_path() : name,
			    why ? why : "cannot be written", "; nothing is recorded from here on");
}

static void fail_with(int error)
{
	int on = ON;

	atomic_store(&error_number, error);
	atomic_compare_exchange_strong(&wanted, &on, FAILING);
}

/* A page that a child finds empty. Where the kernel is older than 4.14, in_child() clears it. */
static void make_life(void)
{
	struct life *page = frag_raw_pages(sizeof(*page)), *none = NULL;

	if (!page)
		return;
	frag_raw(SYS_madvise, page, sizeof(*page), MADV_WIPEONFORK);
	atomic_compare_exchange_strong(&life, &none, page);
}

static void read_old(const char *replaced)
{
	char *end = NULL;
	const unsigned long long device = replaced ? strtoull(replaced, &end, 10) : 0;

	if (!end || *end != ':')
		return;
	old.st_dev = (dev_t)device;
	old.st_ino = (ino_t)strtoull(end + 1, NULL, 10);
}

/* Threads that come here at once find the same. */
static void ask_environment(void)
{
	const char *to = getenv("FRAGSIM_RECORD_FILE"), *start = getenv("FRAGSIM_RECORD_START");
	const char *process = getenv("FRAGSIM_RECORD_PROCESS");
	bool on = to && *to && strlen(to) < sizeof(name);
	int unknown = UNKNOWN;

	if (on) {
		memcpy(name, to, strlen(to) + 1);
		frag_lines_start(start ? strtoull(start, NULL, 10) : 0);
		with_stacks = getenv("FRAGSIM_RECORD_STACKS") != NULL;
		first_process = process ? (pid_t)strtol(process, NULL, 10) : 0;
		read_old(getenv("FRAGSIM_RECORD_OLD"));
		program_headers = getauxval(AT_PHDR);
		make_life();
		on = atomic_load(&life) != NULL;
	}
	atomic_compare_exchange_strong(&wanted, &unknown, on ? ON : OFF);
}

bool frag_recorder_on(void)
{
	const int now = atomic_load_explicit(&wanted, memory_order_acquire);

	if (now == UNKNOWN)
		ask_environment();
	else if (now == FAILING)
		report_failure();
	return atomic_load_explicit(&wanted, memory_order_relaxed) == ON;
}

void frag_recorder_prepare(void)
{
	frag_file_prepare(name);
	if (with_stacks)
		frag_lines_prepare_stacks();
}

#define NOTES 32768u            /* of the ring; a power of two */
#define RESERVE 1024u           /* for threads that saw the last free slot at once */

/* Of a slot in one lap around the ring, which begins at a multiple of LAP. */
enum { FREE, WRITING, READY, LAP = 4 };

struct slot {
	_Atomic uint64_t turn;
	struct frag_note note;
};

/*
 * Ticket n is the turn n / NOTES of the slot n % NOTES. A thread takes a ticket, then claims the
 * slot, then writes the note. It may stop for ever between any two of these: the flusher waits for
 * a while, and goes on. It never frees a slot that is claimed, so each slot has one writer.
 */
struct ring {
	_Alignas(64) _Atomic uint64_t tickets;
	_Alignas(64) _Atomic uint64_t tail;     /* what is before has been read */
	_Atomic uint64_t stalled;               /* full since the tail was here - 1; 0: no */
	_Atomic uint32_t wake;                  /* the futex on which the flusher sleeps */
	_Atomic uint32_t opened;                /* the futex of the file */
	_Atomic uint32_t asked, done;           /* the flushes that the program waits for */
	_Alignas(64) struct slot slots[NOTES];
};

static _Atomic(struct ring *) ring;

static struct {
	uint64_t due;           /* the ticket that comes next */
	uint64_t since_ns;      /* for so long it has not come; 0: it was not missed */
	uint64_t lost, said;
} flusher;

/* Its number, in this process; the notes that it is at: more than one where a handler interrupted
 * it. A note from which a handler jumped away stays counted. */
static __thread struct {
	uint64_t began_ns, number;
	volatile unsigned notes;
	volatile bool beginning;
} self __attribute__((tls_model("initial-exec")));

uint64_t frag_ring_thread(void)
{
	struct life *l = atomic_load_explicit(&life, memory_order_relaxed);

	if (self.began_ns != atomic_load(&l->began_ns)) {
		self.number = atomic_fetch_add(&l->threads, 1) + 1;
		self.began_ns = atomic_load(&l->began_ns);
	}
	return self.number;
}

static long futex_wait(_Atomic uint32_t *at, uint32_t value, uint64_t ns)
{
	const struct timespec patience = { .tv_nsec = (long)ns };

	return frag_raw(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, &patience);
}

static void futex_wake(_Atomic uint32_t *at)
{
	frag_raw(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void wake_up(struct ring *r)
{
	if (!atomic_load_explicit(&r->wake, memory_order_relaxed)
	    && atomic_exchange(&r->wake, 1) == 0)
		futex_wake(&r->wake);
}

static bool has_room(const struct ring *r, uint64_t *tail)
{
	*tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	return atomic_load_explicit(&r->tickets, memory_order_relaxed) - *tail < NOTES - RESERVE;
}

/* The flusher is behind: it is woken, and has what it needs. After a second in a full
 * ring, no note waits until the flusher has moved. */
static bool wait_for_room(struct ring *r)
{
	const uint64_t since = frag_raw_now();
	uint64_t tail;

	while (!has_room(r, &tail)) {
		if (atomic_load(&r->stalled) == tail + 1 || atomic_load(&wanted) != ON)
			return false;
		if (frag_raw_now() - since > PATIENCE_NS) {
			atomic_store(&r->stalled, tail + 1);
			return false;
		}
		wake_up(r);
		frag_raw_sleep(50000);
	}
	return true;
}

void frag_ring_add(const struct frag_note *note)
{
	struct ring *r = atomic_load_explicit(&ring, memory_order_acquire);
	const uint64_t behind = atomic_load_explicit(&r->tickets, memory_order_relaxed)
				- atomic_load_explicit(&r->tail, memory_order_acquire);
	uint64_t ticket, turn;
	struct slot *slot;

	if (behind >= NOTES / 2) {
		wake_up(r);
		/* the flusher may wait for the note that this one interrupted */
		if (behind >= NOTES - RESERVE && (self.notes || !wait_for_room(r))) {
			atomic_fetch_add(&atomic_load(&life)->lost, 1);
			return;
		}
	}
	self.notes++;
	ticket = atomic_fetch_add_explicit(&r->tickets, 1, memory_order_acq_rel);
	slot = &r->slots[ticket % NOTES];
	turn = ticket / NOTES * LAP + FREE;
	/* the flusher counts those that it has given up */
	if (atomic_compare_exchange_strong_explicit(&slot->turn, &turn, turn + WRITING,
						    memory_order_acquire, memory_order_relaxed)) {
		slot->note = *note;
		atomic_store_explicit(&slot->turn, turn + READY, memory_order_release);
	}
	self.notes--;
}

static void write_lines(void)
{
	const uint64_t lost = flusher.lost + frag_lines_lost() + atomic_load(&atomic_load(&life)->lost);
	size_t length;
	const char *text = frag_lines_take(&length);
	int error;

	if ((!length && lost == flusher.said) || atomic_load(&wanted) != ON)
		return;
	flusher.said = lost;
	error = frag_file_write(text, length, lost);
	if (error)
		fail_with(error);
}

/* Is the next note so late that the flusher goes on without it? Then its slot stays unchanged if a
 * thread may still write there; the tickets of later laps do not get it. */
static bool give_up(struct slot *slot, uint64_t lap, uint64_t turn)
{
	const uint64_t now = frag_raw_now();

	if (turn >= lap) {
		flusher.since_ns = flusher.since_ns ? flusher.since_ns : now;
		if (now - flusher.since_ns < LATE_NS)
			return false;
	}
	if (turn == lap + FREE
	    && !atomic_compare_exchange_strong(&slot->turn, &turn, lap + LAP))
		return false;
	/* left in an earlier lap by a note that was late, and complete now */
	if (turn < lap && turn % LAP == READY)
		atomic_store(&slot->turn, lap + LAP);
	flusher.lost++;
	return true;
}

/* The notes up to that ticket, in order; false: one of them is not there yet. */
static bool flush(struct ring *r, uint64_t target)
{
	bool all = true;

	while (all && flusher.due < target) {
		struct slot *slot = &r->slots[flusher.due % NOTES];
		const uint64_t lap = flusher.due / NOTES * LAP;
		const uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

		if (turn == lap + READY) {
			if (atomic_load_explicit(&wanted, memory_order_relaxed) == ON
			    && frag_lines_add(&slot->note) >= BATCH)
				write_lines();
			atomic_store_explicit(&slot->turn, lap + LAP, memory_order_release);
		} else {
			all = give_up(slot, lap, turn);
		}
		if (all) {
			flusher.since_ns = 0;
			flusher.due++;
		}
		if (flusher.due % 64 == 0)
			atomic_store_explicit(&r->tail, flusher.due, memory_order_release);
	}
	atomic_store_explicit(&r->tail, flusher.due, memory_order_release);
	write_lines();
	return all;
}

/* Linux 5.9; an older kernel says ENOSYS. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* A separate table, which is empty: the program closes its files and pipes when it wants to. */
static void leave_descriptors(void)
{
	if (frag_raw(SYS_close_range, 0, ~0u, 0) != 0)
		for (int fd = 0; fd < 65536; fd++)
			frag_raw(SYS_close, fd);
}

/* The program may change its user; that does not reach this thread, which has its file. */
static void leave_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	frag_raw(SYS_capset, &head, none);
}

/* A decimal number; returns the text behind it. */
static const char *read_number(const char *text, int *number)
{
	*number = 0;
	for (; *text >= '0' && *text <= '9'; text++)
		*number = *number * 10 + *text - '0';
	return text;
}

/*
 * Has every other thread ended without exit(), as the only thread of a child of clone() does? Then the
 * first one is a zombie as long as this one is there, and its status becomes that of this one: the
 * last field of /proc/self/stat.
 */
static bool is_left_alone(int stat, int *status)
{
	char text[1024] = "";
	const long n = stat < 0 ? 0 : frag_raw(SYS_pread64, stat, text, sizeof(text) - 1, 0);
	const char *p = text + (n > 0 ? n : 0);
	int field = 2, threads = 0;

	/* NUMBER (NAME) STATE: a name can contain blanks */
	while (p > text && p[-1] != ')')
		p--;
	if (p == text || p[1] != 'Z')
		return false;
	for (; *p; p++) {
		field += *p == ' ';
		if (*p == ' ')
			p = read_number(p + 1, field == 20 ? &threads : status) - 1;
	}
	*status >>= 8;
	return threads == 2;
}

/* The thread: sleeps until the ring is half full, for the interval, or for a note that is late. */
static int write_on(void *of)
{
	struct ring *r = of;
	uint64_t target;
	int error, stat, status = 0;
	bool all, alone = false;
	uint32_t asked;

	leave_descriptors();
	stat = (int)frag_raw(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	error = frag_file_begin(name, &old);
	if (!error)
		frag_name_begin(program_headers);
	else
		fail_with(error);
	leave_capabilities();
	atomic_store(&r->opened, 1);
	futex_wake(&r->opened);
	while (!error && !alone) {
		alone = is_left_alone(stat, &status);
		atomic_store(&r->wake, 0);
		asked = atomic_load(&r->asked);
		target = atomic_load(&r->tickets);
		all = flush(r, target);
		if (all && asked != atomic_load(&r->done)) {
			atomic_store(&r->done, asked);
			futex_wake(&r->done);
		}
		if (!alone && (atomic_load(&r->tickets) - flusher.due < NOTES / 2 || !all))
			futex_wait(&r->wake, 0, all ? INTERVAL_NS : MS);
	}
	return status;
}

#define STACK (256u << 10)
#define THREAD_AREA 4096u       /* on both sides of the thread pointer */

/*
 * Not a thread of the C library. Where the compiler protects the stack, a word behind the thread
 * pointer is read; and on x86 the word there is its address. Signals are blocked: they are the
 * program's. 0, or an error's number.
 */
static int start_thread(struct ring *r)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM
			  | CLONE_SETTLS;
	/* a sanitizer's function would make one of its threads */
	int (*begin)(int (*)(void *), void *, int, void *, ...) =
		(int (*)(int (*)(void *), void *, int, void *, ...))frag_c_library_symbol("clone");
	char *room = frag_raw_pages(STACK + 2 * THREAD_AREA);
	void **pointer = (void **)(void *)(room + STACK + THREAD_AREA);
	uint64_t mask;
	int error = 0;

	if (!room || !begin)
		return ENOMEM;
	frag_raw(SYS_mprotect, room, 4096, PROT_NONE);
	*pointer = pointer;
	mask = frag_raw_block_signals();
	if (begin(write_on, room + STACK, flags, r, NULL, pointer, NULL) < 0)
		error = errno;
	frag_raw_set_signals(mask);
	return error;
}

static void in_child(void)
{
	struct life *l = atomic_load(&life);

	if (l)
		memset(l, 0, sizeof(*l));
}

__attribute__((constructor)) static void begin_library(void)
{
	if (fstat(STDERR_FILENO, &standard_error) != 0)
		standard_error.st_ino = 0;
	frag_recorder_on();
	pthread_atfork(NULL, NULL, in_child);
}

/* What the parent knew is forgotten; its memory stays, as a handler may have interrupted its use. */
static void recorder_begin(struct life *l)
{
	struct ring *r = frag_raw_pages(sizeof(*r));
	const int before = errno;
	int error;

	frag_driver_prepare();
	frag_devices_forget();
	frag_devices_find();
	if (atomic_load(&ring))
		frag_lines_forget();
	memset(&flusher, 0, sizeof(flusher));
	atomic_store(&ring, r);
	atomic_store(&l->pid, getpid());
	atomic_store(&l->began_ns, frag_raw_now());
	error = r && frag_file_reserve() ? start_thread(r) : ENOMEM;
	if (!error) {
		atomic_store(&l->state, BEGUN);
		while (!atomic_load(&r->opened) && frag_raw_now() - l->began_ns < PATIENCE_NS)
			futex_wait(&r->opened, 0, INTERVAL_NS);
	} else {
		fail_with(error);
		atomic_store(&l->state, NOT_BEGUN);
	}
	report_failure();
	errno = before;
}

/*
 * One of several threads starts the recorder; the others wait, for a while. A handler that
 * interrupted the start does not.
 */
bool frag_recorder_begin(void)
{
	struct life *l = atomic_load_explicit(&life, memory_order_relaxed);
	int state = atomic_load_explicit(&l->state, memory_order_acquire);
	uint64_t since;

	if (state == BEGUN)
		return true;
	state = NOT_BEGUN;
	if (atomic_compare_exchange_strong(&l->state, &state, BEGINNING)) {
		self.beginning = true;
		recorder_begin(l);
		self.beginning = false;
	}
	since = frag_raw_now();
	while (!self.beginning && !atomic_load(&l->late) && atomic_load(&l->state) == BEGINNING) {
		if (frag_raw_now() - since > PATIENCE_NS)
			atomic_store(&l->late, true);
		frag_raw_sleep(20000);
	}
	if (atomic_load(&l->state) == BEGINNING)
		atomic_fetch_add(&l->lost, 1);
	return atomic_load(&l->state) == BEGUN && atomic_load(&wanted) == ON;
}

/* A child of vfork has its parent's memory, and nothing to write. */
void frag_recorder_finish(void)
{
	struct life *l = atomic_load(&life);
	struct ring *r = atomic_load(&ring);
	const uint64_t begin = frag_raw_now();
	uint64_t tail, moved = begin, now = begin;
	uint32_t asked, done;

	if (!l || atomic_load(&l->state) != BEGUN || atomic_load(&l->pid) != getpid())
		return;
	asked = atomic_fetch_add(&r->asked, 1) + 1;
	tail = atomic_load(&r->tail);
	wake_up(r);
	while ((int32_t)((done = atomic_load(&r->done)) - asked) < 0 && atomic_load(&wanted) == ON
	       && now - moved < LAST_WORDS_NS && now - begin < PATIENCE_NS) {
		futex_wait(&r->done, done, 10 * MS);
		now = frag_raw_now();
		if (tail != atomic_load(&r->tail))
			moved = now;
		tail = atomic_load(&r->tail);
	}
	report_failure();
}

/*
 * A shell or a launcher that runs the program need not call the driver: the message appears
 * only if no process wrote the file, and the first process writes the message.
 */
void frag_recorder_end(void)
{
	struct stat now;

	if (!frag_recorder_on())
		return;
	frag_recorder_finish();
	if (first_process == getpid() && atomic_load(&atomic_load(&life)->state) == NOT_BEGUN
	    && (frag_raw(SYS_newfstatat, AT_FDCWD, name, &now, 0) != 0
		|| (now.st_dev == old.st_dev && now.st_ino == old.st_ino)))
		recorder_print_line(name, "not written", ": no CUDA call was recorded");
}
