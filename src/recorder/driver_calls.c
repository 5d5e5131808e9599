/*
 * driver_calls.c - wrappers of the driver's calls, which note their results; the driver's own
 * functions behind them, the ways to them, and its devices.
 *
 * A call that allocates is noted after it returned, a call that frees before it is made: so an
 * address is free in the trace before another thread can obtain it again.
 *
 * Programs that link the runtime as an archive load the driver with dlopen and ask dlsym, mostly
 * for cuGetProcAddress alone. So these are wrapped, and all else follows.
 */
#include "recorder/driver_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "recorder/raw.h"
#include "recorder/recorder.h"
#include "recorder/trace_lines.h"

/* The tables of one module. */
struct module {
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash;           /* GNU's; NULL: it has none */
	uint32_t count;
	uint64_t base;
};

/*
 * How many symbols there are is written nowhere: the last chain of the hash table ends with them.
 */
static uint32_t count_hashed(const uint32_t *table)
{
	const uint32_t buckets = table[0], first = table[1], bloom = table[2];
	const uint32_t *bucket = table + 4 + bloom * (sizeof(Elf64_Addr) / sizeof(uint32_t));
	const uint32_t *chain = bucket + buckets;
	uint32_t last = 0;

	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

/* An entry of the dynamic section as a pointer: some C libraries add the base, some do not. */
static const void *placed(uint64_t base, Elf64_Addr value)
{
	return (const void *)(uintptr_t)(value < base ? value + base : value);
}

static bool read_module(uint64_t base, const Elf64_Dyn *d, struct module *m)
{
	const uint32_t *old_hash = NULL, *hash = NULL;

	*m = (struct module){ .base = base };
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			m->symbols = placed(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			m->names = placed(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			hash = placed(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_HASH)
			old_hash = placed(base, d->d_un.d_ptr);
	}
	m->hash = hash;
	m->count = hash ? count_hashed(hash) : old_hash ? old_hash[1] : 0;
	return m->symbols && m->names;
}

/* Written by hand, because a wrapped function of the C library could be about to call dlsym. */
static bool begins(const char *s, const char *with)
{
	while (*with && *s == *with) {
		s++;
		with++;
	}
	return !*with;
}

static bool is_function(const struct module *m, const Elf64_Sym *s, const char *name)
{
	return s->st_value && s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC
	       && begins(m->names + s->st_name, name) && begins(name, m->names + s->st_name);
}

static const char *file_of(const char *path)
{
	const char *file = path;

	for (; *path; path++)
		if (*path == '/')
			file = path + 1;
	return file;
}

static bool is_c_library(const char *file)
{
	return begins(file, "libc.so") || begins(file, "libdl.so") || begins(file, "libc.musl")
	       || begins(file, "ld-musl");
}

/* Searches the chain of the name's bucket; without a table of GNU's all symbols. */
static void *find_function(const struct module *m, const char *name)
{
	const uint32_t *table = m->hash, *bucket, *chain;
	uint32_t hash = 5381, i = 0, end = m->count;

	if (table) {
		for (const char *p = name; *p; p++)
			hash = hash * 33 + (unsigned char)*p;
		bucket = table + 4 + table[2] * (sizeof(Elf64_Addr) / sizeof(uint32_t));
		chain = bucket + table[0];
		i = table[0] ? bucket[hash % table[0]] : 0;
		if (i < table[1])
			return NULL;
		for (end = i; !(chain[end - table[1]] & 1);)
			end++;
		end++;
	}
	for (; i < end; i++)
		if (is_function(m, &m->symbols[i], name))
			return (void *)(uintptr_t)(m->base + m->symbols[i].st_value);
	return NULL;
}

/*
 * Reads the list for debuggers, because dl_iterate_phdr may be wrapped by a library that first
 * calls dlsym for the next one: sanitizers do.
 */
void *frag_c_library_symbol(const char *name)
{
	void *found = NULL;
	struct module m;

	for (const struct link_map *l = _r_debug.r_map; l && !found; l = l->l_next)
		if (l->l_name && is_c_library(file_of(l->l_name))
		    && read_module(l->l_addr, l->l_ld, &m))
			found = find_function(&m, name);
	return found;
}

#define EXPORT __attribute__((visibility("default")))

typedef void *dlsym_function(void *handle, const char *name);
typedef void *dlvsym_function(void *handle, const char *name, const char *version);

/* The C library's, and the next after ours: another preloaded library's, or the same. */
static _Atomic(dlsym_function *) own_dlsym, next_dlsym;
static _Atomic(dlvsym_function *) next_dlvsym;

static _Atomic(void *) found_behind[FRAG_DRIVER_CALL_COUNT];

/* Looked up beforehand: what is behind a wrapper unless the program finds another function first;
 * the driver's own functions; what the header of a trace is made of. */
static _Atomic(void *) next_function[FRAG_DRIVER_CALL_COUNT], own_function[FRAG_DRIVER_CALL_COUNT];
static _Atomic(void *) get_count, get_device, get_name, get_total, get_memory, get_current;

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
	return begins(file, "libcuda.so");
}

/* Where such a library is loaded, without a lock of the dynamic linker; false: it is not there. */
static bool find_extent(bool (*is_it)(const char *file), uint64_t *from, uint64_t *to)
{
	const struct link_map *l = _r_debug.r_map;
	const Elf64_Phdr *p;
	uint64_t length = 0;

	while (l && !(l->l_name && is_it(file_of(l->l_name))))
		l = l->l_next;
	if (!l)
		return false;
	p = (const void *)(l->l_addr + ((const Elf64_Ehdr *)l->l_addr)->e_phoff);
	for (int i = 0; i < ((const Elf64_Ehdr *)l->l_addr)->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > length)
			length = p[i].p_vaddr + p[i].p_memsz;
	*from = l->l_addr;
	*to = l->l_addr + length;
	return true;
}

bool frag_is_of_c_library(const char *function)
{
	const uint64_t at = the_next_dlsym()
			? (uint64_t)(uintptr_t)the_next_dlsym()(RTLD_DEFAULT, function) : 0;
	uint64_t from, to;

	return find_extent(is_c_library, &from, &to) && at >= from && at < to;
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

	while (l && !(l->l_name && is_driver(file_of(l->l_name))))
		l = l->l_next;
	return l ? dlopen(l->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* Does a library besides ours have the function? dlsym is not asked for others, for the same reason. */
static bool is_defined(const char *name)
{
	void *found = NULL;
	struct module m;

	for (const struct link_map *l = _r_debug.r_map; l && (!found || is_wrapper(found)); l = l->l_next)
		found = read_module(l->l_addr, l->l_ld, &m) ? find_function(&m, name) : NULL;
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
	static const struct {
		const char *name;
		_Atomic(void *) *function;
	} others[] = {
		{ "cuDeviceGetCount", &get_count }, { "cuDeviceGet", &get_device },
		{ "cuDeviceGetName", &get_name }, { "cuDeviceTotalMem_v2", &get_total },
		{ "cuMemGetInfo_v2", &get_memory }, { "cuCtxGetDevice", &get_current },
	};

	uint64_t from, to;

	if (atomic_load(&prepared) || !frag_recorder_on() || !find_extent(is_driver, &from, &to))
		return;
	atomic_store(&driver_to, to);
	atomic_store(&driver_from, from);
	for (int i = 0; i < FRAG_DRIVER_CALL_COUNT; i++) {
		atomic_store(&own_function[i], driver_symbol(frag_driver_call_names[i]));
		atomic_store(&next_function[i], look_behind((enum frag_driver_call)i));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		atomic_store(others[i].function, driver_symbol(others[i].name));
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

/* The driver's devices, for the header of a trace. */

enum { UNSEEN, MEASURING, MEASURED };

static struct {
	char name[100];
	uint64_t total;
	_Atomic uint64_t context;
	_Atomic int state;
} devices[FRAG_DEVICES_MAX];
static uint16_t count = 1;
static _Atomic bool changed;

static void keep_printable(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			*s = '?';
}

/* A driver without these calls, or one that fails, leaves one device without name and total. */
void frag_devices_find(void)
{
	int (*count_them)(int *) = (int (*)(int *))atomic_load(&get_count);
	int (*get)(int *, int) = (int (*)(int *, int))atomic_load(&get_device);
	int (*name)(char *, int, int) = (int (*)(char *, int, int))atomic_load(&get_name);
	int (*measure)(size_t *, int) = (int (*)(size_t *, int))atomic_load(&get_total);
	int n = 0, device;

	if (!count_them || count_them(&n) != 0 || n < 1)
		n = 1;
	count = (uint16_t)(n < FRAG_DEVICES_MAX ? n : FRAG_DEVICES_MAX);
	for (int i = 0; i < count; i++) {
		size_t total = 0;

		if (!get || get(&device, i) != 0)
			continue;
		if (name && name(devices[i].name, (int)sizeof(devices[i].name), device) == 0)
			keep_printable(devices[i].name);
		if (measure && measure(&total, device) == 0)
			devices[i].total = total;
	}
}

/* The device of the current context; 0 where there is none. */
static uint16_t device_current(void)
{
	int (*get)(int *) = (int (*)(int *))atomic_load_explicit(&get_current, memory_order_relaxed);
	int device = 0;

	if (!get || get(&device) != 0 || device < 0 || device >= count)
		return 0;
	return (uint16_t)device;
}

static void device_measure(uint16_t device)
{
	int (*measure)(size_t *, size_t *) = (int (*)(size_t *, size_t *))atomic_load(&get_memory);
	size_t left = 0, total = 0;

	if (!measure || measure(&left, &total) != 0 || left > total)
		return;
	atomic_store(&devices[device].context, total - left);
	atomic_store(&changed, true);
}

#define PATIENCE_NS 1000000000u

static __thread bool measuring __attribute__((tls_model("initial-exec")));

/*
 * Before a request of the device, the current one: measures once what is used without any. One
 * thread measures, and the others wait, for a while: their next requests would be counted. A
 * handler that interrupted the measuring does not.
 */
static void device_measure_once(uint16_t device)
{
	_Atomic int *state = &devices[device].state;
	int unseen = UNSEEN;
	uint64_t since;

	if (atomic_load_explicit(state, memory_order_acquire) == MEASURED)
		return;
	if (atomic_compare_exchange_strong(state, &unseen, MEASURING)) {
		measuring = true;
		device_measure(device);
		measuring = false;
		atomic_store(state, MEASURED);
	}
	since = frag_raw_now();
	while (!measuring && atomic_load(state) != MEASURED) {
		if (frag_raw_now() - since > PATIENCE_NS)
			atomic_store(state, MEASURED);
		frag_raw_sleep(20000);
	}
}

uint16_t frag_devices_count(void)
{
	return count;
}

void frag_devices_write(struct frag_raw_text *t)
{
	for (int i = 0; i < count; i++) {
		frag_raw_put(t, i ? ",{\"name\":\"" : "[{\"name\":\"");
		frag_raw_put(t, devices[i].name);
		frag_raw_put(t, "\",\"total_bytes\":");
		frag_raw_put_number(t, devices[i].total);
		frag_raw_put(t, ",\"context_bytes\":");
		frag_raw_put_number(t, atomic_load(&devices[i].context));
		frag_raw_put(t, "}");
	}
	frag_raw_put(t, "]");
}

bool frag_devices_changed(void)
{
	return atomic_exchange(&changed, false);
}

void frag_devices_forget(void)
{
	for (int i = 0; i < FRAG_DEVICES_MAX; i++) {
		atomic_store(&devices[i].state, UNSEEN);
		atomic_store(&devices[i].context, 0);
	}
}

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
					   .device = device_current() });
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
	const uint16_t device = device_current();

	device_measure_once(device);
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
