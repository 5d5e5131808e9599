/* gpu_work.c - the work of the trace's streams on a GPU: events, fills, copies. */
#include "device/gpu_state.h"

#include "base/array_grow.h"
#include "device/cuda.h"

/*
 * Streams are made when they are first used; stream 0 is the default stream, which CUDA has
 * already.
 */
int frag_gpu_stream(struct frag_gpu *g, uint32_t stream, void **out, struct frag_error *err)
{
	int rc = frag_gpu_use(g, err), e;

	*out = NULL;
	if (rc || stream == 0)
		return rc;
	if (!FRAG_EXTEND(g->streams, g->stream_capacity, g->stream_count, stream))
		return frag_fail_nomem(err);
	if (!g->streams[stream]) {
		e = frag_cuda.stream_new(&g->streams[stream]);
		if (e) {
			g->streams[stream] = NULL;
			return frag_gpu_failed(g, e, err, "cudaStreamCreateWithFlags");
		}
	}
	*out = g->streams[stream];
	return 0;
}

/* An event that no block waits for. */
static int idle_event(struct frag_gpu *g, uint32_t *event, struct frag_error *err)
{
	int e;

	if (g->idle_count) {
		*event = g->idle_events[--g->idle_count];
		return 0;
	}
	if (!FRAG_GROW(g->events, g->event_capacity, g->event_count)
	    || !FRAG_GROW(g->idle_events, g->idle_capacity, g->event_count))
		return frag_fail_nomem(err);
	e = frag_cuda.event_new(&g->events[g->event_count]);
	if (e)
		return frag_gpu_failed(g, e, err, "cudaEventCreateWithFlags");
	*event = g->event_count++;
	return 0;
}

int frag_gpu_mark(struct frag_gpu *g, uint32_t stream, uint32_t *event, struct frag_error *err)
{
	void *on;
	int rc = frag_gpu_stream(g, stream, &on, err), e;

	rc = rc ? rc : idle_event(g, event, err);
	if (rc)
		return rc;
	e = frag_cuda.event_record(g->events[*event], on);
	if (!e)
		return 0;
	g->idle_events[g->idle_count++] = *event;
	return frag_gpu_failed(g, e, err, "cudaEventRecord");
}

int frag_gpu_wait(struct frag_gpu *g, uint32_t event, struct frag_error *err)
{
	int rc = frag_gpu_use(g, err), e = rc ? 0 : frag_cuda.event_wait(g->events[event]);

	g->idle_events[g->idle_count++] = event;
	if (rc || e)
		return e ? frag_gpu_failed(g, e, err, "cudaEventSynchronize") : rc;
	return frag_gpu_pool_look(g, err);
}

int frag_gpu_sync(struct frag_gpu *g, uint32_t stream, struct frag_error *err)
{
	const bool all = stream == UINT32_MAX;
	int rc, e;

	/* a stream that was never used has nothing queued */
	if (!all && stream && (stream >= g->stream_count || !g->streams[stream]))
		return 0;
	rc = frag_gpu_use(g, err);
	if (rc)
		return rc;
	e = all ? frag_cuda.wait() : frag_cuda.stream_wait(stream ? g->streams[stream] : NULL);
	if (e)
		return frag_gpu_failed(g, e, err, all ? "cudaDeviceSynchronize"
				       : "cudaStreamSynchronize");
	return frag_gpu_pool_look(g, err);
}

int frag_gpu_fill(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		  uint64_t bytes, uint32_t word, struct frag_error *err)
{
	void *on;
	int rc = frag_gpu_stream(g, stream, &on, err), e;

	if (rc)
		return rc;
	e = frag_cuda.fill(on, g->pieces[addr].at + offset, word, bytes / sizeof(word));
	return e ? frag_gpu_failed(g, e, err, "cuMemsetD32Async") : 0;
}

int frag_gpu_fetch(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		   uint64_t bytes, void *to, struct frag_error *err)
{
	void *on;
	int rc = frag_gpu_stream(g, stream, &on, err), e;

	if (rc)
		return rc;
	e = frag_cuda.fetch(on, g->pieces[addr].at + offset, to, bytes);
	return e ? frag_gpu_failed(g, e, err, "cudaMemcpyAsync") : 0;
}
