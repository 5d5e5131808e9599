/* platform.c - The calls that differ between Linux, macOS and WebAssembly. */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __wasi__

const bool frag_has_programs = false;

void frag_memory_advise_huge(void *memory, size_t size)
{
	(void)memory;
	(void)size;
}

void frag_memory_forget(void *memory, size_t size)
{
	(void)memory;
	(void)size;
}

void frag_memory_keep_freed(void)
{
}

void frag_memory_return_freed(size_t size)
{
	(void)size;
}

#define NAMES 100       /* that are tried */

int frag_temporary_create(char *name)
{
	char *end = name + strlen(name) - 6;
	int fd = -1;

	errno = EEXIST;
	for (int i = 0; i < NAMES && fd < 0 && errno == EEXIST; i++) {
		unsigned char random[6];

		if (getentropy(random, sizeof(random)) != 0)
			return -1;
		for (size_t k = 0; k < sizeof(random); k++)
			end[k] = (char)('a' + random[k] % 26);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	}
	return fd;
}

int frag_descriptor_copy(int fd)
{
	(void)fd;
	errno = ENOSYS;
	return -1;
}

static ssize_t descriptor_write(void *ctx, const char *bytes, size_t n)
{
	return write((int)(intptr_t)ctx, bytes, n);
}

FILE *frag_descriptor_stream(int fd)
{
	return fopencookie((void *)(intptr_t)fd, "w",
			   (cookie_io_functions_t){ .write = descriptor_write });
}

FILE *frag_stream_open(void *ctx, frag_stream_bytes (*write)(void *ctx, const char *bytes,
							     frag_stream_size n))
{
	return fopencookie(ctx, "w", (cookie_io_functions_t){ .write = write });
}

void frag_file_look_like(int fd, const struct stat *old)
{
	(void)fd;
	(void)old;
}

void frag_file_look_new(int fd)
{
	(void)fd;
}

bool frag_file_lock(int fd)
{
	(void)fd;
	return true;
}

int frag_nameless_file(void)
{
	errno = ENOSYS;
	return -1;
}

int frag_pipe_open(int ends[2])
{
	(void)ends;
	errno = ENOSYS;
	return -1;
}

bool frag_executable_path(char path[PATH_MAX])
{
	(void)path;
	return false;
}

void frag_program_exec(char *const argv[])
{
	(void)argv;
	errno = ENOSYS;
}

bool frag_output_discard(void)
{
	return false;
}

int frag_child_run(int (*run)(void *ctx), void *ctx, int *status)
{
	(void)run;
	(void)ctx;
	(void)status;
	return ENOSYS;
}

struct frag_child frag_child_begin(void (*serve)(int socket))
{
	(void)serve;
	return (struct frag_child){ .pid = 0 };
}

void frag_child_end(const struct frag_child *child)
{
	(void)child;
}

uint32_t frag_processors(void)
{
	return 1;
}

int frag_terminal_width(int fd)
{
	return isatty(fd) ? -1 : 0;
}

clockid_t frag_wait_clock(pthread_condattr_t *attributes)
{
	(void)attributes;
	return CLOCK_MONOTONIC;
}

void frag_signals_catch(void (*handler)(int number))
{
	(void)handler;
}

void frag_write_signals_ignore(void)
{
}

void frag_write_signals_restore(void)
{
}

void frag_crashes_catch(void (*crashed)(const char *signal))
{
	(void)crashed;
}

#else

#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

/* Memory ---------------------------------------------------------------------- */

#define KEPT_MAX (32 << 20)     /* bytes of a piece: glibc accepts no more */

void frag_memory_advise_huge(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
	madvise(memory, size, MADV_HUGEPAGE);
#else
	(void)memory;
	(void)size;
#endif
}

/* Elsewhere MADV_DONTNEED is an advice that keeps the contents, and the pages with them. */
void frag_memory_forget(void *memory, size_t size)
{
#ifdef __linux__
	madvise(memory, size / FRAG_HUGE_PAGE * FRAG_HUGE_PAGE, MADV_DONTNEED);
#else
	(void)memory;
	(void)size;
#endif
}

void frag_memory_keep_freed(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, KEPT_MAX);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void frag_memory_return_freed(size_t size)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, (int)size);
#else
	(void)size;
#endif
}

/* Files ----------------------------------------------------------------------- */

int frag_temporary_create(char *name)
{
	return mkstemp(name);
}

