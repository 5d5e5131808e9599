/* gpu.c - the GPUs of this machine, as devices that a policy can be replayed on. */
#include "device/gpu.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "device/cuda.h"

#define USUAL_GRANULARITY (UINT64_C(2) << 20)
#define PROBE USUAL_GRANULARITY         /* no GPU is known to have a larger one */
#define NO_PIECE UINT32_MAX

/* A segment, or a range with its pages. */
struct piece {
	uint64_t at;
	uint64_t bytes;         /* 0: unused */
	uint64_t page;          /* of a range, once something was mapped; else 0 */
	bool range;
	bool *mapped;           /* of a range: a page each */
	uint32_t next;          /* unused: the next such */
};

struct frag_gpu {
	int ordinal;
	struct frag_gpu_figures figures;
	struct piece *pieces;
	uint32_t piece_count, piece_capacity, unused;
	void **streams;                 /* NULL in it: the default one, or not made yet */
	uint32_t stream_count, stream_capacity;
	void **events;
	uint32_t event_count, event_capacity;
	uint32_t *idle_events;          /* indexes that nobody waits for */
	uint32_t idle_count, idle_capacity;
	void (*seen)(void *ctx, const struct frag_gpu_call *call);
	void *ctx;
	struct frag_error said;         /* the first call that failed */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Notes a call that failed, in words; the first one is kept for close. */
static int failed(struct frag_gpu *g, int code, struct frag_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int failed(struct frag_gpu *g, int code, struct frag_error *err, const char *format, ...)
{
	struct frag_error now;
	char call[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(call, sizeof(call), format, ap);
	va_end(ap);
	frag_cuda.clear();
	frag_fail(&now, FRAG_EDEVICE, "GPU %d: %s failed: %s (error %d)", g->ordinal, call,
		  frag_cuda.words(code), code);
	if (!g->said.code)
		g->said = now;
	return frag_fail(err, FRAG_EDEVICE, "%s", now.message);
}

/* Makes it the GPU that calls are about. */
static int use(struct frag_gpu *g, struct frag_error *err)
{
	int e = frag_cuda.use(g->ordinal);

	return e ? failed(g, e, err, "cudaSetDevice") : 0;
}

int frag_gpu_free_bytes(struct frag_gpu *g, uint64_t *bytes, struct frag_error *err)
{
	int rc = use(g, err), e;

	if (rc)
		return rc;
	e = frag_cuda.memory(bytes, &g->figures.total);
	return e ? failed(g, e, err, "cudaMemGetInfo") : 0;
}

/* Tells who watches; what is free is asked for only then. */
static int tell(struct frag_device *dev, enum frag_gpu_kind kind, uint64_t bytes, uint64_t cost_ns,
		bool refused)
{
	struct frag_gpu *g = dev->ctx;
	struct frag_gpu_call call = {
		.kind = kind, .refused = refused, .bytes = bytes, .cost_ns = cost_ns,
		.held = (bytes + g->figures.granularity - 1) / g->figures.granularity
			* g->figures.granularity,
	};
	int rc;

	if (!g->seen)
		return 0;
	rc = frag_gpu_free_bytes(g, &call.free, dev->err);
	if (!rc)
		g->seen(g->ctx, &call);
	return rc;
}

/* A place in the ledger. */
static uint32_t new_piece(struct frag_gpu *g)
{
	uint32_t i = g->unused;

	if (i != NO_PIECE) {
		g->unused = g->pieces[i].next;
	} else {
		if (!frag_grow(&g->pieces, &g->piece_capacity, (uint64_t)g->piece_count + 1,
			       sizeof(*g->pieces)))
			return NO_PIECE;
		i = g->piece_count++;
	}
	g->pieces[i] = (struct piece){ .bytes = 0 };
	return i;
}

static void drop_piece(struct frag_gpu *g, uint32_t i)
{
	free(g->pieces[i].mapped);
	g->pieces[i] = (struct piece){ .next = g->unused };
	g->unused = i;
}

/* Segments --------------------------------------------------------------- */

/* What the GPU says; *cost_ns is how long it took to. */
static int obtain(struct frag_device *dev, uint64_t bytes, frag_addr *addr, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint32_t i = new_piece(g);
	uint64_t at, begin;
	int e, rc;

	if (i == NO_PIECE)
		return -FRAG_ENOMEM;
	begin = now_ns();
	e = frag_cuda.alloc(bytes, &at);
	*cost_ns = now_ns() - begin;
	if (!e) {
		g->pieces[i].at = at;
		g->pieces[i].bytes = bytes;
		*addr = i;
		/* where it fails nobody will know the piece: close gives it back */
		return tell(dev, FRAG_GPU_MALLOC, bytes, *cost_ns, false);
	}
	drop_piece(g, i);
	if (e != FRAG_CUDA_NO_MEMORY)
		return failed(g, e, dev->err, "cudaMalloc of %" PRIu64 " bytes", bytes);
	/* not to be found again by the next call that asks */
	frag_cuda.clear();
	rc = tell(dev, FRAG_GPU_MALLOC, bytes, *cost_ns, true);
	return rc ? rc : -FRAG_EDEVMEM;
}

static int gpu_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
		       uint64_t *cost_ns)
{
	uint64_t nothing;
	int rc = frag_device_simulated.acquire(dev, bytes, addr, cost_ns);

	if (rc)
		return rc;
	rc = use(dev->ctx, dev->err);
	rc = rc ? rc : obtain(dev, bytes, addr, cost_ns);
	if (rc)
		frag_device_simulated.release(dev, 0, bytes, &nothing);
	return rc;
}

static int gpu_release(struct frag_device *dev, frag_addr addr, uint64_t bytes,
		       uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint64_t begin, nothing;
	int rc = use(g, dev->err), e;

	*cost_ns = 0;
	if (rc)
		return rc;
	begin = now_ns();
	e = frag_cuda.free(g->pieces[addr].at);
	*cost_ns = now_ns() - begin;
	if (e)
		return failed(g, e, dev->err, "cudaFree of %" PRIu64 " bytes", bytes);
	drop_piece(g, (uint32_t)addr);
	frag_device_simulated.release(dev, 0, bytes, &nothing);
	return tell(dev, FRAG_GPU_FREE, bytes, *cost_ns, false);
}

/* Ranges ----------------------------------------------------------------- */

static int gpu_reserve(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
		       uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	int rc = use(g, dev->err), e;
	uint64_t at;
	uint32_t i;

	*cost_ns = 0;
	if (rc)
		return rc;
	if (!g->figures.page)
		return failed(g, FRAG_CUDA_NOT_SUPPORTED, dev->err, "an expandable range");
	i = new_piece(g);
	if (i == NO_PIECE)
		return -FRAG_ENOMEM;
	e = frag_cuda.reserve(bytes, &at);
	if (e) {
		drop_piece(g, i);
		return failed(g, e, dev->err, "cuMemAddressReserve of %" PRIu64 " bytes", bytes);
	}
	g->pieces[i].at = at;
	g->pieces[i].bytes = bytes;
	g->pieces[i].range = true;
	*addr = i;
	return 0;
}

/* Gives the mapped pages of the run back; the first failure, and goes on. */
static int unmap_pages(struct piece *p, uint64_t offset, uint64_t bytes)
{
	int first = 0;

	for (uint64_t at = offset; at < offset + bytes; at += p->page) {
		bool *mapped = &p->mapped[at / p->page];
		int e = *mapped ? frag_cuda.unmap(p->at + at, p->page) : 0;

		if (!e)
			*mapped = false;
		else if (!first)
			first = e;
	}
	return first;
}

static int gpu_unreserve(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			 uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	int rc = use(g, dev->err), e;
	struct piece *p;

	*cost_ns = 0;
	if (rc)
		return rc;
	/* a heap that is deleted goes on where unmapping failed */
	p = &g->pieces[addr];
	e = p->page ? unmap_pages(p, 0, bytes) : 0;
	e = e ? e : frag_cuda.unreserve(p->at, bytes);
	if (e)
		return failed(g, e, dev->err, "cuMemAddressFree of %" PRIu64 " bytes", bytes);
	drop_piece(g, (uint32_t)addr);
	return 0;
}

static int map_pages(const struct frag_gpu *g, struct piece *p, uint64_t offset, uint64_t bytes)
{
	int e = 0;

	for (uint64_t at = offset; at < offset + bytes && !e; at += p->page) {
		e = frag_cuda.map(g->ordinal, p->at + at, p->page);
		p->mapped[at / p->page] = !e;
	}
	e = e ? e : frag_cuda.open_up(g->ordinal, p->at + offset, bytes);
	if (e)
		unmap_pages(p, offset, bytes);
	return e;
}

/* The ledger of a range's pages is made when the first ones come. */
static int prepare(struct frag_gpu *g, struct piece *p, uint64_t page, struct frag_error *err)
{
	if (p->page)
		return 0;
	if (page % g->figures.page)
		return frag_fail(err, FRAG_EDEVICE, "GPU %d maps pages of %" PRIu64
				 " bytes, none of %" PRIu64, g->ordinal, g->figures.page, page);
	p->mapped = calloc(p->bytes / page, sizeof(*p->mapped));
	if (!p->mapped)
		return -FRAG_ENOMEM;
	p->page = page;
	return 0;
}

static int gpu_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		   uint64_t page, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	struct piece *p = &g->pieces[addr];
	uint64_t begin, nothing;
	int rc = use(g, dev->err), e;

	*cost_ns = 0;
	rc = rc ? rc : prepare(g, p, page, dev->err);
	rc = rc ? rc : frag_device_simulated.map(dev, addr, offset, bytes, page, &nothing);
	if (rc)
		return rc;
	begin = now_ns();
	e = map_pages(g, p, offset, bytes);
	*cost_ns = now_ns() - begin;
	if (e && e != FRAG_CUDA_NO_MEMORY)
		rc = failed(g, e, dev->err, "mapping %" PRIu64 " bytes", bytes);
	else if (e)
		frag_cuda.clear();
	rc = rc ? rc : tell(dev, FRAG_GPU_MAP, bytes, *cost_ns, e != 0);
	if (rc && !e)
		unmap_pages(p, offset, bytes);
	if (rc || e)
		frag_device_simulated.unmap(dev, addr, offset, bytes, page, &nothing);
	return rc ? rc : e ? -FRAG_EDEVMEM : 0;
}

static int gpu_unmap(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		     uint64_t page, uint64_t *cost_ns)
{
	struct frag_gpu *g = dev->ctx;
	uint64_t begin, nothing;
	int rc = use(g, dev->err), e;

	*cost_ns = 0;
	if (rc)
		return rc;
	/* unlike cudaFree, it does not wait for who still uses the pages */
	e = frag_cuda.wait();
	if (e)
		return failed(g, e, dev->err, "cudaDeviceSynchronize");
	begin = now_ns();
	e = unmap_pages(&g->pieces[addr], offset, bytes);
	*cost_ns = now_ns() - begin;
	if (e)
		return failed(g, e, dev->err, "unmapping %" PRIu64 " bytes", bytes);
	frag_device_simulated.unmap(dev, addr, offset, bytes, page, &nothing);
	return tell(dev, FRAG_GPU_UNMAP, bytes, *cost_ns, false);
}

/* Streams and events ------------------------------------------------------ */

/* The trace's stream on this GPU, made at its first use. */
static int find_stream(struct frag_gpu *g, uint32_t stream, void **out, struct frag_error *err)
{
	int rc = use(g, err), e;

	*out = NULL;
	if (rc || stream == 0)
		return rc;
	if (!frag_grow(&g->streams, &g->stream_capacity, (uint64_t)stream + 1,
		       sizeof(*g->streams)))
		return frag_fail_nomem(err);
	while (g->stream_count <= stream)
		g->streams[g->stream_count++] = NULL;
	if (!g->streams[stream]) {
		e = frag_cuda.stream_new(&g->streams[stream]);
		if (e) {
			g->streams[stream] = NULL;
			return failed(g, e, err, "cudaStreamCreateWithFlags");
		}
	}
	*out = g->streams[stream];
	return 0;
}

/* An event that nobody waits for. */
static int idle_event(struct frag_gpu *g, uint32_t *event, struct frag_error *err)
{
	int e;

	if (g->idle_count) {
		*event = g->idle_events[--g->idle_count];
		return 0;
	}
	if (!frag_grow(&g->events, &g->event_capacity, (uint64_t)g->event_count + 1,
		       sizeof(*g->events))
	    || !frag_grow(&g->idle_events, &g->idle_capacity, (uint64_t)g->event_count + 1,
			  sizeof(*g->idle_events)))
		return frag_fail_nomem(err);
	e = frag_cuda.event_new(&g->events[g->event_count]);
	if (e)
		return failed(g, e, err, "cudaEventCreateWithFlags");
	*event = g->event_count++;
	return 0;
}

int frag_gpu_mark(struct frag_gpu *g, uint32_t stream, uint32_t *event, struct frag_error *err)
{
	void *on;
	int rc = find_stream(g, stream, &on, err), e;

	rc = rc ? rc : idle_event(g, event, err);
	if (rc)
		return rc;
	e = frag_cuda.event_record(g->events[*event], on);
	if (!e)
		return 0;
	g->idle_events[g->idle_count++] = *event;
	return failed(g, e, err, "cudaEventRecord");
}

int frag_gpu_wait(struct frag_gpu *g, uint32_t event, struct frag_error *err)
{
	int rc = use(g, err), e = rc ? 0 : frag_cuda.event_wait(g->events[event]);

	g->idle_events[g->idle_count++] = event;
	return e ? failed(g, e, err, "cudaEventSynchronize") : rc;
}

int frag_gpu_fill(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		  uint64_t bytes, uint32_t word, struct frag_error *err)
{
	void *on;
	int rc = find_stream(g, stream, &on, err), e;

	if (rc)
		return rc;
	e = frag_cuda.fill(on, g->pieces[addr].at + offset, word, bytes / sizeof(word));
	return e ? failed(g, e, err, "cuMemsetD32Async") : 0;
}

int frag_gpu_fetch(struct frag_gpu *g, uint32_t stream, frag_addr addr, uint64_t offset,
		   uint64_t bytes, void *to, struct frag_error *err)
{
	void *on;
	int rc = find_stream(g, stream, &on, err), e;

	if (rc)
		return rc;
	e = frag_cuda.fetch(on, g->pieces[addr].at + offset, to, bytes);
	return e ? failed(g, e, err, "cudaMemcpyAsync") : 0;
}

/* Opening ----------------------------------------------------------------- */

bool frag_gpu_glance(uint32_t ordinal, uint64_t *bytes)
{
	uint64_t total;

	return frag_cuda.use && frag_cuda.use((int)ordinal) == 0
	       && frag_cuda.memory(bytes, &total) == 0;
}

/* Why the first call of all failed, in words that help. */
static int no_gpu(int e, struct frag_error *err)
{
	int driver = 0, runtime = 0;

	frag_cuda.versions(&driver, &runtime);
	if (e == FRAG_CUDA_OLD_DRIVER && driver == 0)
		return frag_fail(err, FRAG_EDEVICE, "no NVIDIA driver was found on this machine; "
				 "fragsim run simulates without one");
	if (e == FRAG_CUDA_OLD_DRIVER)
		return frag_fail(err, FRAG_EDEVICE, "the NVIDIA driver is for CUDA %d.%d, older than "
				 "the %d.%d that this fragsim was built with: update the driver",
				 driver / 1000, driver % 1000 / 10, runtime / 1000,
				 runtime % 1000 / 10);
	if (e == FRAG_CUDA_NO_GPU || e == 0)
		return frag_fail(err, FRAG_EDEVICE, "no GPU that CUDA can use was found on this "
				 "machine; fragsim run simulates without one");
	return frag_fail(err, FRAG_EDEVICE, "cudaGetDeviceCount failed: %s (error %d)",
			 frag_cuda.words(e), e);
}

static int check_ordinals(const uint32_t *ordinals, uint32_t count, struct frag_error *err)
{
	int there = 0, e = frag_cuda.count(&there);

	if (e || there <= 0)
		return no_gpu(e, err);
	for (uint32_t i = 0; i < count; i++)
		if (ordinals[i] >= (uint32_t)there)
			return frag_fail(err, FRAG_EDEVICE, "there is no GPU %u: this machine has %d, "
					 "numbered from 0", ordinals[i], there);
	return 0;
}

/*
 * What a segment of one byte more than a round size takes away. It is the usual
 * where that cannot be: another process took or gave something meanwhile.
 */
static int measure_granularity(struct frag_gpu *g, struct frag_error *err)
{
	uint64_t before, after, taken, at;
	int rc = frag_gpu_free_bytes(g, &before, err), e;
	uint32_t i;

	if (rc)
		return rc;
	i = new_piece(g);
	if (i == NO_PIECE)
		return frag_fail_nomem(err);
	e = frag_cuda.alloc(PROBE + 1, &at);
	if (e == FRAG_CUDA_NO_MEMORY)
		frag_cuda.clear();
	else if (e)
		rc = failed(g, e, err, "cudaMalloc of %" PRIu64 " bytes", PROBE + 1);
	if (e) {
		drop_piece(g, i);
		return rc;
	}
	g->pieces[i].at = at;
	g->pieces[i].bytes = PROBE + 1;
	rc = frag_gpu_free_bytes(g, &after, err);
	if (rc)
		return rc;
	e = frag_cuda.free(at);
	if (e)
		return failed(g, e, err, "cudaFree of %" PRIu64 " bytes", PROBE + 1);
	drop_piece(g, i);
	taken = before > after + PROBE ? before - after - PROBE : 0;
	if (taken >= 512 && taken <= PROBE && (taken & (taken - 1)) == 0)
		g->figures.granularity = taken;
	return 0;
}

static int begin_gpu(struct frag_gpu *g, uint64_t most, const struct frag_gpu_witness *w,
		     struct frag_error *err)
{
	struct frag_gpu_figures *f = &g->figures;
	uint64_t before, after;
	bool known = w && w->ask(w->ctx, (uint32_t)g->ordinal, &before);
	int rc = frag_gpu_free_bytes(g, &f->free, err);

