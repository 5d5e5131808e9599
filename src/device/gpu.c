/*
 * gpu.c - a GPU as a device: the work of its streams, segments, ranges with their pages, and the
 * driver's own pool.
 */
#include "device/gpu_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "device/usable.h"

/* Nanoseconds of a monotonic clock. */
static uint64_t gpu_now(void)
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

int frag_gpu_free_bytes(struct frag_gpu *g, uint64_t *bytes, struct frag_error *err)
{
	int rc = frag_gpu_use(g, err);

	return rc ? rc : frag_gpu_check(g, frag_cuda.memory(bytes, &g->figures.total), err,
					"cudaMemGetInfo");
}

/* Calls the watching function, if any; only then is free memory queried. */
static int gpu_notify(struct frag_device *dev, enum frag_gpu_kind kind, uint64_t bytes,
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

/* A place in the table of pieces; FRAG_NO_PIECE: out of memory. */
static uint32_t new_piece(struct frag_gpu *g)
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

int frag_gpu_alloc(struct frag_gpu *g, const struct frag_gpu_stream *on, uint64_t bytes,
		   uint32_t *piece, uint64_t *cost_ns, struct frag_error *err)
{
	const uint32_t i = new_piece(g);
	const uint64_t begin = gpu_now();
	uint64_t at;
	int e;

	if (i == FRAG_NO_PIECE)
		return -FRAG_ENOMEM;
	e = on ? frag_cuda.async_alloc(bytes, on->stream, &at) : frag_cuda.alloc(bytes, &at);
	*cost_ns = gpu_now() - begin;
	if (!e) {
		g->pieces[i] = (struct frag_gpu_range){
			.at = at, .bytes = bytes, .pooled = on != NULL, .stream = on ? on->index : 0,
		};
		*piece = i;
		return 0;
	}
	frag_gpu_drop_piece(g, i);
	if (e != FRAG_CUDA_NO_MEMORY)
		return frag_gpu_check(g, e, err, "%s of %" PRIu64 " bytes",
				      on ? "cudaMallocAsync" : "cudaMalloc", bytes);
	/* not to be found again by the next call that asks */
	frag_cuda.clear();
	return -FRAG_EDEVMEM;
}

/* Streams: events, fills, copies ----------------------------------------- */

/*
 * The trace's stream on this GPU. Streams are made when they are first used; stream 0 is the
 * default stream, which CUDA has already.
 */
static int gpu_stream(struct frag_gpu *g, uint32_t stream, void **out, struct frag_error *err)
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

/* The pool's current statistics, where there is a pool: a wait may have changed what it holds. */
static int gpu_pool_look(struct frag_gpu *g, struct frag_error *err)
{
	struct frag_device_pool *b = &g->pool_totals;
	int e;

	if (!g->pool)
		return 0;
	e = frag_cuda.pool_get(g->pool, FRAG_CUDA_POOL_RESERVED, &b->reserved);
	e = e ? e : frag_cuda.pool_get(g->pool, FRAG_CUDA_POOL_USED, &b->used);
	if (e)
		return frag_gpu_check(g, e, err, "cudaMemPoolGetAttribute");
	if (b->reserved > b->peak_reserved)
		b->peak_reserved = b->reserved;
	if (g->pool_user)
		g->pool_user->used = b->reserved;
	return 0;
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
	int rc = gpu_stream(g, stream, &on, err);

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
	return rc ? rc : gpu_pool_look(g, err);
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
	return rc ? rc : gpu_pool_look(g, err);
}

int frag_gpu_fill(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		  uint64_t bytes, uint32_t word, struct frag_error *err)
{
	void *on;
	int rc = gpu_stream(g, stream, &on, err);

	return rc ? rc : frag_gpu_check(g, frag_cuda.fill(on, g->pieces[addr].at + offset, word,
							  bytes / sizeof(word)), err,
					"cuMemsetD32Async");
}

int frag_gpu_fetch(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		   uint64_t bytes, void *to, struct frag_error *err)
{
	void *on;
	int rc = gpu_stream(g, stream, &on, err);

	return rc ? rc : frag_gpu_check(g, frag_cuda.fetch(on, g->pieces[addr].at + offset, to,
							   bytes), err, "cudaMemcpyAsync");
}

/* Segments --------------------------------------------------------------- */

static int gpu_obtain(struct frag_device *dev, uint64_t bytes, uint64_t counted, frag_addr *addr,
		      uint64_t *cost_ns)
{
	uint32_t i = 0;
	int rc = frag_gpu_alloc(dev->ctx, NULL, bytes, &i, cost_ns, dev->err), noted;

	*addr = i;
	if (rc && rc != -FRAG_EDEVMEM)
		return rc;
	/* if this fails, no caller has the piece, and close releases it */
	noted = gpu_notify(dev, FRAG_GPU_MALLOC, bytes, counted, *cost_ns, rc != 0);
	return noted ? noted : rc;
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
	begin = gpu_now();
	e = frag_cuda.free(g->pieces[addr].at);
	*cost_ns = gpu_now() - begin;
	if (e)
		return frag_gpu_check(g, e, dev->err, "cudaFree of %" PRIu64 " bytes", bytes);
	frag_gpu_drop_piece(g, (uint32_t)addr);
	frag_device_simulated.release(dev, 0, bytes, &nothing);
	if (dev->small_max)
		rc = note_packing(dev, before, (int64_t)(dev->used - used));
	return rc ? rc : gpu_notify(dev, FRAG_GPU_FREE, bytes, 0, *cost_ns, false);
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
	i = new_piece(g);
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
	begin = gpu_now();
	e = gpu_map_pages(g, p, offset, bytes);
	*cost_ns = gpu_now() - begin;
	if (e && e != FRAG_CUDA_NO_MEMORY)
		rc = frag_gpu_check(g, e, dev->err, "mapping %" PRIu64 " bytes", bytes);
	else if (e)
		frag_cuda.clear();
	rc = rc ? rc : gpu_notify(dev, FRAG_GPU_MAP, bytes, bytes, *cost_ns, e != 0);
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
	begin = gpu_now();
	e = frag_gpu_unmap_pages(&g->pieces[addr], offset, bytes);
	*cost_ns = gpu_now() - begin;
	if (e)
		return frag_gpu_check(g, e, dev->err, "unmapping %" PRIu64 " bytes", bytes);
	frag_device_simulated.unmap(dev, addr, offset, bytes, page, &nothing);
	return gpu_notify(dev, FRAG_GPU_UNMAP, bytes, 0, *cost_ns, false);
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
	.acquire = gpu_acquire,
	.release = gpu_release,
	.reserve = gpu_reserve,
	.unreserve = gpu_unreserve,
	.map = gpu_map,
	.unmap = gpu_unmap,
};

/* The driver's own pool: cudaMallocAsync and cudaFreeAsync ---------------------- */

/*
 * Each segment is what the pool answers to one request, on the stream that asks. The pool chooses
 * what it keeps, and where; it reports how much it has reserved, and how much of that is used.
 */
static int set_up(struct frag_gpu *g, const struct frag_gpu_pool_options *o,
		  struct frag_error *err)
{
	static const enum frag_cuda_pool_value what[] = {
		FRAG_CUDA_POOL_THRESHOLD, FRAG_CUDA_POOL_EVENTS, FRAG_CUDA_POOL_OPPORTUNISTIC,
		FRAG_CUDA_POOL_INTERNAL,
	};
	const uint64_t values[] = { o->threshold, o->events, o->opportunistic, o->internal };
	int rc = 0;

	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]) && !rc; i++)
		rc = frag_gpu_check(g, frag_cuda.pool_set(g->pool, what[i], values[i]), err,
				    "cudaMemPoolSetAttribute");
	return rc ? rc : gpu_pool_look(g, err);
}

