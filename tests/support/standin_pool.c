/*
 * standin_pool.c - the driver's own pools: memory that comes and goes with a stream's work.
 *
 * A pool holds whole chunks, and any free bytes of them serve any request: it is
 * the simplest pool that does what the documents promise, and says it. What it
 * holds above its threshold goes when somebody waits.
 */
#include "support/standin.h"

#include <string.h>
#include <sys/mman.h>

#include "support/standin_state.h"

#define ROUNDING 512
#define HOST_PAGE UINT64_C(4096)

static uint64_t current[STANDIN_GPUS];          /* the pool of each GPU; 0: none was set */

void standin_forget_pools(void)
{
	memset(current, 0, sizeof(current));
}

static uint64_t rounded(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Begins a call about a pool; *out is NULL where the call fails. */
static cudaError_t enter_pool(cudaMemPool_t pool, struct piece **out)
{
	cudaError_t e = standin_enter();

	*out = e ? NULL : standin_find(POOL, (uint64_t)(uintptr_t)pool);
	if (e || *out)
		return e;
	standin_mistake("what is no pool");
	return standin_fail(cudaErrorInvalidValue);
}

/* Keeps that much at the least, and what is in use. */
static void shrink(struct piece *pool, uint64_t keep)
{
	uint64_t want = rounded(pool->used > keep ? pool->used : keep, standin.chunk);

	if (want >= pool->held)
		return;
	standin_untake(pool->gpu, pool->held - want);
	pool->held = want;
}

void standin_finish_pools(void)
{
	for (uint64_t i = 1; i < standin_piece_count; i++)
		if (standin_pieces[i].kind == POOL && standin_pieces[i].gpu == standin_current)
			shrink(&standin_pieces[i], standin_pieces[i].threshold);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	cudaError_t e = standin_enter();
	struct piece *p;

	e = e ? e : standin_need_context();
	if (e)
		return e;
	if (poolProps->allocType != cudaMemAllocationTypePinned || !poolProps->maxSize
	    || poolProps->location.type != cudaMemLocationTypeDevice
	    || poolProps->location.id != standin_current)
		return standin_fail(cudaErrorInvalidValue);
	p = standin_new(POOL);
	p->at = (uint64_t)(p - standin_pieces);
	p->max = poolProps->maxSize;
	*memPool = (cudaMemPool_t)(uintptr_t)p->at;
	return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	struct piece *p;
	cudaError_t e = enter_pool(memPool, &p);

	if (e)
		return e;
	for (uint64_t i = 1; i < standin_piece_count; i++)
		if (standin_pieces[i].kind == POOLED && standin_pieces[i].handle == p->at)
			standin_mistake("a pool was destroyed with memory in use");
	if (current[p->gpu] == p->at)
		current[p->gpu] = 0;
	standin_drop(p);
	return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
	struct piece *p;
	cudaError_t e = enter_pool(memPool, &p);

	if (e)
		return e;
	current[device] = (uint64_t)(uintptr_t)memPool;
	return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	struct piece *p;
	cudaError_t e = enter_pool(memPool, &p);
	int flag = 0;

	if (e)
		return e;
	if (attr == cudaMemPoolAttrReleaseThreshold) {
		memcpy(&p->threshold, value, sizeof(p->threshold));
		return cudaSuccess;
	}
	memcpy(&flag, value, sizeof(flag));
	if (flag != 0 && flag != 1)
		return standin_fail(cudaErrorInvalidValue);
	standin.switches += (uint64_t)flag << (8 * ((int)attr - 1));
	return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	struct piece *p;
	cudaError_t e = enter_pool(memPool, &p);

	if (e)
		return e;
	memcpy(value, attr == cudaMemPoolAttrReservedMemCurrent ? &p->held : &p->used,
	       sizeof(p->held));
	return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	struct piece *p;
	cudaError_t e = enter_pool(memPool, &p);

	if (e)
		return e;
	shrink(p, minBytesToKeep);
	return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	const uint64_t bytes = rounded(size, ROUNDING);
	cudaError_t e = standin_enter();
	struct piece *pool, *p;
	uint64_t more = 0, index;
	void *at;

	if (e)
		return e;
	if (!current[standin_current]
	    || (hStream && !standin_find(STREAM, (uint64_t)(uintptr_t)hStream))) {
		standin_mistake("cudaMallocAsync without a pool, or on no stream");
		return standin_fail(cudaErrorInvalidValue);
	}
	index = current[standin_current];
	pool = &standin_pieces[index];
	if (pool->used + bytes > pool->held)
		more = rounded(pool->used + bytes - pool->held, standin.chunk);
	if (pool->held + more > pool->max || !standin_take(more))
		return standin_fail(cudaErrorMemoryAllocation);
	pool->held += more;
	pool->used += bytes;
	at = mmap(NULL, rounded(bytes, HOST_PAGE), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	p = standin_new(POOLED);
	p->at = (uint64_t)(uintptr_t)at;
	p->bytes = bytes;
	p->handle = index;
	*devPtr = at;
	return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	cudaError_t e = standin_enter();
	struct piece *p;

	if (e)
		return e;
	p = standin_find(POOLED, (uint64_t)(uintptr_t)devPtr);
	if (!p) {
		standin_mistake("cudaFreeAsync of what is not held");
		return standin_fail(cudaErrorInvalidValue);
	}
	/* it goes behind what its own stream does; no other one may use it then */
	standin_finish_stream((uint64_t)(uintptr_t)hStream);
	standin_unused(p->at, p->bytes);
	standin_pieces[p->handle].used -= p->bytes;
	standin_unmap(p);
	standin_drop(p);
	return cudaSuccess;
}
