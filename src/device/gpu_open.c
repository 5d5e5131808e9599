/*
 * gpu_open.c - opens GPUs, measures properties that they do not report, and closes them.
 *
 * Measuring reserves segments for a moment, and compares free memory before and meanwhile.
 * Another process may allocate or release memory just then, so implausible values are ignored.
 */
#include "device/gpu_state.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/platform.h"

#define LOANS_MAX 3
#define MIN_GRANULARITY 512

struct loan {
	uint32_t piece[LOANS_MAX];
	uint32_t count;         /* less than requested: the GPU refused */
	uint64_t at[LOANS_MAX];
	uint64_t taken;         /* by all of them */
};

/*
 * A refusal for lack of memory is an answer, noted in *refused; only another failure is an
 * error.
 */
static int borrow_one(struct frag_gpu *g, uint64_t bytes, struct loan *loan, bool *refused,
		      struct frag_error *err)
{
	uint64_t cost;
	uint32_t i;
	int rc = frag_gpu_alloc(g, NULL, bytes, &i, &cost, err);

	*refused = rc == -FRAG_EDEVMEM;
	if (rc)
		return *refused ? 0 : rc == -FRAG_ENOMEM ? frag_fail_nomem(err) : rc;
	loan->at[loan->count] = g->pieces[i].at;
	loan->piece[loan->count++] = i;
	return 0;
}

/* A failure in between leaves the values found so far. */
static int give_back(struct frag_gpu *g, uint64_t bytes, const struct loan *loan,
		     struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < loan->count && !rc; i++) {
		rc = frag_gpu_check(g, frag_cuda.free(loan->at[i]), err,
				    "cudaFree of %" PRIu64 " bytes", bytes);
		if (!rc)
			frag_gpu_drop_piece(g, loan->piece[i]);
	}
	return rc;
}

/* Several segments at once, and back again. */
static int borrow(struct frag_gpu *g, uint64_t bytes, uint32_t wanted, struct loan *loan,
		  struct frag_error *err)
{
	uint64_t before, after;
	bool refused = false;
	int rc = frag_gpu_free_bytes(g, &before, err);

	*loan = (struct loan){ .count = 0 };
	while (!rc && !refused && loan->count < wanted)
		rc = borrow_one(g, bytes, loan, &refused, err);
	rc = rc ? rc : frag_gpu_free_bytes(g, &after, err);
	if (rc)
		return rc;
	loan->taken = before > after ? before - after : 0;
	return give_back(g, bytes, loan, err);
}

static bool is_power(uint64_t n)
{
	return n && (n & (n - 1)) == 0;
}

/* Measures the memory used by a segment of one byte more than a round size. */
static int measure_granularity(struct frag_gpu *g, struct frag_error *err)
{
	struct loan loan;
	int rc = borrow(g, FRAG_USUAL_GRANULARITY + 1, 1, &loan, err);
	uint64_t over = loan.taken > FRAG_USUAL_GRANULARITY ? loan.taken - FRAG_USUAL_GRANULARITY
							    : 0;

	if (!rc && loan.count && is_power(over) && over >= MIN_GRANULARITY
	    && over <= FRAG_USUAL_GRANULARITY)
		g->figures.granularity = over;
	return rc;
}

/* The distance of adjacent addresses; three of them, because two may be in two pages. */
static uint64_t min_distance(const struct loan *loan)
{
	uint64_t min = UINT64_MAX;

	for (uint32_t i = 1; i < loan->count; i++) {
		const uint64_t a = loan->at[i - 1], b = loan->at[i];
		const uint64_t distance = a > b ? a - b : b - a;

		min = distance < min ? distance : min;
	}
	return min;
}

/*
 * Do small requests share a page? Then three of them use one page at most, and their addresses
 * show the rounding. Two of half a page still share one.
 */
static int measure_small(struct frag_gpu *g, struct frag_error *err)
{
	struct frag_gpu_figures *f = &g->figures;
	struct loan loan;
	int rc = borrow(g, 1, 3, &loan, err);
	uint64_t granularity = min_distance(&loan), max;

	if (rc || loan.count < 3 || loan.taken > f->granularity || !is_power(granularity)
	    || granularity > f->granularity / 4)
		return rc;
	for (max = granularity; 2 * max <= f->granularity / 2; max *= 2) {
		rc = borrow(g, 2 * max, 2, &loan, err);
		if (rc)
			return rc;
		if (loan.count < 2 || loan.taken > f->granularity)
			break;
	}
	f->small_max = max;
	f->small_granularity = granularity;
	return 0;
}

/* Finds the granularities that need at most this many bytes. */
static int gpu_measure(struct frag_gpu *g, uint64_t max, struct frag_error *err)
{
	int rc = 0;

	g->figures.granularity = FRAG_USUAL_GRANULARITY;
	if (max >= 2 * FRAG_USUAL_GRANULARITY)
		rc = measure_granularity(g, err);
	if (!rc && max >= 3 * g->figures.granularity)
		rc = measure_small(g, err);
	return rc;
}

