/* compress.h - bytes through gzip or zstd, on their way into a file. */
#ifndef BASE_COMPRESS_H
#define BASE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

enum frag_packing { FRAG_PLAIN, FRAG_GZIP, FRAG_ZSTD };

/* By the name's ending: .gz, .zst. *length: of the name without it. */
enum frag_packing frag_packing_of(const char *path, size_t *length);

/* The version of the library that packs so; not for FRAG_PLAIN. */
const char *frag_packing_library(enum frag_packing packing);

struct frag_packer;

/* NULL where the host is out of memory. The same bytes give the same packed bytes. */
struct frag_packer *frag_packer_new(enum frag_packing packing);
void frag_packer_del(struct frag_packer *p);

/* Compresses bytes and passes the output to out(); `last` ends the stream. False: out of
 * memory. */
bool frag_packer_put(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx);

#endif
