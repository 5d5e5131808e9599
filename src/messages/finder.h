/*
 * finder.h - out-of-memory messages among any bytes: a paste, or a log of any size.
 *
 * The input comes in pieces, and the memory kept of it does not grow: a message has at most
 * FRAG_MESSAGE_MOST bytes of text without white space, except the dump of a BFC allocator,
 * whose sums are kept.
 */
#ifndef MESSAGES_FINDER_H
#define MESSAGES_FINDER_H

#include <stddef.h>

#include "fragsim/error.h"
#include "messages/message.h"

#define FRAG_MESSAGE_MOST ((size_t)16 << 10)

struct frag_finder;

/* found is called for each message, judged, in their order. What it returns, unless 0, ends all. */
struct frag_finder *frag_finder_new(int (*found)(void *ctx, const struct frag_message *m),
				    void *ctx);
void frag_finder_del(struct frag_finder *f);

/* More bytes; the second one: nothing comes behind them. What `found` returned, or 0. */
int frag_finder_feed(struct frag_finder *f, const char *bytes, size_t n);
int frag_finder_end(struct frag_finder *f);

/* How many say only that memory ran out, and the line of the first. */
uint64_t frag_finder_bare(const struct frag_finder *f, uint64_t *line);

#endif
