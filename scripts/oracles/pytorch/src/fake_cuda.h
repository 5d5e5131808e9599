/* fake_cuda.h - how the oracle looks into the fake CUDA runtime.
 *
 * The fake logs each call that obtains, maps, unmaps or gives back memory, and
 * each refusal; the oracle reads the log after every step.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum fake_call {
	FAKE_MALLOC,       /* cudaMalloc: address, size */
	FAKE_MALLOC_FAIL,  /* cudaMalloc refused: size */
	FAKE_FREE,         /* cudaFree: address, size */
	FAKE_RESERVE,      /* cuMemAddressReserve: address, size */
	FAKE_ADDRESS_FREE, /* cuMemAddressFree: address, size */
	FAKE_CREATE_FAIL,  /* cuMemCreate refused: size */
	FAKE_MAP,          /* cuMemMap: address, size */
	FAKE_UNMAP,        /* cuMemUnmap: address, size */
	FAKE_RELEASE,      /* cuMemRelease: only so that unmaps can be joined */
};

struct fake_record {
	enum fake_call call;
	uint64_t       address, size;
};

extern "C" {
/* The calls since fake_log_reset(); valid until the next call of CUDA. */
const struct fake_record *fake_log(size_t *count);
void fake_log_reset(void);

/* All work on a stream, or on every stream, is done. */
void fake_sync_stream(void *stream);
void fake_sync_all(void);
void fake_capture(int on);
}
