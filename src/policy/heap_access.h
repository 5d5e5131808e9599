/*
 * heap_access.h - inline queries and verbs of the heap, for the policies of this program.
 *
 * The functions and their results are those of fragsim/heap.h. A plug-in has no access to the
 * heap's records: a plug-in that is built from these sources defines FRAG_AS_PLUGIN, and calls
 * the functions of fragsim/heap.h.
 */
#pragma once

#include "fragsim/policy.h"
#include "heap/tie_break.h"

#ifdef FRAG_AS_PLUGIN
/* it knows one order */
#define frag_set_ties(h, how) ((how) == FRAG_TIES_AGE)
#define frag_renew_block(h, b) ((void)(h), (void)(b))
#define frag_order_ready(h, all) ((void)(h), (void)(all))
#define frag_heap_look_unchecked frag_heap_look
#define frag_heap_look_segment_unchecked frag_heap_look_segment
#define frag_heap_look_list_unchecked frag_heap_look_list
#define frag_heap_page_unchecked frag_heap_page
#define frag_heap_list_unchecked frag_heap_list
#define frag_heap_find_unchecked frag_heap_find
#define frag_heap_find_ready_unchecked frag_heap_find_ready
#define frag_heap_set_user_unchecked frag_heap_set_user
#define frag_heap_take_unchecked frag_heap_take
#define frag_heap_give_unchecked frag_heap_give
#define frag_heap_detach_free_unchecked frag_heap_detach_free
#define frag_heap_detach_live_unchecked frag_heap_detach_live
#define frag_heap_split_unchecked frag_heap_split
#define frag_heap_merge_unchecked frag_heap_merge
#define frag_heap_insert_unchecked frag_heap_insert
#define frag_heap_assign_unchecked frag_heap_assign
#else
#include "heap/block_inline.h"
#define frag_set_ties(h, how) (frag_heap_set_ties(h, how), true)
#define frag_renew_block frag_heap_renew
#define frag_order_ready frag_heap_order_ready
#endif

/* The hook free of a policy that merges a freed block with adjacent free ones at once. */
static inline int frag_policy_give(struct frag_policy *p, frag_block b)
{
	return frag_heap_give_unchecked(p->heap, b, NULL);
}

/* Splits the part of the hole below the offset off as a free block. */
static inline int frag_cut_below(struct frag_heap *heap, frag_block *hole, uint64_t offset)
{
	const frag_block below = *hole;
	const uint64_t keep = offset - frag_heap_look_unchecked(heap, below).offset;
	int rc;

	if (!keep)
		return 0;
	rc = frag_heap_detach_free(heap, below);
	rc = rc ? rc : frag_heap_split(heap, below, keep);
	*hole = frag_heap_look_unchecked(heap, below).next;
	return rc ? rc : frag_heap_insert(heap, below);
}