int frag_descriptor_copy(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

FILE *frag_descriptor_stream(int fd)
{
	const int copy = dup(fd);
	FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
	const int number = errno;

	if (!stream && copy >= 0)
		close(copy);
	errno = number;
	return stream;
}

void frag_file_look_like(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;

	if (fchown(fd, old->st_uid, old->st_gid) != 0
	    && fchown(fd, (uid_t)-1, old->st_gid) != 0)
		mode = (mode_t)((mode & 0707) | (mode & 07) << 3);
	fchmod(fd, mode);
}

void frag_file_look_new(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

bool frag_file_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

int frag_nameless_file(void)
{
	FILE *file = tmpfile();
	const int fd = file ? dup(fileno(file)) : -1;
	const int number = errno;

	if (file)
		fclose(file);
	errno = number;
	return fd;
}

int frag_pipe_open(int ends[2])
{
	if (pipe(ends) != 0)
		return -1;
	for (int i = 0; i < 2; i++)
		fcntl(ends[i], F_SETFD, FD_CLOEXEC);
	return 0;
}

FILE *frag_stream_open(void *ctx, frag_stream_bytes (*write)(void *ctx, const char *bytes,
							     frag_stream_size n))
{
#ifdef __APPLE__
	return funopen(ctx, NULL, write, NULL, NULL);
#else
	return fopencookie(ctx, "w", (cookie_io_functions_t){ .write = write });
#endif
}

/* Programs -------------------------------------------------------------------- */

const bool frag_has_programs = true;

bool frag_executable_path(char path[PATH_MAX])
{
#ifdef __APPLE__
	char own[PATH_MAX];
	uint32_t room = sizeof(own);

	return _NSGetExecutablePath(own, &room) == 0 && realpath(own, path);
#else
	return realpath("/proc/self/exe", path);
#endif
}

void frag_program_exec(char *const argv[])
{
	execvp(argv[0], argv);
}

bool frag_output_discard(void)
{
	const int null = open("/dev/null", O_WRONLY);

	return null >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0;
}

int frag_child_run(int (*run)(void *ctx), void *ctx, int *status)
{
	const pid_t child = fork();
	int ended = 0;

	if (child == 0)
		_exit(run(ctx));
	if (child < 0)
		return errno;
	while (waitpid(child, &ended, 0) < 0)
		if (errno != EINTR)
			return errno;
	*status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
	return 0;
}

struct frag_child frag_child_begin(void (*serve)(int socket))
{
	struct frag_child child = { .pid = 0 };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
		return child;
	child.socket = ends[0];
	child.pid = fork();
	if (child.pid == 0) {
		close(ends[0]);
		serve(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (child.pid < 0) {
		close(ends[0]);
		child.pid = 0;
	}
	return child;
}

void frag_child_end(const struct frag_child *child)
{
	if (!child->pid)
		return;
	close(child->socket);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Machine --------------------------------------------------------------------- */

#ifdef __linux__
#define WORDS 128       /* of bits: 8192 processors */

/* Asked of the kernel itself: the C library has the call among its extensions only. */
static uint32_t allowed_processors(void)
{
	unsigned long usable[WORDS] = { 0 };
	uint32_t count = 0;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(usable), usable) > 0)
		for (uint32_t i = 0; i < WORDS; i++)
			count += (uint32_t)__builtin_popcountl(usable[i]);
	return count;
}
#else
static uint32_t allowed_processors(void)
{
	return 0;
}
#endif

uint32_t frag_processors(void)
{
	const uint32_t allowed = allowed_processors();
	const long n = allowed ? (long)allowed : sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint32_t)n : 1;
}

int frag_terminal_width(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : -1;
}

clockid_t frag_wait_clock(pthread_condattr_t *attributes)
{
#ifdef __APPLE__        /* has only the clock of the day here */
	(void)attributes;
	return CLOCK_REALTIME;
#else
	pthread_condattr_setclock(attributes, CLOCK_MONOTONIC);
	return CLOCK_MONOTONIC;
#endif
}

/* Signals --------------------------------------------------------------------- */

void frag_signals_catch(void (*handler)(int number))
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
	struct sigaction act = { .sa_handler = handler }, old;

	sigemptyset(&act.sa_mask);
	/* what the caller ignores (nohup; a shell for work in the background) stays ignored */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
}

static struct sigaction write_errors[2];        /* of SIGPIPE and SIGXFSZ, as inherited */

void frag_write_signals_ignore(void)
{
	struct sigaction act = { .sa_handler = SIG_IGN };

	sigemptyset(&act.sa_mask);
	sigaction(SIGPIPE, &act, &write_errors[0]);
	sigaction(SIGXFSZ, &act, &write_errors[1]);
}

void frag_write_signals_restore(void)
{
	sigaction(SIGPIPE, &write_errors[0], NULL);
	sigaction(SIGXFSZ, &write_errors[1], NULL);
}

/* Where the handler runs when a crash has used up the stack. */
#define STACK ((size_t)64 << 10)

static const struct {
	int number;
	const char *name;
} crashes[] = {
	{ SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" }, { SIGFPE, "SIGFPE" }, { SIGILL, "SIGILL" },
	{ SIGSEGV, "SIGSEGV" },
};
#define CRASH_COUNT (sizeof(crashes) / sizeof(crashes[0]))

static struct sigaction before[CRASH_COUNT];
static void (*say_crash)(const char *signal);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key;
static _Thread_local bool has_stack;

/*
 * Restores the previous handler, for example a sanitizer's, and repeats the signal: a fault
 * repeats when its instruction runs again; the handler raises any other signal.
 */
static void on_crash(int number, siginfo_t *info, void *context)
{
	size_t i = 0;

	(void)context;
	while (crashes[i].number != number)
		i++;
	say_crash(crashes[i].name);
	sigaction(number, &before[i], NULL);
	if (info->si_code <= 0)
		raise(number);
}

static void free_stack(void *stack)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	sigaltstack(&none, NULL);
	free(stack);
}

static void catch_crashes(void)
{
	struct sigaction act = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	pthread_key_create(&stack_key, free_stack);
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < CRASH_COUNT; i++)
		sigaction(crashes[i].number, &act, &before[i]);
}

/* Once a thread; a sanitizer has given it such a stack already. */
static void give_stack(void)
{
	stack_t stack;
	void *memory;

	if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
		return;
	memory = malloc(STACK);
	if (!memory)
		return;
	stack = (stack_t){ .ss_sp = memory, .ss_size = STACK };
	sigaltstack(&stack, NULL);
	pthread_setspecific(stack_key, memory);
}

void frag_crashes_catch(void (*crashed)(const char *signal))
{
	if (has_stack)
		return;
	say_crash = crashed;
	pthread_once(&once, catch_crashes);
	give_stack();
	has_stack = true;
}

#endif
