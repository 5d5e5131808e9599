#!/bin/sh
# declarations.sh - the stand-in's own declarations of CUDA are those of the real
# headers, where there are such. Prints TAP.
#
# src/device/cuda.c and the stand-in itself have to compile with either; so have
# the sizes and places of what is passed, and the values of what is compared.
set -eu

cd "$(dirname "$0")/../../.."
CC=${CC:-cc}
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=0
failed=0

# compile FILE FOLDER: one test.
compile()
{
	number=$((number + 1))
	if $CC -std=c11 -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -Iinclude -Isrc -Itests -isystem "$2" \
		-Werror=incompatible-pointer-types -fsyntax-only "$1" 2>"$folder/out"; then
		echo "ok $number - $1 compiles with $2"
	else
		echo "not ok $number - $1 compiles with $2"
		sed 's/^/#   /' "$folder/out"
		failed=1
	fi
}

cat >"$folder/layout.c" <<'END'
#include <stddef.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a)
SAME(sizeof(CUdeviceptr), 8);
SAME(sizeof(CUdevice), 4);
SAME(sizeof(CUmemGenericAllocationHandle), 8);
SAME(sizeof(CUmemLocation), 8);
SAME(offsetof(CUmemLocation, id), 4);
SAME(sizeof(CUmemAllocationProp), 32);
SAME(offsetof(CUmemAllocationProp, requestedHandleTypes), 4);
SAME(offsetof(CUmemAllocationProp, location), 8);
SAME(offsetof(CUmemAllocationProp, win32HandleMetaData), 16);
SAME(offsetof(CUmemAllocationProp, allocFlags), 24);
SAME(sizeof(CUmemAccessDesc), 12);
SAME(offsetof(CUmemAccessDesc, flags), 8);
SAME(CUDA_SUCCESS, 0);
SAME(CUDA_ERROR_INVALID_VALUE, 1);
SAME(CUDA_ERROR_OUT_OF_MEMORY, 2);
SAME(CUDA_ERROR_NOT_SUPPORTED, 801);
SAME(CU_MEM_ALLOCATION_TYPE_PINNED, 1);
SAME(CU_MEM_HANDLE_TYPE_NONE, 0);
SAME(CU_MEM_LOCATION_TYPE_DEVICE, 1);
SAME(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3);
SAME(CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0);
SAME(cudaSuccess, 0);
SAME(cudaErrorInvalidValue, 1);
SAME(cudaErrorMemoryAllocation, 2);
SAME(cudaErrorInitializationError, 3);
SAME(cudaErrorInsufficientDriver, 35);
SAME(cudaErrorNoDevice, 100);
SAME(cudaErrorInvalidDevice, 101);
SAME(cudaErrorInvalidResourceHandle, 400);
SAME(cudaErrorSymbolNotFound, 500);
SAME(cudaErrorIllegalAddress, 700);
SAME(cudaErrorUnknown, 999);
SAME(sizeof(struct cudaMemPoolProps), 88);
SAME(offsetof(struct cudaMemPoolProps, handleTypes), 4);
SAME(offsetof(struct cudaMemPoolProps, location), 8);
SAME(offsetof(struct cudaMemPoolProps, maxSize), 24);
SAME(cudaMemAllocationTypePinned, 1);
SAME(cudaMemHandleTypeNone, 0);
SAME(cudaMemLocationTypeDevice, 1);
SAME(cudaMemPoolReuseFollowEventDependencies, 1);
SAME(cudaMemPoolReuseAllowOpportunistic, 2);
SAME(cudaMemPoolReuseAllowInternalDependencies, 3);
SAME(cudaMemPoolAttrReleaseThreshold, 4);
SAME(cudaMemPoolAttrReservedMemCurrent, 5);
SAME(cudaMemPoolAttrUsedMemCurrent, 7);
SAME(cudaStreamNonBlocking, 1);
SAME(cudaEventDisableTiming, 2);
SAME(cudaEnableDefault, 0);
SAME(cudaMemcpyDeviceToHost, 2);
SAME(cudaDriverEntryPointSuccess, 0);
SAME(cudaDriverEntryPointSymbolNotFound, 1);
END

# Of each call that is recorded the version of the interface that has it; and what is read of it.
cat >"$folder/calls.c" <<'END'
#include <cuda.h>
#include <cudaTypedefs.h>
#include "recorder/driver_calls.h"
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemFree
#undef cuDevicePrimaryCtxReset
#undef cuGetProcAddress
/* of those before the last version, the header hides this one */
typedef PFN_cuDevicePrimaryCtxReset_v11000 PFN_cuDevicePrimaryCtxReset_v7000;
#define KNOWN_ANY(base, from) PFN_##base##_v##from
#define KNOWN_LEGACY(base, from) PFN_##base##_v##from
#define KNOWN_THREAD(base, from) PFN_##base##_v##from##_ptsz
#define KNOWN(name, base, from, before, kind) extern KNOWN_##kind(base, from) of_##name;
FRAG_DRIVER_CALLS(KNOWN)
#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a)
SAME(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(CUDA_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(CUDA_PER_THREAD_STREAM, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
SAME(offsetof(struct cuda_memory_properties, location_type),
     offsetof(CUmemAllocationProp, location));
SAME(offsetof(struct cuda_memory_properties, location_id),
     offsetof(CUmemAllocationProp, location.id));
END

headers=tests/support/cuda
if [ -f "$CUDA_HOME/include/cuda_runtime_api.h" ]; then
	headers="$headers $CUDA_HOME/include"
fi
for where in $headers; do
	compile "$folder/layout.c" "$where"
	compile src/device/cuda.c "$where"
	compile tests/support/standin.c "$where"
	compile tests/support/standin_driver.c "$where"
	compile tests/support/standin_pool.c "$where"
done
if [ -f "$CUDA_HOME/include/cudaTypedefs.h" ]; then
	compile "$folder/calls.c" "$CUDA_HOME/include"
fi
if [ "$headers" = tests/support/cuda ]; then
	number=$((number + 1))
	echo "ok $number # SKIP no CUDA toolkit in $CUDA_HOME to compare with"
fi
echo "1..$number"
exit "$failed"
