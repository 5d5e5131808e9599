/* gpu.c - a GPU as a device: the work of its streams, segments, and ranges with their pages. */
#include "device/gpu_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "device/cuda.h"

uint64_t frag_gpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int frag_gpu_check(struct frag_gpu *g, int code, struct frag_error *err, const char *format, ...)
{
	struct frag_error now;
	char call[160];
	va_list ap;

	if (!code)
		return 0;
	va_start(ap, format);
	frag_vsnprintf(call, sizeof(call), format, ap);
	va_end(ap);
	frag_cuda.clear();
	frag_fail(&now, FRAG_EDEVICE, "GPU %d: %s failed: %s (error %d)", g->ordinal, call,
		  frag_cuda.words(code), code);
	if (!g->said.code)
		g->said = now;
	return frag_fail(err, FRAG_EDEVICE, "%s", now.message);
}

int frag_gpu_use(struct frag_gpu *g, struct frag_error *err)
{
	return frag_gpu_check(g, frag_cuda.use(g->ordinal), err, "cudaSetDevice");
}

int frag_gpu_free_bytes(struct frag_gpu *g, uint64_t *bytes, struct frag_error *err)
{
	int rc = frag_gpu_use(g, err);

	return rc ? rc : frag_gpu_check(g, frag_cuda.memory(bytes, &g->figures.total), err,
					"cudaMemGetInfo");
}

int frag_gpu_notify(struct frag_device *dev, enum frag_gpu_kind kind, uint64_t bytes,
		    uint64_t counted, uint64_t cost_ns, bool refused)
{
	struct frag_gpu *g = dev->ctx;
	struct frag_gpu_call call = {
		.kind = kind,
		.refused = refused,
		.bytes = bytes,
		.cost_ns = cost_ns,
		.counted = counted,
	};
	int rc;

	if (!g->seen)
		return 0;
	rc = frag_gpu_free_bytes(g, &call.free, dev->err);
	if (!rc)
		g->seen(g->ctx, &call);
	return rc;
}

uint32_t frag_gpu_new_piece(struct frag_gpu *g)
{
	uint32_t i = g->unused;

	if (i != FRAG_NO_PIECE) {
		g->unused = g->pieces[i].next;
	} else {
		if (!FRAG_GROW(g->pieces, g->piece_capacity, g->piece_count))
			return FRAG_NO_PIECE;
		i = g->piece_count++;
	}
	g->pieces[i] = (struct frag_gpu_range){ .bytes = 0 };
	return i;
}

void frag_gpu_drop_piece(struct frag_gpu *g, uint32_t i)
{
	free(g->pieces[i].mapped);
	g->pieces[i] = (struct frag_gpu_range){ .next = g->unused };
	g->unused = i;
}

/* Streams: events, fills, copies ----------------------------------------- */

/*
 * Streams are made when they are first used; stream 0 is the default stream, which CUDA has
 * already.
 */
int frag_gpu_stream(struct frag_gpu *g, uint32_t stream, void **out, struct frag_error *err)
{
	int rc = frag_gpu_use(g, err);

	*out = NULL;
	if (rc || stream == 0)
		return rc;
	if (!FRAG_GROW(g->streams, g->stream_capacity, stream))
		return frag_fail_nomem(err);
	while (g->stream_count <= stream)
		g->streams[g->stream_count++] = NULL;
	if (!g->streams[stream]) {
		rc = frag_gpu_check(g, frag_cuda.stream_new(&g->streams[stream]), err,
				    "cudaStreamCreateWithFlags");
		if (rc)
			g->streams[stream] = NULL;
	}
	*out = g->streams[stream];
	return rc;
}

/* An event that no block waits for. */
static int idle_event(struct frag_gpu *g, uint32_t *event, struct frag_error *err)
{
	int rc;

	if (g->idle_count) {
		*event = g->idle_events[--g->idle_count];
		return 0;
	}
	if (!FRAG_GROW(g->events, g->event_capacity, g->event_count)
	    || !FRAG_GROW(g->idle_events, g->idle_capacity, g->event_count))
		return frag_fail_nomem(err);
	rc = frag_gpu_check(g, frag_cuda.event_new(&g->events[g->event_count]), err,
			    "cudaEventCreateWithFlags");
	if (!rc)
		*event = g->event_count++;
	return rc;
}

int frag_gpu_mark(struct frag_gpu *g, uint32_t stream, uint32_t *event, struct frag_error *err)
{
	void *on;
	int rc = frag_gpu_stream(g, stream, &on, err);

	rc = rc ? rc : idle_event(g, event, err);
	if (rc)
		return rc;
	rc = frag_gpu_check(g, frag_cuda.event_record(g->events[*event], on), err,
			    "cudaEventRecord");
	if (rc)
		g->idle_events[g->idle_count++] = *event;
	return rc;
}

