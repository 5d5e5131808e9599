/*
 * platform.h - The calls that differ between Linux, macOS and WebAssembly (wasm32-wasi, in a browser).
 *
 * No other file of src/ but the recorder asks which system it is compiled for. WebAssembly has one
 * thread, no processes, no signals and no terminal: there a call that creates something fails with
 * ENOSYS, and the others do nothing. pthread_create() fails there too, so work runs in the caller.
 */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Memory ---------------------------------------------------------------------- */

/* Bytes of a huge page; 0: there are none, and realloc() may grow any memory. */
#ifdef __wasi__
#define FRAG_HUGE_PAGE ((size_t)0)
#else
#define FRAG_HUGE_PAGE ((size_t)2 << 20)
#endif

/* Asks for huge pages at memory that is aligned to them. It is an advice: small pages do as well. */
void frag_memory_advise_huge(void *memory, size_t size);

/* Releases whole pages whose contents no one needs; they stay allocated. */
void frag_memory_forget(void *memory, size_t size);

/* From here on freed memory stays in the process, for what is allocated next. */
void frag_memory_keep_freed(void);

/*
 * From here on each allocation of `size` bytes and more returns to the system when it is freed.
 * glibc otherwise raises the bound whenever large memory is freed.
 */
void frag_memory_return_freed(size_t size);

/* Files ----------------------------------------------------------------------- */

/* As mkstemp(): replaces the XXXXXX at the end of `name` and creates the file. -1: errno */
int frag_temporary_create(char *name);

/* A second descriptor of an open file, closed on exec. -1: errno */
int frag_descriptor_copy(int fd);

/* A stream that writes to fd; fclose() leaves fd open. NULL: errno */
FILE *frag_descriptor_stream(int fd);

/*
 * Copies the owner and the permissions of a replaced file as far as the system permits. As
 * after a write to that file, the set-user-ID and set-group-ID bits are cleared. Where the
 * group cannot be copied, the group of the new file has the permissions of all others.
 */
void frag_file_look_like(int fd, const struct stat *old);

/* Gives a new file the permissions that open() would give it. */
void frag_file_look_new(int fd);

/* False: another process has locked the file. A file system without locks grants all. */
bool frag_file_lock(int fd);

/* A file without a name, for reading and writing, which a program that is started inherits. -1: errno */
int frag_nameless_file(void);

/* As pipe(), closed on exec. -1: errno */
int frag_pipe_open(int ends[2]);

/* What the write of a stream counts in: macOS differs. */
#ifdef __APPLE__
typedef int frag_stream_bytes;
typedef int frag_stream_size;
#else
typedef ssize_t frag_stream_bytes;
typedef size_t frag_stream_size;
#endif

/*
 * A stream that calls write(ctx), which returns how many bytes it took, and 0 where it failed.
 * fclose() ends it. NULL: errno
 */
FILE *frag_stream_open(void *ctx, frag_stream_bytes (*write)(void *ctx, const char *bytes,
							     frag_stream_size n));

/* Programs -------------------------------------------------------------------- */

/* Can this system start another program? What to say where it cannot. */
extern const bool frag_has_programs;
#define FRAG_NO_PROGRAMS \
	"WebAssembly starts no programs: record where the program runs, and analyse the file here"

/* Stores the path of this program. False: unknown, as on Linux without /proc. */
bool frag_executable_path(char path[PATH_MAX]);

/* As execvp(): returns only where the program cannot be run, with errno. */
void frag_program_exec(char *const argv[]);

/* From here on standard output and standard error lead nowhere; false: they do not. */
bool frag_output_discard(void);

/*
 * Calls run(ctx) in a copy of this process and waits for it. *status is what it returned or the
 * program that it became exited with, and -1 where a signal ended it. Returns 0 or errno.
 */
int frag_child_run(int (*run)(void *ctx), void *ctx, int *status);

/* A copy of this process that answers questions; pid 0: there is none. */
struct frag_child {
	int pid;
	int socket;     /* our end; whole messages */
};

/* Starts a copy that calls serve() with its end, and exits after it. */
struct frag_child frag_child_begin(void (*serve)(int socket));

/* Closes our end and waits until the copy has exited. */
void frag_child_end(const struct frag_child *child);

/* Machine --------------------------------------------------------------------- */

/*
 * How many processors there are for this process: at least 1; fewer than the machine has where the
 * process may not use them all (taskset).
 */
uint32_t frag_processors(void);

/* Columns of the terminal at fd; 0: it is no terminal, -1: it does not say. */
int frag_terminal_width(int fd);

/* The clock of timed waits, set in the attributes: one that is never set back, where there is one. */
clockid_t frag_wait_clock(pthread_condattr_t *attributes);

/* Signals --------------------------------------------------------------------- */

/* Calls `handler` for SIGHUP, SIGINT, SIGTERM and SIGQUIT, those that the caller ignores excepted. */
void frag_signals_catch(void (*handler)(int number));

/* Ignores SIGPIPE and SIGXFSZ, which then show as errors of the write; restores both. */
void frag_write_signals_ignore(void);
void frag_write_signals_restore(void);

/*
 * From the first call on, `crashed` is called in the signal handler of a crash, with the name of
 * the signal. After it the previous handler, for example a sanitizer's, gets the signal again.
 * Each thread that calls it gets a stack for that handler.
 */
void frag_crashes_catch(void (*crashed)(const char *signal));
