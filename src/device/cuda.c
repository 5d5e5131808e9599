/*
 * cuda.c - CUDA's calls; the one file that includes CUDA.
 *
 * The runtime is linked as an archive, so the program starts on machines without a driver. The
 * runtime supplies the addresses of the driver's own calls.
 */
#include "device/cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>

_Static_assert(FRAG_CUDA_NO_MEMORY == (int)cudaErrorMemoryAllocation, "as CUDA has it");
_Static_assert(FRAG_CUDA_NO_MEMORY == (int)CUDA_ERROR_OUT_OF_MEMORY, "as CUDA has it");
_Static_assert(FRAG_CUDA_OLD_DRIVER == (int)cudaErrorInsufficientDriver, "as CUDA has it");
_Static_assert(FRAG_CUDA_NO_GPU == (int)cudaErrorNoDevice, "as CUDA has it");
_Static_assert(FRAG_CUDA_NOT_SUPPORTED == (int)CUDA_ERROR_NOT_SUPPORTED, "as CUDA has it");

/* The version of the interface that is meant: the first one with virtual memory. */
#define DRIVER_INTERFACE 10020

/* A call of the driver by its name, into *call; FRAG_CUDA_NOT_SUPPORTED where it has none. */
static int look_up(const char *name, void *call)
{
	enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
	void *at = NULL;
	cudaError_t e;

#if CUDART_VERSION >= 12050
	e = cudaGetDriverEntryPointByVersion(name, &at, DRIVER_INTERFACE, cudaEnableDefault,
					     &found);
#else
	e = cudaGetDriverEntryPoint(name, &at, cudaEnableDefault, &found);
#endif
	if (e)
		return (int)e;
	memcpy(call, &at, sizeof(at));
	return found == cudaDriverEntryPointSuccess && at ? 0 : FRAG_CUDA_NOT_SUPPORTED;
}

/* Looks the driver's call of this name up once, and makes it; rc is what it answers. */
#define DRIVER(name, parameters, arguments, rc)                               \
	do {                                                                  \
		static CUresult (*call) parameters;                           \
									      \
		(rc) = call ? 0 : look_up(#name, &call);                      \
		if (!(rc))                                                    \
			(rc) = (int)call arguments;                           \
	} while (0)

static const char *cuda_words(int error)
{
	return cudaGetErrorString((cudaError_t)error);
}

static void cuda_clear(void)
{
	cudaGetLastError();
}

static int cuda_versions(int *driver, int *runtime)
{
	cudaError_t e = cudaDriverGetVersion(driver);

	return (int)(e ? e : cudaRuntimeGetVersion(runtime));
}

/* A call that is passed on: its answer is CUDA's. */
#define CALL(name, parameters, call) \
	static int name parameters { return (int)(call); }

CALL(cuda_count, (int *gpus), cudaGetDeviceCount(gpus))
CALL(cuda_use, (int gpu), cudaSetDevice(gpu))
CALL(cuda_reset, (void), cudaDeviceReset())
CALL(cuda_wait, (void), cudaDeviceSynchronize())
CALL(cuda_free, (uint64_t at), cudaFree((void *)(uintptr_t)at))

/* A call of the driver that is passed on: its parameters, and what they are here. */
#define DRIVER_CALL(name, own, driver, parameters, arguments)     \
	static int name own                                       \
	{                                                         \
		int rc;                                           \
								  \
		DRIVER(driver, parameters, arguments, rc);        \
		return rc;                                        \
	}

DRIVER_CALL(cuda_name, (int gpu, char *buf, int size), cuDeviceGetName, (char *, int, CUdevice),
	    (buf, size, gpu))
DRIVER_CALL(cuda_unreserve, (uint64_t at, uint64_t bytes), cuMemAddressFree, (CUdeviceptr, size_t),
	    (at, bytes))
DRIVER_CALL(cuda_unmap, (uint64_t at, uint64_t bytes), cuMemUnmap, (CUdeviceptr, size_t),
	    (at, bytes))
DRIVER_CALL(cuda_release, (CUmemGenericAllocationHandle handle), cuMemRelease,
	    (CUmemGenericAllocationHandle), (handle))
DRIVER_CALL(cuda_fill, (void *stream, uint64_t at, uint32_t word, uint64_t words),
	    cuMemsetD32Async, (CUdeviceptr, unsigned int, size_t, CUstream),
	    (at, word, words, stream))

static int cuda_memory(uint64_t *left, uint64_t *total)
{
	size_t a = 0, b = 0;
	cudaError_t e = cudaMemGetInfo(&a, &b);

	*left = a;
	*total = b;
	return (int)e;
}

static int cuda_alloc(uint64_t bytes, uint64_t *at)
{
	void *p = NULL;
	cudaError_t e = cudaMalloc(&p, bytes);

	*at = (uint64_t)(uintptr_t)p;
	return (int)e;
}

static CUmemAllocationProp cuda_page_of(int gpu)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu },
	};
}

