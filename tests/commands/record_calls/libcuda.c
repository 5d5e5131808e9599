/*
 * libcuda.c - stands in for the driver, as libcuda.so.1: two devices of 1 GiB each.
 *
 * What it is asked goes into the file STANDIN_LOG.PID, a line a call: the thread, the call, the
 * answer, the device, and the numbers. Addresses that are freed are the first to be given again,
 * and a free on stream 0xdead fails.
 */
#define _GNU_SOURCE
#include "calls.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOTAL (UINT64_C(1) << 30)
#define CONTEXT(device) ((device) ? UINT64_C(200) << 20 : UINT64_C(300) << 20)
#define BLOCKS 65536
#define PITCH 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { uint64_t at, size; int device, live, holders; } blocks[BLOCKS];
static int count;
static uint64_t used[2];
static int log_fd = -1;
static pid_t log_of;
static __thread int current;

/* Under the lock: the log has the order of the calls. */
static void told(const char *name, int rc, uint64_t key, uint64_t size, uint64_t stream,
		 uint64_t pool)
{
	const char *path = getenv("STANDIN_LOG");
	char text[256];
	int n;

	if (!path || !*path)
		return;
	if (log_of != getpid()) {
		snprintf(text, sizeof(text), "%s.%d", path, (int)getpid());
		log_fd = open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		log_of = getpid();
		told("(begin)", 0, 0, 0, 0, 0);
	}
	n = snprintf(text, sizeof(text), "%ld %s %d %d %llu %llu %llu %llu\n",
		     (long)syscall(SYS_gettid), name, rc, current, (unsigned long long)key,
		     (unsigned long long)size, (unsigned long long)stream,
		     (unsigned long long)pool);
	if (write(log_fd, text, (size_t)n) != n)
		abort();
}

/* A child of fork has nothing of its parent's. */
static void begin_process(void)
{
	static pid_t owner;

	if (owner != getpid()) {
		owner = getpid();
		count = 0;
		used[0] = used[1] = 0;
	}
}

static void take_lock(void) { pthread_mutex_lock(&lock); }
static void give_lock(void) { pthread_mutex_unlock(&lock); }

/* A child that is forked while another thread is in here must not wait for that thread. */
__attribute__((constructor)) static void keep_lock_for_children(void)
{
	pthread_atfork(take_lock, give_lock, give_lock);
}

/* 2, out of memory, where it does not fit. */
static int take(int device, uint64_t size, uint64_t *at)
{
	int i;

	if (used[device] + size + CONTEXT(device) > TOTAL)
		return 2;
	for (i = count - 1; i >= 0; i--)
		if (!blocks[i].live && blocks[i].size == size)
			break;
	if (i < 0) {
		i = count++;
		if (count == BLOCKS)
			abort();
		blocks[i].at = UINT64_C(0x7f0000000000) + ((uint64_t)i << 24);
	}
	blocks[i].size = size;
	blocks[i].device = device;
	blocks[i].live = blocks[i].holders = 1;
	used[device] += size;
	*at = blocks[i].at;
	return 0;
}

static int give(uint64_t at)
{
	for (int i = 0; i < count; i++) {
		if (blocks[i].at != at || !blocks[i].live)
			continue;
		blocks[i].live = 0;
		used[blocks[i].device] -= blocks[i].size;
		return 0;
	}
	return 1;
}

static int request(const char *name, uint64_t *at, uint64_t size, uint64_t stream, uint64_t pool)
{
	uint64_t got = 0;
	int rc;

	pthread_mutex_lock(&lock);
	begin_process();
	rc = take(current, size, &got);
	told(name, rc, got, size, stream, pool);
	pthread_mutex_unlock(&lock);
	if (!rc)
		*at = got;
	return rc;
}

static int giving(const char *name, uint64_t at, uint64_t stream)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = stream == 0xdead ? 700 : at ? give(at) : 0;
	told(name, rc, at, 0, stream, 0);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int only_told(const char *name, uint64_t key, uint64_t size, uint64_t stream)
{
	pthread_mutex_lock(&lock);
	told(name, 0, key, size, stream, 0);
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int *n);
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *device, int i);
int cuDeviceGet(int *device, int i) { *device = i; return i < 0 || i > 1 ? 101 : 0; }
int cuDeviceGetName(char *name, int room, int device);
int cuDeviceGetName(char *name, int room, int device)
{
	snprintf(name, (size_t)room, "Stand-in \"%d\"", device);
	return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = TOTAL; return device > 1; }
