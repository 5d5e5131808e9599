/*
 * driver_cost_model.c - calls of a GPU's driver, by kind and size, and a model of what they take.
 */
#include "device/driver_cost_model.h"

#define FIRST_CLASS_BITS 20

const char *frag_gpu_kind_name(enum frag_gpu_kind kind)
{
	static const char *const names[FRAG_GPU_KINDS] = {
		[FRAG_GPU_MALLOC] = "cudaMalloc", [FRAG_GPU_FREE] = "cudaFree",
		[FRAG_GPU_MAP] = "map", [FRAG_GPU_UNMAP] = "unmap",
		[FRAG_GPU_MALLOC_ASYNC] = "cudaMallocAsync",
		[FRAG_GPU_FREE_ASYNC] = "cudaFreeAsync",
	};

	return names[kind];
}

uint32_t frag_size_class(uint64_t bytes)
{
	uint32_t which = 0;

	while (which < FRAG_SIZE_CLASSES - 1 && bytes > UINT64_C(1) << (FIRST_CLASS_BITS + which))
		which++;
	return which;
}

uint64_t frag_size_class_max(uint32_t which)
{
	return which == FRAG_SIZE_CLASSES - 1 ? UINT64_MAX
					      : UINT64_C(1) << (FIRST_CLASS_BITS + which);
}

bool frag_driver_model_look(const struct frag_driver_model *m, enum frag_gpu_kind kind,
			    uint64_t bytes, uint64_t *ns)
{
	const uint64_t *count = m->count[kind];
	uint32_t which = frag_size_class(bytes);

	while (which > 0 && !count[which])
		which--;
	for (; which < FRAG_SIZE_CLASSES; which++) {
		if (!count[which])
			continue;
		*ns = (m->total_ns[kind][which] + count[which] / 2) / count[which];
		return true;
	}
	return false;
}
