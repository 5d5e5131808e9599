/*
 * known_cards.h - GPUs that people have, by the memory that their driver reports.
 *
 * A card of 24 GB has less than 24 GiB for its programs, and how much less depends on its kind,
 * on ECC and on the driver. So each figure is one that somebody published: the least that a
 * driver on Linux reported of that card, where several did. OpenCL's is taken where no other is
 * known; CUDA may report less.
 */
#ifndef DEVICE_KNOWN_CARDS_H
#define DEVICE_KNOWN_CARDS_H

#include <stdint.h>

#include "fragsim/error.h"

struct frag_card {
	const char *key;        /* as it is written on the command line */
	const char *name;       /* as its maker calls it */
	uint64_t bytes;         /* of all of it: the least that is printed as `reported` */
	const char *reported;   /* in the source's own unit; its MB are MiB */
	const char *by;         /* the interface that said so: CUDA, HIP or OpenCL */
	const char *source;     /* the address of the page */
};

extern const struct frag_card frag_cards[];     /* by bytes, then key; ended by a key of NULL */

/* The card of that key, in letters of any case. NULL: err says which are near. */
const struct frag_card *frag_card_named(const char *key, struct frag_error *err);

#endif
