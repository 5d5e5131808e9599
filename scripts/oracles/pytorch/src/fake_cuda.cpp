/* fake_cuda.cpp - as much of the CUDA runtime and driver as libc10_cuda.so needs.
 *
 * One device, whose memory nobody backs: addresses are numbers, and what is kept
 * is who holds how much of it. Driver functions are handed out through
 * cudaGetDriverEntryPointByVersion(), so no libcuda is opened; what was built with CUDA 12 asks
 * cudaGetDriverEntryPoint(), or opens one, which finds them here. From the environment:
 *
 *   FAKE_TOTAL    bytes of the device, with a suffix K, M or G (80G)
 *   FAKE_USED     bytes that others hold (0)
 *   FAKE_GRAN     what cudaMalloc rounds up to in the device's books (2M)
 *   FAKE_ADDRESS  rise (default), fall, or reuse (the lowest gap first)
 *   FAKE_RANGES   rise (default), above all segments, or fall, among these
 *
 * Events are done when the oracle says so (fake_sync_*) or when somebody waits.
 */
#include "fake_cuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

#define API extern "C" __attribute__((visibility("default")))

namespace {

const uint64_t PAGE = 2ull << 20;                 /* the driver's own granularity */
const uint64_t FIRST_ADDRESS = 0x100000000000;
const uint64_t FIRST_RANGE = 0x300000000000;      /* reserved address ranges */
const uint64_t RANGE_GAP = 1ull << 30;            /* so that ranges are never neighbours */

enum address_mode { RISE, FALL, REUSE };

struct event {
	void    *stream;
	uint64_t number;        /* of its record on the stream */
	bool     recorded;
};

struct stream {
	uint64_t recorded = 0, done = 0;
};

struct physical {
	uint64_t size;
	int      references;    /* the handle's own, and one a map */
};

uint64_t bytes_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	uint64_t value;

	if (!text || !*text)
		return otherwise;
	value = strtoull(text, &end, 10);
	switch (*end) {
	case '\0':
		return value;
	case 'K':
		return value << 10;
	case 'M':
		return value << 20;
	case 'G':
		return value << 30;
	}
	fprintf(stderr, "oracle: %s: not a size: %s\n", name, text);
	_Exit(2);
}

enum address_mode mode_of(const char *name)
{
	const char *text = getenv(name);

	if (!text || !strcmp(text, "rise"))
		return RISE;
	if (!strcmp(text, "fall"))
		return FALL;
	if (!strcmp(text, "reuse"))
		return REUSE;
	fprintf(stderr, "oracle: %s: not rise, fall or reuse: %s\n", name, text);
	_Exit(2);
}

struct device {
	uint64_t total = bytes_of("FAKE_TOTAL", 80ull << 30);
	uint64_t granularity = bytes_of("FAKE_GRAN", PAGE);
	uint64_t used = bytes_of("FAKE_USED", 0);
	enum address_mode mode = mode_of("FAKE_ADDRESS"), ranges = mode_of("FAKE_RANGES");
	uint64_t above = FIRST_ADDRESS, below = FIRST_ADDRESS, range = FIRST_RANGE;
	uint64_t next_handle = 1;
	std::map<uint64_t, uint64_t> held;                      /* address -> size */
	std::map<uint64_t, uint64_t> maps;                      /* address -> handle */
	std::unordered_map<uint64_t, struct physical> physicals; /* by handle */
	std::unordered_map<void *, struct stream> streams;
	std::vector<struct fake_record> log;
	cudaError_t last = cudaSuccess;
};

struct device &dev()
{
	static struct device *only = new struct device;   /* outlives all destructors */

	return *only;
}

uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

void record(enum fake_call call, uint64_t address, uint64_t size)
{
	dev().log.push_back({call, address, size});
}

cudaError_t fail(cudaError_t error)
{
	dev().last = error;
	return error;
}

