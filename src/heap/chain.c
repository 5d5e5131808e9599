/* chain.c - a set of free blocks that has grown long, or is asked for what is seldom asked. */
#include "heap/chain.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/grow.h"

/* A chain becomes a tree of one leaf with room for one more. */
_Static_assert(FRAG_CHAIN_MAX < FRAG_FANOUT, "it must not take more than one node");

bool frag_links_init(struct frag_links *links)
{
	*links = (struct frag_links){ .capacity = 0 };
	return frag_nodes_init(&links->nodes);
}

void frag_links_fini(struct frag_links *links)
{
	free(links->link);
	frag_nodes_fini(&links->nodes);
}

bool frag_links_copy(struct frag_links *links)
{
	bool good = frag_array_copy(&links->nodes.nodes, links->nodes.used, FRAG_SPARE_NODES,
				    sizeof(*links->nodes.nodes));

	links->nodes.capacity = links->nodes.used + FRAG_SPARE_NODES;
	return good & frag_array_copy(&links->link, links->capacity, 0, sizeof(*links->link));
}

bool frag_links_widen(struct frag_links *links, uint64_t blocks)
{
	return frag_grow(&links->link, &links->capacity, blocks, sizeof(*links->link));
}

static void plant(struct frag_links *links, struct frag_chain *c)
{
	frag_root root = 0;

	for (uint32_t at = c->first; at != FRAG_CHAIN_END; at = links->link[at].more)
		frag_tree_insert(&links->nodes, &root, FRAG_BY_SIZE, &links->link[at].entry);
	*c = (struct frag_chain){ .first = root, .count = FRAG_CHAIN_TREE };
}

void frag_chain_insert_long(struct frag_links *links, struct frag_chain *c,
			    const struct frag_entry *e)
{
	if (c->count != FRAG_CHAIN_TREE)
		plant(links, c);
	frag_tree_insert(&links->nodes, &c->first, FRAG_BY_SIZE, e);
}

void frag_chain_remove_long(struct frag_links *links, struct frag_chain *c,
			    const struct frag_entry *e)
{
	FRAG_ASSERT(c->count == FRAG_CHAIN_TREE && c->first);
	frag_tree_remove(&links->nodes, &c->first, FRAG_BY_SIZE, e);
	if (!c->first)
		c->count = 0;
}

const struct frag_entry *frag_chain_before(const struct frag_links *links,
					   const struct frag_chain *c,
					   const struct frag_entry *key)
{
	const struct frag_entry *before = NULL;

	if (c->count == FRAG_CHAIN_TREE)
		return frag_tree_before(&links->nodes, c->first, FRAG_BY_SIZE, key);
	for (uint32_t i = 0, at = c->first; i < c->count; i++, at = links->link[at].more) {
		if (!frag_before(&links->link[at].entry, key, FRAG_BY_SIZE))
			break;
		before = &links->link[at].entry;
	}
	return before;
}
