/*
 * wrappers.c - wrappers of the driver's calls: each makes the call and notes its result.
 *
 * A call that allocates is noted after it returned, a call that frees before it is made: so an
 * address is free in the trace before another thread can obtain it again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/call_stacks.h"
#include "recorder/driver_devices.h"
#include "recorder/driver_calls.h"
#include "recorder/driver_lookup.h"
#include "recorder/recorder.h"
#include "recorder/rings.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* A call inside of another is the driver's own, or another wrapper's, and was made once. */
static __thread int depth __attribute__((tls_model("initial-exec")));

/* The function behind a wrapper, and whether its call is to be noted. */
static void *enter(enum frag_driver_call call, bool *noted)
{
	*noted = depth == 0 && frag_recorder_on() && frag_recorder_begin();
	if (depth > 0) {
		void *own = frag_driver_symbol(frag_driver_call_names[call]);

		return own ? own : frag_driver_behind(call);
	}
	return frag_driver_behind(call);
}

/*
 * The call of the driver, its parameters and arguments; `noted` and `rc` are of the caller, who
 * makes notes behind it.
 */
#define FORWARD(name, parameters, arguments)                               \
	do {                                                               \
		int (*behind) parameters = (int (*) parameters)behind_it;  \
									   \
		rc = CUDA_NOT_INITIALIZED;                                 \
		if (behind) {                                              \
			depth++;                                           \
			rc = behind arguments;                             \
			depth--;                                           \
		}                                                          \
	} while (0)

static uint64_t stream_key(uint64_t stream, enum frag_stream_kind kind)
{
	if (stream == CUDA_STREAM_PER_THREAD || (stream == 0 && kind == FRAG_THREAD_STREAM))
		return FRAG_STREAM_OF_THREAD | frag_ring_thread();
	return stream == CUDA_STREAM_LEGACY ? 0 : stream;
}

static void wrappers_note(const struct frag_note *what)
{
	struct frag_note n = *what;

	n.t_ns = frag_recorder_now();
	frag_ring_add(&n);
}

/* A request, granted or not. */
static void note_request(enum frag_driver_call call, int rc, const struct frag_note *what)
{
	struct frag_note n = *what;

	n.call = (uint8_t)call;
	n.error = rc;
	if (rc)
		n.op = FRAG_NOTE_FAILED;
	else if (frag_recorder_stacks())
		n.caller = FRAG_NOTE_STACK | frag_stack_here(n.caller);
	wrappers_note(&n);
	/* of a program that runs out of memory this may be the last word */
	if (rc)
		frag_recorder_finish();
}

/* The device that a request is made of; its context is there, and none of its blocks. */
static uint16_t begin_request(bool noted)
{
	uint16_t device = 0;

	if (noted) {
		device = frag_device_current();
		frag_device_measure(device);
	}
	return device;
}

/* A free that was noted did not happen. At the end of a program the driver goes first. */
static void note_failed(enum frag_note_op op, uint64_t key, int rc)
{
	if (rc && rc != CUDA_DEINITIALIZED)
		wrappers_note(&(struct frag_note){ .op = (uint8_t)op, .key = key, .error = rc });
}

/* Requests -------------------------------------------------------------------------- */

EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes);
EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemAlloc_v2, &noted);
	const uint16_t device = begin_request(noted);
	int rc;

	FORWARD(cuMemAlloc_v2, (uint64_t *, size_t), (at, bytes));
	if (noted)
		note_request(CALL_cuMemAlloc_v2, rc, &(struct frag_note){
			.op = FRAG_NOTE_ALLOC, .key = rc ? 0 : *at, .size = bytes,
			.device = device, .caller = CALLER });
	return rc;
}

EXPORT int cuMemAllocPitch_v2(uint64_t *at, size_t *pitch, size_t width, size_t height,
			      unsigned element);
EXPORT int cuMemAllocPitch_v2(uint64_t *at, size_t *pitch, size_t width, size_t height,
			      unsigned element)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemAllocPitch_v2, &noted);
	const uint16_t device = begin_request(noted);
	int rc;

	FORWARD(cuMemAllocPitch_v2, (uint64_t *, size_t *, size_t, size_t, unsigned),
		(at, pitch, width, height, element));
	if (noted)
		note_request(CALL_cuMemAllocPitch_v2, rc, &(struct frag_note){
			.op = FRAG_NOTE_ALLOC, .key = rc ? 0 : *at,
			.size = (rc ? width : *pitch) * height, .device = device,
			.caller = CALLER });
	return rc;
}