uint64_t lowest_gap(uint64_t size)
{
	uint64_t address = FIRST_ADDRESS;

	for (const auto &block : dev().held) {
		if (block.first - address >= size)
			break;
		address = block.first + round_up(block.second, PAGE);
	}
	return address;
}

uint64_t new_address(uint64_t size)
{
	struct device &d = dev();

	size = round_up(size, PAGE);
	switch (d.mode) {
	case FALL:
		return d.below -= size;
	case REUSE:
		return lowest_gap(size);
	case RISE:
		break;
	}
	d.above += size;
	return d.above - size;
}

} /* namespace */

/* For the oracle ------------------------------------------------------------ */

API const struct fake_record *fake_log(size_t *count)
{
	*count = dev().log.size();
	return dev().log.data();
}

API void fake_log_reset(void)
{
	dev().log.clear();
}

API void fake_sync_stream(void *handle)
{
	struct stream &s = dev().streams[handle];

	s.done = s.recorded;
}

/* What every stream says of itself: a graph is captured, or none is. */
static enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;

API void fake_capture(int on)
{
	capture = on ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
}

API void fake_sync_all(void)
{
	for (auto &entry : dev().streams)
		entry.second.done = entry.second.recorded;
}

/* Device -------------------------------------------------------------------- */

API cudaError_t cudaGetDeviceCount(int *count)
{
	*count = 1;
	return cudaSuccess;
}

API cudaError_t cudaGetDevice(int *device)
{
	*device = 0;
	return cudaSuccess;
}

API cudaError_t cudaSetDevice(int device)
{
	return device ? fail(cudaErrorInvalidDevice) : cudaSuccess;
}

API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int)
{
	memset(p, 0, sizeof *p);
	snprintf(p->name, sizeof p->name, "fake");
	p->totalGlobalMem = dev().total;
	p->major = 9;
	p->multiProcessorCount = 132;
	p->warpSize = 32;
	p->maxThreadsPerBlock = 1024;
	p->maxThreadsPerMultiProcessor = 2048;
	p->sharedMemPerBlock = 49152;
	p->regsPerBlock = 65536;
	p->unifiedAddressing = 1;
	return cudaSuccess;
}

API cudaError_t cudaDeviceCanAccessPeer(int *can, int, int)
{
	*can = 1;
	return cudaSuccess;
}

API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)
{
	return cudaSuccess;
}

API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}

API cudaError_t cudaDeviceSynchronize(void)
{
	fake_sync_all();
	return cudaSuccess;
}

API cudaError_t cudaDriverGetVersion(int *version)
{
	*version = 13020;
	return cudaSuccess;
}

API cudaError_t cudaGetLastError(void)
{
	cudaError_t error = dev().last;

	dev().last = cudaSuccess;
	return error;
}

API const char *cudaGetErrorName(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorFake";
}

API const char *cudaGetErrorString(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "out of memory" : "error of the fake";
}

/* Memory of the runtime ----------------------------------------------------- */

API cudaError_t cudaMalloc(void **pointer, size_t size)
{
	struct device &d = dev();
	uint64_t booked = round_up(size, d.granularity);
	uint64_t address;

	*pointer = nullptr;
	if (d.used + booked > d.total) {
		record(FAKE_MALLOC_FAIL, 0, size);
		return fail(cudaErrorMemoryAllocation);
	}
	address = new_address(size);
	d.used += booked;
	d.held[address] = size;
	record(FAKE_MALLOC, address, size);
	*pointer = (void *)address;
	return cudaSuccess;
}

API cudaError_t cudaFree(void *pointer)
{
	struct device &d = dev();
	auto found = d.held.find((uint64_t)pointer);

	if (!pointer)
		return cudaSuccess;
	if (found == d.held.end())
		return fail(cudaErrorInvalidValue);
	d.used -= round_up(found->second, d.granularity);
	record(FAKE_FREE, found->first, found->second);
	d.held.erase(found);
	return cudaSuccess;
}

API cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	struct device &d = dev();

	*total = d.total;
	*free = d.used < d.total ? d.total - d.used : 0;
	return cudaSuccess;
}

