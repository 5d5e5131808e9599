/*
 * address_ranges.h - address ranges that do not overlap, in order: the segments of a device as a
 * log creates and removes them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAG_NO_SPAN UINT32_MAX

struct frag_span {
	uint64_t start, end;    /* end is after the last byte */
	uint32_t what;          /* the owner's own */
	uint32_t live;          /* likewise */
	uint32_t lower, upper;  /* subtrees; lower also chains unused records */
};

/* A treap: a tree by address that is a heap by a hash of the record's number. */
struct frag_spans {
	struct frag_span *spans;
	uint32_t count, capacity, unused, root;
	uint32_t last;          /* found by the last frag_spans_at() */
	uint64_t seed;
};

void frag_spans_init(struct frag_spans *s, uint64_t seed);
void frag_spans_fini(struct frag_spans *s);

/* A span that overlaps none that is there. FRAG_NO_SPAN where the host is out of memory. */
uint32_t frag_spans_add(struct frag_spans *s, uint64_t start, uint64_t end, uint32_t what);
/* The first that ends after addr: it holds addr, or is above it. */
uint32_t frag_spans_from(const struct frag_spans *s, uint64_t addr);
/* The one that holds addr, or FRAG_NO_SPAN. */
uint32_t frag_spans_at(struct frag_spans *s, uint64_t addr);
void frag_spans_remove(struct frag_spans *s, uint32_t span);

/*
 * Takes [start, end) away from all spans; what is left of them stays. *taken,
 * bytes that were there. False where the host is out of memory.
 */
bool frag_spans_cut(struct frag_spans *s, uint64_t start, uint64_t end, uint64_t *taken);
