/* compress.c - bytes through gzip or zstd, on their way into a file. */
#include "base/compress.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bug.h"

#define CHUNK ((size_t)128 << 10)
#define GZIP_LEVEL 6
#define ZSTD_LEVEL 9

struct frag_packer {
	enum frag_packing packing;
	z_stream z;
	bool have_z;
	ZSTD_CCtx *zstd;
	char chunk[CHUNK];
};

enum frag_packing frag_packing_of(const char *path, size_t *length)
{
	*length = strlen(path);
	if (*length > 3 && strcmp(path + *length - 3, ".gz") == 0) {
		*length -= 3;
		return FRAG_GZIP;
	}
	if (*length > 4 && strcmp(path + *length - 4, ".zst") == 0) {
		*length -= 4;
		return FRAG_ZSTD;
	}
	return FRAG_PLAIN;
}

const char *frag_packing_library(enum frag_packing packing)
{
	return packing == FRAG_ZSTD ? ZSTD_versionString() : zlibVersion();
}

/*
 * The same bytes always pack alike, and damage is seen: a gzip stream ends in a
 * checksum anyway, a zstd frame only when asked.
 */
struct frag_packer *frag_packer_new(enum frag_packing packing)
{
	struct frag_packer *p = calloc(1, sizeof(*p));

	FRAG_ASSERT(packing != FRAG_PLAIN);
	if (!p)
		return NULL;
	p->packing = packing;
	if (packing == FRAG_GZIP) {
		/* no name and no time are in the header */
		p->have_z = deflateInit2(&p->z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8,
					 Z_DEFAULT_STRATEGY) == Z_OK;
	} else {
		p->zstd = ZSTD_createCCtx();
		if (p->zstd) {
			ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
			ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
		}
	}
	if (p->have_z || p->zstd)
		return p;
	frag_packer_del(p);
	return NULL;
}

void frag_packer_del(struct frag_packer *p)
{
	if (!p)
		return;
	if (p->have_z)
		deflateEnd(&p->z);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

/*
 * zlib counts in 32 bits, so large inputs are passed in parts. A full output chunk may not be
 * all, so deflate() is called again.
 */
static bool put_gzip(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	const unsigned char *from = bytes;
	int rc = Z_OK;

	do {
		size_t some = n < CHUNK ? n : CHUNK;

		p->z.next_in = (unsigned char *)(uintptr_t)from;
		p->z.avail_in = (uInt)some;
		if (some)               /* of no bytes there is no address */
			from += some;
		n -= some;
		do {
			p->z.next_out = (unsigned char *)p->chunk;
			p->z.avail_out = CHUNK;
			rc = deflate(&p->z, last && n == 0 ? Z_FINISH : Z_NO_FLUSH);
			if (rc == Z_STREAM_ERROR)
				return false;
			out(ctx, p->chunk, CHUNK - p->z.avail_out);
		} while (p->z.avail_out == 0);
	} while (n);
	return true;
}

static bool put_zstd(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	ZSTD_inBuffer from = { .src = bytes, .size = n };
	size_t rest;

	do {
		ZSTD_outBuffer to = { .dst = p->chunk, .size = CHUNK };

		rest = ZSTD_compressStream2(p->zstd, &to, &from,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(rest))
			return false;
		out(ctx, p->chunk, to.pos);
	} while (last ? rest != 0 : from.pos < from.size);
	return true;
}

bool frag_packer_put(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	return p->packing == FRAG_GZIP ? put_gzip(p, bytes, n, last, out, ctx)
				       : put_zstd(p, bytes, n, last, out, ctx);
}