static int cuda_page(int gpu, uint64_t *bytes)
{
	const CUmemAllocationProp prop = cuda_page_of(gpu);
	size_t page = 0;
	int rc;

	DRIVER(cuMemGetAllocationGranularity,
	       (size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags),
	       (&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), rc);
	*bytes = page;
	return rc;
}

static int cuda_reserve(uint64_t bytes, uint64_t *at)
{
	CUdeviceptr p = 0;
	int rc;

	DRIVER(cuMemAddressReserve,
	       (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long),
	       (&p, bytes, 0, 0, 0), rc);
	*at = p;
	return rc;
}

static int cuda_map(int gpu, uint64_t at, uint64_t bytes)
{
	const CUmemAllocationProp prop = cuda_page_of(gpu);
	CUmemGenericAllocationHandle handle = 0;
	int rc, released;

	DRIVER(cuMemCreate,
	       (CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
		unsigned long long), (&handle, bytes, &prop, 0), rc);
	if (rc)
		return rc;
	DRIVER(cuMemMap,
	       (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long),
	       (at, bytes, 0, handle, 0), rc);
	/* the mapping keeps the memory allocated without the handle */
	released = cuda_release(handle);
	if (released && !rc)
		cuda_unmap(at, bytes);
	if (released)
		cuda_release(handle);
	return rc ? rc : released;
}

static int cuda_open_up(int gpu, uint64_t at, uint64_t bytes)
{
	const CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	int rc;

	DRIVER(cuMemSetAccess, (CUdeviceptr, size_t, const CUmemAccessDesc *, size_t),
	       (at, bytes, &access, 1), rc);
	return rc;
}

/* Before 12.2 a pool had no bound, and could take a shared GPU whole. */
#if CUDART_VERSION >= 12020

static int cuda_pool_new(int gpu, uint64_t max, void **pool)
{
	const struct cudaMemPoolProps props = {
		.allocType = cudaMemAllocationTypePinned, .handleTypes = cudaMemHandleTypeNone,
		.location = { .type = cudaMemLocationTypeDevice, .id = gpu }, .maxSize = max,
	};
	cudaMemPool_t made = NULL;
	cudaError_t e = cudaMemPoolCreate(&made, &props);

	*pool = made;
	if (e)
		return (int)e;
	e = cudaDeviceSetMemPool(gpu, made);
	if (e)
		cudaMemPoolDestroy(made);
	return (int)e;
}

CALL(cuda_pool_del, (void *pool), cudaMemPoolDestroy(pool))
CALL(cuda_pool_trim, (void *pool), cudaMemPoolTrimTo(pool, 0))
CALL(cuda_async_free, (uint64_t at, void *stream), cudaFreeAsync((void *)(uintptr_t)at, stream))

