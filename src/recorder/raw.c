/* raw.c - calls of the kernel, memory and text without the C library's locks. */
#include "recorder/raw.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/*
 * A sanitizer's functions of these names take the caller for a thread that it knows. Declared by
 * string.h; the compiler, too, makes calls of them. The empty statements keep it from making such a
 * call of the loop itself.
 */
#define STEP __asm__ volatile("" ::: "memory")

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;

	for (; n >= 8; n -= 8, t += 8, f += 8) {
		__builtin_memcpy(t, f, 8);
		STEP;
	}
	for (; n; n--) {
		*t++ = *f++;
		STEP;
	}
	return to;
}

void *memset(void *at, int value, size_t n)
{
	char *t = at;

	for (; n; n--) {
		*t++ = (char)value;
		STEP;
	}
	return at;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n && *x == *y; n--, x++, y++)
		STEP;
	return n ? *x - *y : 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		STEP;
	return n;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		STEP;
	return (unsigned char)*a - (unsigned char)*b;
}

void *frag_raw_pages(size_t bytes)
{
	const long at = frag_raw(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

void *frag_raw_grow(void *at, size_t before, size_t bytes)
{
	long to;

	if (!at)
		return frag_raw_pages(bytes);
	to = frag_raw(SYS_mremap, at, before, bytes, MREMAP_MAYMOVE);
	return to < 0 && to > -4096 ? NULL : (void *)to;
}

void frag_raw_drop(void *at, size_t bytes)
{
	if (at)
		frag_raw(SYS_munmap, at, bytes);
}

uint64_t frag_raw_now(void)
{
	struct timespec now;

	frag_raw(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void frag_raw_sleep(uint64_t ns)
{
	const struct timespec moment = { .tv_nsec = (long)ns };

	frag_raw(SYS_nanosleep, &moment, NULL);
}

uint64_t frag_raw_block_signals(void)
{
	const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;

	frag_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	return before;
}

void frag_raw_set_signals(uint64_t mask)
{
	frag_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

static void put_bytes(struct frag_raw_text *t, const char *from, size_t n)
{
	const size_t room = t->room - t->used, part = n < room ? n : room;

	memcpy(t->at + t->used, from, part);
	t->used += part;
}

void frag_raw_put(struct frag_raw_text *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

static void put_in_base(struct frag_raw_text *t, uint64_t n, unsigned base)
{
	char digits[20];
	size_t i = sizeof(digits);

	do
		digits[--i] = "0123456789abcdef"[n % base];
	while (n /= base);
	put_bytes(t, digits + i, sizeof(digits) - i);
}

void frag_raw_put_number(struct frag_raw_text *t, uint64_t n)
{
	put_in_base(t, n, 10);
}

void frag_raw_put_hex(struct frag_raw_text *t, uint64_t n)
{
	frag_raw_put(t, "0x");
	put_in_base(t, n, 16);
}

const char *frag_raw_string(struct frag_raw_text *t)
{
	t->at[t->used < t->room ? t->used : t->room - 1] = '\0';
	return t->at;
}
