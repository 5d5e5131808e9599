/*
 * recorder.c - whether a process is recorded, what its threads note, in one order, the thread that
 * writes it, and the file.
 *
 * The first note starts the thread, so a program that never calls the driver has no thread and
 * leaves no file. A forked child starts over, with a separate file.
 *
 * The file is a header, which may be written again, and lines. The program is not ours: it may
 * close every descriptor, fill the disk, limit the size of files. So the descriptor is compared
 * with the file before each write, each write is whole or undone, and its signals do not reach the
 * program.
 *
 * Daemons and launchers close all descriptors that they did not open; the functions for ranges
 * of descriptors skip the recording's. The C library's own calls do not reach them, and a loop
 * of close() is noticed before the next write.
 *
 * The first process that records uses the requested name; any other, also a process after exec,
 * appends its process number to the name. Where the name ends in .zst, each batch is a separate
 * zstd frame, so all written batches can be read, whenever the program ends. libzstd is loaded
 * at its first use; without it the lines stay uncompressed, which every reader detects.
 */
#include "recorder/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "fragsim/version.h"
#include "recorder/driver_calls.h"
#include "recorder/trace_lines.h"

#define INTERVAL_NS 100000000L
#define BATCH (256u << 10)              /* bytes that are written at once */

enum { UNKNOWN, ON, OFF };
/* Of `begun`; while a process begins, its number below 0. */
enum { NOT_BEGUN, WITH_THREAD, WITHOUT_THREAD };

static _Atomic int wanted;              /* UNKNOWN until the environment was requested */
static _Atomic int begun;
static _Atomic pid_t owner;             /* the process whose notes these are */
static struct stat standard_error;      /* when the library was loaded */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

#define PATH_ROOM 4096
#define HEADER_ROOM (1024 + 256 * FRAG_DEVICES_MAX)

/* A frame of one raw block, whose length and text position are known beforehand. */
#define FRAME_HEAD 10

/* Programs seldom use descriptors from here on, or close them individually. */
#define HIGH_DESCRIPTOR 4000

static char name[PATH_ROOM - 32];       /* that was requested for */
static char path[PATH_ROOM];
static struct stat old;                 /* the file that had the name before; st_ino 0: none */
static int fd = -1;
static struct stat file;                /* of fd; a program may close that, and open another */
static off_t written;                   /* whole lines, or frames */
static size_t header_length;            /* of the text */
static bool packed;

static size_t (*zstd_compress)(void *, size_t, const void *, size_t, int);
static size_t (*zstd_bound)(size_t);
static unsigned (*zstd_is_error)(size_t);
static char *frame;                     /* size of a compressed batch */
static size_t frame_room;

/* Encloses a write of the recorder, also to standard error: its signals are consumed. */
struct signal_guard {
	sigset_t ours, before;
};

/* A write may raise SIGXFSZ or SIGPIPE in this thread: the program must not see either. */
static void recording_guard(struct signal_guard *guard)
{
	sigset_t pending;

	sigemptyset(&guard->ours);
	sigaddset(&guard->ours, SIGXFSZ);
	sigaddset(&guard->ours, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &guard->ours, &guard->before);
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
	const int before = errno;

	while (sigtimedwait(&guard->ours, NULL, &now) > 0 || errno == EINTR)
		continue;
	pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
	errno = before;
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
static void recorder_print_line(const char *what, const char *why, const char *result)
{
	struct signal_guard guard;
	char line[512];
	size_t n = 0;
	const char *const words[] = { "fragsim record: ", what, ": ", why, result, "\n" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t length = strlen(words[i]), room = sizeof(line) - n;
		const size_t part = length < room ? length : room;

		memcpy(line + n, words[i], part);
		n += part;
	}
	if (!may_print())
		return;
	recording_guard(&guard);
	if (write(STDERR_FILENO, line, n) < 0)
		n = 0;
	recording_unguard(&guard);
}

/* One line on standard error, and nothing is recorded from now on. */
static void recorder_give_up(const char *what, const char *why)
{
	atomic_store(&wanted, OFF);
	recorder_print_line(what, why, "; nothing is recorded from here on");
}

static bool recording_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Does the program still leave the descriptor to us? */
static bool recording_is_ours(void)
{
	struct stat now;

	return fd >= 0 && fstat(fd, &now) == 0 && recording_is_same(&now, &file);
}

/* Of a forked child: the file is the parent's. */
static void recording_forget(void)
{
	if (recording_is_ours())
		close(fd);
	fd = -1;
}

/* Moves the descriptor up, as programs that close all of theirs often stop at some hundreds. */
static void move_up(void)
{
	struct rlimit limit = { .rlim_cur = 0 };
	int high;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 64)
		return;
	high = limit.rlim_cur > HIGH_DESCRIPTOR ? HIGH_DESCRIPTOR : (int)limit.rlim_cur - 8;
	high = fcntl(fd, F_DUPFD_CLOEXEC, high);
	if (high < 0)
		return;
	close(fd);
	fd = high;
}

