/*
 * client.c - a program that asks the driver for memory, in the ways that programs find it.
 *
 *   client WAY SCENE END
 *
 * WAY: linked (compiled with -DLINKED), library (the driver is linked to libplug.so, which is
 * loaded), dlsym, dlvsym, address (cuGetProcAddress), address2 (its second version),
 * suffixed (the same, with _v2 and _ptsz in the names).
 * SCENE: sync, async, vmm, failed, many, none. END: return, threads, fork, exec, exit, _exit, kill, bench;
 * own: says in which file the function is that it calls.
 */
#define _GNU_SOURCE
#include "calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define NEED(x) do { if (!(x)) { fprintf(stderr, "client: %s\n", #x); exit(9); } } while (0)

#if defined(LINKED) || defined(PLUG)
static void use_linked(struct calls *c)
{
#define USE(name, base, own, parameters) c->name = name;
	CALLS(USE)
}
#endif

#ifdef PLUG
void plug(struct calls *c);
void plug(struct calls *c)
{
	use_linked(c);
}
#else

static struct calls c;

static void load(const char *way)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*address)(const char *, void **, int, uint64_t);
	int (*address2)(const char *, void **, int, uint64_t, int *);
	int found;

#ifdef LINKED
	NEED(strcmp(way, "linked") == 0);
	use_linked(&c);
	return;
#endif
	if (strcmp(way, "library") == 0) {
		void *library = dlopen("libplug.so", RTLD_NOW | RTLD_LOCAL);
		void (*plug)(struct calls *);

		NEED(library);
		plug = (void (*)(struct calls *))dlsym(library, "plug");
		plug(&c);
		return;
	}
	NEED(driver);
	address = (int (*)(const char *, void **, int, uint64_t))dlsym(driver, "cuGetProcAddress");
	/* as the runtime does: the way to the second is the first */
	NEED(address("cuGetProcAddress", (void **)&address2, 12000, 0) == 0);
