/*
 * driver.c - asks a real TLSF what a list of lines says, and prints where blocks are.
 *
 *     pool N BYTES     adds a pool, number N
 *     drop N           removes it: it must be unused
 *     alloc ID BYTES   prints "ID N OFFSET", where its block begins in which pool, or "ID none"
 *     free ID
 *
 * IDs and numbers are below COUNT, and pools together below ROOM: their memory is set aside, and
 * touched by the headers that the allocator keeps in its blocks.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lvgl.h"

#define COUNT 100000
#define ROOM ((size_t)64 << 30)
#define HEADER sizeof(size_t)   /* of a block, before what the program gets */

static struct { char *mem; size_t bytes; lv_pool_t pool; } pools[COUNT];
static void *blocks[COUNT];

static void answer(unsigned id)
{
	char *at = (char *)blocks[id] - 2 * HEADER;     /* its record, which begins in the one before */

	for (unsigned i = 0; blocks[id] && i < COUNT; i++)
		if (pools[i].mem && at >= pools[i].mem - HEADER
		    && at < pools[i].mem + pools[i].bytes) {
			printf("%u %u %td\n", id, i, at - (pools[i].mem - HEADER));
			return;
		}
	printf("%u none\n", id);
}

int main(void)
{
	char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	lv_tlsf_t tlsf = lv_tlsf_create(malloc(lv_tlsf_size()));
	char *end = room;
	char verb[8];
	unsigned n;
	size_t bytes;

	while (tlsf && room != MAP_FAILED && scanf("%7s %u", verb, &n) == 2 && n < COUNT) {
		if (*verb == 'p' && scanf("%zu", &bytes) == 1) {
			pools[n].mem = end;
			pools[n].bytes = bytes;
			pools[n].pool = lv_tlsf_add_pool(tlsf, end, bytes);
			end += bytes + 4096;
		} else if (*verb == 'd') {
			lv_tlsf_remove_pool(tlsf, pools[n].pool);
			pools[n].mem = NULL;
		} else if (*verb == 'a' && scanf("%zu", &bytes) == 1) {
			blocks[n] = lv_tlsf_malloc(tlsf, bytes);
			answer(n);
		} else {
			lv_tlsf_free(tlsf, blocks[n]);
		}
	}
	return 0;
}