int frag_gpu_wait(struct frag_gpu *g, uint32_t event, struct frag_error *err)
{
	int rc = frag_gpu_use(g, err);

	rc = rc ? rc : frag_gpu_check(g, frag_cuda.event_wait(g->events[event]), err,
				      "cudaEventSynchronize");
	g->idle_events[g->idle_count++] = event;
	return rc ? rc : frag_gpu_pool_look(g, err);
}

int frag_gpu_sync(struct frag_gpu *g, uint32_t stream, struct frag_error *err)
{
	const bool all = stream == UINT32_MAX;
	int rc;

	/* a stream that was never used has nothing queued */
	if (!all && stream && (stream >= g->stream_count || !g->streams[stream]))
		return 0;
	rc = frag_gpu_use(g, err);
	if (rc)
		return rc;
	rc = all ? frag_gpu_check(g, frag_cuda.wait(), err, "cudaDeviceSynchronize")
		 : frag_gpu_check(g, frag_cuda.stream_wait(stream ? g->streams[stream] : NULL), err,
				  "cudaStreamSynchronize");
	return rc ? rc : frag_gpu_pool_look(g, err);
}

int frag_gpu_fill(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		  uint64_t bytes, uint32_t word, struct frag_error *err)
{
	void *on;
	int rc = frag_gpu_stream(g, stream, &on, err);

	return rc ? rc : frag_gpu_check(g, frag_cuda.fill(on, g->pieces[addr].at + offset, word,
							  bytes / sizeof(word)), err,
					"cuMemsetD32Async");
}

int frag_gpu_fetch(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		   uint64_t bytes, void *to, struct frag_error *err)
{
	void *on;
	int rc = frag_gpu_stream(g, stream, &on, err);

	return rc ? rc : frag_gpu_check(g, frag_cuda.fetch(on, g->pieces[addr].at + offset, to,
							   bytes), err, "cudaMemcpyAsync");
}

/* Segments --------------------------------------------------------------- */

/* Queries the GPU; *cost_ns is the duration of the query. */
static int gpu_obtain(struct frag_device *dev, uint64_t bytes, uint64_t counted, frag_addr *addr,
		      uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint32_t i = frag_gpu_new_piece(g);
	uint64_t at, begin;
	int e, rc;

	if (i == FRAG_NO_PIECE)
		return -FRAG_ENOMEM;
	begin = frag_gpu_now();
	e = frag_cuda.alloc(bytes, &at);
	*cost_ns = frag_gpu_now() - begin;
	if (!e) {
		g->pieces[i].at = at;
		g->pieces[i].bytes = bytes;
		*addr = i;
		/* if this fails, no caller has the piece, and close releases it */
		return frag_gpu_notify(dev, FRAG_GPU_MALLOC, bytes, counted, *cost_ns, false);
	}
	frag_gpu_drop_piece(g, i);
	if (e != FRAG_CUDA_NO_MEMORY)
		return frag_gpu_check(g, e, dev->err, "cudaMalloc of %" PRIu64 " bytes", bytes);
	/* not to be found again by the next call that asks */
	frag_cuda.clear();
	rc = frag_gpu_notify(dev, FRAG_GPU_MALLOC, bytes, counted, *cost_ns, true);
	return rc ? rc : -FRAG_EDEVMEM;
}

/*
 * The model packs small segments as closely as possible; a driver may use more memory. The
 * difference is measured around each call, so the limit holds in either case.
 */
static int note_packing(struct frag_device *dev, uint64_t before, int64_t grown)
{
	struct frag_gpu *g = dev->ctx;
	uint64_t after;
	int rc = frag_gpu_free_bytes(g, &after, dev->err);

	if (!rc)
		g->loose += (int64_t)(before - after) - grown;
	return rc;
}

/* Would a call that uses this many bytes exceed the limit, because packing is loose? */
static bool is_loose(const struct frag_device *dev, uint64_t bytes)
{
	const struct frag_gpu *g = dev->ctx;

	return g->loose > 0 && dev->total && dev->context + dev->other + dev->used
	       + (uint64_t)g->loose + bytes > dev->total;
}

