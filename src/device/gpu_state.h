/* gpu_state.h - a GPU, and all that is taken of it: for gpu.c and gpu_open.c. */
#pragma once

#include <stdlib.h>

#include "device/cuda.h"
#include "device/gpu.h"

#define FRAG_NO_PIECE UINT32_MAX

/* A segment, or a range with its pages. */
struct frag_gpu_range {
	uint64_t at;
	uint64_t bytes;         /* 0: unused */
	uint64_t page;          /* of a range, once something was mapped; else 0 */
	bool range;
	bool pooled;            /* of the driver's pool, on this stream */
	uint32_t stream;
	bool *mapped;           /* of a range: a page each */
	uint32_t next;          /* unused: the next such */
};

struct frag_gpu {
	int ordinal;
	struct frag_gpu_figures figures;
	struct frag_gpu_range *pieces;
	uint32_t piece_count, piece_capacity, unused;
	int64_t loose;                  /* bytes that small segments take beyond what is counted */
	void **streams;                 /* NULL in it: the default one, or not made yet */
	uint32_t stream_count, stream_capacity;
	void **events;
	uint32_t event_count, event_capacity;
	uint32_t *idle_events;          /* unused indexes */
	uint32_t idle_count, idle_capacity;
	void (*seen)(void *ctx, const struct frag_gpu_call *call);
	void *ctx;
	void *pool;                     /* the driver's own; NULL: none is open */
	struct frag_device_pool pool_totals; /* what it says */
	struct frag_device *pool_user;  /* whose `used` follows it; NULL: none */
	uint32_t pool_stream;           /* of the next request */
	struct frag_error said;         /* the first call that failed */
};

/*
 * What CUDA answered to the call, as a result: 0, or -FRAG_EDEVICE. The message of the first failed
 * call is recorded, for close.
 */
int frag_gpu_check(struct frag_gpu *g, int code, struct frag_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Makes it the GPU that calls are about. */
static inline int frag_gpu_use(struct frag_gpu *g, struct frag_error *err)
{
	return frag_gpu_check(g, frag_cuda.use(g->ordinal), err, "cudaSetDevice");
}

/* A stream of the trace, and CUDA's name for it. */
struct frag_gpu_stream {
	uint32_t index;
	void *stream;
};

/*
 * A segment of cudaMalloc, or of the pool on that stream, at *piece in the table. -FRAG_EDEVMEM
 * where the GPU refuses; *cost_ns is what the call took.
 */
int frag_gpu_alloc(struct frag_gpu *g, const struct frag_gpu_stream *on, uint64_t bytes,
		   uint32_t *piece, uint64_t *cost_ns, struct frag_error *err);
static inline void frag_gpu_drop_piece(struct frag_gpu *g, uint32_t i)
{
	free(g->pieces[i].mapped);
	g->pieces[i] = (struct frag_gpu_range){ .next = g->unused };
	g->unused = i;
}

/* Gives the mapped pages of the run back; the first failure, and goes on. */
int frag_gpu_unmap_pages(struct frag_gpu_range *p, uint64_t offset, uint64_t bytes);

#define FRAG_USUAL_GRANULARITY (UINT64_C(2) << 20)
