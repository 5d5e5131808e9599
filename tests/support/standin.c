/* standin.c - in place of CUDA's runtime and driver: GPUs made of host memory. */
#include "support/standin.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support/standin_state.h"

#define HOST_PAGE UINT64_C(4096)
#define DAMAGE 0x40
#define MAX ((size_t)1 << 20)     /* of each table: address space, not memory */

struct standin standin;
struct piece *standin_pieces;    /* index 0 is never used: a handle of 0 is no handle */
uint64_t standin_piece_count;
static struct work *works;
static uint64_t work_count;
int standin_current;
static cudaError_t last, stuck;
static bool context[STANDIN_GPUS];
static uint64_t position, mallocs, copies;
static int alias_file = -1;
static bool begun, is_program;

/* What each process takes of each GPU: the probe sees us, we see it. */
#define PROCESSES 8
static struct process {
	pid_t pid;
	uint64_t taken[STANDIN_GPUS];
} *processes;

/* Our own, made at need: a fork is another one. */
static struct process *own(void)
{
	struct process *p = processes;

	while (p->pid && p->pid != getpid())
		p++;
	p->pid = getpid();
	return p;
}

/* By all that live: what a process had goes with it. */
static uint64_t taken_by_all(int gpu)
{
	uint64_t sum = 0;

	for (struct process *p = processes; p->pid; p++) {
		if (p->pid != getpid() && kill(p->pid, 0) != 0)
			p->taken[gpu] = 0;
		sum += p->taken[gpu];
	}
	return sum;
}

void standin_mistake(const char *what)
{
	standin.mistakes++;
	fprintf(stderr, "standin: %s\n", what);
}

void standin_drop(struct piece *p)
{
	own()->taken[p->gpu] -= p->held;
	p->held = 0;
	p->kind = NOTHING;
	standin.held--;
}

void standin_unmap(const struct piece *p)
{
	if (p->kind == SEGMENT || p->kind == RANGE || p->kind == SHARED || p->kind == POOLED)
		munmap((void *)(uintptr_t)p->at, p->bytes);
}

/* Everything on the GPU goes, without a word on who should have given it back. */
static void wipe(int gpu)
{
	for (uint64_t i = 1; i < standin_piece_count; i++) {
		if (standin_pieces[i].kind == NOTHING || standin_pieces[i].gpu != gpu)
			continue;
		standin_unmap(&standin_pieces[i]);
		standin_drop(&standin_pieces[i]);
	}
	if (context[gpu])
		own()->taken[gpu] -= standin.context;
	context[gpu] = false;
	work_count = 0;
}

static void set_fields(const char *text)
{
	static const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {
#define X(field, first) { #field "=", &standin.field },
		STANDIN_FIELDS(X)
#undef X
	};

	for (size_t i = 0; text && i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *found = strstr(text, fields[i].name);

		if (found)
			*fields[i].value = strtoull(found + strlen(fields[i].name), NULL, 0);
	}
}