/* Does the GPU grant a segment of this many bytes? */
static int try_one(struct frag_gpu *g, uint64_t bytes, bool *good, struct frag_error *err)
{
	struct loan loan = { .count = 0 };
	bool refused;
	int rc = borrow_one(g, bytes, &loan, &refused, err);

	*good = loan.count > 0;
	return rc ? rc : give_back(g, bytes, &loan, err);
}

/*
 * A binary search in units of the granularity, between the largest size that was granted and
 * the smallest that was refused.
 */
int frag_gpu_probe(struct frag_gpu *g, uint64_t max, uint64_t *largest, struct frag_error *err)
{
	const uint64_t unit = g->figures.granularity;
	uint64_t given = 0, refused = max / unit + 1, at = max / unit;
	int rc = frag_gpu_use(g, err);

	/* all of it first: on most GPUs that is the end */
	while (!rc && given + 1 < refused) {
		bool good;

		rc = try_one(g, at * unit, &good, err);
		if (good)
			given = at;
		else
			refused = at;
		at = given + (refused - given) / 2;
	}
	*largest = given * unit;
	return rc;
}

/*
 * A process can query free memory only after it has a context, so only another process can
 * measure the memory of that context: the probe, a child that receives the ordinal of a GPU and
 * answers with what it sees there.
 */
struct gpu_probe_answer {
	uint64_t free;
	bool good;
};

static bool probe_receive(int from, void *message, size_t size)
{
	ssize_t n;

	do
		n = read(from, message, size);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

/* The child's loop: it ends with our end of the socket, not by Ctrl-C, which is for the parent. */
static void probe_serve(int socket)
{
	uint32_t ordinal;

	signal(SIGINT, SIG_IGN);
	while (probe_receive(socket, &ordinal, sizeof(ordinal))) {
		struct gpu_probe_answer answer = { .free = 0 };
		uint64_t total;

		answer.good = frag_cuda.use((int)ordinal) == 0
			      && frag_cuda.memory(&answer.free, &total) == 0;
		if (write(socket, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			return;
	}
}

static bool probe_free_bytes(const struct frag_child *probe, int ordinal, uint64_t *bytes)
{
	const uint32_t number = (uint32_t)ordinal;
	struct gpu_probe_answer answer;

	if (!probe->pid || write(probe->socket, &number, sizeof(number)) != (ssize_t)sizeof(number)
	    || !probe_receive(probe->socket, &answer, sizeof(answer)))
		return false;
	*bytes = answer.free;
	return answer.good;
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
static int begin_gpu(struct frag_gpu *g, uint64_t max, const struct frag_child *probe,
		     struct frag_error *err)
{
	struct frag_gpu_figures *f = &g->figures;
	uint64_t before, after;
	const bool known = probe_free_bytes(probe, g->ordinal, &before);
	int rc = frag_gpu_free_bytes(g, &f->free, err);

	if (rc)
		return rc;
	f->context_known = known && probe_free_bytes(probe, g->ordinal, &after)
			   && before >= after;
	if (f->context_known)
		f->context = before - after;
	frag_cuda.versions(&f->driver, &f->runtime);
	if (frag_cuda.name(g->ordinal, f->name, (int)sizeof(f->name) - 1))
		f->name[0] = '\0';
	if (frag_cuda.page(g->ordinal, &f->page))
		f->page = 0;
	return gpu_measure(g, max, err);
}

static bool free_piece(struct frag_gpu_range *p)
{
	if (!p->range)
		return frag_cuda.free(p->at) == 0;
	if (p->page && frag_gpu_unmap_pages(p, 0, p->bytes))
		return false;
	return frag_cuda.unreserve(p->at, p->bytes) == 0;
}

/*
 * Releases all memory that is still in the table, whatever failed before; where even that fails,
 * the context as a whole.
 */
static void release_all(struct frag_gpu *g)
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

/*
 * Each GPU is measured when opened, but free memory is read only after the probe, whose
 * context uses memory too, has exited.
 */
int frag_gpu_open(struct frag_gpu **gpus, const uint32_t *ordinals, uint32_t count, uint64_t max,
		  bool probed, struct frag_error *err)
{
	struct frag_child probe = { .pid = 0 };
	uint32_t opened = 0;
	int rc;

	if (!frag_cuda.count)
		return frag_fail(err, FRAG_EDEVICE,
				 "this fragsim was built without CUDA; to change "
				 "that, install the CUDA toolkit and build with make WITH_CUDA=yes "
				 "CUDA_HOME=/usr/local/cuda");
	/* before this process uses CUDA, since a child could not use CUDA after that */
	if (probed)
		probe = frag_child_begin(probe_serve);
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
		rc = begin_gpu(g, max, &probe, err);
	}
	frag_child_end(&probe); /* only now is its context released */
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
		struct frag_gpu *g = gpus[i];

		release_all(g);
		if (g->said.code && !rc)
			rc = frag_fail(err, FRAG_EDEVICE, "%s", g->said.message);
		free(g->pieces);
		free(g->streams);
		free(g->events);
		free(g->idle_events);
		free(g);
	}
	return rc;
}
