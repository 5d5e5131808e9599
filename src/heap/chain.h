/*
 * chain.h - a set of free blocks in the order of size, then address, that is mostly small.
 *
 * While it is small it is a chain: each of its blocks has a link with its entry and its
 * neighbours, so that one is taken out without a search, and one is put in after a look at a few.
 * A chain that would grow long becomes a tree, and is one until it is empty: so whatever the
 * sizes are, nothing takes more than a logarithm.
 */
#ifndef HEAP_CHAIN_H
#define HEAP_CHAIN_H

#include "heap/tree.h"

#define FRAG_CHAIN_MAX 8        /* blocks: so many one walk may pass */
#define FRAG_CHAIN_END UINT32_MAX

struct frag_link {
	struct frag_entry entry;
	uint32_t less, more;    /* blocks: the neighbours; less of the first is the last */
};

/* What sets share: links, by number of block, and the nodes of trees. */
struct frag_links {
	struct frag_nodes nodes;
	struct frag_link *link;
	uint32_t capacity;
};

/* All zeros is an empty one. */
struct frag_chain {
	uint32_t first;         /* block; or the root of the tree */
	uint32_t count;         /* FRAG_CHAIN_TREE: it is a tree */
};
#define FRAG_CHAIN_TREE UINT32_MAX

bool frag_links_init(struct frag_links *links);
void frag_links_fini(struct frag_links *links);
/* *links is a borrowed copy of another one's struct, and becomes one of its own. */
bool frag_links_copy(struct frag_links *links);

/* Makes room for links of all blocks below `blocks`. False: memory is short. */
bool frag_links_widen(struct frag_links *links, uint64_t blocks);

/* Where the chain is as long as it may be, or a tree. */
void frag_chain_insert_long(struct frag_links *links, struct frag_chain *c,
			    const struct frag_entry *e);
void frag_chain_remove_long(struct frag_links *links, struct frag_chain *c,
			    const struct frag_entry *e);

/* The blocks of the next two insertions have links, and nodes are reserved: nothing can fail. */
static inline void frag_chain_insert(struct frag_links *links, struct frag_chain *c,
				     const struct frag_entry *e)
{
	struct frag_link *const link = links->link, *const me = &link[e->block];
	uint32_t last, at;

	if (c->count >= FRAG_CHAIN_MAX) {
		frag_chain_insert_long(links, c, e);
		return;
	}
	me->entry = *e;
	me->more = FRAG_CHAIN_END;
	if (c->count++ == 0) {
		c->first = me->less = e->block;
		return;
	}
	last = link[c->first].less;
	if (frag_before(&link[last].entry, e, FRAG_BY_SIZE)) {
		me->less = last;
		link[last].more = link[c->first].less = e->block;
		return;
	}
	for (at = c->first; frag_before(&link[at].entry, e, FRAG_BY_SIZE); at = link[at].more)
		;
	me->more = at;
	me->less = link[at].less;
	link[at].less = e->block;
	if (at == c->first)
		c->first = e->block;
	else
		link[me->less].more = e->block;
}

/* The entry must be there. */
static inline void frag_chain_remove(struct frag_links *links, struct frag_chain *c,
				     const struct frag_entry *e)
{
	struct frag_link *const link = links->link, *const me = &link[e->block];

	if (c->count == FRAG_CHAIN_TREE) {
		frag_chain_remove_long(links, c, e);
		return;
	}
	c->count--;
	if (c->first == e->block)
		c->first = me->more;
	else
		link[me->less].more = me->more;
	if (me->more != FRAG_CHAIN_END)
		link[me->more].less = me->less;
	else if (c->count)
		link[c->first].less = me->less;
}

/* The first entry at or after the key; NULL if none. */
static inline const struct frag_entry *frag_chain_lower_bound(const struct frag_links *links,
							      const struct frag_chain *c,
							      const struct frag_entry *key)
{
	const struct frag_link *const link = links->link;
	uint32_t at;

	if (c->count == FRAG_CHAIN_TREE)
		return frag_tree_lower_bound(&links->nodes, c->first, FRAG_BY_SIZE, key);
	at = c->count ? c->first : FRAG_CHAIN_END;
	while (at != FRAG_CHAIN_END && frag_before(&link[at].entry, key, FRAG_BY_SIZE))
		at = link[at].more;
	return at == FRAG_CHAIN_END ? NULL : &link[at].entry;
}

/* The first entry of all; there must be one. */
static inline const struct frag_entry *frag_chain_first(const struct frag_links *links,
							const struct frag_chain *c)
{
	return c->count == FRAG_CHAIN_TREE ? frag_tree_first(&links->nodes, c->first)
					   : &links->link[c->first].entry;
}

/* Likewise the last. */
static inline const struct frag_entry *frag_chain_last(const struct frag_links *links,
						       const struct frag_chain *c)
{
	return c->count == FRAG_CHAIN_TREE ? frag_tree_last(&links->nodes, c->first)
					   : &links->link[links->link[c->first].less].entry;
}

/* The last entry before the key; NULL if none. */
const struct frag_entry *frag_chain_before(const struct frag_links *links,
					   const struct frag_chain *c,
					   const struct frag_entry *key);

#endif
