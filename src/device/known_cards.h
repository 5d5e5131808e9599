/*
 * known_cards.h - GPUs and their slices, by the memory that their driver reports.
 *
 * Programs have less than 24 GiB of a card of 24 GB. The difference depends on the card, on ECC
 * and on the driver. So each size was published: the smallest that a driver on Linux reported
 * of that card. A size from OpenCL is used where no other is known; CUDA may report less.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fragsim/error.h"

struct frag_card {
	const char *key;        /* the spelling of the command line; of a slice "a30:1g.6gb" */
	const char *name;       /* as its maker calls it */
	uint64_t bytes;         /* total memory: the smallest that is printed as `reported` */
	const char *reported;   /* in the source's own unit; its MB are MiB */
	const char *by;         /* what said so: CUDA, HIP, OpenCL or nvidia-smi */
	uint32_t count;         /* how many of the slice a card has; 1 of a card itself */
	const char *source;     /* the address of the page */
};

#define FRAG_CONTEXT_ASSUMED 400        /* MiB, where no message is known */

/*
 * What a CUDA context and the libraries of a PyTorch program take of a card, from a published
 * out-of-memory message: memory of the process, less what PyTorch has allocated and reserved.
 */
struct frag_context {
	const char *key;        /* of the card; NULL: of any other */
	uint32_t mib;
	const char *message;    /* the three sizes of the message; NULL: assumed */
	const char *source;     /* its address; likewise */
};

extern const struct frag_card frag_cards[];     /* by bytes, then key; ended by a key of NULL */

/* The card of that key, ignoring case. NULL: err lists similar ones. */
const struct frag_card *frag_card_named(const char *key, struct frag_error *err);

/* That of the card, or of the one whose slice it is; never NULL. */
const struct frag_context *frag_context_of(const struct frag_card *card);

/* That of the only card whose total is within `error` of this one; NULL: there is none, or no message. */
const struct frag_context *frag_context_near(uint64_t total, uint64_t error);

#define FRAG_BASIS_ROOM 40
/* "typical of t4" or "assumed", where a card of that total has that context; else NULL. */
const char *frag_context_basis(uint64_t total, uint64_t context, char buf[FRAG_BASIS_ROOM]);

static inline bool frag_is_slice(const struct frag_card *card)
{
	return strchr(card->key, ':') != NULL;
}
