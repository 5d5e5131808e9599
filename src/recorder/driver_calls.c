/*
 * driver_calls.c - wrappers of the driver's calls, which note their results, and the ways to them.
 *
 * A call that allocates is noted after it returned, a call that frees before it is made: so an
 * address is free in the trace before another thread can obtain it again.
 *
 * Programs that link the runtime as an archive load the driver with dlopen and ask dlsym, mostly
 * for cuGetProcAddress alone. So these are wrapped, and all else follows.
 */
#include "recorder/driver_calls.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "recorder/driver_devices.h"
#include "recorder/raw.h"
#include "recorder/recorder.h"
#include "recorder/trace_lines.h"

#define EXPORT __attribute__((visibility("default")))

typedef void *dlsym_function(void *handle, const char *name);
typedef void *dlvsym_function(void *handle, const char *name, const char *version);

/* The C library's, and the next after ours: another preloaded library's, or the same. */
static _Atomic(dlsym_function *) own_dlsym, next_dlsym;
static _Atomic(dlvsym_function *) next_dlvsym;

static _Atomic(void *) found_behind[FRAG_DRIVER_CALL_COUNT];

/* Looked up beforehand: what is behind a wrapper unless the program finds another function first,
 * and the driver's own functions. */
static _Atomic(void *) next_function[FRAG_DRIVER_CALL_COUNT], own_function[FRAG_DRIVER_CALL_COUNT];

static _Atomic uint64_t driver_from, driver_to;         /* where the driver is loaded */
static _Atomic bool prepared;

static void *const wrappers[FRAG_DRIVER_CALL_COUNT];    /* their addresses */

/* Threads that come here at once find the same. */
static void find_dlsym(void)
{
	dlsym_function *own = (dlsym_function *)frag_c_library_symbol("dlsym");
	dlvsym_function *versioned = NULL;
	dlsym_function *next = NULL;

	if (!own)
		return;
	next = (dlsym_function *)own(RTLD_NEXT, "dlsym");
	versioned = (dlvsym_function *)own(RTLD_NEXT, "dlvsym");
	atomic_store(&next_dlvsym, versioned);
	atomic_store(&own_dlsym, own);
	atomic_store(&next_dlsym, next ? next : own);
}

static dlsym_function *the_next_dlsym(void)
{
	dlsym_function *next = atomic_load_explicit(&next_dlsym, memory_order_acquire);

	if (next)
		return next;
	find_dlsym();
	return atomic_load(&next_dlsym);
}

static bool is_wrapper(const void *p)
{
	for (int i = 0; i < FRAG_DRIVER_CALL_COUNT; i++)
		if (wrappers[i] == p)
			return true;
	return false;
}

/* The first that is found stays: all that answer to a name do the same. */
static void adopt(int call, void *function)
{
	void *none = NULL;

	if (function && !is_wrapper(function))
		atomic_compare_exchange_strong(&found_behind[call], &none, function);
}

static bool is_driver(const char *file)
{
	return frag_raw_begins(file, "libcuda.so");
}

bool frag_is_of_c_library(const char *function)
{
	const uint64_t at = the_next_dlsym()
			? (uint64_t)(uintptr_t)the_next_dlsym()(RTLD_DEFAULT, function) : 0;
	uint64_t from, to;

	return frag_module_extent(frag_is_c_library, &from, &to) && at >= from && at < to;
}

static bool in_driver(uint64_t address)
{
	const uint64_t from = atomic_load_explicit(&driver_from, memory_order_relaxed);

	return address - from < atomic_load_explicit(&driver_to, memory_order_relaxed) - from;
}