/* A program that closed the descriptor did not mean the recording: it is opened by its name. */
static bool find_again(void)
{
	if (recording_is_ours())
		return true;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	if (recording_is_ours()) {
		move_up();
		flock(fd, LOCK_EX | LOCK_NB);
		return true;
	}
	close(fd);
	fd = -1;
	errno = ESTALE;
	return false;
}

/* At an offset: the program's own writes, or a reader's, move nothing of ours. */
static bool write_at(const char *from, size_t length, off_t at)
{
	while (length) {
		const ssize_t n = pwrite(fd, from, length, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		from += n;
		at += n;
		length -= (size_t)n;
	}
	return true;
}

/* All of it or nothing: of what a full disk cut, the file keeps nothing. */
static bool recording_append(const char *from, size_t length)
{
	const bool fine = write_at(from, length, written);
	const int error = errno;

	if (fine)
		written += (off_t)length;
	else if (ftruncate(fd, written) != 0)
		return false;
	errno = error;
	return fine;
}

/* Gives the file a name that no other has: -1 and EEXIST where one has it. */
static int rename_to_free(const char *from, const char *to)
{
	int rc = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	/* some network file systems do not have that */
	if (rc != 0 && (errno == EINVAL || errno == ENOSYS)) {
		rc = link(from, to);
		if (rc == 0)
			unlink(from);
	}
	return rc;
}

/*
 * Replaces the file that had the name before the recording. Several processes of the program may
 * come here at once: a lock on the old file lets one of them through, and the others then see
 * that the file is a new one.
 */
static bool replace_old(const char *from)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	const int lock = open(name, O_RDONLY | O_CLOEXEC);
	bool locked = false, done = false;
	struct stat now;

	if (!old.st_ino || lock < 0)
		return false;
	for (int i = 0; i < 1000 && !locked; i++) {
		locked = flock(lock, LOCK_EX | LOCK_NB) == 0;
		if (!locked)
			nanosleep(&moment, NULL);
	}
	if (locked && stat(name, &now) == 0 && recording_is_same(&now, &old))
		done = rename(from, name) == 0;
	close(lock);
	return done;
}

/* NAME, NAME.PID, NAME.PID.2 and so on: the first that no process of this recording has. */
static bool publish(const char *from)
{
	const int pid = (int)getpid();

	for (int i = 0; i < 10000; i++) {
		if (i == 0)
			snprintf(path, sizeof(path), "%s", name);
		else if (i == 1)
			snprintf(path, sizeof(path), "%s.%d", name, pid);
		else
			snprintf(path, sizeof(path), "%s.%d.%d", name, pid, i);
		if (rename_to_free(from, path) == 0 || (i == 0 && replace_old(from)))
			return true;
		if (errno != EEXIST && i)
			return false;
	}
	return false;
}

/* Creates a temporary file in the requested file's folder, to be renamed when its header is
 * complete. */
