/*
 * endings.c - a program that ends in some way, while it holds some lock, after some child.
 *
 *   endings WAY LOCK CHILD
 *
 * It requests blocks of 1000, 1001, ... bytes: three, then a child requests and frees as many as no
 * buffer holds, then twenty more. The file "result" has how the child ended, the number of the next
 * descriptor, and what is done with signals. Whoever takes the lock of malloc twice waits for ever.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEED(x) do { if (!(x)) _exit(9); } while (0)
#define PAIRS 9000
#define STACK (1 << 20)

int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemFree_v2(uint64_t at);

static const char *way, *lock, *child;
static volatile int malloc_is_held;
static size_t size = 1000;
static volatile long hits;

/* Memory that is never returned, under a lock that waits for ever: as in a handler within malloc. */
void *malloc(size_t bytes)
{
	static char heap[8 << 20];
	static _Atomic size_t used;
	const size_t room = (bytes + 31) / 16 * 16, at = atomic_fetch_add(&used, room);

	while (malloc_is_held)
		pause();
	NEED(at + room <= sizeof(heap));
	*(size_t *)(void *)(heap + at) = bytes;
	return heap + at + 16;
}

void free(void *at) { (void)at; }
void *calloc(size_t n, size_t bytes) { return memset(malloc(n * bytes), 0, n * bytes); }
void *realloc(void *at, size_t bytes)
{
	void *to = malloc(bytes);
	const size_t before = at ? ((size_t *)at)[-2] : 0;

	return at ? memcpy(to, at, before < bytes ? before : bytes) : to;
}

static void request(int count)
{
	uint64_t at;

	while (count--)
		NEED(cuMemAlloc_v2(&at, size++) == 0);
}

static void pairs(int count)
{
	uint64_t at;

	while (count--)
		NEED(cuMemAlloc_v2(&at, 512) == 0 && cuMemFree_v2(at) == 0);
}

static int is(const char *word, const char *name)
{
	return strcmp(word, name) == 0;
}

static void limit(int what, rlim_t to)
{
	const struct rlimit l = { to, to };

	NEED(setrlimit(what, &l) == 0);
}

static int leave(void)
{
	if (is(way, "exit"))
		exit(7);
	if (is(way, "_exit"))
		_exit(7);
	if (is(way, "abort"))
		abort();
	if (is(way, "signal"))
		raise(SIGTERM);
	if (is(way, "quick_exit"))
		quick_exit(7);
	if (is(way, "exec"))
		execl("/proc/self/exe", "endings", "return", "none", "none", NULL);
	return 7;
}

/* Where a lock is held, other ways can wait for it without the recorder. */
static int in_child(void *none)
{
	(void)none;
	pairs(is(child, "vfork") ? 3 : PAIRS);
	if (!is(lock, "none") || is(child, "vfork"))
		_exit(5);
	if (is(way, "return"))
		_exit(leave());
	return leave();
}

static pid_t make_child(void)
{
	pid_t pid = -1;

	if (is(child, "fork"))
		pid = fork();
	else if (is(child, "vfork"))
		pid = vfork();
	else if (is(child, "_Fork"))
		pid = _Fork();
	else if (is(child, "syscall"))
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else if (is(child, "clone"))
		pid = clone(in_child, (char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE
						   | MAP_ANONYMOUS, -1, 0) + STACK, SIGCHLD, NULL);
	if (pid == 0)
		_exit(in_child(NULL));
	return pid;
}

static int disposition(int number)
{
	struct sigaction act;

	sigaction(number, NULL, &act);
	return act.sa_handler == SIG_IGN;
}

static void note_result(int status)
{
	const int null = open("/dev/null", O_RDONLY), fd = open("result", O_WRONLY | O_CREAT, 0666);
	char text[100];
	sigset_t mask;
	int blocked = 0;

	sigprocmask(0, NULL, &mask);
	for (int i = 1; i < 64; i++)
		blocked += sigismember(&mask, i) == 1;
	snprintf(text, sizeof(text), "child %x descriptors %d %d ignored %d %d blocked %d\n", status,
		 null, fd, disposition(SIGPIPE), disposition(SIGXFSZ), blocked);
	NEED(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	close(null);
}

/* With the lock: the rest of the program. */
int while_held(void);
int while_held(void)
{
	const pid_t pid = make_child();
	int status = 0;

	if (pid > 0)
		NEED(waitpid(pid, &status, 0) == pid);
	if (is(way, "files"))
		limit(RLIMIT_NOFILE, 20);
	note_result(status);
	if (is(way, "memory"))
		limit(RLIMIT_AS, 64 << 20);
	if (is(way, "size")) {
		limit(RLIMIT_FSIZE, 4096);
		pairs(PAIRS);
	}
	request(20);
	return leave();
}

static void on_alarm(int number)
{
	(void)number;
	hits++;
	request(1);
}

/* Handlers make requests too, wherever they interrupt; what they and the program made is printed. */
static int with_handlers(void)
{
	const struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 50 }, { 0, 50 } };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	pairs(200000);
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	printf("%ld\n", 200000 + hits);
	return 0;
}

/* More requests than the recorder keeps while its thread does not run; then a few when it does. */
static int without_writer(void)
{
	request(1);
	puts("begun");
	fflush(stdout);
	getchar();
	pairs(50000);
	puts("done");
	fflush(stdout);
	getchar();
	pairs(10);
	return 7;
}

int main(int argc, char **argv)
{
	NEED(argc == 4);
	way = argv[1];
	lock = argv[2];
	child = argv[3];
	if (is(way, "handlers"))
		return with_handlers();
	if (is(way, "alone"))
		return without_writer();
	request(3);
	if (is(lock, "malloc"))
		malloc_is_held = 1;
	if (is(lock, "stdio"))
		flockfile(stderr);
	/* the library's constructor goes on */
	if (is(lock, "dlopen"))
		exit(dlopen("libheld.so", RTLD_NOW) ? 7 : 9);
	return while_held();
}
