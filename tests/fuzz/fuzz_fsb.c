/*
 * fuzz_fsb.c - any bytes through the reader fsb, and any payloads: the first byte
 * says whether the rest is a file, or the payload of a block of events, or of the
 * stacks of two allocs, that is put into one with all its checksums right.
 */
#include "fuzz/one_reader.h"

#include <zstd.h>

#include "trace/fsb.h"

#define ROOM ((size_t)1 << 20)

static unsigned char file[ROOM];

static void store32(unsigned char *p, size_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(value >> 8 * i);
}

static size_t put_block(size_t at, uint32_t kind, uint32_t number, const void *payload, size_t n)
{
	unsigned char *head = file + at, *packed = head + FRAG_FSB_HEAD_LENGTH;
	size_t length = ZSTD_compress(packed, ROOM - at - FRAG_FSB_HEAD_LENGTH, payload, n, 1);

	if (ZSTD_isError(length))
		abort();
	store32(head, kind);
	store32(head + 4, number);
	store32(head + 8, n);
	store32(head + 12, length);
	store32(head + 16, frag_fsb_checksum(head, packed, length));
	return at + FRAG_FSB_HEAD_LENGTH + length;
}

/* Two events: alloc of ids 1 and 2, 8 bytes each. */
static const unsigned char two[] = {
	2, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 0, 0, 0, 0, 0, 0, 2, 2, 8, 8,
};

/*
 * HEAD of one device, the payload, and DONE for the number of events that it claims;
 * or where the payload is one of stacks, for those of two.
 */
static size_t wrap(const uint8_t *payload, size_t n, bool stacks)
{
	static const unsigned char head[] = { FRAG_FSB_VERSION, 1, 0, 0, 0, 0, 1, 0 };
	const unsigned char *events = stacks ? two : payload;
	uint32_t number = 1;
	size_t at = FRAG_FSB_MAGIC_LENGTH;

	memcpy(file, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH);
	at = put_block(at, FRAG_FSB_HEADER, 0, head, sizeof(head));
	if (stacks)
		at = put_block(at, FRAG_FSB_STACKS, number++, payload, n);
	at = put_block(at, FRAG_FSB_EVENTS, number++, events, stacks ? sizeof(two) : n);
	return put_block(at, FRAG_FSB_END, number, events, stacks || n ? 1 : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || size > ROOM / 2 || data[0] == 'f')
		return fuzz_reader(&frag_reader_fsb, data + (size != 0), size - (size != 0));
	size = wrap(data + 1, size - 1, data[0] == 's');
	return fuzz_reader(&frag_reader_fsb, file, size);
}
