/*
 * unwrap.h - takes the text out of JSON lines of a container's log, and out of a notebook; any other
 * text passes unchanged.
 *
 * The text keeps its escapes and its number of lines: match.h reads the escapes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct frag_unwrap;

struct frag_unwrap *frag_unwrap_new(int (*text)(void *ctx, const char *bytes, size_t n), void *ctx);
void frag_unwrap_del(struct frag_unwrap *u);

/* More bytes; the second one: nothing comes behind them. What `text` returned unless 0, or 0. */
int frag_unwrap_feed(struct frag_unwrap *u, const char *bytes, size_t n);
int frag_unwrap_end(struct frag_unwrap *u);
