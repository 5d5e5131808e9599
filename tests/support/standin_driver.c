/* standin_driver.c - the driver's calls: virtual memory, made of the host's. */
#include "support/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/standin_state.h"

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	cudaError_t e = standin_enter();

	if (!e)
		snprintf(name, (size_t)len, "stand-in %d", dev);
	return (CUresult)e;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	cudaError_t e = standin_enter();

	if (e)
		return (CUresult)e;
	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || option != CU_MEM_ALLOC_GRANULARITY_MINIMUM
	    || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = standin.pages;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
			     unsigned long long flags)
{
	cudaError_t e = standin_enter();
	struct piece *p;
	void *at;

	(void)flags;
	if (e)
		return (CUresult)e;
	if (size % standin.pages || alignment || addr)
		return CUDA_ERROR_INVALID_VALUE;
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = standin_new(RANGE);
	p->at = (uint64_t)(uintptr_t)at;
	p->bytes = size;
	*ptr = p->at;
	return CUDA_SUCCESS;
}

static bool has_pages(const struct piece *range)
{
	for (uint64_t i = 1; i < standin_piece_count; i++)
		if (standin_pieces[i].kind == PAGES && standin_pieces[i].at >= range->at
		    && standin_pieces[i].at < range->at + range->bytes)
			return true;
	return false;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct piece *p;
	cudaError_t e = standin_enter();

	if (e)
		return (CUresult)e;
	p = standin_find(RANGE, ptr);
	if (!p || p->bytes != size || has_pages(p)) {
		standin_mistake("cuMemAddressFree of what is no range, or has pages");
		return CUDA_ERROR_INVALID_VALUE;
	}
	standin_unmap(p);
	standin_drop(p);
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	cudaError_t e = standin_enter();
	struct piece *p;

	(void)flags;
	if (e)
		return (CUresult)e;
	if (size % standin.pages || prop->location.id != standin_current)
		return CUDA_ERROR_INVALID_VALUE;
	if (!standin_take(size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = standin_new(HANDLE);
	p->held = p->bytes = size;
	p->at = (uint64_t)(p - standin_pieces);
	*handle = p->at;
	return CUDA_SUCCESS;
}

/* Memory without a mapping and without a handle goes. */
static void finish(struct piece *p)
{
	if (p->released && !p->mapped)
		standin_drop(p);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct piece *p;
	cudaError_t e = standin_enter();

	if (e)
		return (CUresult)e;
	p = standin_find(HANDLE, handle);
	if (!p || p->released) {
		standin_mistake("cuMemRelease of what is no handle");
		return CUDA_ERROR_INVALID_VALUE;
	}
	p->released = true;
	finish(p);
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct piece *p, *memory;
	cudaError_t e = standin_enter();

	(void)flags;
	if (e)
		return (CUresult)e;
	memory = standin_find(HANDLE, handle);
	if (!memory || memory->bytes != size || offset || standin_find(PAGES, ptr)) {
		standin_mistake("cuMemMap of no handle, in part, or where pages are");
		return CUDA_ERROR_INVALID_VALUE;
	}
	memory->mapped = true;
	p = standin_new(PAGES);
	p->at = ptr;
	p->bytes = size;
	p->handle = handle;
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct piece *p, *memory;
	cudaError_t e = standin_enter();

	if (e)
		return (CUresult)e;
	p = standin_find(PAGES, ptr);
	if (!p || p->bytes != size) {
		standin_mistake("cuMemUnmap of what is not mapped just so");
		return CUDA_ERROR_INVALID_VALUE;
	}
	standin_unused(ptr, size);
	memory = standin_find(HANDLE, p->handle);
	memory->mapped = false;
	finish(memory);
	if (mmap((void *)(uintptr_t)ptr, size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	standin_drop(p);
	return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	cudaError_t e = standin_enter();

	if (e)
		return (CUresult)e;
	for (uint64_t at = ptr; at < ptr + size;) {
		const struct piece *p = standin_find(PAGES, at);

		if (!p || count != 1 || desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
			standin_mistake("cuMemSetAccess where nothing is mapped");
			return CUDA_ERROR_INVALID_VALUE;
		}
		at += p->bytes;
	}
	if (mprotect((void *)(uintptr_t)ptr, size, PROT_READ | PROT_WRITE) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
					     unsigned int cudaVersion, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *driverStatus)
{
	static const char *const names[] = {
		"cuDeviceGetName", "cuMemGetAllocationGranularity", "cuMemAddressReserve",
		"cuMemAddressFree", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
		"cuMemSetAccess", "cuMemsetD32Async",
	};
	static void (*const calls[])(void) = {
		(void (*)(void))cuDeviceGetName, (void (*)(void))cuMemGetAllocationGranularity,
		(void (*)(void))cuMemAddressReserve, (void (*)(void))cuMemAddressFree,
		(void (*)(void))cuMemCreate, (void (*)(void))cuMemRelease,
		(void (*)(void))cuMemMap, (void (*)(void))cuMemUnmap,
		(void (*)(void))cuMemSetAccess, (void (*)(void))cuMemsetD32Async,
	};
	cudaError_t e = standin_enter();

	(void)flags;
	if (e)
		return e;
	*driverStatus = cudaDriverEntryPointSymbolNotFound;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], symbol) != 0 || cudaVersion < 10020
		    || (!standin.pages && strstr(symbol, "cuMem") && i != 9))
			continue;
		memcpy(funcPtr, &calls[i], sizeof(calls[i]));
		*driverStatus = cudaDriverEntryPointSuccess;
	}
	return cudaSuccess;
}
