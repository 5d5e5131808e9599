/* call_stacks.c - the stacks of requests, each once, known by a number. */
#include "recorder/call_stacks.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/driver_lookup.h"
#include "recorder/int_map.h"

#define FRAMES 32
#define INSIDE 4                /* frames of the recorder, at most */

struct stack {
	uint64_t next;          /* of the same hash; 0: none */
	uint32_t count;
	void *frames[FRAMES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct frag_int_map by_hash;
static struct stack *stacks;            /* number 1 is the first */
static uint64_t count, room;

static uint64_t call_stacks_hash(void *const *frames, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

static uint64_t call_stacks_append(uint64_t key, uint64_t first, void *const *frames, uint32_t n)
{
	if (count == room) {
		const uint64_t larger = room ? 2 * room : 64;
		struct stack *s = realloc(stacks, larger * sizeof(*s));

		if (!s)
			return 0;
		stacks = s;
		room = larger;
	}
	stacks[count] = (struct stack){ .next = first, .count = n };
	memcpy(stacks[count].frames, frames, n * sizeof(frames[0]));
	count++;
	return frag_numbers_put(&by_hash, key, count) ? count : 0;
}

static uint64_t number_of(void *const *frames, uint32_t n)
{
	const uint64_t key = call_stacks_hash(frames, n), first = frag_numbers_get(&by_hash, key);

	for (uint64_t i = first; i; i = stacks[i - 1].next)
		if (stacks[i - 1].count == n
		    && memcmp(stacks[i - 1].frames, frames, n * sizeof(frames[0])) == 0)
			return i;
	return call_stacks_append(key, first, frames, n);
}

uint64_t frag_stack_here(uint64_t caller)
{
	void *frames[FRAMES + INSIDE];
	const int n = backtrace(frames, FRAMES + INSIDE);
	int first = 0;
	uint64_t found;

	while (first < n && (uint64_t)(uintptr_t)frames[first] != caller)
		first++;
	if (first == n || first > INSIDE) {
		frames[0] = (void *)(uintptr_t)caller;
		first = n - 1;
	}
	pthread_mutex_lock(&lock);
	found = number_of(frames + first, (uint32_t)(n - first < FRAMES ? n - first : FRAMES));
	pthread_mutex_unlock(&lock);
	return found;
}

void frag_stack_name(uint64_t number, char *buf, size_t size)
{
	struct stack stack = { .count = 0 };
	size_t used = 0;

	pthread_mutex_lock(&lock);
	if (number && number <= count)
		stack = stacks[number - 1];
	pthread_mutex_unlock(&lock);
	buf[0] = '\0';
	for (uint32_t i = 0; i < stack.count && used + 300 < size; i++) {
		if (i) {
			memcpy(buf + used, " < ", 3);
			used += 3;
		}
		/* a return address may be the first byte of the next function */
		frag_name_address((uint64_t)(uintptr_t)stack.frames[i] - 1, buf + used, 256);
		used += strlen(buf + used);
	}
}

void frag_stacks_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
