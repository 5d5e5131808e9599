/* processors.c - how many processors there are for this process. */
#include "base/processors.h"

#include <sys/syscall.h>
#include <unistd.h>

#define WORDS 128       /* of bits: 8192 processors */

/* Asked of the kernel itself: the C library has the call among its extensions only. */
uint32_t frag_processors(void)
{
	unsigned long usable[WORDS] = { 0 };
	uint32_t count = 0;
	long n;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(usable), usable) > 0)
		for (uint32_t i = 0; i < WORDS; i++)
			count += (uint32_t)__builtin_popcountl(usable[i]);
	if (count)
		return count;
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (uint32_t)n : 1;
}
