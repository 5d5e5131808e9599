/*
 * fuzz_fsb.c - any bytes through the reader fsb, and any payloads: the first byte
 * says whether the rest is a file, or the payload of a block of events, of the
 * stacks of two allocs, or the snapshot of a complete file, in two blocks, that is
 * put into one with all its checksums right.
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

/* A complete file: the snapshot, and after it a trace of no events. */
static size_t wrap_snapshot(const uint8_t *snapshot, size_t n)
{
	static const unsigned char head[] = { FRAG_FSB_VERSION, 1, 0, 0, 0, 0, 1, 0 }, none = 0;
	size_t at = FRAG_FSB_MAGIC_LENGTH;

	memcpy(file, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH);
	at = put_block(at, FRAG_FSB_SNAPSHOT, 0, snapshot, n / 2);
	at = put_block(at, FRAG_FSB_SNAPSHOT, 1, snapshot + n / 2, n - n / 2);
	at = put_block(at, FRAG_FSB_HEADER, 2, head, sizeof(head));
	return put_block(at, FRAG_FSB_END, 3, &none, 1);
}

/* A file as commands open it, which read the snapshot where there is one. */
static int open_file(const uint8_t *data, size_t size)
{
	const struct frag_trace_options options = { .stacks = FRAG_STACKS_ALL };
	struct frag_error err = { .code = 0 };
	struct frag_trace *trace;
	struct frag_batch batch;
	char path[40];
	int fd = memfd_create("trace", MFD_CLOEXEC), rc;

	must(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "cannot write the file", &err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = frag_trace_open(&trace, path, &options, &err);
	if (!rc) {
		do {
			rc = frag_trace_next(trace, &batch, &err);
		} while (!rc && batch.count);
		frag_trace_close(trace);
	}
	must(rc == 0 || rc == -FRAG_ETRACE, "neither good nor bad file", &err);
	must(rc == 0 || (*err.message && !strpbrk(err.message, "\r\n")), "no message", &err);
	close(fd);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && size < ROOM / 2 && data[0] == 'w')
		return open_file(file, wrap_snapshot(data + 1, size - 1));
	if (size && data[0] == 'o')
		return open_file(data + 1, size - 1);
	if (size == 0 || size > ROOM / 2 || data[0] == 'f')
		return fuzz_reader(&frag_reader_fsb, data + (size != 0), size - (size != 0));
	size = wrap(data + 1, size - 1, data[0] == 's');
	return fuzz_reader(&frag_reader_fsb, file, size);
}
