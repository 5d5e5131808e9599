/*
 * driver_cost_model.h - calls of a GPU's driver, by kind and size, and a model of what they take.
 */
#pragma once

#include <stdint.h>

enum frag_gpu_kind {
	FRAG_GPU_MALLOC, FRAG_GPU_FREE, FRAG_GPU_MAP, FRAG_GPU_UNMAP, FRAG_GPU_MALLOC_ASYNC,
	FRAG_GPU_FREE_ASYNC, FRAG_GPU_KINDS
};

/* cudaMalloc, cudaFree, map, unmap, cudaMallocAsync, cudaFreeAsync */
const char *frag_gpu_kind_name(enum frag_gpu_kind kind);
extern const char *const frag_gpu_kind_names[];        /* by kind, ended by NULL */

/* Sizes up to 1 MiB, then up to each doubling; the last class has no bound. */
#define FRAG_SIZE_CLASSES 22
#define FRAG_FIRST_CLASS_BITS 20
static inline uint32_t frag_size_class(uint64_t bytes)
{
	uint32_t which = 0;

	while (which < FRAG_SIZE_CLASSES - 1
	       && bytes > UINT64_C(1) << (FRAG_FIRST_CLASS_BITS + which))
		which++;
	return which;
}

/* The largest size of the class; UINT64_MAX for the last. */
uint64_t frag_size_class_max(uint32_t which);

/* What was measured on a GPU: a call takes as long as its kind and size did in the mean. */
struct frag_driver_model {
	uint64_t count[FRAG_GPU_KINDS][FRAG_SIZE_CLASSES];
	uint64_t total_ns[FRAG_GPU_KINDS][FRAG_SIZE_CLASSES];
};
