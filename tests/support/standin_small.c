/*
 * standin_small.c - small requests that share pages, as a driver may lay them out.
 *
 * A page is filled from its start to its end, what is freed in it is not used
 * again, and the page goes when the last one in it does: so it can take more than
 * the closest packing, which is what a simulation assumes.
 */
#include "support/standin.h"

#include <stddef.h>
#include <sys/mman.h>

#include "support/standin_state.h"

static struct piece *page_with_room(uint64_t bytes)
{
	struct piece *page;
	void *at;

	for (uint64_t i = 1; i < standin_piece_count; i++) {
		page = &standin_pieces[i];
		if (page->kind == SHARED && page->gpu == standin_current
		    && page->used + bytes <= page->bytes)
			return page;
	}
	if (!standin_take(standin.granularity))
		return NULL;
	at = mmap(NULL, standin.granularity, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	page = standin_new(SHARED);
	page->held = standin.granularity;
	page->bytes = standin.granularity;
	page->at = (uint64_t)(uintptr_t)at;
	return page;
}

struct piece *standin_new_small(uint64_t bytes)
{
	struct piece *page = page_with_room(bytes), *p;
	uint64_t index = (uint64_t)(page - standin_pieces);

	if (!page)
		return NULL;
	p = standin_new(SMALL);
	/* the table may have moved */
	page = &standin_pieces[index];
	p->at = page->at + page->used;
	p->bytes = bytes;
	p->handle = index;
	page->used += bytes;
	page->live++;
	return p;
}

void standin_drop_small(struct piece *p)
{
	struct piece *page = &standin_pieces[p->handle];

	standin_drop(p);
	if (--page->live)
		return;
	standin_unmap(page);
	standin_drop(page);
}