EXPORT int cuMemAllocManaged(uint64_t *at, size_t bytes, unsigned flags);
EXPORT int cuMemAllocManaged(uint64_t *at, size_t bytes, unsigned flags)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemAllocManaged, &noted);
	const uint16_t device = begin_request(noted);
	int rc;

	FORWARD(cuMemAllocManaged, (uint64_t *, size_t, unsigned), (at, bytes, flags));
	if (noted)
		note_request(CALL_cuMemAllocManaged, rc, &(struct frag_note){
			.op = FRAG_NOTE_ALLOC, .key = rc ? 0 : *at, .size = bytes,
			.device = device, .caller = CALLER });
	return rc;
}

/* Both calls of a stream, with and without _ptsz. */
#define ALLOC_ASYNC(name, kind)                                                           \
	EXPORT int name(uint64_t *at, size_t bytes, uint64_t stream);                     \
	EXPORT int name(uint64_t *at, size_t bytes, uint64_t stream)                      \
	{                                                                                 \
		bool noted;                                                               \
		void *behind_it = enter(CALL_##name, &noted);                             \
		const uint16_t device = begin_request(noted);                             \
		int rc;                                                                   \
											  \
		FORWARD(name, (uint64_t *, size_t, uint64_t), (at, bytes, stream));       \
		if (noted)                                                                \
			note_request(CALL_##name, rc, &(struct frag_note){                \
				.op = FRAG_NOTE_ALLOC, .key = rc ? 0 : *at, .size = bytes,\
				.stream = stream_key(stream, kind), .device = device,     \
				.caller = CALLER });                                      \
		return rc;                                                                \
	}
ALLOC_ASYNC(cuMemAllocAsync, FRAG_LEGACY_STREAM)
ALLOC_ASYNC(cuMemAllocAsync_ptsz, FRAG_THREAD_STREAM)

#define ALLOC_FROM_POOL(name, kind)                                                       \
	EXPORT int name(uint64_t *at, size_t bytes, uint64_t pool, uint64_t stream);      \
	EXPORT int name(uint64_t *at, size_t bytes, uint64_t pool, uint64_t stream)       \
	{                                                                                 \
		bool noted;                                                               \
		void *behind_it = enter(CALL_##name, &noted);                             \
		const uint16_t device = begin_request(noted);                             \
		int rc;                                                                   \
											  \
		FORWARD(name, (uint64_t *, size_t, uint64_t, uint64_t),                   \
			(at, bytes, pool, stream));                                       \
		if (noted)                                                                \
			note_request(CALL_##name, rc, &(struct frag_note){                \
				.op = FRAG_NOTE_ALLOC, .key = rc ? 0 : *at, .size = bytes,\
				.stream = stream_key(stream, kind), .pool = pool,         \
				.device = device, .caller = CALLER });                    \
		return rc;                                                                \
	}
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync, FRAG_LEGACY_STREAM)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, FRAG_THREAD_STREAM)

/* Frees ----------------------------------------------------------------------------- */

EXPORT int cuMemFree_v2(uint64_t at);
EXPORT int cuMemFree_v2(uint64_t at)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemFree_v2, &noted);
	int rc;

	noted = noted && at;
	if (noted)
		wrappers_note(&(struct frag_note){
			.op = FRAG_NOTE_FREE, .call = CALL_cuMemFree_v2, .key = at });
	FORWARD(cuMemFree_v2, (uint64_t), (at));
	if (noted)
		note_failed(FRAG_NOTE_FREE_FAILED, at, rc);
	return rc;
}

#define FREE_ASYNC(name, kind)                                                                    \
	EXPORT int name(uint64_t at, uint64_t stream);                                            \
	EXPORT int name(uint64_t at, uint64_t stream)                                             \
	{                                                                                         \
		bool noted;                                                                       \
		void *behind_it = enter(CALL_##name, &noted);                                     \
		int rc;                                                                           \
                                                                                                  \
		noted = noted && at;                                                              \
		if (noted)                                                                        \
			wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_FREE,                  \
							   .call = CALL_##name,                   \
							   .key = at,                             \
							   .stream = stream_key(stream, kind) }); \
		FORWARD(name, (uint64_t, uint64_t), (at, stream));                                \
		if (noted)                                                                        \
			note_failed(FRAG_NOTE_FREE_FAILED, at, rc);                               \
		return rc;                                                                        \
	}
