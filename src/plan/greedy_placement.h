/*
 * greedy_placement.h - items put into a space one after the other, each where those that are
 * there leave room: greedy placement in an order.
 *
 * What of it lives while an item does is found by time: the items that live at its first time
 * are in the nodes of a tree of stretches above that time, and those that begin later are noted
 * with the time of their beginning.
 */
#ifndef PLAN_GREEDY_PLACEMENT_H
#define PLAN_GREEDY_PLACEMENT_H

#include "plan/address_space.h"

struct frag_shelf_range {
	uint64_t from, to;              /* bytes */
};

struct frag_greedy {
	struct frag_space *space;       /* borrowed: offsets are written there */
	uint32_t leaves;                /* a power of two, at least as many as times */
	uint32_t *first, *filled;       /* by node: its ranges begin there, and are so many */
	struct frag_shelf_range *ranges;
	uint32_t *begins, *next; /* by time, by item: those that begin there; UINT32_MAX: none */
	uint64_t *marked;               /* a bit for each time where one begins */
	struct frag_shelf_range *met;   /* by the item that is placed: what it lives beside */
	uint32_t met_count, met_capacity;
	const struct frag_plan_stop *stop;
	uint64_t looks; /* at ranges, since the beginning: what is counted as work */
	bool stopped, nomem;
};

/* -FRAG_ENOMEM; fini is due either way. */
int frag_shelf_init(struct frag_greedy *shelf, struct frag_space *space,
		    const struct frag_plan_stop *stop, struct frag_error *err);
void frag_shelf_fini(struct frag_greedy *shelf);

/* How far a placement goes. */
struct frag_shelf_limits {
	uint32_t fixed;                 /* the first so many of the order have their offsets */
	bool best; /* the smallest gap, the lowest of equals; else the lowest */
	uint64_t height;                /* given up where it would become as high */
	uint64_t looks;                 /* likewise, where it takes more */
};

/* All items in this order: the height, or UINT64_MAX where it was given up. */
uint64_t frag_shelf_place(struct frag_greedy *shelf, const uint32_t *order,
			  const struct frag_shelf_limits *limits);

#endif
