/*
 * raw.h - what the recorder has instead of the C library: calls of the kernel, memory, text.
 *
 * A thread of the program may stop for ever with any lock of the C library: of malloc, of the
 * dynamic linker, of a stream. And the thread that writes is unknown to the C library, so it has no
 * errno. So neither allocates from the C library, or calls what may take a lock.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A call of the kernel: its result, or -errno. errno stays. */
static inline long frag_raw6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
	const long result = syscall(number, a, b, c, d, e, f);

	return result < 0 ? -errno : result;
#endif
}

#define FRAG_RAW_6(n, a, b, c, d, e, f, ...)                                    \
	frag_raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define frag_raw(...) FRAG_RAW_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* Zeroed memory; NULL: there is none. */
void *frag_raw_pages(size_t bytes);

/* The same from `before` to `bytes`, perhaps at another place; NULL: there is none, `at` stays. */
void *frag_raw_grow(void *at, size_t before, size_t bytes);

void frag_raw_drop(void *at, size_t bytes);

/* CLOCK_MONOTONIC, nanoseconds. */
uint64_t frag_raw_now(void);

void frag_raw_sleep(uint64_t ns);

/* Blocks all signals of this thread, also those of the C library; returns the mask before. */
uint64_t frag_raw_block_signals(void);

void frag_raw_set_signals(uint64_t mask);

/* Text of a fixed size: what does not fit is cut. */
struct frag_raw_text {
	char *at;
	size_t used, room;
};

void frag_raw_put(struct frag_raw_text *t, const char *s);
void frag_raw_put_number(struct frag_raw_text *t, uint64_t n);
void frag_raw_put_hex(struct frag_raw_text *t, uint64_t n);

/* The text as a string: cut, and ended. */
const char *frag_raw_string(struct frag_raw_text *t);