/* The pool is one of our own, with a bound, as the default pool of a device has none. */
int frag_gpu_pool_open(struct frag_gpu *g, uint64_t max, const struct frag_gpu_pool_options *o,
		       struct frag_error *err)
{
	int rc;

	if (!frag_cuda.pool_new)
		return frag_fail(err, FRAG_EDEVICE,
				 "this fragsim was built with a CUDA before 12.2, "
				 "where a pool of the driver has no bound: build it with a newer"
				 " one");
	rc = frag_gpu_use(g, err);
	if (rc)
		return rc;
	rc = frag_gpu_check(g, frag_cuda.pool_new(g->ordinal, max, &g->pool), err,
			    "making a pool of the driver");
	if (rc) {
		g->pool = NULL;
		return rc;
	}
	g->pool_totals = (struct frag_device_pool){ .reserved = 0 };
	return set_up(g, o, err);
}

/* Releases memory that has no owner, because a call failed after its allocation. */
static int free_lost(struct frag_gpu *g)
{
	int e = 0;

	for (uint32_t i = 0; i < g->piece_count && !e; i++) {
		const struct frag_gpu_range *p = &g->pieces[i];

		if (!p->pooled)
			continue;
		e = frag_cuda.async_free(p->at, p->stream ? g->streams[p->stream] : NULL);
		if (!e)
			frag_gpu_drop_piece(g, i);
	}
	return e;
}

