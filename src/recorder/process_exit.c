/*
 * process_exit.c - the ways a program ends: each writes the noted calls before.
 *
 * exit() runs the destructor. The C library's functions do not call each other by their names,
 * so each way is wrapped. A child of fork or vfork comes here, too: so the wrapped functions
 * are found beforehand, and the wrappers take no lock and allocate nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/driver_calls.h"
#include "recorder/recorder.h"

#define EXPORT __attribute__((visibility("default")))

typedef void end_function(int);
typedef int exec_function(const char *, char *const[], char *const[]);

static end_function *behind_exit, *behind_Exit, *behind_quick_exit;
static void (*behind_abort)(void);
static exec_function *behind_execve, *behind_execvpe;
static int (*behind_fexecve)(int, char *const[], char *const[]);

/* Another library's constructor may be earlier than this one. */
__attribute__((constructor)) static void process_exit_look_behind(void)
{
	if (behind_exit)
		return;
	behind_Exit = (end_function *)dlsym(RTLD_NEXT, "_Exit");
	behind_quick_exit = (end_function *)dlsym(RTLD_NEXT, "quick_exit");
	behind_abort = (void (*)(void))dlsym(RTLD_NEXT, "abort");
	behind_execve = (exec_function *)dlsym(RTLD_NEXT, "execve");
	behind_execvpe = (exec_function *)dlsym(RTLD_NEXT, "execvpe");
	behind_fexecve = (int (*)(int, char *const[], char *const[]))dlsym(RTLD_NEXT, "fexecve");
	behind_exit = (end_function *)dlsym(RTLD_NEXT, "_exit");
}

__attribute__((destructor)) static void process_exit_leave(void)
{
	frag_recorder_end();
}

static _Noreturn void process_exit_end(end_function *const *behind, int status)
{
	process_exit_look_behind();
	frag_recorder_end();
	if (*behind)
		(*behind)(status);
	__builtin_trap();
}

#define EXIT(name, symbol, behind)                                \
	EXPORT _Noreturn void name(int status) __asm__(symbol);   \
	EXPORT _Noreturn void name(int status)                    \
	{                                                         \
		process_exit_end(&behind, status);                \
	}
EXIT(exit_now, "_exit", behind_exit)
EXIT(exit_now_as_C, "_Exit", behind_Exit)
EXIT(exit_quickly, "quick_exit", behind_quick_exit)

/* A program in C++ ends so at an exception that it does not catch, as of memory. */
EXPORT _Noreturn void fail_now(void) __asm__("abort");
EXPORT _Noreturn void fail_now(void)
{
	process_exit_look_behind();
	frag_recorder_finish();
	if (behind_abort)
		behind_abort();
	__builtin_trap();
}

static int become(exec_function *const *behind, const char *path, char *const argv[],
		  char *const env[])
{
	process_exit_look_behind();
	frag_recorder_finish();
	if (*behind)
		return (*behind)(path, argv, env);
	errno = ENOSYS;
	return -1;
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	return become(&behind_execve, path, argv, env);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	return become(&behind_execvpe, file, argv, env);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return become(&behind_execve, path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return become(&behind_execvpe, file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	process_exit_look_behind();
	frag_recorder_finish();
	return behind_fexecve ? behind_fexecve(fd, argv, env) : -1;
}

/* Collects the arguments of execl and its like; the caller passes the first, and a NULL ends
 * them. */
static size_t count_words(va_list args)
{
	size_t n = 1;

	while (va_arg(args, char *))
		n++;
	return n;
}

static void copy_words(char **argv, const char *first, size_t n, va_list args)
{
	argv[0] = (char *)(size_t)first;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(args, char *);
}

/* On the stack of the caller, because a child of vfork would leave heap memory allocated in its
 * parent. */
#define TAKE_WORDS(argv, first, args)                                           \
	va_start(args, first);                                                  \
	n = count_words(args);                                                  \
	va_end(args);                                                           \
	argv = __builtin_alloca((n + 1) * sizeof(*argv));                       \
	va_start(args, first);                                                  \
	copy_words(argv, first, n, args)

#define EXECL(name, behind)                                        \
	EXPORT int name(const char *path, const char *first, ...)  \
	{                                                          \
		va_list args;                                      \
		char **argv;                                       \
		size_t n;                                          \
								   \
		TAKE_WORDS(argv, first, args);                     \
		va_end(args);                                      \
		return become(&behind, path, argv, environ);       \
	}
EXECL(execl, behind_execve)
EXECL(execlp, behind_execvpe)

EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *env;
	va_list args;
	char **argv;
	size_t n;

	TAKE_WORDS(argv, first, args);
	/* the function that received the va_list moved it: the remaining arguments are
	 * collected again */
	va_end(args);
	va_start(args, first);
	for (size_t i = 0; i < n; i++)
		(void)va_arg(args, char *);
	env = va_arg(args, char **);
	va_end(args);
	return become(&behind_execve, path, argv, env);
}
