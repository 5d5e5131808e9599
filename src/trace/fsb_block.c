/* fsb_block.c - the blocks of the binary form: found, checked and unpacked. */
#include "trace/fsb_block.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bug.h"
#include "base/c_locale.h"

const double frag_fsb_tens[FRAG_FSB_DIGITS_MAX + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
};

uint32_t frag_fsb_checksum(const unsigned char *head, const unsigned char *bytes, size_t n)
{
	return (uint32_t)crc32(crc32(0, head, 16), bytes, (uInt)n);
}

static uint32_t load32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool frag_fsb_blocks_init(struct frag_fsb_blocks *b, struct frag_input *in)
{
	*b = (struct frag_fsb_blocks){ .in = *in };
	b->in.by_byte = true;
	b->zstd = ZSTD_createDCtx();
	return b->zstd != NULL;
}

void frag_fsb_blocks_fini(struct frag_fsb_blocks *b)
{
	frag_input_close(&b->in);
	ZSTD_freeDCtx(b->zstd);
	free(b->payload);
}

int frag_fsb_damaged(const struct frag_fsb_blocks *b, struct frag_error *err, const char *format,
		     ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return frag_fail(err, FRAG_ETRACE, "%s: block %u at byte %" PRIu64 ": %s", b->in.path,
			 b->block, b->block_at, text);
}

/* The next `n` bytes of the file, in the window; 0 at the end of the file. */
static int need(struct frag_fsb_blocks *b, size_t n, struct frag_error *err)
{
	while (b->in.end - b->at < n && !b->in.eof) {
		int rc = frag_input_fill(&b->in, b->at, err);

		b->at = 0;
		if (rc < 0)
			return rc;
	}
	if (b->in.end - b->at >= n)
		return 1;
	return 0;
}

static int fsb_block_make_room(struct frag_fsb_blocks *b, uint32_t bytes, struct frag_error *err)
{
	if (b->payload && b->payload_capacity >= bytes)
		return 0;
	free(b->payload);
	b->payload_capacity = 0;
	b->payload = calloc((size_t)bytes + FRAG_FSB_SLACK, 1);
	if (!b->payload)
		return frag_fail_nomem(err);
	b->payload_capacity = bytes;
	return 0;
}

static int unpack(struct frag_fsb_blocks *b, const unsigned char *packed, uint32_t packed_bytes,
		  uint32_t bytes, struct frag_error *err)
{
	size_t n;
	int rc = fsb_block_make_room(b, bytes, err);

	if (rc)
		return rc;
	n = ZSTD_decompressDCtx(b->zstd, b->payload, bytes, packed, packed_bytes);
	if (ZSTD_isError(n))
		return frag_fsb_damaged(b, err, "zstd: %s", ZSTD_getErrorName(n));
	if (n != bytes)
		return frag_fsb_damaged(b, err, "%zu bytes unpacked, %u announced", n, bytes);
	return 0;
}

static bool must_know(uint32_t kind)
{
	return !(kind & FRAG_FSB_OPTIONAL);
}

/*
 * Number and checksum come before the kind: only a block that is whole may be
 * passed over because its kind is unknown. Each need() may move the window, so the
 * head is looked up again.
 */
int frag_fsb_next(struct frag_fsb_blocks *b, uint32_t *kind, uint32_t *bytes,
		  struct frag_error *err)
{
	FRAG_ASSERT(b->zstd && b->at <= b->in.end);
	for (;;) {
		const unsigned char *head;
		uint32_t packed;
		int rc = need(b, FRAG_FSB_HEAD_LENGTH, err);

		b->block_at = b->in.before + b->at;
		b->block = b->count++;
		if (rc <= 0)
			return rc < 0 ? rc
				      : frag_fsb_damaged(b, err, "truncated: the file ends here");
		head = (const unsigned char *)b->in.buf + b->at;
		*kind = load32(head);
		*bytes = load32(head + 8);
		packed = load32(head + 12);
		if (load32(head + 4) != b->block)
			return frag_fsb_damaged(b, err, "it says that it is block %u",
						load32(head + 4));
		if (*bytes > FRAG_FSB_BLOCK_MAX || packed > FRAG_FSB_BLOCK_MAX)
			return frag_fsb_damaged(b, err, "%u bytes, packed %u: more than a block"
						" may have", *bytes, packed);
		rc = need(b, FRAG_FSB_HEAD_LENGTH + (size_t)packed, err);
		if (rc <= 0)
			return rc < 0 ? rc
				      : frag_fsb_damaged(b, err,
							 "truncated: the file ends inside it");
		head = (const unsigned char *)b->in.buf + b->at;
		b->at += FRAG_FSB_HEAD_LENGTH + (size_t)packed;
		if (load32(head + 16)
		    != frag_fsb_checksum(head, head + FRAG_FSB_HEAD_LENGTH, packed))
			return frag_fsb_damaged(b, err, "its checksum does not agree");
		if (*kind != FRAG_FSB_HEADER && *kind != FRAG_FSB_EVENTS && *kind != FRAG_FSB_END
		    && *kind != FRAG_FSB_STACKS) {
			if (must_know(*kind))
				return frag_fsb_damaged(b, err, "of a kind, %#x, that this"
							" version does not know", *kind);
			continue;
		}
		return unpack(b, head + FRAG_FSB_HEAD_LENGTH, packed, *bytes, err);
	}
}

int frag_fsb_begin(struct frag_fsb_blocks *b, struct frag_error *err)
{
	int rc;

	b->at = 0;
	b->count = 0;
	rc = need(b, FRAG_FSB_MAGIC_LENGTH, err);
	if (rc < 0)
		return rc;
	if (rc == 0 || memcmp(b->in.buf, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH) != 0)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: byte 0: not the first bytes of a binary trace", b->in.path);
	b->at = FRAG_FSB_MAGIC_LENGTH;
	return 0;
}

int frag_fsb_finish(struct frag_fsb_blocks *b, struct frag_error *err)
{
	int rc = need(b, 1, err);

	if (rc <= 0)
		return rc;
	return frag_fail(err, FRAG_ETRACE, "%s: byte %" PRIu64 ": bytes after the last block",
			 b->in.path, b->in.before + b->at);
}
