/*
 * finder.h - finds out-of-memory messages among any bytes, a paste or a log of any size.
 *
 * The input comes in pieces, and the memory kept of it does not grow: a message has at most
 * FRAG_MESSAGE_MOST bytes of text without white space, except the dump of a BFC allocator,
 * whose sums are kept.
 */
#pragma once

#include <stddef.h>

#include "fragsim/error.h"
#include "messages/accounts.h"
#include "messages/message.h"
#include "messages/surroundings.h"

#define FRAG_MESSAGE_GPUS 64    /* ordinals from here on are counted only */
#define FRAG_MESSAGE_MOST ((size_t)16 << 10)

struct frag_finder;

/* found is called for each message, judged, in their order. What it returns, unless 0, ends all. */
struct frag_finder *frag_finder_new(int (*found)(void *ctx, const struct frag_message *m),
				    void *ctx);
void frag_finder_del(struct frag_finder *f);

/* Also collects what is around the messages. */
void frag_finder_look_around(struct frag_finder *f, struct frag_surroundings *around);

/* Also reads memory values. Called behind frag_finder_look_around(). */
void frag_finder_account(struct frag_finder *f, struct frag_accounts *accounts);

/* The device by the options: it counts where a message lacks it. */
void frag_finder_given(struct frag_finder *f, struct frag_message_value total, struct frag_message_value free);

/* More bytes; the second one: nothing comes behind them. What `found` returned, or 0. */
int frag_finder_feed(struct frag_finder *f, const char *bytes, size_t n);
int frag_finder_end(struct frag_finder *f);

/* How many lines there were so far. */
uint64_t frag_finder_lines(const struct frag_finder *f);
