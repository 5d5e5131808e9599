/*
 * gpu.h - the GPUs of this machine, as devices that a policy can be replayed on.
 *
 * A GPU keeps a table of all memory reserved through it, and releases all of it when it is
 * closed, also after a failure. Requests that a simulated device of the same size would refuse
 * are refused before the GPU sees them, so the limit that `other` sets holds.
 */
#pragma once

#include <stdbool.h>

#include "device/driver_cost_model.h"
#include "fragsim/device.h"

struct frag_gpu;

/* The properties measured when the GPU was opened. */
struct frag_gpu_figures {
	char     name[256];
	uint64_t total, free;   /* bytes; free with our context, before any segment */
	uint64_t context;       /* bytes that the context of a process takes */
	bool     context_known; /* a probe measured it; else context is 0 */
	uint64_t granularity;   /* bytes in which cudaMalloc takes memory */
	/* what asks for at most small_max (0: nothing) is rounded up to
	 * small_granularity only, and shares pages of granularity */
	uint64_t small_max, small_granularity;
	uint64_t page;          /* the minimum page of virtual memory; 0: there is none */
	int      driver, runtime;       /* versions: 13000 is 13.0 */
};

/* A call that the GPU has answered. */
struct frag_gpu_call {
	enum frag_gpu_kind kind;
	bool     refused;       /* for lack of memory */
	uint64_t bytes, cost_ns;
	uint64_t counted;       /* bytes counted for it */
	uint64_t free;          /* by the GPU, after it */
};

/*
 * Opens all of them or none, and reserves at most `max` bytes of each for measurements. probed: a
 * child process measures what the context takes; then this must be the first CUDA call of the
 * process. -FRAG_EDEVICE, also in a build without CUDA.
 */
int frag_gpu_open(struct frag_gpu **gpus, const uint32_t *ordinals, uint32_t count, uint64_t max,
		  bool probed, struct frag_error *err);

/* Releases all memory. -FRAG_EDEVICE with the first call since open that failed. */
int frag_gpu_close(struct frag_gpu **gpus, uint32_t count, struct frag_error *err);

const struct frag_gpu_figures *frag_gpu_look(const struct frag_gpu *gpu);

/* seen is called after each call of a kind above; NULL: none. */
void frag_gpu_watch(struct frag_gpu *gpu,
		    void (*seen)(void *ctx, const struct frag_gpu_call *call), void *ctx);

int frag_gpu_free_bytes(struct frag_gpu *gpu, uint64_t *bytes, struct frag_error *err);

/*
 * The largest segment that the GPU grants now, up to `max` bytes and to a multiple of the
 * granularity; 0: none. It is released at once, and the watching function is not called.
 */
int frag_gpu_probe(struct frag_gpu *gpu, uint64_t max, uint64_t *largest, struct frag_error *err);

/* How the driver's own pool is made; the last three are its reuse switches. */
struct frag_gpu_pool_options {
	uint64_t threshold;             /* bytes that it keeps at a synchronization */
	bool events, opportunistic, internal;
};

/*
 * Opens a pool of at most `max` bytes, for frag_device_gpu_pool; closes it once that device has
 * no user: both -FRAG_EDEVICE. `on` sets the stream of the next request, an index of the trace;
 * `trim` waits for all streams, and releases unused memory.
 */
int frag_gpu_pool_open(struct frag_gpu *gpu, uint64_t max,
		       const struct frag_gpu_pool_options *options, struct frag_error *err);
int frag_gpu_pool_close(struct frag_gpu *gpu, struct frag_error *err);
void frag_gpu_pool_on(struct frag_gpu *gpu, uint32_t stream);
int frag_gpu_pool_trim(struct frag_gpu *gpu, struct frag_error *err);

/*
 * The streams of the trace, as dense indexes; 0 is the default stream. mark creates an event
 * after all queued work; wait waits for the event and destroys it. sync waits for the stream
 * (UINT32_MAX: all). fill queues words of 4 bytes; fetch waits for the stream.
 */
int frag_gpu_sync(struct frag_gpu *gpu, uint32_t stream, struct frag_error *err);
int frag_gpu_mark(struct frag_gpu *gpu, uint32_t stream, uint32_t *event, struct frag_error *err);
int frag_gpu_wait(struct frag_gpu *gpu, uint32_t event, struct frag_error *err);
int frag_gpu_fill(struct frag_gpu *gpu, uint32_t stream, frag_addr addr, uint64_t offset,
		  uint64_t bytes, uint32_t word, struct frag_error *err);
int frag_gpu_fetch(struct frag_gpu *gpu, uint32_t stream, frag_addr addr, uint64_t offset,
		   uint64_t bytes, void *to, struct frag_error *err);

/* A device whose ctx is a struct frag_gpu, with its measured properties. */
extern const struct frag_device_ops frag_device_gpu;

/* The same, where segments come from the pool that is open on the GPU. */
extern const struct frag_device_ops frag_device_gpu_pool;