static bool create(void)
{
	snprintf(path, sizeof(path), "%s.%d.part", name, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return false;
	move_up();
	flock(fd, LOCK_EX | LOCK_NB);
	written = 0;
	return fstat(fd, &file) == 0;
}

static void load_zstd(void)
{
	const size_t length = strlen(name);
	void *library = length > 4 && strcmp(name + length - 4, ".zst") == 0
			? dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library)
		return;
	zstd_compress = (size_t (*)(void *, size_t, const void *, size_t, int))
		dlsym(library, "ZSTD_compress");
	zstd_bound = (size_t (*)(size_t))dlsym(library, "ZSTD_compressBound");
	zstd_is_error = (unsigned (*)(size_t))dlsym(library, "ZSTD_isError");
	packed = zstd_compress && zstd_bound && zstd_is_error;
}

/* As wide as it ever gets, so that it can be written again when more is known. */
static size_t make_header(char *buf)
{
	const size_t room = 1024 + 256u * frag_devices_count();
	size_t n = (size_t)snprintf(buf, room,
				    "{\"format\":\"fragsim-trace\",\"version\":1,\"devices\":");

	n += frag_devices_write(buf + n, room - n);
	n += (size_t)snprintf(buf + n, room - n,
			      ",\"meta\":{\"source\":\"fragsim record " FRAG_VERSION
			      "\",\"process\":%d}}", (int)getpid());
	memset(buf + n, ' ', room - n);
	buf[room - 1] = '\n';
	return room;
}

static void make_frame_head(uint8_t head[FRAME_HEAD], size_t length)
{
	const uint32_t size = (uint32_t)length - 256, block = (uint32_t)length << 3 | 1;

	/* magic; one segment, its size in two bytes; the size; the last block, which is raw */
	memcpy(head, (uint8_t[]){ 0x28, 0xb5, 0x2f, 0xfd, 0x60, (uint8_t)size,
				  (uint8_t)(size >> 8), (uint8_t)block, (uint8_t)(block >> 8),
				  (uint8_t)(block >> 16) }, FRAME_HEAD);
}

static bool write_header(void)
{
	char text[HEADER_ROOM];
	uint8_t head[FRAME_HEAD];

	load_zstd();
	header_length = make_header(text);
	make_frame_head(head, header_length);
	return (!packed || recording_append((const char *)head, FRAME_HEAD))
	       && recording_append(text, header_length);
}

/*
 * Writes the header to a temporary file first, which is then renamed: the name never leads to a
 * file without header. In a thread of the program: the writing thread must not load libraries,
 * because the program may be in dlopen and wait for it. A failure is reported once.
 */
static bool recording_begin(void)
{
	struct signal_guard guard;
	char part[PATH_ROOM];
	bool fine;

	recording_guard(&guard);
	fine = create();
	if (fine) {
		snprintf(part, sizeof(part), "%s", path);
		fine = write_header() && publish(part);
		if (!fine) {
			const int error = errno;

			unlink(part);
			errno = error;
		}
	}
	if (!fine) {
		const char *why = strerror(errno);

		recording_forget();
		recorder_give_up(name, why);
	}
	recording_unguard(&guard);
	return fine;
}

/* A device was used for the first time. */
static bool write_header_again(void)
{
	char text[HEADER_ROOM];

	make_header(text);
	return write_at(text, header_length, packed ? FRAME_HEAD : 0);
}

static bool write_frame(const char *text, size_t length)
{
	const size_t room = zstd_bound(length);
	size_t n;

	if (room > frame_room) {
		char *larger = realloc(frame, room);

		if (!larger)
			return false;
		frame = larger;
		frame_room = room;
	}
	n = zstd_compress(frame, room, text, length, 1);
	return !zstd_is_error(n) && recording_append(frame, n);
}

/* Whole lines. */
static void recording_write(const char *text, size_t length)
{
	struct signal_guard guard;
	bool fine;

	recording_guard(&guard);
	fine = find_again() && (!frag_devices_changed() || write_header_again());
	if (fine)
		fine = packed ? write_frame(text, length) : recording_append(text, length);
	if (!fine)
		recorder_give_up(path, strerror(errno));
	recording_unguard(&guard);
}