/* By the name under which it is loaded: a name that fails leaves the text of an error in the heap. */
static void *driver_handle(void)
{
	const struct link_map *l = _r_debug.r_map;

	while (l && !(l->l_name && is_driver(frag_module_file(l->l_name))))
		l = l->l_next;
	return l ? dlopen(l->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* Does a library besides ours have the function? dlsym is not asked for others, for the same reason. */
static bool is_defined(const char *name)
{
	void *found = NULL;
	struct frag_module m;

	for (const struct link_map *l = _r_debug.r_map; l && (!found || is_wrapper(found)); l = l->l_next)
		found = frag_module_read(l->l_addr, l->l_ld, &m) ? frag_module_function(&m, name) : NULL;
	return found && !is_wrapper(found);
}

/* The driver's own function, past whoever else wraps it; NULL: it has none of that name. */
static void *driver_symbol(const char *name)
{
	void *handle = the_next_dlsym() && is_defined(name) ? driver_handle() : NULL, *found;

	if (!handle)
		return NULL;
	found = atomic_load(&own_dlsym)(handle, name);
	dlclose(handle);
	return found;
}

/* The next library's function of that name, so that other preloaded libraries see the call, too. */
static void *look_behind(enum frag_driver_call call)
{
	const char *name = frag_driver_call_names[call];
	void *function = the_next_dlsym() && is_defined(name) ? the_next_dlsym()(RTLD_NEXT, name) : NULL;

	return function && !is_wrapper(function) ? function : driver_symbol(name);
}

/*
 * The function that a wrapper calls, or NULL without a driver. Of a driver that came after the last
 * look, as one that a plug-in is linked to, the first call finds it.
 */
static void *driver_behind(enum frag_driver_call call)
{
	void *function = atomic_load_explicit(&found_behind[call], memory_order_acquire);

	if (function)
		return function;
	function = atomic_load(&next_function[call]);
	adopt((int)call, function ? function : look_behind(call));
	return atomic_load(&found_behind[call]);
}

/*
 * Does whatever takes a lock of the C library, while the program links or looks for the driver: its
 * calls can come from a handler that interrupted malloc.
 */
void frag_driver_prepare(void)
{
	uint64_t from, to;

	if (atomic_load(&prepared) || !frag_recorder_on() || !frag_module_extent(is_driver, &from, &to))
		return;
	atomic_store(&driver_to, to);
	atomic_store(&driver_from, from);
	for (int i = 0; i < FRAG_DRIVER_CALL_COUNT; i++) {
		atomic_store(&own_function[i], driver_symbol(frag_driver_call_names[i]));
		atomic_store(&next_function[i], look_behind((enum frag_driver_call)i));
	}
	for (int i = 0; i < FRAG_DEVICE_CALL_COUNT; i++)
		atomic_store(&frag_device_calls[i], driver_symbol(frag_device_call_names[i]));
	frag_recorder_prepare();
	atomic_store(&prepared, true);
}

__attribute__((constructor)) static void prepare_linked(void)
{
	frag_driver_prepare();
}

static int find_call(const char *name)
{
	if (name[0] != 'c' || name[1] != 'u')
		return -1;
	for (int i = 0; i < FRAG_DRIVER_CALL_COUNT; i++)
		if (strcmp(frag_driver_call_names[i], name) == 0)
			return i;
	return -1;
}

/*
 * Is the name wrapped, and does the handle have it? RTLD_NEXT and RTLD_DEFAULT depend on the
 * calling module, and find the wrappers without help.
 */
static void *wrapper_for(void *handle, const char *name)
{
	const int call = name && handle != RTLD_NEXT && handle != RTLD_DEFAULT ? find_call(name)
									       : -1;
	void *function = call >= 0 && frag_recorder_on() ? the_next_dlsym()(handle, name) : NULL;

	if (!function)
		return NULL;
	adopt(call, function);
	frag_driver_prepare();
	return wrappers[call];
}

/*
 * The C library finds the calling module by the return address. So each of these functions ends
 * in a jump: the address stays that of the program.
 */
#if defined(__has_attribute)
#if __has_attribute(musttail)
#define JUMP __attribute__((musttail)) return
#endif
#endif
#ifndef JUMP
#define JUMP return
#endif

EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
	dlsym_function *next = the_next_dlsym();
	void *wrapper = next ? wrapper_for(handle, name) : NULL;

	if (wrapper || !next)
		return wrapper;
	JUMP next(handle, name);
}

EXPORT void *dlvsym(void *restrict handle, const char *restrict name,
		    const char *restrict version)
{
	dlvsym_function *next = the_next_dlsym() ? atomic_load(&next_dlvsym) : NULL;
	void *wrapper = next ? wrapper_for(handle, name) : NULL;

	if (wrapper || !next)
		return wrapper;
	JUMP next(handle, name, version);
}

/* One name of cuGetProcAddress for each version of a call, and for each kind of stream. */
static const struct {
	const char *base;
	int from, before;
	enum frag_stream_kind kind;
} versions[FRAG_DRIVER_CALL_COUNT] = {
#define VERSION(name, base, from, before, kind) \
	[CALL_##name] = { #base, from, before, FRAG_##kind##_STREAM },
	FRAG_DRIVER_CALLS(VERSION)
#undef VERSION
};

/* Is it that call: by its common name, or by the name of just this version? */
static bool is_meant(int call, const char *name, int version, enum frag_stream_kind kind)
{
	if (strcmp(versions[call].base, name) != 0)
		return strcmp(frag_driver_call_names[call], name) == 0;
	return version >= versions[call].from
	       && (!versions[call].before || version < versions[call].before)
	       && (versions[call].kind == FRAG_ANY_STREAM || versions[call].kind == kind);
}

/* cuGetProcAddress returned *at; a wrapper replaces it if one exists. */
static void driver_wrap(const char *name, int version, uint64_t flags, void **at)
{
	const enum frag_stream_kind kind = flags & CUDA_PER_THREAD_STREAM ? FRAG_THREAD_STREAM
									   : FRAG_LEGACY_STREAM;

	for (int i = 0; i < FRAG_DRIVER_CALL_COUNT; i++) {
		if (!is_meant(i, name, version, kind))
			continue;
		adopt(i, *at);
		frag_driver_prepare();
		*at = wrappers[i];
		return;
	}
}

const char *const frag_driver_call_names[FRAG_DRIVER_CALL_COUNT] = {
#define NAME(name, base, from, before, kind) [CALL_##name] = #name,
	FRAG_DRIVER_CALLS(NAME)
#undef NAME
};

#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

/*
 * Calls behind which is another library's wrapper, and which have not returned: what is called
 * inside of one is that wrapper's, and was noted.
 */
static __thread int depth __attribute__((tls_model("initial-exec")));

/*
 * The function behind a wrapper, and whether its call is to be noted: not the driver's own, nor a
 * call inside of another wrapper. A handler's call inside of the driver's is the program's.
 */
static void *enter(enum frag_driver_call call, uint64_t caller, bool *noted)
{
	const bool inner = depth > 0 || in_driver(caller);
	void *own = inner ? atomic_load(&own_function[call]) : NULL;

	*noted = !inner && frag_recorder_on() && frag_recorder_begin();
	return own ? own : driver_behind(call);
}

/* The call of the driver, its parameters and arguments; `rc` is of the wrapper. */
#define FORWARD(parameters, arguments)                                     \
	do {                                                               \
		int (*behind) parameters = (int (*) parameters)behind_it;  \
		const int deeper = !in_driver((uint64_t)(uintptr_t)behind); \
									   \
		rc = CUDA_NOT_INITIALIZED;                                 \
		if (behind) {                                              \
			depth += deeper;                                   \
			rc = behind arguments;                             \
			depth -= deeper;                                   \
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
		void *behind_it = enter(CALL_##name, CALLER, &noted);              \
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
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	n.t_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	frag_ring_add(&n);
}

/* Of the current device; stream or key may be 0. */
static void note_here(enum frag_note_op op, uint64_t key, uint64_t stream)
{
	wrappers_note(&(struct frag_note){ .op = (uint8_t)op, .key = key, .stream = stream,
					   .device = frag_devices_current() });
}

/* A request, granted or not. */
static void note_request(enum frag_driver_call call, int rc, const struct frag_note *what)
{
	struct frag_note n = *what;

	n.call = (uint8_t)call;
	n.error = rc;
	if (rc)
		n.op = FRAG_NOTE_FAILED;
	else
		n.caller = frag_caller_here(n.caller);
	wrappers_note(&n);
	/* of a program that runs out of memory this may be the last word */
	if (rc)
		frag_recorder_finish();
}

/* The device that a request is made of; its context is there, and none of its blocks. */
static uint16_t begin_request(void)
{
	const uint16_t device = frag_devices_current();

	frag_devices_measure_once(device);
	return device;
}

/* A free that was noted did not happen. At the end of a program the driver goes first. */
static void note_failed(enum frag_note_op op, uint64_t key, int rc)
{
	if (rc && rc != CUDA_DEINITIALIZED)
		wrappers_note(&(struct frag_note){ .op = (uint8_t)op, .key = key, .error = rc });
}

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

/*
 * Physical memory is the request; an address range takes none. The host's memory can be created,
 * too, and that of another device than the current one.
 */
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

/* The way to all the others: neither a reason to begin, nor noted. */

#define PROC_ADDRESS(name_, parameters, arguments)                                    \
	EXPORT int name_ parameters;                                                  \
	EXPORT int name_ parameters                                                   \
	{                                                                             \
		void *behind_it = driver_behind(CALL_##name_);                   \
		int rc;                                                               \
										      \
		FORWARD(parameters, arguments);                                       \
		if (!rc && name && at && *at && depth == 0 && frag_recorder_on())     \
			driver_wrap(name, version, flags, at);                   \
		return rc;                                                            \
	}
PROC_ADDRESS(cuGetProcAddress, (const char *name, void **at, int version, uint64_t flags),
	     (name, at, version, flags))
PROC_ADDRESS(cuGetProcAddress_v2,
	     (const char *name, void **at, int version, uint64_t flags, int *found),
	     (name, at, version, flags, found))

static void *const wrappers[FRAG_DRIVER_CALL_COUNT] = {
#define ADDRESS(name, base, from, before, kind) [CALL_##name] = (void *)name,
	FRAG_DRIVER_CALLS(ADDRESS)
#undef ADDRESS
};