FREE_ASYNC(cuMemFreeAsync, FRAG_LEGACY_STREAM)
FREE_ASYNC(cuMemFreeAsync_ptsz, FRAG_THREAD_STREAM)

EXPORT int cuMemPoolDestroy(uint64_t pool);
EXPORT int cuMemPoolDestroy(uint64_t pool)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemPoolDestroy, &noted);
	int rc;

	FORWARD(cuMemPoolDestroy, (uint64_t), (pool));
	if (noted && !rc)
		wrappers_note(&(struct frag_note){
			.op = FRAG_NOTE_POOL_GONE, .key = pool, .device = frag_device_current() });
	return rc;
}

/* Physical memory: it is the request; an address range takes none ------------------------ */

EXPORT int cuMemCreate(uint64_t *handle, size_t bytes, const struct cuda_memory_properties *what,
		       unsigned long long flags);
EXPORT int cuMemCreate(uint64_t *handle, size_t bytes, const struct cuda_memory_properties *what,
		       unsigned long long flags)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemCreate, &noted);
	uint16_t device = begin_request(noted);
	int rc;

	FORWARD(cuMemCreate,
		(uint64_t *, size_t, const struct cuda_memory_properties *, unsigned long long),
		(handle, bytes, what, flags));
	/* the host's memory can be created, too */
	if (!noted || !what || what->location_type != CUDA_LOCATION_DEVICE)
		return rc;
	if (what->location_id >= 0 && what->location_id < frag_devices_count())
		device = (uint16_t)what->location_id;
	note_request(CALL_cuMemCreate, rc, &(struct frag_note){
		.op = FRAG_NOTE_CREATE, .key = rc ? 0 : *handle, .size = bytes,
		.device = device, .caller = CALLER });
	return rc;
}

EXPORT int cuMemRetainAllocationHandle(uint64_t *handle, void *address);
EXPORT int cuMemRetainAllocationHandle(uint64_t *handle, void *address)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemRetainAllocationHandle, &noted);
	int rc;

	FORWARD(cuMemRetainAllocationHandle, (uint64_t *, void *), (handle, address));
	if (noted && !rc)
		wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_RETAIN, .key = *handle });
	return rc;
}

EXPORT int cuMemRelease(uint64_t handle);
EXPORT int cuMemRelease(uint64_t handle)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemRelease, &noted);
	int rc;

	if (noted)
		wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_RELEASE, .key = handle });
	FORWARD(cuMemRelease, (uint64_t), (handle));
	if (noted)
		note_failed(FRAG_NOTE_RELEASE_FAILED, handle, rc);
	return rc;
}

EXPORT int cuMemMap(uint64_t at, size_t bytes, size_t offset, uint64_t handle,
		    unsigned long long flags);
EXPORT int cuMemMap(uint64_t at, size_t bytes, size_t offset, uint64_t handle,
		    unsigned long long flags)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemMap, &noted);
	int rc;

	FORWARD(cuMemMap, (uint64_t, size_t, size_t, uint64_t, unsigned long long),
		(at, bytes, offset, handle, flags));
	if (noted && !rc)
		wrappers_note(&(struct frag_note){
			.op = FRAG_NOTE_MAP, .key = at, .size = bytes, .stream = handle });
	return rc;
}

EXPORT int cuMemUnmap(uint64_t at, size_t bytes);
EXPORT int cuMemUnmap(uint64_t at, size_t bytes)
{
	bool noted;
	void *behind_it = enter(CALL_cuMemUnmap, &noted);
	int rc;

	if (noted)
		wrappers_note(
			&(struct frag_note){ .op = FRAG_NOTE_UNMAP, .key = at, .size = bytes });
	FORWARD(cuMemUnmap, (uint64_t, size_t), (at, bytes));
	return rc;
}

/* Waiting ------------------------------------------------------------------------------ */

#define STREAM_SYNCHRONIZE(name, kind)                                                         \
	EXPORT int name(uint64_t stream);                                                      \
	EXPORT int name(uint64_t stream)                                                       \
	{                                                                                      \
		bool noted;                                                                    \
		void *behind_it = enter(CALL_##name, &noted);                                  \
		int rc;                                                                        \
                                                                                               \
		FORWARD(name, (uint64_t), (stream));                                           \
		if (noted && !rc)                                                              \
			wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_SYNC_STREAM,        \
							   .stream = stream_key(stream, kind), \
							   .device = frag_device_current() }); \
		return rc;                                                                     \
	}