int frag_gpu_pool_close(struct frag_gpu *g, struct frag_error *err)
{
	int rc, e;

	g->pool_user = NULL;
	if (!g->pool)
		return 0;
	rc = frag_gpu_use(g, err);
	if (rc)
		return rc;
	e = free_lost(g);
	/* freed memory is free only when its stream has come so far */
	e = e ? e : frag_cuda.wait();
	e = e ? e : frag_cuda.pool_del(g->pool);
	if (e)
		return frag_gpu_check(g, e, err, "giving a pool of the driver back");
	g->pool = NULL;
	return 0;
}

void frag_gpu_pool_on(struct frag_gpu *g, uint32_t stream)
{
	g->pool_stream = stream;
}

int frag_gpu_pool_trim(struct frag_gpu *g, struct frag_error *err)
{
	int rc;

	if (!g->pool)
		return 0;
	rc = frag_gpu_sync(g, UINT32_MAX, err);
	rc = rc ? rc : frag_gpu_check(g, frag_cuda.pool_trim(g->pool), err, "cudaMemPoolTrimTo");
	return rc ? rc : gpu_pool_look(g, err);
}

static void pool_ready(struct frag_device *dev)
{
	struct frag_gpu *g = dev->ctx;

	dev->pool = &g->pool_totals;
}

/* Used memory stays below the limit, however the pool treats its bound. */
static bool may_take(const struct frag_device *dev, uint64_t bytes)
{
	const uint64_t used = dev->pool->used;
	uint64_t max = frag_usable(dev->total, dev->context, dev->other);

	max = dev->limit < max ? dev->limit : max;
	return used <= max && bytes <= max - used;
}

static int pool_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	struct frag_gpu_stream on = { .index = g->pool_stream };
	uint32_t i = 0;
	int rc, noted;

	*cost_ns = 0;
	/* of several devices on this GPU, one after the other, it is this one's turn */
	g->pool_user = dev;
	if (!may_take(dev, bytes))
		return -FRAG_EDEVMEM;
	rc = gpu_stream(g, on.index, &on.stream, dev->err);
	rc = rc ? rc : frag_gpu_alloc(g, &on, bytes, &i, cost_ns, dev->err);
	*addr = i;
	noted = rc ? 0 : gpu_pool_look(g, dev->err);
	if (noted || (rc && rc != -FRAG_EDEVMEM))
		return noted ? noted : rc;
	noted = gpu_notify(dev, FRAG_GPU_MALLOC_ASYNC, bytes, 0, *cost_ns, rc != 0);
	return noted ? noted : rc;
}

/*
 * The memory returns to the pool in the order of its stream, without waiting. The pool's
 * statistics show afterwards whether the pool released any to the device.
 */
static int pool_release(struct frag_device *dev, frag_addr addr, uint64_t bytes, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint64_t begin;
	void *on;
	int rc = gpu_stream(g, g->pieces[addr].stream, &on, dev->err), e;

	*cost_ns = 0;
	/* a deleted heap releases again any block whose release failed after the call */
	if (rc || !g->pieces[addr].bytes)
		return rc;
	begin = gpu_now();
	e = frag_cuda.async_free(g->pieces[addr].at, on);
	*cost_ns = gpu_now() - begin;
	if (e)
		return frag_gpu_check(g, e, dev->err, "cudaFreeAsync of %" PRIu64 " bytes", bytes);
	frag_gpu_drop_piece(g, (uint32_t)addr);
	rc = gpu_pool_look(g, dev->err);
	return rc ? rc : gpu_notify(dev, FRAG_GPU_FREE_ASYNC, bytes, 0, *cost_ns, false);
}

const struct frag_device_ops frag_device_gpu_pool = {
	.name = "gpu-pool",
	.ready = pool_ready,
	.acquire = pool_acquire,
	.release = pool_release,
};