#define LOAD(name, base, own, parameters)                                                      \
	if (strcmp(way, "dlsym") == 0)                                                         \
		c.name = (int (*) parameters)dlsym(driver, #name);                             \
	else if (strcmp(way, "dlvsym") == 0)                                                   \
		c.name = (int (*) parameters)dlvsym(driver, #name, "STANDIN_1");               \
	else if (strcmp(way, "address") == 0)                                                  \
		NEED(address(#base, (void **)&c.name, 11080, (own) ? 2 : 1) == 0);             \
	else if (strcmp(way, "suffixed") == 0)                                                 \
		NEED(address2(#name, (void **)&c.name, 12000, 0, &found) == 0);                \
	else                                                                                   \
		NEED(address2(#base, (void **)&c.name, 12000, (own) ? 2 : 1, &found) == 0);    \
	NEED(c.name);
	CALLS(LOAD)
}

/* Sizes tell which thread a block is of. */
void scene_sync(uint64_t n);
void scene_sync(uint64_t n)
{
	uint64_t at[6];
	size_t pitch;

	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 4; i++)
			NEED(c.cuMemAlloc_v2(&at[i], (i + 1) * 65536 + n) == 0);
		NEED(c.cuMemAllocPitch_v2(&at[4], &pitch, 1000 + 512 * n, 3, 4) == 0);
		NEED(c.cuMemAllocManaged(&at[5], 1000000 + n, 1) == 0);
		for (int i = 5; i >= 0; i -= 2)
			NEED(c.cuMemFree_v2(at[i]) == 0);
		NEED(c.cuMemFree_v2(0) == 0);
		NEED(c.cuCtxSynchronize() == 0);
		for (int i = 0; i < (round == 2 ? 4 : 6); i += 2)
			NEED(c.cuMemFree_v2(at[i]) == 0);
	}
}

/* Two streams, a pool, and the default stream of the thread; some blocks are freed elsewhere. */
void scene_async(uint64_t n);
void scene_async(uint64_t n)
{
	const uint64_t one = 0x5000 + n * 64, two = 0x9000 + n * 64, pool = 0x70000 + n * 64;
	uint64_t at[6];

	for (int round = 0; round < 3; round++) {
		NEED(c.cuMemAllocAsync(&at[0], 65536 + n, one) == 0);
		NEED(c.cuMemAllocAsync(&at[1], 131072 + n, two) == 0);
		NEED(c.cuMemAllocFromPoolAsync(&at[2], 262144 + n, pool, two) == 0);
		NEED(c.cuMemAllocAsync(&at[3], 524288 + n, 0) == 0);
		NEED(c.cuMemAllocAsync_ptsz(&at[4], 1048576 + n, 0) == 0);
		NEED(c.cuMemAllocAsync(&at[5], 2097152 + n, 2) == 0);
		NEED(c.cuMemFreeAsync(at[0], one) == 0);
		NEED(c.cuMemFreeAsync(at[1], one) == 0);
		NEED(c.cuEventRecord(0x333000 + n, one) == 0);
		NEED(c.cuEventSynchronize(0x333000 + n) == 0);
		NEED(c.cuMemFreeAsync(at[2], one) == 0);
		/* the trace cannot say this one */
		NEED(c.cuEventSynchronize(0x333000 + n) == 0);
		NEED(c.cuStreamSynchronize(one) == 0);
		NEED(c.cuMemFreeAsync(at[3], 1) == 0);
		NEED(c.cuMemFreeAsync_ptsz(at[4], 0) == 0);
		NEED(c.cuStreamSynchronize_ptsz(0) == 0);
		NEED(c.cuMemFree_v2(at[5]) == 0);
	}
	NEED(c.cuMemPoolDestroy(pool) == 0);
}

/* As expandable segments have it, and with the handle given away at once. */
void scene_vmm(uint64_t n);
void scene_vmm(uint64_t n)
{
	const struct properties on_1 = { .type = 1, .location_type = 1, .location_id = 1 };
	const struct properties host = { .type = 1, .location_type = 2 };
	const uint64_t at = UINT64_C(0x600000000000) + (n << 25);
	uint64_t handle[4], again;

	for (uint64_t i = 0; i < 3; i++) {
		NEED(c.cuMemCreate(&handle[i], 2 * MIB + (n << 30) * 0, &on_1, 0) == 0);
		NEED(c.cuMemMap(at + 2 * i * MIB, 2 * MIB, 0, handle[i], 0) == 0);
	}
	NEED(c.cuMemCreate(&handle[3], 4 * MIB, &host, 0) == 0);
	NEED(c.cuMemRelease(handle[0]) == 0);
	NEED(c.cuMemUnmap(at, 2 * MIB) == 0);
	NEED(c.cuMemRetainAllocationHandle(&again, (void *)(at + 2 * MIB)) == 0);
	NEED(again == handle[1]);
	NEED(c.cuMemUnmap(at + 2 * MIB, 4 * MIB) == 0);
	NEED(c.cuMemRelease(handle[1]) == 0);
	NEED(c.cuMemRelease(handle[2]) == 0);
	NEED(c.cuMemRelease(again) == 0);
	NEED(c.cuMemRelease(handle[3]) == 0);
}

/* More than there is; a free of what is not there; a reset, and an address that comes again. */
void scene_failed(uint64_t n);
void scene_failed(uint64_t n)
{
	uint64_t at, other;

	NEED(c.cuMemAlloc_v2(&at, 65536 + n) == 0);
	NEED(c.cuMemAlloc_v2(&other, (UINT64_C(1) << 40) + n) == 2);
	NEED(c.cuMemAllocAsync(&other, (UINT64_C(2) << 40) + n, 0x5000) == 2);
	NEED(c.cuMemFree_v2(0x1234) == 1);
	NEED(c.cuMemFree_v2(at) == 0);
	NEED(c.cuMemFree_v2(at) == 1);
	/* the stand-in refuses that stream, and the block lives */
	NEED(c.cuMemAlloc_v2(&at, 131072 + n) == 0);
	NEED(c.cuMemFreeAsync(at, 0xdead) == 700);
	NEED(c.cuMemFree_v2(at) == 0);
	NEED(c.cuCtxSetCurrent((void *)1) == 0);
	NEED(c.cuMemAlloc_v2(&at, 4 * MIB + n) == 0);
	if (!n)
		NEED(c.cuDevicePrimaryCtxReset_v2(1) == 0);
	NEED(c.cuCtxSetCurrent(NULL) == 0);
}

/* As many blocks as tables and rings have to grow for; in an order that comes out of a hat. */
void scene_many(uint64_t n);
void scene_many(uint64_t n)
{
	enum { LIVE = 3000 };
	const int steps = n ? 2000 : 30000;
	uint64_t *at = calloc(LIVE, sizeof(*at)), x = 88172645463325252u + n;

	for (int i = 0; i < steps; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (at[x % LIVE])
			NEED(c.cuMemFreeAsync(at[x % LIVE], 0x5000) == 0);
		if (at[x % LIVE] || c.cuMemAllocAsync(&at[x % LIVE], 512 + (x >> 32) % 64 * 512 + n,
						      x >> 60 ? 0x5000 : 0x9000) != 0)
			at[x % LIVE] = 0;
	}
	free(at);
}

static void play(const char *scene, uint64_t n)
{
	if (strcmp(scene, "sync") == 0)
		scene_sync(n);
	else if (strcmp(scene, "async") == 0)
		scene_async(n);
	else if (strcmp(scene, "vmm") == 0)
		scene_vmm(n);
	else if (strcmp(scene, "failed") == 0)
		scene_failed(n);
	else if (strcmp(scene, "many") == 0)
		scene_many(n);
}

static const char *scene_of_threads;

static void *one_of_eight(void *number)
{
	play(scene_of_threads, (uint64_t)number);
	return NULL;
}

static void threads(const char *scene)
{
	pthread_t thread[8];

	scene_of_threads = scene;
	for (uint64_t i = 0; i < 8; i++)
		NEED(pthread_create(&thread[i], NULL, one_of_eight, (void *)(i + 1)) == 0);
	for (int i = 0; i < 8; i++)
		NEED(pthread_join(thread[i], NULL) == 0);
}

static void leave(void)
{
	exit(7);
}

/* What a pair of calls takes, in nanoseconds. */
static void bench(void)
{
	enum { PAIRS = 2000, ROUNDS = 100 };
	double best = 1e18;
	uint64_t at;

	for (int round = 0; round < ROUNDS; round++) {
		struct timespec from, to;
		const struct timespec moment = { .tv_nsec = 2000000 };
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < PAIRS; i++) {
			c.cuMemAlloc_v2(&at, 65536);
			c.cuMemFree_v2(at);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
		best = ns < best ? ns : best;
		nanosleep(&moment, NULL);
	}
	printf("%.1f\n", best / (2 * PAIRS));
}

int main(int argc, char **argv)
{
	const char *end;
	Dl_info info;
	uint64_t at;
	int status;

	NEED(argc == 4);
	end = argv[3];
	load(argv[1]);
	NEED(c.cuInit(0) == 0);
	if (strcmp(end, "threads") == 0) {
		threads(argv[2]);
	} else if (strcmp(end, "fork") == 0) {
		pid_t child;

		play(argv[2], 0);
		child = fork();
		if (child == 0) {
			play("sync", 1);
			_exit(0);
		}
		NEED(waitpid(child, &status, 0) == child && status == 0);
		play(argv[2], 2);
	} else {
		play(argv[2], 0);
	}
	if (strcmp(end, "exec") == 0)
		execl(argv[0], argv[0], argv[1], "sync", "return", NULL);
	if (strcmp(end, "exit") == 0)
		leave();
	if (strcmp(end, "_exit") == 0)
		_exit(8);
	if (strcmp(end, "kill") == 0) {
		usleep(400000);
		c.cuMemAlloc_v2(&at, 4242);
		kill(getpid(), SIGKILL);
	}
	if (strcmp(end, "bench") == 0)
		bench();
	if (strcmp(end, "own") == 0 && dladdr((void *)c.cuMemFree_v2, &info))
		puts(info.dli_fname);
	return 0;
}
#endif
