/*
 * driver_calls.h - the driver's calls that are wrapped, and the few of its types that they take.
 *
 * Declared here, because the recorder is built without CUDA's headers. Pointers that are only
 * passed on are void pointers. dlsym, dlvsym and cuGetProcAddress hand out the wrappers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/loaded_modules.h"
#include "recorder/raw.h"

#define CUDA_OUT_OF_MEMORY 2
#define CUDA_NOT_INITIALIZED 3
#define CUDA_DEINITIALIZED 4
#define CUDA_LOCATION_DEVICE 1

/* The default stream under its other names; a stream is a pointer, else. */
#define CUDA_STREAM_LEGACY 1
#define CUDA_STREAM_PER_THREAD 2

/* The beginning of CUmemAllocationProp. */
struct cuda_memory_properties {
	int type, handle_types;
	int location_type, location_id;
};

/* Flags of cuGetProcAddress. */
#define CUDA_PER_THREAD_STREAM 2u

/* Which of the two a call of a stream is: the suffix _ptsz makes stream 0 the thread's own. */
enum frag_stream_kind { FRAG_ANY_STREAM, FRAG_LEGACY_STREAM, FRAG_THREAD_STREAM };

/*
 * All that is wrapped: the exported name, the name that cuGetProcAddress has for it, from which
 * version of the interface on, and before which (0: none yet) it has this form.
 */
#define FRAG_DRIVER_CALLS(X) \
	X(cuMemAlloc_v2, cuMemAlloc, 3020, 0, ANY) \
	X(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, 0, ANY) \
	X(cuMemAllocManaged, cuMemAllocManaged, 6000, 0, ANY) \
	X(cuMemFree_v2, cuMemFree, 3020, 0, ANY) \
	X(cuMemAllocAsync, cuMemAllocAsync, 11020, 0, LEGACY) \
	X(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, 0, THREAD) \
	X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, 0, LEGACY) \
	X(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020, 0, THREAD) \
	X(cuMemFreeAsync, cuMemFreeAsync, 11020, 0, LEGACY) \
	X(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, 0, THREAD) \
	X(cuMemPoolDestroy, cuMemPoolDestroy, 11020, 0, ANY) \
	X(cuMemCreate, cuMemCreate, 10020, 0, ANY) \
	X(cuMemMap, cuMemMap, 10020, 0, ANY) \
	X(cuMemUnmap, cuMemUnmap, 10020, 0, ANY) \
	X(cuMemRelease, cuMemRelease, 10020, 0, ANY) \
	X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, 0, ANY) \
	X(cuStreamSynchronize, cuStreamSynchronize, 2000, 0, LEGACY) \
	X(cuStreamSynchronize_ptsz, cuStreamSynchronize, 7000, 0, THREAD) \
	X(cuCtxSynchronize, cuCtxSynchronize, 2000, 13000, ANY) \
	X(cuCtxSynchronize_v2, cuCtxSynchronize, 13000, 0, ANY) \
	X(cuEventRecord, cuEventRecord, 2000, 0, LEGACY) \
	X(cuEventRecord_ptsz, cuEventRecord, 7000, 0, THREAD) \
	X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, 0, LEGACY) \
	X(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags, 11010, 0, THREAD) \
	X(cuEventSynchronize, cuEventSynchronize, 2000, 0, ANY) \
	X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, 11000, ANY) \
	X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, 0, ANY) \
	X(cuGetProcAddress, cuGetProcAddress, 11030, 12000, ANY) \
	X(cuGetProcAddress_v2, cuGetProcAddress, 12000, 0, ANY)

/* The number of each in tables. */
enum frag_driver_call {
#define FRAG_NUMBER(name, base, from, before, kind) CALL_##name,
	FRAG_DRIVER_CALLS(FRAG_NUMBER)
#undef FRAG_NUMBER
	FRAG_DRIVER_CALL_COUNT
};

/* The names of the wrappers, by their number. */
extern const char *const frag_driver_call_names[FRAG_DRIVER_CALL_COUNT];

/* Looks up the driver's functions, once it is there; before the first call, if it can be. */
void frag_driver_prepare(void);

/* Whether other libraries get the C library's function of that name, not a sanitizer's. */
bool frag_is_of_c_library(const char *function);
