/*
 * error.h - what can go wrong, and how it is reported.
 *
 * A function that can fail returns 0 or a negative code (-FRAG_E...). The one
 * who knows most writes the message, once, with frag_fail(); callers pass code
 * and message up untouched, and only src/cmd prints it.
 */
#pragma once

#include <stdarg.h>
#include <stdint.h>

/* X(name, exit status of the command line, meaning) */
#define FRAG_ERRORS(X)                                                        \
	X(USAGE, 2, "wrong usage")                                            \
	X(TRACE, 4, "bad trace")                                              \
	X(POLICY, 4, "a policy asked for the impossible")                     \
	X(DEVICE, 5, "no usable device, or it failed")                        \
	X(DEVMEM, 3, "the device refused memory: a result, not a failure")    \
	X(OUTPUT, 6, "output could not be written")                           \
	X(PIPE, 6, "the reader of the output has closed it")                       \
	X(NOMEM, 6, "out of host memory")                                     \
	X(CHECK, 1, "--check found a difference")                             \
	X(INTERRUPTED, 130, "interrupted")

enum frag_error_code {
	FRAG_EOK,
#define X(name, status, text) FRAG_E##name,
	FRAG_ERRORS(X)
#undef X
};

struct frag_error {
	int  code;              /* 0, or -FRAG_E... */
	char message[1024];     /* one line, no line end, no secrets of memory */
};

/* Notes the failure (err may be NULL), its text as it may be printed, and returns -code. */
int frag_fail(struct frag_error *err, enum frag_error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int frag_vfail(struct frag_error *err, enum frag_error_code code, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* The same for a lack of host memory. */
int frag_fail_nomem(struct frag_error *err);

/* The exit status that a command ends with for a code (-FRAG_E... or 0). */
int frag_error_status(int code);

/* Borrowed bytes, not ended by a NUL; text == NULL means absent. UTF-8. */
struct frag_text {
	const char *text;
	uint32_t length;
};

/* A sink for warnings: one call a line. Every library call that may warn is given one. */
struct frag_log {
	void (*warn)(void *ctx, const char *message); /* no line end in it; NULL: warnings are
						       * dropped */
	void *ctx;
};
