/* calls.h - the driver's calls that the stand-in has and the client makes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct properties {
	int type, handle_types, location_type, location_id;
	void *rest[2];
};

/* name, name for cuGetProcAddress, is it the thread's own default stream, parameters */
#define CALLS(X) \
	X(cuInit, cuInit, 0, (unsigned)) \
	X(cuCtxSetCurrent, cuCtxSetCurrent, 0, (void *)) \
	X(cuMemAlloc_v2, cuMemAlloc, 0, (uint64_t *, size_t)) \
	X(cuMemAllocPitch_v2, cuMemAllocPitch, 0, (uint64_t *, size_t *, size_t, size_t, unsigned)) \
	X(cuMemAllocManaged, cuMemAllocManaged, 0, (uint64_t *, size_t, unsigned)) \
	X(cuMemFree_v2, cuMemFree, 0, (uint64_t)) \
	X(cuMemAllocAsync, cuMemAllocAsync, 0, (uint64_t *, size_t, uint64_t)) \
	X(cuMemAllocAsync_ptsz, cuMemAllocAsync, 1, (uint64_t *, size_t, uint64_t)) \
	X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 0, \
	  (uint64_t *, size_t, uint64_t, uint64_t)) \
	X(cuMemFreeAsync, cuMemFreeAsync, 0, (uint64_t, uint64_t)) \
	X(cuMemFreeAsync_ptsz, cuMemFreeAsync, 1, (uint64_t, uint64_t)) \
	X(cuMemPoolDestroy, cuMemPoolDestroy, 0, (uint64_t)) \
	X(cuMemCreate, cuMemCreate, 0, \
	  (uint64_t *, size_t, const struct properties *, unsigned long long)) \
	X(cuMemMap, cuMemMap, 0, (uint64_t, size_t, size_t, uint64_t, unsigned long long)) \
	X(cuMemUnmap, cuMemUnmap, 0, (uint64_t, size_t)) \
	X(cuMemRelease, cuMemRelease, 0, (uint64_t)) \
	X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 0, (uint64_t *, void *)) \
	X(cuStreamSynchronize, cuStreamSynchronize, 0, (uint64_t)) \
	X(cuStreamSynchronize_ptsz, cuStreamSynchronize, 1, (uint64_t)) \
	X(cuCtxSynchronize, cuCtxSynchronize, 0, (void)) \
	X(cuEventRecord, cuEventRecord, 0, (uint64_t, uint64_t)) \
	X(cuEventSynchronize, cuEventSynchronize, 0, (uint64_t)) \
	X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 0, (int))

#define DECLARE(name, base, own, parameters) int name parameters;
CALLS(DECLARE)
#undef DECLARE

struct calls {
#define MEMBER(name, base, own, parameters) int (*name) parameters;
	CALLS(MEMBER)
#undef MEMBER
};
