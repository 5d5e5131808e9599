/*
 * hostile.c - a program that does what the recorder inside of it must survive; linked to the stand-in.
 *
 *   hostile DEED [FILE]
 *
 * It requests blocks of 1000, 1001, ... bytes before the deed and after it. FILE is its own, and
 * must hold "mine\n" in the end. What it does not expect ends it with status 9.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEED(x) do { if (!(x)) _exit(9); } while (0)
#define TIB (UINT64_C(1) << 40)

int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuInit(unsigned flags);

static size_t size = 1000;

static void request(int count)
{
	uint64_t at;

	while (count--)
		NEED(cuMemAlloc_v2(&at, size++) == 0);
}

/* Time for the recorder's thread to write. */
static void pause_here(void)
{
	usleep(250000);
}

/* Opens a file under each of these numbers, which the recorder had, and writes into one. */
static void write_own(const char *path, const int *numbers, int count)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	NEED(fd >= 0);
	for (int i = 0; i < count; i++)
		NEED(numbers[i] == fd || dup2(fd, numbers[i]) >= 0);
	request(3);
	pause_here();
	NEED(write(fd, "mine\n", 5) == 5);
	request(3);
	pause_here();
}

static int descriptors(int numbers[64])
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	NEED(d);
	while ((e = readdir(d)) && n < 64)
		if (atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d))
			numbers[n++] = atoi(e->d_name);
	closedir(d);
	return n;
}

static void close_one_by_one(const char *path)
{
	int numbers[64], count;

	pause_here();
	count = descriptors(numbers);
	for (int fd = 3; fd < 70000; fd++)
		close(fd);
	write_own(path, numbers, count);
}

static void *begin_here(void *none)
{
	uint64_t at;

	NEED(cuMemAlloc_v2(&at, 5000) == 0);
	return none;
}

/* A thread makes the program's first call while this one forks; the child makes a call, too. */
static void fork_while_beginning(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	NEED(pthread_create(&thread, NULL, begin_here, NULL) == 0);
	for (volatile int i = rand() % 20000; i > 0; i--)
		continue;
	child = fork();
	if (child == 0) {
		alarm(20);
		begin_here(NULL);
		exit(0);
	}
	NEED(waitpid(child, &status, 0) == child && status == 0);
	pthread_join(thread, NULL);
}

static void limit_files(rlim_t bytes)
{
	const struct rlimit limit = { .rlim_cur = bytes, .rlim_max = bytes };

	NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Standard error is a pipe that nobody reads. */
static void break_stderr(void)
{
	int ends[2];

	NEED(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
	close(ends[0]);
	close(ends[1]);
}

static void many(void)
{
	for (int i = 0; i < 40; i++) {
		request(200);
		usleep(10000);
	}
	pause_here();
}

int main(int argc, char **argv)
{
	const char *deed = argv[1], *path = argc > 2 ? argv[2] : NULL;
	uint64_t at;

	NEED(argc > 1);
	srand((unsigned)getpid());
	if (strcmp(deed, "fork") == 0) {
		fork_while_beginning();
		return 0;
	}
	if (strcmp(deed, "nothing") == 0)
		return 5;
	request(3);
	if (strcmp(deed, "closefrom") == 0) {
		pause_here();
		closefrom(3);
		write_own(path, NULL, 0);
	} else if (strcmp(deed, "close_range") == 0) {
		pause_here();
		NEED(syscall(SYS_close_range, 3, ~0u, 0) == 0);
		write_own(path, NULL, 0);
	} else if (strcmp(deed, "close") == 0) {
		close_one_by_one(path);
	} else if (strcmp(deed, "limit") == 0) {
		limit_files(30000);
		many();
	} else if (strcmp(deed, "many") == 0) {
		many();
	} else if (strcmp(deed, "deaf") == 0) {
		limit_files(30000);
		break_stderr();
		many();
	} else if (strcmp(deed, "daemon") == 0) {
		/* standard error becomes a file of the program's own */
		close(2);
		NEED(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) == 2 && write(2, "mine\n", 5) == 5);
		limit_files(30000);
		many();
	} else if (strcmp(deed, "abort") == 0) {
		abort();
	} else if (strcmp(deed, "failed") == 0) {
		NEED(cuMemAlloc_v2(&at, 2 * TIB) == 2);
		raise(SIGKILL);
	} else if (strcmp(deed, "wait") == 0) {
		pause_here();
		NEED(getchar() != EOF);
		request(3);
	}
	return 0;
}