void standin_begin(void)
{
	if (!processes)
		processes = mmap(NULL, HOST_PAGE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	for (int gpu = 0; begun && gpu < STANDIN_GPUS; gpu++)
		wipe(gpu);
	memset(processes, 0, HOST_PAGE);
	memset(context, 0, sizeof(context));
	standin_forget_pools();
	standin = (struct standin){
#define X(field, first) .field = first,
		STANDIN_FIELDS(X)
#undef X
	};
	standin_piece_count = 1;
	work_count = mallocs = copies = position = 0;
	standin_current = 0;
	last = stuck = cudaSuccess;
	begun = true;
}

/* Only the program begins by itself, before the probe is there. */
static void __attribute__((constructor)) begin_program(void)
{
	const char *text = getenv("FRAGSIM_STANDIN");

	if (!text)
		return;
	is_program = true;
	standin_begin();
	set_fields(text);
}

static void __attribute__((destructor)) end_program(void)
{
	if (is_program && standin.print)
		fprintf(stderr, "standin: %llu calls\n", (unsigned long long)standin.calls);
	if (is_program && standin.held)
		fprintf(stderr, "standin: %llu standin_pieces were not given back\n",
			(unsigned long long)standin.held);
	if (is_program && (standin.held || standin.mistakes))
		_exit(STANDIN_STATUS);
}

/* Every call begins here: what it answers without doing anything, or success. */
cudaError_t standin_enter(void)
{
	const struct timespec pause = { .tv_nsec = (long)standin.slow_us * 1000 };

	if (!begun)
		standin_begin();
	standin.calls++;
	if (standin.slow_us)
		nanosleep(&pause, NULL);
	if (standin.calls == standin.interrupt_at)
		raise(SIGINT);
	if (stuck)
		return last = stuck;
	if (standin.calls != standin.fail_at)
		return cudaSuccess;
	last = (cudaError_t)standin.error;
	if (standin.sticky)
		stuck = last;
	return last;
}

cudaError_t standin_fail(cudaError_t e)
{
	return last = e;
}

/* The first call that needs it makes the context of the standin_current GPU. */
cudaError_t standin_need_context(void)
{
	if (!standin.driver)
		return standin_fail(cudaErrorInsufficientDriver);
	if (!context[standin_current])
		own()->taken[standin_current] += standin.context;
	context[standin_current] = true;
	return cudaSuccess;
}

/* A GPU's memory is none of the process's: a failing malloc must not be felt here. */
static void *table(size_t each)
{
	void *at = mmap(NULL, MAX * each, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

struct piece *standin_new(enum kind kind)
{
	uint64_t i = 1;

	while (i < standin_piece_count && standin_pieces[i].kind != NOTHING)
		i++;
	standin_pieces = standin_pieces ? standin_pieces : table(sizeof(*standin_pieces));
	if (i >= MAX)
		abort();
	if (i == standin_piece_count)
		standin_piece_count++;
	standin_pieces[i] = (struct piece){ .kind = kind, .gpu = standin_current };
	standin.held++;
	return &standin_pieces[i];
}

struct piece *standin_find(enum kind kind, uint64_t at)
{
	for (uint64_t i = 1; i < standin_piece_count; i++)
		if (standin_pieces[i].kind == kind && standin_pieces[i].at == at)
			return &standin_pieces[i];
	return NULL;
}

/* Does the standin_current GPU have that much left? Then it is taken. */
bool standin_take(uint64_t bytes)
{
	if (taken_by_all(standin_current) + standin.other + bytes > standin.total)
		return false;
	own()->taken[standin_current] += bytes;
	if (standin.ceiling && own()->taken[standin_current] > standin.context + standin.ceiling)
		standin_mistake("more was taken than the ceiling");
	return true;
}

void standin_untake(int gpu, uint64_t bytes)
{
	own()->taken[gpu] -= bytes;
}

static uint64_t rounded(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Queued work -------------------------------------------------------------- */

static void do_work(struct work *w)
{
	unsigned int *to = (unsigned int *)(uintptr_t)w->at;

	for (uint64_t i = 0; i < w->words; i++)
		to[i] = w->word;
	w->done = true;
}

/* What was queued up to the position, of one stream or of all. */
static void catch_up(bool all, uint64_t stream, uint64_t upto)
{
	for (uint64_t i = 0; i < work_count; i++)
		if (!works[i].done && works[i].position <= upto
		    && (all || works[i].stream == stream))
			do_work(&works[i]);
	while (work_count && works[work_count - 1].done)
		work_count--;
}

void standin_finish_stream(uint64_t stream)
{
	catch_up(false, stream, UINT64_MAX);
}

/* Memory goes away: was everybody done with it? */
void standin_unused(uint64_t at, uint64_t bytes)
{
	for (uint64_t i = 0; i < work_count; i++)
		if (!works[i].done && works[i].at < at + bytes
		    && works[i].at + works[i].words * 4 > at)
			standin_mistake("memory went away while a stream used it");
}

/* Runtime ------------------------------------------------------------------ */

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	cudaError_t e = standin_enter();

	if (!e)
		*driverVersion = (int)standin.driver;
	return e;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	cudaError_t e = standin_enter();

	if (!e)
		*runtimeVersion = CUDART_VERSION;
	return e;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t e = standin_enter();

	if (e)
		return e;
	*count = (int)standin.gpus;
	if ((int)standin.driver < CUDART_VERSION)
		return standin_fail(cudaErrorInsufficientDriver);
	return standin.gpus ? cudaSuccess : standin_fail(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
	cudaError_t e = standin_enter();

	if (e)
		return e;
	if (device < 0 || (uint64_t)device >= standin.gpus)
		return standin_fail(cudaErrorInvalidDevice);
	standin_current = device;
	return standin_need_context();
}

cudaError_t cudaDeviceReset(void)
{
	/* it works when nothing else does */
	stuck = cudaSuccess;
	standin.calls++;
	standin.resets++;
	wipe(standin_current);
	return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t e = standin_enter();

	e = e ? e : standin_need_context();
	if (e)
		return e;
	catch_up(true, 0, UINT64_MAX);
	standin_finish_pools();
	return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t e = last;

	last = stuck;
	return e;
}

const char *cudaGetErrorString(cudaError_t error)
{
	switch ((int)error) {
	case 2: return "out of memory";
	case 700: return "an illegal memory access was encountered";
	case 801: return "operation not supported";
	default: return "unknown error";
	}
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	cudaError_t e = standin_enter();
	uint64_t used;

	e = e ? e : standin_need_context();
	if (e)
		return e;
	used = taken_by_all(standin_current) + standin.other;
	*total = standin.total;
	*free_bytes = (used < standin.total ? standin.total - used : 0) + standin.lie;
	return cudaSuccess;
}

/* Two segments, one memory. */
static void *map_alias(uint64_t bytes)
{
	char name[] = "/tmp/fragsim-standin-XXXXXX";

	if (alias_file < 0) {
		alias_file = mkstemp(name);
		unlink(name);
	}
	if (alias_file < 0 || ftruncate(alias_file, (off_t)(bytes * 4)) != 0)
		abort();
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, alias_file,
		    0);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	uint64_t held = rounded(size, standin.granularity), bytes = rounded(size, HOST_PAGE);
	cudaError_t e = standin_enter();
	struct piece *p;
	void *at;

	e = e ? e : standin_need_context();
	if (e)
		return e;
	mallocs++;
	if (standin.small && size <= standin.small_max) {
		p = standin_new_small(rounded(size, standin.small));
		if (!p)
			return standin_fail(cudaErrorMemoryAllocation);
		*devPtr = (void *)(uintptr_t)p->at;
		return cudaSuccess;
	}
	if ((standin.piece && size > standin.piece) || !standin_take(held))
		return standin_fail(cudaErrorMemoryAllocation);
	at = standin.alias_at && (mallocs == standin.alias_at || mallocs + 1 == standin.alias_at)
		? map_alias(bytes)
		: mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		own()->taken[standin_current] -= held;
		return standin_fail(cudaErrorMemoryAllocation);
	}
	p = standin_new(SEGMENT);
	p->at = (uint64_t)(uintptr_t)at;
	p->bytes = bytes;
	p->held = held;
	*devPtr = at;
	return cudaSuccess;
}

cudaError_t cudaFree(void *devPtr)
{
	struct piece *p;
	cudaError_t e = standin_enter();

	if (e || !devPtr)
		return e;
	catch_up(true, 0, UINT64_MAX);
	p = standin_find(SMALL, (uint64_t)(uintptr_t)devPtr);
	if (p) {
		standin_drop_small(p);
		return cudaSuccess;
	}
	p = standin_find(SEGMENT, (uint64_t)(uintptr_t)devPtr);
	if (!p) {
		standin_mistake("cudaFree of what is not held");
		return standin_fail(cudaErrorInvalidValue);
	}
	standin_unmap(p);
	standin_drop(p);
	return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	cudaError_t e = standin_enter();

	if (e)
		return e;
	if (kind != cudaMemcpyDeviceToHost)
		return standin_fail(cudaErrorInvalidValue);
	catch_up(false, (uint64_t)(uintptr_t)stream, UINT64_MAX);
	if (++copies == standin.corrupt_at)
		*(unsigned char *)(uintptr_t)src ^= DAMAGE;
	memcpy(dst, src, count);
	return cudaSuccess;
}

/* Begins a call about a piece that should be there; without it, *out is NULL and the call fails. */
static cudaError_t enter_about(enum kind kind, const void *handle, const char *call,
			       struct piece **out)
{
	char what[80];
	cudaError_t e = standin_enter();

	*out = NULL;
	if (e)
		return e;
	*out = standin_find(kind, (uint64_t)(uintptr_t)handle);
	if (*out)
		return cudaSuccess;
	snprintf(what, sizeof(what), "%s of what is no %s", call,
		 kind == STREAM ? "stream" : "event");
	standin_mistake(what);
	return standin_fail(cudaErrorInvalidResourceHandle);
}

/* A stream or an event, whose handle is a number; 0 where the call fails. */
static cudaError_t create(enum kind kind, uint64_t *handle)
{
	cudaError_t e = standin_enter();

	*handle = e ? 0 : ++position;
	if (!e)
		standin_new(kind)->at = *handle;
	return e;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	uint64_t handle;
	cudaError_t e = create(STREAM, &handle);

	if (flags != cudaStreamNonBlocking)
		standin_mistake("a stream that the default stream waits for");
	if (!e)
		*pStream = (cudaStream_t)(uintptr_t)handle;
	return e;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	struct piece *p;
	cudaError_t e = enter_about(STREAM, stream, "cudaStreamDestroy", &p);

	if (e)
		return e;
	catch_up(false, p->at, UINT64_MAX);
	standin_drop(p);
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	cudaError_t e = standin_enter();

	if (e)
		return e;
	catch_up(false, (uint64_t)(uintptr_t)stream, UINT64_MAX);
	standin_finish_pools();
	return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	uint64_t handle;
	cudaError_t e = create(EVENT, &handle);

	(void)flags;
	if (!e)
		*event = (cudaEvent_t)(uintptr_t)handle;
	return e;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct piece *p;
	cudaError_t e = standin_enter();

	if (e)
		return e;
	p = standin_find(EVENT, (uint64_t)(uintptr_t)event);
	if (!p || (stream && !standin_find(STREAM, (uint64_t)(uintptr_t)stream))) {
		standin_mistake("cudaEventRecord of what is no event, or on no stream");
		return standin_fail(cudaErrorInvalidResourceHandle);
	}
	p->stream = (uint64_t)(uintptr_t)stream;
	p->position = ++position;
	return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	struct piece *p;
	cudaError_t e = enter_about(EVENT, event, "cudaEventSynchronize", &p);

	if (e)
		return e;
	catch_up(false, p->stream, p->position);
	standin_finish_pools();
	return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	struct piece *p;
	cudaError_t e = enter_about(EVENT, event, "cudaEventDestroy", &p);

	if (e)
		return e;
	standin_drop(p);
	return cudaSuccess;
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	cudaError_t e = standin_enter();

	if (e)
		return (CUresult)e;
	works = works ? works : table(sizeof(*works));
	if (work_count == MAX)
		abort();
	works[work_count++] = (struct work){
		.stream = (uint64_t)(uintptr_t)hStream, .position = ++position, .at = dstDevice,
		.words = N, .word = ui,
	};
	return CUDA_SUCCESS;
}