/* Only a driver that packs small segments is watched so. */
static int obtain_watched(struct frag_device *dev, uint64_t bytes, uint64_t counted,
			  frag_addr *addr, uint64_t *cost_ns)
{
	uint64_t before;
	int rc;

	if (!dev->small_max)
		return gpu_obtain(dev, bytes, counted, addr, cost_ns);
	/* `used` includes it already; a small one may need another page */
	if (is_loose(dev, bytes <= dev->small_max ? dev->granularity - counted : 0))
		return -FRAG_EDEVMEM;
	rc = frag_gpu_free_bytes(dev->ctx, &before, dev->err);
	rc = rc ? rc : gpu_obtain(dev, bytes, counted, addr, cost_ns);
	return rc ? rc : note_packing(dev, before, (int64_t)counted);
}

static int gpu_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
		       uint64_t *cost_ns)
{
	const uint64_t before = dev->used;
	uint64_t nothing;
	int rc = frag_device_simulated.acquire(dev, bytes, addr, cost_ns);

	if (rc)
		return rc;
	rc = frag_gpu_use(dev->ctx, dev->err);
	rc = rc ? rc : obtain_watched(dev, bytes, dev->used - before, addr, cost_ns);
	if (rc)
		frag_device_simulated.release(dev, 0, bytes, &nothing);
	return rc;
}

/*
 * What the GPU freed, the simulated device frees too. Where small requests share pages, the
 * bytes that became free are compared with its prediction.
 */
static int gpu_release(struct frag_device *dev, frag_addr addr, uint64_t bytes,
		       uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	const uint64_t used = dev->used;
	uint64_t begin, nothing, before = 0;
	int rc = frag_gpu_use(g, dev->err), e;

	*cost_ns = 0;
	/* a deleted heap releases again any segment whose release failed after the call */
	if (rc || !g->pieces[addr].bytes)
		return rc;
	if (dev->small_max)
		rc = frag_gpu_free_bytes(g, &before, dev->err);
	if (rc)
		return rc;
	begin = frag_gpu_now();
	e = frag_cuda.free(g->pieces[addr].at);
	*cost_ns = frag_gpu_now() - begin;
	if (e)
		return frag_gpu_check(g, e, dev->err, "cudaFree of %" PRIu64 " bytes", bytes);
	frag_gpu_drop_piece(g, (uint32_t)addr);
	frag_device_simulated.release(dev, 0, bytes, &nothing);
	if (dev->small_max)
		rc = note_packing(dev, before, (int64_t)(dev->used - used));
	return rc ? rc : frag_gpu_notify(dev, FRAG_GPU_FREE, bytes, 0, *cost_ns, false);
}

/* Ranges ----------------------------------------------------------------- */

/* An expandable segment reserves only addresses, so the simulated device is not
 * involved. */
static int gpu_reserve(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
		       uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	int rc = frag_gpu_use(g, dev->err), e;
	uint64_t at;
	uint32_t i;

	*cost_ns = 0;
	if (rc)
		return rc;
	if (!g->figures.page)
		return frag_gpu_check(g, FRAG_CUDA_NOT_SUPPORTED, dev->err, "an expandable range");
	i = frag_gpu_new_piece(g);
	if (i == FRAG_NO_PIECE)
		return -FRAG_ENOMEM;
	e = frag_cuda.reserve(bytes, &at);
	if (e) {
		frag_gpu_drop_piece(g, i);
		return frag_gpu_check(g, e, dev->err, "cuMemAddressReserve of %" PRIu64 " bytes",
				       bytes);
	}
	g->pieces[i].at = at;
	g->pieces[i].bytes = bytes;
	g->pieces[i].range = true;
	*addr = i;
	return 0;
}

int frag_gpu_unmap_pages(struct frag_gpu_range *p, uint64_t offset, uint64_t bytes)
{
	int first = 0;

	for (uint64_t at = offset; at < offset + bytes; at += p->page) {
		bool *mapped = &p->mapped[at / p->page];
		int e = *mapped ? frag_cuda.unmap(p->at + at, p->page) : 0;

		if (!e)
			*mapped = false;
		else if (!first)
			first = e;
	}
	return first;
}

static int gpu_unreserve(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			 uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	int rc = frag_gpu_use(g, dev->err), e;
	struct frag_gpu_range *p;

	*cost_ns = 0;
	if (rc)
		return rc;
	/* a heap that is deleted goes on where unmapping failed */
	p = &g->pieces[addr];
	e = p->page ? frag_gpu_unmap_pages(p, 0, bytes) : 0;
	e = e ? e : frag_cuda.unreserve(p->at, bytes);
	if (e)
		return frag_gpu_check(g, e, dev->err, "cuMemAddressFree of %" PRIu64 " bytes",
				       bytes);
	frag_gpu_drop_piece(g, (uint32_t)addr);
	return 0;
}

