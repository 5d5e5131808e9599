/* pack.c - bytes gzipped or zstd'ed, for tests of what unpacks them. */
#include "support/pack.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "support/unit.h"

static size_t gzip(void *to, const void *bytes, size_t n)
{
	z_stream z = { .next_in = NULL };
	size_t length;

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)bytes;
	z.avail_in = (uInt)n;
	z.next_out = to;
	z.avail_out = (uInt)PACK_ROOM(n);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	length = z.total_out;
	deflateEnd(&z);
	return length;
}

static size_t zstd(void *to, const void *bytes, size_t n)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t length;

	assert_non_null(context);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	length = ZSTD_compress2(context, to, PACK_ROOM(n), bytes, n);
	assert_false(ZSTD_isError(length));
	ZSTD_freeCCtx(context);
	return length;
}

size_t pack(enum pack kind, void *to, const void *bytes, size_t n)
{
	if (kind == PACK_GZIP)
		return gzip(to, bytes, n);
	if (kind == PACK_ZSTD)
		return zstd(to, bytes, n);
	memcpy(to, bytes, n);
	return n;
}
