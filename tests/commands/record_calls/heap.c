/*
 * heap.c - with -DDRIVER a driver of one function; else a program linked to it, which prints how far
 * blocks of the C library are apart that it allocates after a request.
 *
 * A program that damages its heap ends as it does alone only where the recorder leaves no free
 * chunk there, such as the text of an error of dlsym.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuMemAlloc_v2(uint64_t *at, size_t bytes);

#ifdef DRIVER
int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	*at = bytes;
	return 0;
}
#else
int main(void)
{
	static char text[4096];
	int used = 0;
	uint64_t at;

	cuMemAlloc_v2(&at, 512);
	for (size_t bytes = 40; bytes < 1000; bytes += 16) {
		const uintptr_t before = (uintptr_t)malloc(1200), after = (uintptr_t)malloc(bytes);

		used += snprintf(text + used, sizeof(text) - (size_t)used, "%td ", (ptrdiff_t)(after - before));
	}
	puts(text);
	return 0;
}
#endif
