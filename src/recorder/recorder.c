/*
 * recorder.c - whether a process is recorded, and the thread that writes what was noted.
 *
 * The first note starts the thread, so a program that never calls the driver has no thread and
 * leaves no file. A forked child starts over, with a separate file.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/call_stacks.h"
#include "recorder/driver_devices.h"
#include "recorder/trace_lines.h"
#include "recorder/recording.h"
#include "recorder/rings.h"

#define INTERVAL_NS 100000000L
#define BATCH (256u << 10)              /* bytes that are written at once */

enum { UNKNOWN, ON, OFF };
/* Of `begun`; while a process begins, its number below 0. */
enum { NOT_BEGUN, WITH_THREAD, WITHOUT_THREAD };

static _Atomic int wanted;              /* UNKNOWN until the environment was requested */
static _Atomic int begun;
static _Atomic pid_t owner;             /* the process whose notes these are */
static bool stacks;
static struct stat standard_error;      /* when the library was loaded */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

uint64_t frag_recorder_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Threads that ask at once find the same. */
static void ask_environment(void)
{
	const char *file = getenv("FRAGSIM_RECORD_FILE"), *start = getenv("FRAGSIM_RECORD_START");
	int unknown = UNKNOWN;

	stacks = getenv("FRAGSIM_RECORD_STACKS") != NULL;
	if (file && *file) {
		frag_recording_name(file, getenv("FRAGSIM_RECORD_OLD"));
		frag_lines_start(start ? strtoull(start, NULL, 10) : 0);
	}
	atomic_compare_exchange_strong(&wanted, &unknown, file && *file ? ON : OFF);
}

bool frag_recorder_on(void)
{
	if (atomic_load_explicit(&wanted, memory_order_acquire) == UNKNOWN)
		ask_environment();
	return atomic_load_explicit(&wanted, memory_order_relaxed) == ON;
}

bool frag_recorder_stacks(void)
{
	return stacks;
}

/* Is standard error unchanged, or not a file? A daemon may have closed it, and opened one of
 * its files under that number, which must not get our messages. */
static bool may_print(void)
{
	struct stat now;

	return fstat(STDERR_FILENO, &now) == 0
	       && (!S_ISREG(now.st_mode)
		   || (now.st_dev == standard_error.st_dev
		       && now.st_ino == standard_error.st_ino));
}

/* Without stdio, whose locks a forked child may find taken. */
static void recorder_print_line(const char *path, const char *why, const char *result)
{
	struct frag_signal_guard guard;
	char line[512];
	size_t n = 0;
	const char *const words[] = { "fragsim record: ", path, ": ", why, result, "\n" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t length = strlen(words[i]), room = sizeof(line) - n;
		const size_t part = length < room ? length : room;

		memcpy(line + n, words[i], part);
		n += part;
	}
	if (!may_print())
		return;
	frag_recording_guard(&guard);
	if (write(STDERR_FILENO, line, n) < 0)
		n = 0;
	frag_recording_unguard(&guard);
}

void frag_recorder_give_up(const char *path, const char *why)
{
	atomic_store(&wanted, OFF);
	recorder_print_line(path, why, "; nothing is recorded from here on");
}

/* All notes up to the first that is not complete. The caller holds the lock. */
static void flush(void)
{
	const struct frag_note *note;
	size_t length;
	const char *text;

	while ((note = frag_rings_next()) != NULL) {
		if (frag_recorder_on()) {
			frag_lines_add(note);
			text = frag_lines_text(&length);
			if (length >= BATCH) {
				frag_recording_write(text, length);
				frag_lines_clear();
			}
		}
		frag_rings_take();
	}
	text = frag_lines_text(&length);
	if (length && frag_recorder_on())
		frag_recording_write(text, length);
	frag_lines_clear();
}

bool frag_recorder_flush_here(void)
{
	if (atomic_load(&begun) == WITH_THREAD)
		return false;
	pthread_mutex_lock(&writing);
	flush();
	pthread_mutex_unlock(&writing);
	return true;
}

static void *write_on(void *none)
{
	(void)none;
	for (;;) {
		frag_rings_wait(INTERVAL_NS);
		pthread_mutex_lock(&writing);
		flush();
		pthread_mutex_unlock(&writing);
	}
	return NULL;
}

/* Signals are the program's own. */
static bool start_thread(void)
{
	pthread_t thread;
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&thread, NULL, write_on, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		pthread_detach(thread);
	return started;
}

static void before_fork(void)
{
	pthread_mutex_lock(&writing);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&writing);
}

static void in_child(void)
{
	pthread_mutex_init(&writing, NULL);
	frag_stacks_in_child();
	frag_rings_forget();
	frag_lines_forget();
	frag_recording_forget();
	frag_devices_forget();
	atomic_store(&owner, 0);
	atomic_store(&begun, NOT_BEGUN);
}

/* Runs before any thread of the program: a child that is forked while another thread starts the
 * recorder must start over instead of waiting for a thread that it does not have. */
__attribute__((constructor)) static void begin_library(void)
{
	if (fstat(STDERR_FILENO, &standard_error) != 0)
		standard_error.st_ino = 0;
	pthread_atfork(before_fork, after_fork, in_child);
}

static void recorder_begin(void)
{
	frag_devices_find();
	if (!frag_recording_begin()) {
		atomic_store(&begun, NOT_BEGUN);
		return;
	}
	atomic_store(&owner, getpid());
	atomic_store(&begun, start_thread() ? WITH_THREAD : WITHOUT_THREAD);
}

/*
 * One of several threads starts the recorder; the others wait. A child of a bare clone() has
 * the state of its parent and none of its threads: if the parent was starting, the child is not
 * recorded. A thread that is cancelled during the start would leave the others waiting.
 */
bool frag_recorder_begin(void)
{
	int state = atomic_load_explicit(&begun, memory_order_acquire), cancel;
	const struct timespec moment = { .tv_nsec = 20000 };

	if (state > NOT_BEGUN)
		return true;
	if (!frag_recorder_on())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	state = NOT_BEGUN;
	if (atomic_compare_exchange_strong(&begun, &state, -getpid()))
		recorder_begin();
	else
		while (atomic_load(&begun) == -getpid())
			nanosleep(&moment, NULL);
	pthread_setcancelstate(cancel, NULL);
	return atomic_load(&begun) > NOT_BEGUN;
}

/*
 * What other threads began to note in this moment may still come; not for long. A child of
 * vfork has its parent's memory, and nothing to write.
 */
void frag_recorder_finish(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	const int before = errno;

	if (atomic_load(&begun) <= NOT_BEGUN || atomic_load(&owner) != getpid())
		return;
	for (int tries = 0; tries < 200; tries++) {
		if (pthread_mutex_trylock(&writing) == 0) {
			flush();
			pthread_mutex_unlock(&writing);
			if (!frag_rings_pending() || tries > 5)
				break;
		}
		nanosleep(&moment, NULL);
	}
	errno = before;
}

/*
 * A shell or a launcher that runs the program need not call the driver: the message appears
 * only if no process wrote the file, and the first process writes the message.
 */
void frag_recorder_end(void)
{
	const char *process = getenv("FRAGSIM_RECORD_PROCESS");
	const char *file = getenv("FRAGSIM_RECORD_FILE");
	const int before = errno;

	frag_recorder_finish();
	if (process && file && frag_recorder_on() && strtol(process, NULL, 10) == (long)getpid()
	    && atomic_load(&begun) == NOT_BEGUN && !frag_recording_exists())
		recorder_print_line(file, "not written", ": no CUDA call was recorded");
	errno = before;
}