	if (rc)
		return rc;
	f->context_known = known && w->ask(w->ctx, (uint32_t)g->ordinal, &after)
			   && before >= after;
	if (f->context_known)
		f->context = before - after;
	frag_cuda.versions(&f->driver, &f->runtime);
	if (frag_cuda.name(g->ordinal, f->name, (int)sizeof(f->name) - 1))
		f->name[0] = '\0';
	if (frag_cuda.page(g->ordinal, &f->page))
		f->page = 0;
	f->granularity = USUAL_GRANULARITY;
	return most < 2 * PROBE ? 0 : measure_granularity(g, err);
}

/* Closing: what is still in the ledger goes, whatever has failed before. */

static bool free_piece(struct piece *p)
{
	if (!p->range)
		return frag_cuda.free(p->at) == 0;
	if (p->page && unmap_pages(p, 0, p->bytes))
		return false;
	return frag_cuda.unreserve(p->at, p->bytes) == 0;
}

/* Everything; where even that fails the context goes as a whole. */
static void give_back(struct frag_gpu *g)
{
	bool good = frag_cuda.use(g->ordinal) == 0;

	for (uint32_t i = 0; i < g->piece_count; i++) {
		if (!g->pieces[i].bytes)
			continue;
		good = free_piece(&g->pieces[i]) && good;
		free(g->pieces[i].mapped);
	}
	for (uint32_t i = 0; i < g->event_count; i++)
		good = frag_cuda.event_del(g->events[i]) == 0 && good;
	for (uint32_t i = 0; i < g->stream_count; i++)
		good = (!g->streams[i] || frag_cuda.stream_del(g->streams[i]) == 0) && good;
	if (good)
		return;
	if (!g->said.code)
		frag_fail(&g->said, FRAG_EDEVICE, "GPU %d: giving everything back one by one failed; "
			  "its context was reset", g->ordinal);
	frag_cuda.clear();
	frag_cuda.use(g->ordinal);
	frag_cuda.reset();
}

static void del_gpu(struct frag_gpu *g)
{
	free(g->pieces);
	free(g->streams);
	free(g->events);
	free(g->idle_events);
	free(g);
}

int frag_gpu_open(struct frag_gpu **gpus, const uint32_t *ordinals, uint32_t count, uint64_t most,
		  const struct frag_gpu_witness *witness, struct frag_error *err)
{
	uint32_t opened = 0;
	int rc;

	if (!frag_cuda.count)
		return frag_fail(err, FRAG_EDEVICE, "this fragsim was built without CUDA; to change "
				 "that, install the CUDA toolkit and build with make WITH_CUDA=yes "
				 "CUDA_HOME=/usr/local/cuda");
	rc = check_ordinals(ordinals, count, err);
	while (opened < count && !rc) {
		struct frag_gpu *g = calloc(1, sizeof(*g));

		if (!g) {
			rc = frag_fail_nomem(err);
			break;
		}
		g->ordinal = (int)ordinals[opened];
		g->unused = NO_PIECE;
		gpus[opened++] = g;
		rc = begin_gpu(g, most, witness, err);
	}
	if (witness)
		witness->end(witness->ctx);
	/* the witness's own context has gone only now */
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = frag_gpu_free_bytes(gpus[i], &gpus[i]->figures.free, err);
	if (rc)
		frag_gpu_close(gpus, opened, NULL);
	return rc;
}

int frag_gpu_close(struct frag_gpu **gpus, uint32_t count, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < count; i++) {
		give_back(gpus[i]);
		if (gpus[i]->said.code && !rc)
			rc = frag_fail(err, FRAG_EDEVICE, "%s", gpus[i]->said.message);
		del_gpu(gpus[i]);
	}
	return rc;
}

const struct frag_gpu_figures *frag_gpu_look(const struct frag_gpu *g)
{
	return &g->figures;
}

void frag_gpu_watch(struct frag_gpu *g,
		    void (*seen)(void *ctx, const struct frag_gpu_call *call), void *ctx)
{
	g->seen = seen;
	g->ctx = ctx;
}

const struct frag_device_ops frag_device_gpu = {
	.name = "gpu",
	.summary = "a GPU of this machine, through CUDA",
	.acquire = gpu_acquire,
	.release = gpu_release,
	.reserve = gpu_reserve,
	.unreserve = gpu_unreserve,
	.map = gpu_map,
	.unmap = gpu_unmap,
};