/* Threads that ask at once find the same. */
static void ask_environment(void)
{
	const char *to = getenv("FRAGSIM_RECORD_FILE"), *start = getenv("FRAGSIM_RECORD_START");
	const char *replaced = getenv("FRAGSIM_RECORD_OLD");
	unsigned long long device = 0, inode = 0;
	int unknown = UNKNOWN;

	if (to && *to) {
		snprintf(name, sizeof(name), "%s", to);
		frag_lines_start(start ? strtoull(start, NULL, 10) : 0,
				 getenv("FRAGSIM_RECORD_STACKS") != NULL);
	}
	if (to && *to && replaced && sscanf(replaced, "%llu:%llu", &device, &inode) == 2) {
		old.st_dev = (dev_t)device;
		old.st_ino = (ino_t)inode;
	}
	atomic_compare_exchange_strong(&wanted, &unknown, to && *to ? ON : OFF);
}

bool frag_recorder_on(void)
{
	if (atomic_load_explicit(&wanted, memory_order_acquire) == UNKNOWN)
		ask_environment();
	return atomic_load_explicit(&wanted, memory_order_relaxed) == ON;
}

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

/* The next note in order; NULL: it is not there yet. It stays until taken. */
static const struct frag_note *rings_next(void)
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

static void write_lines(void)
{
	size_t length;
	const char *text = frag_lines_take(&length);

	if (length && frag_recorder_on())
		recording_write(text, length);
}

/* All notes up to the first that is not complete. The caller holds the lock. */
static void flush(void)
{
	const struct frag_note *note;

	while ((note = rings_next()) != NULL) {
		if (frag_recorder_on() && frag_lines_add(note) >= BATCH)
			write_lines();
		due++;
		atomic_fetch_add_explicit(&current->tail, 1, memory_order_release);
	}
	write_lines();
}

/* Writes what is there in this thread, where there is no other for it. */
static bool flush_here(void)
{
	if (atomic_load(&begun) == WITH_THREAD)
		return false;
	pthread_mutex_lock(&writing);
	flush();
	pthread_mutex_unlock(&writing);
	return true;
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
		if (!flush_here())
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

/* Of a forked child: nothing was noted; the rings of other threads have no owner now. */
static void rings_forget(void)
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

/* Sleeps until a ring is half full, or for the interval. */
static void *write_on(void *none)
{
	const struct timespec patience = { .tv_nsec = INTERVAL_NS };

	(void)none;
	for (;;) {
		syscall(SYS_futex, &wake, FUTEX_WAIT_PRIVATE, 0, &patience, NULL, 0);
		atomic_store(&wake, 0);
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
	rings_forget();
	frag_lines_forget();
	recording_forget();
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
	if (!recording_begin()) {
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
			if (atomic_load(&tickets) == due || tries > 5)
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
	const char *to = getenv("FRAGSIM_RECORD_FILE");
	const int before = errno;
	struct stat now;

	frag_recorder_finish();
	if (process && to && frag_recorder_on() && strtol(process, NULL, 10) == (long)getpid()
	    && atomic_load(&begun) == NOT_BEGUN
	    && (stat(name, &now) != 0 || recording_is_same(&now, &old)))
		recorder_print_line(to, "not written", ": no CUDA call was recorded");
	errno = before;
}

#define EXPORT __attribute__((visibility("default")))

/* Linux 5.9; an older kernel says ENOSYS, and so does this. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int close_between(unsigned first, unsigned last, int flags)
{
	return first > last ? 0 : (int)syscall(SYS_close_range, first, last, flags);
}

EXPORT int close_range(unsigned first, unsigned last, int flags);
EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	const int ours = recording_is_ours() ? fd : -1; /* the program must not close it */
	int rc;

	if (ours < 0 || (unsigned)ours < first || (unsigned)ours > last)
		return (int)syscall(SYS_close_range, first, last, flags);
	rc = close_between(first, (unsigned)ours - 1, flags);
	return rc ? rc : close_between((unsigned)ours + 1, last, flags);
}

EXPORT void closefrom(int first);
EXPORT void closefrom(int first)
{
	const int from = first < 0 ? 0 : first;
	const long last = sysconf(_SC_OPEN_MAX);

	if (close_range((unsigned)from, ~0u, 0) == 0)
		return;
	for (int number = from; number < last; number++)
		if (number != fd || !recording_is_ours())
			close(number);
}
