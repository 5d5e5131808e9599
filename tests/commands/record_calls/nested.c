/* nested.c - another library that is preloaded: it counts requests, and says so at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int count;

int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	int (*next)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(RTLD_NEXT, __func__);

	count++;
	return next ? next(at, bytes) : 3;
}

__attribute__((destructor)) static void say(void)
{
	FILE *f = getenv("NESTED") ? fopen(getenv("NESTED"), "w") : NULL;

	if (f) {
		fprintf(f, "%d\n", count);
		fclose(f);
	}
}