static enum cudaMemPoolAttr attribute(enum frag_cuda_pool_value what)
{
	static const enum cudaMemPoolAttr attributes[] = {
		[FRAG_CUDA_POOL_THRESHOLD] = cudaMemPoolAttrReleaseThreshold,
		[FRAG_CUDA_POOL_EVENTS] = cudaMemPoolReuseFollowEventDependencies,
		[FRAG_CUDA_POOL_OPPORTUNISTIC] = cudaMemPoolReuseAllowOpportunistic,
		[FRAG_CUDA_POOL_INTERNAL] = cudaMemPoolReuseAllowInternalDependencies,
		[FRAG_CUDA_POOL_RESERVED] = cudaMemPoolAttrReservedMemCurrent,
		[FRAG_CUDA_POOL_USED] = cudaMemPoolAttrUsedMemCurrent,
	};

	return attributes[what];
}

/* The switches are ints, all other attributes have 64 bits. */
static int cuda_pool_set(void *pool, enum frag_cuda_pool_value what, uint64_t value)
{
	int flag = value != 0;
	void *from = what == FRAG_CUDA_POOL_THRESHOLD ? (void *)&value : (void *)&flag;

	return (int)cudaMemPoolSetAttribute(pool, attribute(what), from);
}

static int cuda_pool_get(void *pool, enum frag_cuda_pool_value what, uint64_t *value)
{
	return (int)cudaMemPoolGetAttribute(pool, attribute(what), value);
}

static int cuda_async_alloc(uint64_t bytes, void *stream, uint64_t *at)
{
	void *p = NULL;
	cudaError_t e = cudaMallocAsync(&p, bytes, stream);

	*at = (uint64_t)(uintptr_t)p;
	return (int)e;
}

#endif

static int cuda_stream_new(void **stream)
{
	cudaStream_t s = NULL;
	cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);

	*stream = s;
	return (int)e;
}

CALL(cuda_stream_del, (void *stream), cudaStreamDestroy(stream))
CALL(cuda_stream_wait, (void *stream), cudaStreamSynchronize(stream))
CALL(cuda_event_record, (void *event, void *stream), cudaEventRecord(event, stream))
CALL(cuda_event_wait, (void *event), cudaEventSynchronize(event))
CALL(cuda_event_del, (void *event), cudaEventDestroy(event))

static int cuda_event_new(void **event)
{
	cudaEvent_t made = NULL;
	cudaError_t e = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);

	*event = made;
	return (int)e;
}

static int cuda_fetch(void *stream, uint64_t at, void *to, uint64_t bytes)
{
	cudaError_t e = cudaMemcpyAsync(to, (const void *)(uintptr_t)at, bytes,
					cudaMemcpyDeviceToHost, stream);

	return (int)(e ? e : cudaStreamSynchronize(stream));
}

const struct frag_cuda_calls frag_cuda = {
	.words = cuda_words,
	.clear = cuda_clear,
	.versions = cuda_versions,
	.count = cuda_count,
	.use = cuda_use,
	.reset = cuda_reset,
	.wait = cuda_wait,
	.memory = cuda_memory,
	.name = cuda_name,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.page = cuda_page,
	.reserve = cuda_reserve,
	.unreserve = cuda_unreserve,
	.map = cuda_map,
	.unmap = cuda_unmap,
	.open_up = cuda_open_up,
#if CUDART_VERSION >= 12020
	.pool_new = cuda_pool_new,
	.pool_del = cuda_pool_del,
	.pool_set = cuda_pool_set,
	.pool_get = cuda_pool_get,
	.pool_trim = cuda_pool_trim,
	.async_alloc = cuda_async_alloc,
	.async_free = cuda_async_free,
#endif
	.stream_new = cuda_stream_new,
	.stream_del = cuda_stream_del,
	.stream_wait = cuda_stream_wait,
	.event_new = cuda_event_new,
	.event_record = cuda_event_record,
	.event_wait = cuda_event_wait,
	.event_del = cuda_event_del,
	.fill = cuda_fill,
	.fetch = cuda_fetch,
};
