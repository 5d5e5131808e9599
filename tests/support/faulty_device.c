/* faulty_device.c - the simulated device, failing one call, with a table. */
#include "support/faulty_device.h"

#include <string.h>

#define PIECES 4096

enum kind { NOTHING, SEGMENT, RANGE, PAGES };

/* What is held: a segment, a range, or a mapped run of a range. */
struct piece {
	enum kind kind;
	frag_addr addr;
	uint64_t offset, bytes;
};

struct faulty faulty;
static struct piece pieces[PIECES];
static frag_addr next_addr;

void faulty_begin(uint64_t fail_at, int code)
{
	faulty = (struct faulty){ .fail_at = fail_at, .code = code };
	memset(pieces, 0, sizeof(pieces));
	next_addr = 1;
}

static bool fails(bool gives_back)
{
	if (gives_back && faulty.code == -FRAG_EDEVMEM)
		return false;
	faulty.calls++;
	if (faulty.calls != faulty.fail_at)
		return false;
	faulty.failed = true;
	return true;
}

static void enter(enum kind kind, frag_addr addr, uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < PIECES; i++) {
		if (pieces[i].kind != NOTHING)
			continue;
		pieces[i] = (struct piece){
			.kind = kind, .addr = addr, .offset = offset, .bytes = bytes,
		};
		return;
	}
	faulty.mistakes++;
}

/* How many bytes of the run [offset, offset + bytes) are mapped. */
static uint64_t overlap(frag_addr addr, uint64_t offset, uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PIECES; i++) {
		const struct piece *p = &pieces[i];
		uint64_t from = p->offset > offset ? p->offset : offset;
		uint64_t to = p->offset + p->bytes < offset + bytes ? p->offset + p->bytes
								    : offset + bytes;

		if (p->kind == PAGES && p->addr == addr && to > from)
			sum += to - from;
	}
	return sum;
}

/* Takes the segment or range out of the figures; it must be there just so. */
static void leave(enum kind kind, frag_addr addr, uint64_t bytes)
{
	for (uint32_t i = 0; i < PIECES; i++) {
		if (pieces[i].kind == kind && pieces[i].addr == addr && pieces[i].bytes == bytes) {
			pieces[i].kind = NOTHING;
			faulty.held--;
			return;
		}
	}
	faulty.mistakes++;
}

static bool inside_range(frag_addr addr, uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < PIECES; i++)
		if (pieces[i].kind == RANGE && pieces[i].addr == addr)
			return offset + bytes <= pieces[i].bytes;
	return false;
}

static int faulty_open(struct frag_device *dev, struct frag_error *err)
{
	(void)dev;
	if (fails(false))
		return frag_fail(err, FRAG_EDEVICE, "device faulty did not open");
	faulty.opened++;
	return 0;
}

static void faulty_close(struct frag_device *dev)
{
	(void)dev;
	faulty.closed++;
}

static int faulty_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	int rc = fails(false) ? faulty.code
			      : frag_device_simulated.acquire(dev, bytes, addr, cost_ns);

	if (rc)
		return rc;
	*addr = next_addr++;
	enter(SEGMENT, *addr, 0, bytes);
	faulty.held++;
	return 0;
}

static int faulty_release(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			  uint64_t *cost_ns)
{
	if (fails(true))
		return faulty.code;
	leave(SEGMENT, addr, bytes);
	return frag_device_simulated.release(dev, addr, bytes, cost_ns);
}

static int faulty_reserve(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	int rc = fails(false) ? faulty.code
			      : frag_device_simulated.reserve(dev, bytes, addr, cost_ns);

	if (rc)
		return rc;
	*addr = next_addr++;
	enter(RANGE, *addr, 0, bytes);
	faulty.held++;
	return 0;
}

static int faulty_unreserve(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			    uint64_t *cost_ns)
{
	if (fails(true))
		return faulty.code;
	faulty.mistakes += overlap(addr, 0, bytes) > 0;
	leave(RANGE, addr, bytes);
	return frag_device_simulated.unreserve(dev, addr, bytes, cost_ns);
}

static int faulty_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		      uint64_t page, uint64_t *cost_ns)
{
	int rc = fails(false) ? faulty.code
			      : frag_device_simulated.map(dev, addr, offset, bytes, page, cost_ns);

	if (rc)
		return rc;
	faulty.mistakes += !inside_range(addr, offset, bytes) || overlap(addr, offset, bytes) > 0
			   || bytes % page;
	enter(PAGES, addr, offset, bytes);
	faulty.mapped += bytes;
	return 0;
}

/* Cuts the run out of whatever maps cover it. */
static void cut_out(frag_addr addr, uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < PIECES; i++) {
		struct piece p = pieces[i];
		uint64_t end = p.offset + p.bytes;

		if (p.kind != PAGES || p.addr != addr || p.offset >= offset + bytes
		    || end <= offset)
			continue;
		pieces[i].kind = NOTHING;
		if (p.offset < offset)
			enter(PAGES, addr, p.offset, offset - p.offset);
		if (end > offset + bytes)
			enter(PAGES, addr, offset + bytes, end - offset - bytes);
	}
}

static int faulty_unmap(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
			uint64_t page, uint64_t *cost_ns)
{
	if (fails(true))
		return faulty.code;
	faulty.mistakes += overlap(addr, offset, bytes) != bytes || bytes % page;
	cut_out(addr, offset, bytes);
	faulty.mapped -= bytes;
	return frag_device_simulated.unmap(dev, addr, offset, bytes, page, cost_ns);
}

const struct frag_device_ops faulty_device = {
	.name = "faulty",
	.open = faulty_open,
	.close = faulty_close,
	.acquire = faulty_acquire,
	.release = faulty_release,
	.reserve = faulty_reserve,
	.unreserve = faulty_unreserve,
	.map = faulty_map,
	.unmap = faulty_unmap,
};