static int gpu_map_pages(const struct frag_gpu *g, struct frag_gpu_range *p, uint64_t offset,
			 uint64_t bytes)
{
	int e = 0;

	for (uint64_t at = offset; at < offset + bytes && !e; at += p->page) {
		e = frag_cuda.map(g->ordinal, p->at + at, p->page);
		p->mapped[at / p->page] = !e;
	}
	e = e ? e : frag_cuda.open_up(g->ordinal, p->at + offset, bytes);
	if (e)
		frag_gpu_unmap_pages(p, offset, bytes);
	return e;
}

/* The table of a range's pages is made when the first ones come. */
static int gpu_prepare(struct frag_gpu *g, struct frag_gpu_range *p, uint64_t page,
		       struct frag_error *err)
{
	if (p->page)
		return 0;
	if (page % g->figures.page)
		return frag_fail(err, FRAG_EDEVICE, "GPU %d maps pages of %" PRIu64
				 " bytes, none of %" PRIu64, g->ordinal, g->figures.page, page);
	p->mapped = calloc(p->bytes / page, sizeof(*p->mapped));
	if (!p->mapped)
		return -FRAG_ENOMEM;
	p->page = page;
	return 0;
}

/*
 * The simulated device decides first, so that both devices refuse the same requests. If the GPU
 * then refuses, or the event cannot be recorded, the request is undone in both.
 */
static int gpu_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		   uint64_t page, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	struct frag_gpu_range *p = &g->pieces[addr];
	uint64_t begin, nothing;
	int rc = frag_gpu_use(g, dev->err), e;

	*cost_ns = 0;
	rc = rc ? rc : gpu_prepare(g, p, page, dev->err);
	if (!rc && is_loose(dev, bytes))
		rc = -FRAG_EDEVMEM;
	rc = rc ? rc : frag_device_simulated.map(dev, addr, offset, bytes, page, &nothing);
	if (rc)
		return rc;
	begin = frag_gpu_now();
	e = gpu_map_pages(g, p, offset, bytes);
	*cost_ns = frag_gpu_now() - begin;
	if (e && e != FRAG_CUDA_NO_MEMORY)
		rc = frag_gpu_check(g, e, dev->err, "mapping %" PRIu64 " bytes", bytes);
	else if (e)
		frag_cuda.clear();
	rc = rc ? rc : frag_gpu_notify(dev, FRAG_GPU_MAP, bytes, bytes, *cost_ns, e != 0);
	if (rc && !e)
		frag_gpu_unmap_pages(p, offset, bytes);
	if (rc || e)
		frag_device_simulated.unmap(dev, addr, offset, bytes, page, &nothing);
	return rc ? rc : e ? -FRAG_EDEVMEM : 0;
}

/*
 * Only memory that no kernel uses any more may be unmapped, so the GPU is waited for, outside
 * of the time that is measured.
 */
static int gpu_unmap(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		     uint64_t page, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint64_t begin, nothing;
	int rc = frag_gpu_use(g, dev->err), e;

	*cost_ns = 0;
	if (rc)
		return rc;
	/* unlike cudaFree, it does not wait for who still uses the pages */
	rc = frag_gpu_check(g, frag_cuda.wait(), dev->err, "cudaDeviceSynchronize");
	if (rc)
		return rc;
	begin = frag_gpu_now();
	e = frag_gpu_unmap_pages(&g->pieces[addr], offset, bytes);
	*cost_ns = frag_gpu_now() - begin;
	if (e)
		return frag_gpu_check(g, e, dev->err, "unmapping %" PRIu64 " bytes", bytes);
	frag_device_simulated.unmap(dev, addr, offset, bytes, page, &nothing);
	return frag_gpu_notify(dev, FRAG_GPU_UNMAP, bytes, 0, *cost_ns, false);
}

const struct frag_gpu_figures *frag_gpu_look(const struct frag_gpu *g)
{
	return &g->figures;
}

void frag_gpu_watch(struct frag_gpu *g,
		    void (*seen)(void *ctx, const struct frag_gpu_call *call), void *ctx)
{
	/* nothing is held yet, or any more */
	g->loose = 0;
	g->seen = seen;
	g->ctx = ctx;
}

const struct frag_device_ops frag_device_gpu = {
	.name = "gpu",
	.summary = "a GPU of this machine, through CUDA",
	.acquire = gpu_acquire,
	.release = gpu_release,
	.reserve = gpu_reserve,
	.unreserve = gpu_unreserve,
	.map = gpu_map,
	.unmap = gpu_unmap,
};
