/*
 * gpu_open.c - opens and measures GPUs, and closes them, releasing all memory.
 */
#include "device/gpu_state.h"

#include <stdlib.h>

#include "device/cuda.h"

bool frag_gpu_query_free(uint32_t ordinal, uint64_t *bytes)
{
	uint64_t total;

	return frag_cuda.use && frag_cuda.use((int)ordinal) == 0
	       && frag_cuda.memory(bytes, &total) == 0;
}

/* Explains the failure of the first call. */
static int no_gpu(int e, struct frag_error *err)
{
	int driver = 0, runtime = 0;

	frag_cuda.versions(&driver, &runtime);
	if (e == FRAG_CUDA_OLD_DRIVER && driver == 0)
		return frag_fail(err, FRAG_EDEVICE, "no NVIDIA driver was found on this machine; "
				 "fragsim run simulates without one");
	if (e == FRAG_CUDA_OLD_DRIVER)
		return frag_fail(err, FRAG_EDEVICE,
				 "the NVIDIA driver is for CUDA %d.%d, older than "
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
			return frag_fail(err, FRAG_EDEVICE,
					 "there is no GPU %u: this machine has %d, "
					 "numbered from 0", ordinals[i], there);
	return 0;
}

/*
 * The context of this process uses memory before the process can measure free memory, so the
 * probe, another process, reports the free bytes before and after.
 */
static int begin_gpu(struct frag_gpu *g, uint64_t max, const struct frag_gpu_witness *w,
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
	return frag_gpu_measure(g, max, err);
}

/* Releases all memory that is still in the table, whatever failed before. */

static bool free_piece(struct frag_gpu_range *p)
{
	if (!p->range)
		return frag_cuda.free(p->at) == 0;
	if (p->page && frag_gpu_unmap_pages(p, 0, p->bytes))
		return false;
	return frag_cuda.unreserve(p->at, p->bytes) == 0;
}

/* Everything; where even that fails the context goes as a whole. */
static void gpu_open_give_back(struct frag_gpu *g)
{
	bool good = frag_cuda.use(g->ordinal) == 0;

	for (uint32_t i = 0; i < g->piece_count; i++) {
		if (!g->pieces[i].bytes || g->pieces[i].pooled)
			continue;
		good = free_piece(&g->pieces[i]) && good;
		free(g->pieces[i].mapped);
	}
	good = frag_gpu_pool_close(g, NULL) == 0 && good;
	for (uint32_t i = 0; i < g->event_count; i++)
		good = frag_cuda.event_del(g->events[i]) == 0 && good;
	for (uint32_t i = 0; i < g->stream_count; i++)
		good = (!g->streams[i] || frag_cuda.stream_del(g->streams[i]) == 0) && good;
	if (good)
		return;
	if (!g->said.code)
		frag_fail(&g->said, FRAG_EDEVICE,
			  "GPU %d: releasing the segments individually failed; "
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

/*
 * Each GPU is measured when opened, but free memory is read only after the probe, whose
 * context uses memory too, has exited.
 */
int frag_gpu_open(struct frag_gpu **gpus, const uint32_t *ordinals, uint32_t count, uint64_t max,
		  const struct frag_gpu_witness *witness, struct frag_error *err)
{
	uint32_t opened = 0;
	int rc;

	if (!frag_cuda.count)
		return frag_fail(err, FRAG_EDEVICE,
				 "this fragsim was built without CUDA; to change "
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
		g->unused = FRAG_NO_PIECE;
		gpus[opened++] = g;
		rc = begin_gpu(g, max, witness, err);
	}
	if (witness)
		witness->end(witness->ctx);
	/* only now is the probe's context released */
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
		gpu_open_give_back(gpus[i]);
		if (gpus[i]->said.code && !rc)
			rc = frag_fail(err, FRAG_EDEVICE, "%s", gpus[i]->said.message);
		del_gpu(gpus[i]);
	}
	return rc;
}