/* Streams and events -------------------------------------------------------- */

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *handle, unsigned, int)
{
	static uint64_t count;

	*handle = (cudaStream_t)(0x500000000000 + 0x1000 * count++);
	return cudaSuccess;
}

API cudaError_t cudaStreamQuery(cudaStream_t handle)
{
	const struct stream &s = dev().streams[handle];

	return s.done == s.recorded ? cudaSuccess : cudaErrorNotReady;
}

API cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
	fake_sync_stream(handle);
	return cudaSuccess;
}

API cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
	return cudaSuccess;
}

API cudaError_t cudaStreamIsCapturing(cudaStream_t, enum cudaStreamCaptureStatus *status)
{
	*status = capture;
	return cudaSuccess;
}

#if CUDART_VERSION < 13000
#define EDGES
#else
#define EDGES const cudaGraphEdgeData **,
#endif

API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, enum cudaStreamCaptureStatus *status,
					 unsigned long long *, cudaGraph_t *,
					 const cudaGraphNode_t **, EDGES
					 size_t *)
{
	if (status)
		*status = capture;
	return cudaSuccess;
}

API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	*mode = cudaStreamCaptureModeGlobal;
	return cudaSuccess;
}

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *handle, unsigned)
{
	*handle = (cudaEvent_t) new event{nullptr, 0, false};
	return cudaSuccess;
}

API cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
	delete (struct event *)handle;
	return cudaSuccess;
}

API cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t on)
{
	*(struct event *)handle = {on, ++dev().streams[on].recorded, true};
	return cudaSuccess;
}

API cudaError_t cudaEventQuery(cudaEvent_t handle)
{
	const struct event *e = (const struct event *)handle;

	if (!e->recorded || dev().streams[e->stream].done >= e->number)
		return cudaSuccess;
	return fail(cudaErrorNotReady);
}

API cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
	const struct event *e = (const struct event *)handle;

	if (e->recorded && dev().streams[e->stream].done < e->number)
		dev().streams[e->stream].done = e->number;
	return cudaSuccess;
}

/* What the loader asks for and the native allocator never calls ------------- */