int cuCtxGetDevice(int *device);
int cuCtxGetDevice(int *device) { *device = current; return 0; }
int cuCtxSetCurrent(void *context) { current = context != NULL; return 0; }
int cuMemGetInfo_v2(size_t *left, size_t *total);
int cuMemGetInfo_v2(size_t *left, size_t *total)
{
	pthread_mutex_lock(&lock);
	begin_process();
	*total = TOTAL;
	*left = TOTAL - CONTEXT(current) - used[current];
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuMemAlloc_v2(uint64_t *at, size_t n) { return request("cuMemAlloc_v2", at, n, 0, 0); }
int cuMemAllocManaged(uint64_t *at, size_t n, unsigned flags)
{
	return request("cuMemAllocManaged", at, n, 0, flags * 0);
}
int cuMemAllocPitch_v2(uint64_t *at, size_t *pitch, size_t width, size_t height, unsigned element)
{
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return request("cuMemAllocPitch_v2", at, *pitch * height, 0, element * 0);
}
int cuMemFree_v2(uint64_t at) { return giving("cuMemFree_v2", at, 0); }
int cuMemAllocAsync(uint64_t *at, size_t n, uint64_t s)
{
	return request("cuMemAllocAsync", at, n, s, 0);
}
int cuMemAllocAsync_ptsz(uint64_t *at, size_t n, uint64_t s)
{
	return request("cuMemAllocAsync_ptsz", at, n, s, 0);
}
int cuMemAllocFromPoolAsync(uint64_t *at, size_t n, uint64_t pool, uint64_t s)
{
	return request("cuMemAllocFromPoolAsync", at, n, s, pool);
}
int cuMemFreeAsync(uint64_t at, uint64_t s) { return giving("cuMemFreeAsync", at, s); }
int cuMemFreeAsync_ptsz(uint64_t at, uint64_t s) { return giving("cuMemFreeAsync_ptsz", at, s); }
int cuMemPoolDestroy(uint64_t pool) { return only_told("cuMemPoolDestroy", pool, 0, 0); }

/* A handle is a block that may have several holders; it keeps its own size in the books. */
int cuMemCreate(uint64_t *handle, size_t n, const struct properties *what, unsigned long long flags)
{
	const int before = current;
	int rc;

	(void)flags;
	current = what->location_id;
	rc = request("cuMemCreate", handle, n, 0, what->location_type != 1);
	current = before;
	return rc;
}

static int hold(const char *name, uint64_t handle, int more, uint64_t at, uint64_t size)
{
	int rc = 1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++) {
		if (blocks[i].at != handle || !blocks[i].live)
			continue;
		blocks[i].holders += more;
		rc = blocks[i].holders > 0 ? 0 : give(handle);
	}
	told(name, rc, at ? at : handle, size, at ? handle : 0, 0);
	pthread_mutex_unlock(&lock);
	return rc;
}

static struct { uint64_t at, handle; } maps[1024];

int cuMemMap(uint64_t at, size_t n, size_t offset, uint64_t handle, unsigned long long flags)
{
	(void)flags;
	maps[(at >> 21) % 1024].at = at + offset * 0;
	maps[(at >> 21) % 1024].handle = handle;
	return hold("cuMemMap", handle, 1, at, n);
}
/* Of one or more mappings of 2 MiB each. */
int cuMemUnmap(uint64_t at, size_t n)
{
	only_told("cuMemUnmap", at, n, 0);
	for (size_t i = 0; i < n >> 21; i++)
		hold("(unmapped)", maps[((at >> 21) + i) % 1024].handle, -1, 0, 0);
	return 0;
}
int cuMemRelease(uint64_t handle) { return hold("cuMemRelease", handle, -1, 0, 0); }
int cuMemRetainAllocationHandle(uint64_t *handle, void *address)
{
	*handle = maps[((uint64_t)address >> 21) % 1024].handle;
	return hold("cuMemRetainAllocationHandle", *handle, 1, 0, 0);
}

int cuStreamSynchronize(uint64_t s) { return only_told("cuStreamSynchronize", 0, 0, s); }
int cuStreamSynchronize_ptsz(uint64_t s) { return only_told("cuStreamSynchronize_ptsz", 0, 0, s); }
int cuCtxSynchronize(void) { return only_told("cuCtxSynchronize", 0, 0, 0); }
int cuEventRecord(uint64_t event, uint64_t s) { return only_told("cuEventRecord", event, 0, s); }
int cuEventSynchronize(uint64_t event) { return only_told("cuEventSynchronize", event, 0, 0); }
int cuDevicePrimaryCtxReset_v2(int device)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++)
		if (blocks[i].live && blocks[i].device == device)
			give(blocks[i].at);
	told("cuDevicePrimaryCtxReset_v2", 0, (uint64_t)device, 0, 0, 0);
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags, int *found);
int cuGetProcAddress(const char *name, void **at, int version, uint64_t flags);

int cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags, int *found)
{
	const int own = (flags & 2) != 0;

	*at = NULL;
#define LOOK(call, base, thread, parameters)                                       \
	if (strcmp(name, #base) == 0 && (!*at || (thread) == own))                 \
		*at = (void *)call;
	CALLS(LOOK)
#define LOOK_WHOLE(call, base, thread, parameters)                                 \
	if (strcmp(name, #call) == 0 && strcmp(#call, #base) != 0)                 \
		*at = (void *)call;
	CALLS(LOOK_WHOLE)
	if (strcmp(name, "cuGetProcAddress") == 0)
		*at = version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
	if (found)
		*found = *at ? 0 : 1;
	return *at ? 0 : 500;
}

int cuGetProcAddress(const char *name, void **at, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, at, version, flags, NULL);
}
