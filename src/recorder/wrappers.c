/*
 * wrappers.c - wrappers of the driver's calls: each makes the call and notes its result.
 *
 * A call that allocates is noted after it returned, a call that frees before it is made: so an
 * address is free in the trace before another thread can obtain it again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/driver_calls.h"
#include "recorder/driver_lookup.h"
#include "recorder/recorder.h"
#include "recorder/rings.h"
#include "recorder/trace_lines.h"

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

/* The call of the driver, its parameters and arguments; `rc` is of the wrapper. */
#define FORWARD(parameters, arguments)                                     \
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

/*
 * A wrapper. Where the call is to be noted, `before` and `after` are statements around it; rc is
 * the driver's answer, and device that of a request.
 */
#define WRAP(name, parameters, arguments, before, after)                   \
	EXPORT int name parameters;                                        \
	EXPORT int name parameters                                         \
	{                                                                  \
		bool noted;                                                \
		void *behind_it = enter(CALL_##name, &noted);              \
		uint16_t device __attribute__((unused)) = 0;               \
		int rc;                                                    \
									   \
		if (noted)                                                 \
			before;                                            \
		FORWARD(parameters, arguments);                            \
		if (noted)                                                 \
			after;                                             \
		return rc;                                                 \
	}
#define NOTHING ((void)0)

/* Both calls of a stream. */
#define BOTH(wrapper, name)                  \
	wrapper(name, FRAG_LEGACY_STREAM)    \
	wrapper(name##_ptsz, FRAG_THREAD_STREAM)

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

/* Of the current device; stream or key may be 0. */
static void note_here(enum frag_note_op op, uint64_t key, uint64_t stream)
{
	wrappers_note(&(struct frag_note){ .op = (uint8_t)op, .key = key, .stream = stream,
					   .device = frag_device_current() });
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
static uint16_t begin_request(void)
{
	const uint16_t device = frag_device_current();

	frag_device_measure(device);
	return device;
}

/* A free that was noted did not happen. At the end of a program the driver goes first. */
static void note_failed(enum frag_note_op op, uint64_t key, int rc)
{
	if (rc && rc != CUDA_DEINITIALIZED)
		wrappers_note(&(struct frag_note){ .op = (uint8_t)op, .key = key, .error = rc });
}

/* Requests -------------------------------------------------------------------------- */

#define REQUEST(name, parameters, arguments, op_, at, bytes, stream_, pool_)          \
	WRAP(name, parameters, arguments, device = begin_request(),                   \
	     note_request(CALL_##name, rc, &(struct frag_note){                       \
		     .op = op_, .key = rc ? 0 : *at, .size = bytes, .stream = stream_, \
		     .pool = pool_, .device = device, .caller = CALLER }))

REQUEST(cuMemAlloc_v2, (uint64_t *at, size_t bytes), (at, bytes), FRAG_NOTE_ALLOC, at, bytes, 0, 0)
REQUEST(cuMemAllocPitch_v2,
	(uint64_t *at, size_t *pitch, size_t width, size_t height, unsigned element),
	(at, pitch, width, height, element), FRAG_NOTE_ALLOC, at, (rc ? width : *pitch) * height,
	0, 0)
REQUEST(cuMemAllocManaged, (uint64_t *at, size_t bytes, unsigned flags), (at, bytes, flags),
	FRAG_NOTE_ALLOC, at, bytes, 0, 0)

#define ALLOC_ASYNC(name, kind)                                                           \
	REQUEST(name, (uint64_t *at, size_t bytes, uint64_t stream), (at, bytes, stream), \
		FRAG_NOTE_ALLOC, at, bytes, stream_key(stream, kind), 0)
BOTH(ALLOC_ASYNC, cuMemAllocAsync)

#define ALLOC_FROM_POOL(name, kind)                                                         \
	REQUEST(name, (uint64_t *at, size_t bytes, uint64_t pool, uint64_t stream),         \
		(at, bytes, pool, stream), FRAG_NOTE_ALLOC, at, bytes,                      \
		stream_key(stream, kind), pool)
BOTH(ALLOC_FROM_POOL, cuMemAllocFromPoolAsync)

/* Frees ----------------------------------------------------------------------------- */

#define FREE(name, parameters, arguments, stream_)                                       \
	WRAP(name, parameters, arguments,                                                \
	     if (at) wrappers_note(&(struct frag_note){                                  \
		     .op = FRAG_NOTE_FREE, .call = CALL_##name, .key = at, .stream = stream_ }), \
	     if (at) note_failed(FRAG_NOTE_FREE_FAILED, at, rc))
#define FREE_ASYNC(name, kind) \
	FREE(name, (uint64_t at, uint64_t stream), (at, stream), stream_key(stream, kind))

FREE(cuMemFree_v2, (uint64_t at), (at), 0)
BOTH(FREE_ASYNC, cuMemFreeAsync)
WRAP(cuMemPoolDestroy, (uint64_t pool), (pool), NOTHING,
     if (!rc) note_here(FRAG_NOTE_POOL_GONE, pool, 0))

/* Physical memory: it is the request; an address range takes none ------------------------ */

/* The host's memory can be created, too, and that of another device than the current one. */
static void note_create(int rc, const struct cuda_memory_properties *what,
			const struct frag_note *note)
{
	struct frag_note n = *note;

	if (!what || what->location_type != CUDA_LOCATION_DEVICE)
		return;
	if (what->location_id >= 0 && what->location_id < frag_devices_count())
		n.device = (uint16_t)what->location_id;
	note_request(CALL_cuMemCreate, rc, &n);
}

WRAP(cuMemCreate,
     (uint64_t *handle, size_t bytes, const struct cuda_memory_properties *what,
      unsigned long long flags), (handle, bytes, what, flags), device = begin_request(),
     note_create(rc, what, &(struct frag_note){
	     .op = FRAG_NOTE_CREATE, .key = rc ? 0 : *handle, .size = bytes, .device = device,
	     .caller = CALLER }))
WRAP(cuMemRetainAllocationHandle, (uint64_t *handle, void *address), (handle, address), NOTHING,
     if (!rc) wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_RETAIN, .key = *handle }))
WRAP(cuMemRelease, (uint64_t handle), (handle),
     wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_RELEASE, .key = handle }),
     note_failed(FRAG_NOTE_RELEASE_FAILED, handle, rc))