#define NEVER(name, ...) \
	API cudaError_t name(__VA_ARGS__) \
	{ \
		fprintf(stderr, "oracle: the fake has no " #name "\n"); \
		return fail(cudaErrorNotSupported); \
	}
NEVER(cudaDeviceGetDefaultMemPool, cudaMemPool_t *, int)
NEVER(cudaDeviceGetGraphMemAttribute, int, enum cudaGraphMemAttributeType, void *)
NEVER(cudaDeviceSetGraphMemAttribute, int, enum cudaGraphMemAttributeType, void *)
NEVER(cudaEventElapsedTime, float *, cudaEvent_t, cudaEvent_t)
NEVER(cudaFreeAsync, void *, cudaStream_t)
#if CUDART_VERSION < 13000
NEVER(cudaGraphNodeGetDependencies, cudaGraphNode_t, cudaGraphNode_t *, size_t *)
#else
NEVER(cudaGraphNodeGetDependencies, cudaGraphNode_t, cudaGraphNode_t *, cudaGraphEdgeData *,
      size_t *)
#endif
NEVER(cudaIpcCloseMemHandle, void *)
NEVER(cudaIpcGetMemHandle, cudaIpcMemHandle_t *, void *)
NEVER(cudaIpcOpenMemHandle, void **, cudaIpcMemHandle_t, unsigned)
NEVER(cudaMallocAsync, void **, size_t, cudaStream_t)
NEVER(cudaMemPoolGetAttribute, cudaMemPool_t, enum cudaMemPoolAttr, void *)
NEVER(cudaMemPoolSetAccess, cudaMemPool_t, const struct cudaMemAccessDesc *, size_t)
NEVER(cudaMemPoolSetAttribute, cudaMemPool_t, enum cudaMemPoolAttr, void *)
NEVER(cudaMemPoolTrimTo, cudaMemPool_t, size_t)
NEVER(cudaMemcpy, void *, const void *, size_t, cudaMemcpyKind)
NEVER(cudaMemcpyAsync, void *, const void *, size_t, cudaMemcpyKind, cudaStream_t)
NEVER(cudaMemcpyPeerAsync, void *, int, const void *, int, size_t, cudaStream_t)

#if CUDART_VERSION < 13000
NEVER(cudaGraphAddEmptyNode, cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t)
NEVER(cudaGraphNodeGetType, cudaGraphNode_t, enum cudaGraphNodeType *)
NEVER(cudaStreamUpdateCaptureDependencies, cudaStream_t, cudaGraphNode_t *, size_t, unsigned)
#endif

/* Virtual memory of the driver ---------------------------------------------- */

static CUresult device_get(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult device_get_attribute(int *value, CUdevice_attribute, CUdevice)
{
	*value = 0;
	return CUDA_SUCCESS;
}

static CUresult get_granularity(size_t *size, const CUmemAllocationProp *,
				CUmemAllocationGranularity_flags)
{
	*size = PAGE;
	return CUDA_SUCCESS;
}

static CUresult address_reserve(CUdeviceptr *address, size_t size, size_t, CUdeviceptr,
				unsigned long long)
{
	const uint64_t room = round_up(size, RANGE_GAP) + RANGE_GAP;

	if (dev().ranges == FALL) {
		*address = dev().below -= room;
	} else {
		*address = dev().range;
		dev().range += room;
	}
	record(FAKE_RESERVE, *address, size);
	return CUDA_SUCCESS;
}

static CUresult address_free(CUdeviceptr address, size_t size)
{
	record(FAKE_ADDRESS_FREE, address, size);
	return CUDA_SUCCESS;
}

static CUresult mem_create(CUmemGenericAllocationHandle *handle, size_t size,
			   const CUmemAllocationProp *, unsigned long long)
{
	struct device &d = dev();

	if (d.used + size > d.total) {
		record(FAKE_CREATE_FAIL, 0, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	d.used += size;
	*handle = d.next_handle++;
	d.physicals[*handle] = {size, 1};
	return CUDA_SUCCESS;
}

static void drop_reference(uint64_t handle)
{
	struct device &d = dev();
	auto found = d.physicals.find(handle);

	if (found == d.physicals.end() || --found->second.references > 0)
		return;
	d.used -= found->second.size;
	d.physicals.erase(found);
}

static CUresult mem_release(CUmemGenericAllocationHandle handle)
{
	record(FAKE_RELEASE, handle, 0);
	drop_reference(handle);
	return CUDA_SUCCESS;
}

static CUresult mem_map(CUdeviceptr address, size_t size, size_t,
			CUmemGenericAllocationHandle handle, unsigned long long)
{
	record(FAKE_MAP, address, size);
	dev().maps[address] = handle;
	dev().physicals[handle].references++;
	return CUDA_SUCCESS;
}

static CUresult mem_set_access(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t)
{
	return CUDA_SUCCESS;
}

static CUresult mem_unmap(CUdeviceptr address, size_t size)
{
	auto &maps = dev().maps;
	auto page = maps.lower_bound(address);

	record(FAKE_UNMAP, address, size);
	while (page != maps.end() && page->first < address + size) {
		drop_reference(page->second);
		page = maps.erase(page);
	}
	return CUDA_SUCCESS;
}

static CUresult get_error_string(CUresult, const char **text)
{
	*text = "error of the fake driver";
	return CUDA_SUCCESS;
}

static CUresult never(void)
{
	fprintf(stderr, "oracle: a driver function that the fake does not have\n");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static cudaError_t entry_point(const char *name, void **function,
			       cudaDriverEntryPointQueryResult *status)
{
	static const std::unordered_map<std::string, void *> table = {
		{"cuDeviceGet", (void *)device_get},
		{"cuDeviceGetAttribute", (void *)device_get_attribute},
		{"cuGetErrorString", (void *)get_error_string},
		{"cuMemAddressFree", (void *)address_free},
		{"cuMemAddressReserve", (void *)address_reserve},
		{"cuMemCreate", (void *)mem_create},
		{"cuMemExportToShareableHandle", (void *)never},
		{"cuMemGetAddressRange", (void *)never},
		{"cuMemGetAllocationGranularity", (void *)get_granularity},
		{"cuMemGetAllocationPropertiesFromHandle", (void *)never},
		{"cuMemImportFromShareableHandle", (void *)never},
		{"cuMemMap", (void *)mem_map},
		{"cuMemRelease", (void *)mem_release},
		{"cuMemRetainAllocationHandle", (void *)never},
		{"cuMemSetAccess", (void *)mem_set_access},
		{"cuMemUnmap", (void *)mem_unmap},
		{"cuMemsetD32Async", (void *)never},
		{"cuStreamWriteValue32", (void *)never},
	};
	auto found = table.find(name);
	bool known = found != table.end();

	*function = known ? found->second : nullptr;
	if (status)
		*status = known ? cudaDriverEntryPointSuccess
				: cudaDriverEntryPointSymbolNotFound;
	return cudaSuccess;
}

API cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned,
						 unsigned long long,
						 cudaDriverEntryPointQueryResult *status)
{
	return entry_point(name, function, status);
}

#if CUDART_VERSION < 13000
API cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long,
					cudaDriverEntryPointQueryResult *status)
{
	return entry_point(name, function, status);
}
#endif

/* What a libcuda.so.1 has. */
#define DRIVER(name, function, parameters, arguments) \
	API CUresult name parameters \
	{ \
		return function arguments; \
	}
DRIVER(cuDeviceGet, device_get, (CUdevice *device, int ordinal), (device, ordinal))
DRIVER(cuDeviceGetAttribute, device_get_attribute,
       (int *value, CUdevice_attribute what, CUdevice device), (value, what, device))
DRIVER(cuGetErrorString, get_error_string, (CUresult error, const char **text), (error, text))
DRIVER(cuMemAddressFree, address_free, (CUdeviceptr address, size_t size), (address, size))
DRIVER(cuMemAddressReserve, address_reserve,
       (CUdeviceptr *address, size_t size, size_t unit, CUdeviceptr hint, unsigned long long flags),
       (address, size, unit, hint, flags))
DRIVER(cuMemCreate, mem_create,
       (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *what,
	unsigned long long flags), (handle, size, what, flags))
DRIVER(cuMemGetAllocationGranularity, get_granularity,
       (size_t *size, const CUmemAllocationProp *what, CUmemAllocationGranularity_flags which),
       (size, what, which))
DRIVER(cuMemMap, mem_map,
       (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
	unsigned long long flags), (address, size, offset, handle, flags))
DRIVER(cuMemRelease, mem_release, (CUmemGenericAllocationHandle handle), (handle))
DRIVER(cuMemSetAccess, mem_set_access,
       (CUdeviceptr address, size_t size, const CUmemAccessDesc *who, size_t count),
       (address, size, who, count))
DRIVER(cuMemUnmap, mem_unmap, (CUdeviceptr address, size_t size), (address, size))

/* And what nobody calls. */
#define NEVER_CALLED(name) \
	API CUresult never_##name(void) __asm__(#name); \
	API CUresult never_##name(void) \
	{ \
		return never(); \
	}
NEVER_CALLED(cuMemExportToShareableHandle)
NEVER_CALLED(cuMemGetAddressRange_v2)
NEVER_CALLED(cuMemImportFromShareableHandle)
NEVER_CALLED(cuMemsetD32Async)
NEVER_CALLED(cuMulticastAddDevice)
NEVER_CALLED(cuMulticastBindMem)
NEVER_CALLED(cuMulticastCreate)
NEVER_CALLED(cuMulticastUnbind)
NEVER_CALLED(cuStreamWriteValue32)
NEVER_CALLED(cuStreamWriteValue32_v2)
