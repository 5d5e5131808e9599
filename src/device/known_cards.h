/*
 * known_cards.h - GPUs that people have, by the memory that their driver reports.
 *
 * Programs have less than 24 GiB of a card of 24 GB. The difference depends on the card, on ECC
 * and on the driver. So each size was published: the smallest that a driver on Linux reported
 * of that card. A size from OpenCL is used where no other is known; CUDA may report less.
 */
#ifndef DEVICE_KNOWN_CARDS_H
#define DEVICE_KNOWN_CARDS_H

#include <stdint.h>

#include "fragsim/error.h"

struct frag_card {
	const char *key;        /* the spelling of the command line */
	const char *name;       /* as its maker calls it */
	uint64_t bytes;         /* total memory: the smallest that is printed as `reported` */
	const char *reported;   /* in the source's own unit; its MB are MiB */
	const char *by;         /* the interface that said so: CUDA, HIP or OpenCL */
	const char *source;     /* the address of the page */
};

extern const struct frag_card frag_cards[];     /* by bytes, then key; ended by a key of NULL */

/* The card of that key, ignoring case. NULL: err lists similar ones. */
const struct frag_card *frag_card_named(const char *key, struct frag_error *err);

#endif