STREAM_SYNCHRONIZE(cuStreamSynchronize, FRAG_LEGACY_STREAM)
STREAM_SYNCHRONIZE(cuStreamSynchronize_ptsz, FRAG_THREAD_STREAM)

EXPORT int cuCtxSynchronize(void);
EXPORT int cuCtxSynchronize(void)
{
	bool noted;
	void *behind_it = enter(CALL_cuCtxSynchronize, &noted);
	int rc;

	FORWARD(cuCtxSynchronize, (void), ());
	if (noted && !rc)
		wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_SYNC_DEVICE,
					  .device = frag_device_current() });
	return rc;
}

/* Of another context than the current one its device is not asked for. */
EXPORT int cuCtxSynchronize_v2(void *context);
EXPORT int cuCtxSynchronize_v2(void *context)
{
	bool noted;
	void *behind_it = enter(CALL_cuCtxSynchronize_v2, &noted);
	int rc;

	FORWARD(cuCtxSynchronize_v2, (void *), (context));
	if (noted && !rc && !context)
		wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_SYNC_DEVICE,
					  .device = frag_device_current() });
	return rc;
}

#define EVENT_RECORD(name, kind, parameters, arguments)                                        \
	EXPORT int name parameters;                                                            \
	EXPORT int name parameters                                                             \
	{                                                                                      \
		bool noted;                                                                    \
		void *behind_it = enter(CALL_##name, &noted);                                  \
		int rc;                                                                        \
                                                                                               \
		FORWARD(name, parameters, arguments);                                          \
		if (noted && !rc)                                                              \
			wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_EVENT,              \
							   .key = event,                       \
							   .stream = stream_key(stream, kind), \
							   .device = frag_device_current() }); \
		return rc;                                                                     \
	}
EVENT_RECORD(cuEventRecord, FRAG_LEGACY_STREAM, (uint64_t event, uint64_t stream),
	     (event, stream))
EVENT_RECORD(cuEventRecord_ptsz, FRAG_THREAD_STREAM, (uint64_t event, uint64_t stream),
	     (event, stream))
EVENT_RECORD(cuEventRecordWithFlags, FRAG_LEGACY_STREAM,
	     (uint64_t event, uint64_t stream, unsigned flags), (event, stream, flags))
EVENT_RECORD(cuEventRecordWithFlags_ptsz, FRAG_THREAD_STREAM,
	     (uint64_t event, uint64_t stream, unsigned flags), (event, stream, flags))

EXPORT int cuEventSynchronize(uint64_t event);
EXPORT int cuEventSynchronize(uint64_t event)
{
	bool noted;
	void *behind_it = enter(CALL_cuEventSynchronize, &noted);
	int rc;

	FORWARD(cuEventSynchronize, (uint64_t), (event));
	if (noted && !rc)
		wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_SYNC_EVENT, .key = event,
					  .device = frag_device_current() });
	return rc;
}

#define RESET(name)                                                                       \
	EXPORT int name(int device);                                                      \
	EXPORT int name(int device)                                                       \
	{                                                                                 \
		bool noted;                                                               \
		void *behind_it = enter(CALL_##name, &noted);                             \
		int rc;                                                                   \
                                                                                          \
		FORWARD(name, (int), (device));                                           \
		if (noted && !rc && device >= 0 && device < frag_devices_count())         \
			wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_DEVICE_RESET,  \
							   .device = (uint16_t)device }); \
		return rc;                                                                \
	}
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)

/* The way to all the others ------------------------------------------------------------ */

EXPORT int cuGetProcAddress(const char *name, void **at, int version, uint64_t flags);
EXPORT int cuGetProcAddress(const char *name, void **at, int version, uint64_t flags)
{
	void *behind_it = frag_driver_behind(CALL_cuGetProcAddress);
	int rc;

	FORWARD(cuGetProcAddress, (const char *, void **, int, uint64_t),
		(name, at, version, flags));
	if (!rc && name && at && *at && depth == 0 && frag_recorder_on())
		frag_driver_wrap(name, version, flags, at);
	return rc;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags,
			       int *found);
EXPORT int cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags,
			       int *found)
{
	void *behind_it = frag_driver_behind(CALL_cuGetProcAddress_v2);
	int rc;

	FORWARD(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *),
		(name, at, version, flags, found));
	if (!rc && name && at && *at && depth == 0 && frag_recorder_on())
		frag_driver_wrap(name, version, flags, at);
	return rc;
}
