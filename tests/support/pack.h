/* pack.h - bytes gzipped or zstd'ed, for tests of what unpacks them. */
#pragma once

#include <stddef.h>

enum pack { PACK_PLAIN, PACK_GZIP, PACK_ZSTD, PACKS };

/* Room for n bytes packed in any way. */
#define PACK_ROOM(n) ((n) + (n) / 64 + 128)

/* One member or frame, with its checksum, of n bytes; its length. */
size_t pack(enum pack kind, void *to, const void *bytes, size_t n);
