/* obtain_segment.c - how several policies obtain memory. */
#include "policy/policies.h"

int frag_policy_begin_with(struct frag_policy *p, uint64_t bytes)
{
	frag_block b;
	frag_list list;
	int rc;

	if (!bytes)
		return 0;
	rc = frag_heap_list(p->heap, 0, 0, &list);
	rc = rc ? rc : frag_heap_grow(p->heap, list, bytes, &b);
	return rc ? rc : frag_heap_keep(p->heap, b);
}

int frag_policy_obtain(struct frag_policy *p, frag_list list, uint64_t bytes, bool again,
		       frag_block *out)
{
	int rc = frag_heap_grow(p->heap, list, bytes, out);

	if (rc != -FRAG_EDEVMEM || !again)
		return rc;
	frag_heap_count_retry(p->heap);
	rc = frag_heap_release_idle(p->heap);
	return rc ? rc : frag_heap_grow(p->heap, list, bytes, out);
}
