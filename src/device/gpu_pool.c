/*
 * gpu_pool.c - the driver's own pool as a device: cudaMallocAsync and cudaFreeAsync.
 *
 * Each segment is what the pool answers to one request, on the stream that asks.
 * What the pool keeps for them, and where, is its own: it reports how much
 * it has reserved, and how much of that is used.
 */
#include "device/gpu_state.h"

#include <inttypes.h>

#include "device/cuda.h"

/* The pool's current statistics. */
static int gpu_pool_look(struct frag_gpu *g, struct frag_error *err)
{
	struct frag_device_pool *b = &g->pool_totals;
	int e = frag_cuda.pool_get(g->pool, FRAG_CUDA_POOL_RESERVED, &b->reserved);

	e = e ? e : frag_cuda.pool_get(g->pool, FRAG_CUDA_POOL_USED, &b->used);
	if (e)
		return frag_gpu_check(g, e, err, "cudaMemPoolGetAttribute");
	if (b->reserved > b->peak_reserved)
		b->peak_reserved = b->reserved;
	if (g->pool_user)
		g->pool_user->used = b->reserved;
	return 0;
}

int frag_gpu_pool_look(struct frag_gpu *g, struct frag_error *err)
{
	return g->pool ? gpu_pool_look(g, err) : 0;
}

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

/* The device -------------------------------------------------------------- */

static void pool_ready(struct frag_device *dev)
{
	struct frag_gpu *g = dev->ctx;

	dev->pool = &g->pool_totals;
}

/* Used memory stays below the limit, however the pool treats its bound. */
static bool may_take(const struct frag_device *dev, uint64_t bytes)
{
	const uint64_t used = dev->pool->used;
	uint64_t max = dev->total - dev->context - dev->other;

	max = dev->limit < max ? dev->limit : max;
	return used <= max && bytes <= max - used;
}

/* One request, answered or refused. */
static int request(struct frag_device *dev, uint64_t bytes, frag_addr *addr, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint64_t begin, at;
	uint32_t i;
	void *on;
	int rc = frag_gpu_stream(g, g->pool_stream, &on, dev->err), e;

	if (rc)
		return rc;
	i = frag_gpu_new_piece(g);
	if (i == FRAG_NO_PIECE)
		return -FRAG_ENOMEM;
	begin = frag_gpu_now();
	e = frag_cuda.async_alloc(bytes, on, &at);
	*cost_ns = frag_gpu_now() - begin;
	if (!e) {
		g->pieces[i].at = at;
		g->pieces[i].bytes = bytes;
		g->pieces[i].pooled = true;
		g->pieces[i].stream = g->pool_stream;
		*addr = i;
		return gpu_pool_look(g, dev->err);
	}
	frag_gpu_drop_piece(g, i);
	if (e != FRAG_CUDA_NO_MEMORY)
		return frag_gpu_check(g, e, dev->err, "cudaMallocAsync of %" PRIu64 " bytes",
				       bytes);
	frag_cuda.clear();
	return -FRAG_EDEVMEM;
}

static int pool_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	int rc, notified;

	*cost_ns = 0;
	/* of several devices on this GPU, one after the other, it is this one's turn */
	g->pool_user = dev;
	if (!may_take(dev, bytes))
		return -FRAG_EDEVMEM;
	rc = request(dev, bytes, addr, cost_ns);
	if (rc && rc != -FRAG_EDEVMEM)
		return rc;
	notified = frag_gpu_notify(dev, FRAG_GPU_MALLOC_ASYNC, bytes, 0, *cost_ns, rc != 0);
	return notified ? notified : rc;
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
	int rc = frag_gpu_stream(g, g->pieces[addr].stream, &on, dev->err), e;

	*cost_ns = 0;
	/* a deleted heap releases again any block whose release failed after the call */
	if (rc || !g->pieces[addr].bytes)
		return rc;
	begin = frag_gpu_now();
	e = frag_cuda.async_free(g->pieces[addr].at, on);
	*cost_ns = frag_gpu_now() - begin;
	if (e)
		return frag_gpu_check(g, e, dev->err, "cudaFreeAsync of %" PRIu64 " bytes", bytes);
	frag_gpu_drop_piece(g, (uint32_t)addr);
	rc = gpu_pool_look(g, dev->err);
	return rc ? rc : frag_gpu_notify(dev, FRAG_GPU_FREE_ASYNC, bytes, 0, *cost_ns, false);
}

const struct frag_device_ops frag_device_gpu_pool = {
	.name = "gpu-pool",
	.summary = "the driver's own pool on a GPU of this machine",
	.ready = pool_ready,
	.acquire = pool_acquire,
	.release = pool_release,
};