WRAP(cuMemMap,
     (uint64_t at, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags),
     (at, bytes, offset, handle, flags), NOTHING,
     if (!rc) wrappers_note(&(struct frag_note){
	     .op = FRAG_NOTE_MAP, .key = at, .size = bytes, .stream = handle }))
WRAP(cuMemUnmap, (uint64_t at, size_t bytes), (at, bytes),
     wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_UNMAP, .key = at, .size = bytes }),
     NOTHING)

/* Waiting ------------------------------------------------------------------------------ */

#define STREAM_SYNCHRONIZE(name, kind)                                \
	WRAP(name, (uint64_t stream), (stream), NOTHING,              \
	     if (!rc) note_here(FRAG_NOTE_SYNC_STREAM, 0, stream_key(stream, kind)))
BOTH(STREAM_SYNCHRONIZE, cuStreamSynchronize)

/* Of another context than the current one its device is not asked for. */
WRAP(cuCtxSynchronize, (void), (), NOTHING, if (!rc) note_here(FRAG_NOTE_SYNC_DEVICE, 0, 0))
WRAP(cuCtxSynchronize_v2, (void *context), (context), NOTHING,
     if (!rc && !context) note_here(FRAG_NOTE_SYNC_DEVICE, 0, 0))

#define RECORD(name, kind, parameters, arguments)          \
	WRAP(name, parameters, arguments, NOTHING,         \
	     if (!rc) note_here(FRAG_NOTE_EVENT, event, stream_key(stream, kind)))
#define EVENT_RECORD(name, kind) \
	RECORD(name, kind, (uint64_t event, uint64_t stream), (event, stream))
#define EVENT_RECORD_FLAGS(name, kind)                                            \
	RECORD(name, kind, (uint64_t event, uint64_t stream, unsigned flags),     \
	       (event, stream, flags))
BOTH(EVENT_RECORD, cuEventRecord)
BOTH(EVENT_RECORD_FLAGS, cuEventRecordWithFlags)
WRAP(cuEventSynchronize, (uint64_t event), (event), NOTHING,
     if (!rc) note_here(FRAG_NOTE_SYNC_EVENT, event, 0))

#define RESET(name)                                                                    \
	WRAP(name, (int gpu), (gpu), NOTHING,                                          \
	     if (!rc && gpu >= 0 && gpu < frag_devices_count())                        \
		     wrappers_note(&(struct frag_note){ .op = FRAG_NOTE_DEVICE_RESET,  \
							.device = (uint16_t)gpu }))
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)

/* The way to all the others: neither a reason to begin, nor noted ------------------------ */

#define PROC_ADDRESS(name_, parameters, arguments)                                    \
	EXPORT int name_ parameters;                                                  \
	EXPORT int name_ parameters                                                   \
	{                                                                             \
		void *behind_it = frag_driver_behind(CALL_##name_);                   \
		int rc;                                                               \
										      \
		FORWARD(parameters, arguments);                                       \
		if (!rc && name && at && *at && depth == 0 && frag_recorder_on())     \
			frag_driver_wrap(name, version, flags, at);                   \
		return rc;                                                            \
	}
PROC_ADDRESS(cuGetProcAddress, (const char *name, void **at, int version, uint64_t flags),
	     (name, at, version, flags))
PROC_ADDRESS(cuGetProcAddress_v2,
	     (const char *name, void **at, int version, uint64_t flags, int *found),
	     (name, at, version, flags, found))
