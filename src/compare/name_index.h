/* name_index.h - which of many things has a name, found by halving a sorted list. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Equal names are those that are equal in all except the index. */
struct frag_name {
	uint32_t device;
	const char *text, *more;        /* borrowed; never NULL */
	uint32_t index;                 /* of the thing */
};

struct frag_lookup {
	struct frag_name *name;
	uint32_t count;
};

/* Allocates `max` names; the caller adds them at name[count++], in any order. False on failure. */
bool frag_lookup_init(struct frag_lookup *l, uint32_t max);
void frag_lookup_fini(struct frag_lookup *l);

/* After the last name, before the first question. */
void frag_lookup_sort(struct frag_lookup *l);

/*
 * The smallest index with this name; name's own index does not matter. UINT32_MAX: not found.
 * *alone, optional: exactly one index has the name.
 */
uint32_t frag_lookup_find(const struct frag_lookup *l, const struct frag_name *name, bool *alone);

/* How many things of this name have an index below the name's own. */
uint32_t frag_lookup_rank(const struct frag_lookup *l, const struct frag_name *name);

/* The index of the one of that rank, or of the last; UINT32_MAX: none has this name. */
uint32_t frag_lookup_ranked(const struct frag_lookup *l, const struct frag_name *name,
			    uint32_t rank);
