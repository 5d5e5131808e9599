/* huge_alloc.c - memory for megabytes, with few page faults. */
#include "base/huge_alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *frag_huge_alloc(size_t *size)
{
	void *memory;

	if (*size < FRAG_LARGE || *size > SIZE_MAX - HUGE_PAGE)
		return malloc(*size);
	*size = (*size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	if (posix_memalign(&memory, HUGE_PAGE, *size) != 0)
		return NULL;
#ifdef MADV_HUGEPAGE
	madvise(memory, *size, MADV_HUGEPAGE);  /* an advice: small pages do as well */
#endif
	return memory;
}
