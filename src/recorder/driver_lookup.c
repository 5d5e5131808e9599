/*
 * driver_lookup.c - the driver's own functions behind the wrappers, the ways to them, and its devices.
 *
 * Programs that link the runtime as an archive load the driver with dlopen and ask dlsym, mostly
 * for cuGetProcAddress alone. So these are wrapped, and all else follows.
 */
#include "recorder/driver_lookup.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "recorder/recorder.h"

/* The tables of one module. */
struct module {
	const Elf64_Sym *symbols;
	const char *names;
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
	m->count = hash ? count_hashed(hash) : old_hash ? old_hash[1] : 0;
	return m->symbols && m->names;
}

static const Elf64_Dyn *dynamic_of(const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
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

static void *find_function(const struct module *m, const char *name)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const Elf64_Sym *s = &m->symbols[i];

		if (s->st_value && s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC
		    && begins(m->names + s->st_name, name)
		    && begins(name, m->names + s->st_name))
			return (void *)(uintptr_t)(m->base + s->st_value);
	}
	return NULL;
}

/*
 * Reads the list for debuggers, because dl_iterate_phdr may be wrapped by a library that first
 * calls dlsym for the next one: sanitizers do.
 */
static void *frag_c_library_symbol(const char *name)
{
	void *found = NULL;
	struct module m;

	for (const struct link_map *l = _r_debug.r_map; l && !found; l = l->l_next)
		if (l->l_name && is_c_library(file_of(l->l_name))
		    && read_module(l->l_addr, l->l_ld, &m))
			found = find_function(&m, name);
	return found;
}

struct place {
	uint64_t address;
	char *buf;
	size_t room;
};

static bool holds(const struct dl_phdr_info *info, uint64_t address)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* The function that the address is in; NULL: none that is known to others. */
static const char *function_at(const struct module *m, uint64_t address)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const Elf64_Sym *s = &m->symbols[i];

		if (s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC
		    && address - m->base - s->st_value < s->st_size)
			return m->names + s->st_name;
	}
	return NULL;
}

/* The program itself has no name in the list of what is loaded. */
static int name_in_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct place *at = ctx;
	const char *file = file_of(info->dlpi_name), *function = NULL;
	struct module m;

	(void)size;
	if (!holds(info, at->address))
		return 0;
	if (!*file)
		file = program_invocation_short_name;
	if (read_module(info->dlpi_addr, dynamic_of(info), &m))
		function = function_at(&m, at->address);
	if (function)
		snprintf(at->buf, at->room, "%s:%s", file, function);
	else
		snprintf(at->buf, at->room, "%s+0x%llx", file,
			 (unsigned long long)(at->address - info->dlpi_addr));
	return 1;
}

void frag_name_address(uint64_t address, char *buf, size_t room)
{
	struct place at = { .address = address, .buf = buf, .room = room };

	snprintf(buf, room, "0x%llx", (unsigned long long)address);
	dl_iterate_phdr(name_in_module, &at);
	for (; *buf; buf++)
		if (*buf < ' ' || *buf > '~')
			*buf = '?';
}

#define EXPORT __attribute__((visibility("default")))

typedef void *dlsym_function(void *handle, const char *name);
typedef void *dlvsym_function(void *handle, const char *name, const char *version);

/* The C library's, and the next after ours: another preloaded library's, or the same. */
static _Atomic(dlsym_function *) own_dlsym, next_dlsym;
static _Atomic(dlvsym_function *) next_dlvsym;

static _Atomic(void *) behind[FRAG_DRIVER_CALL_COUNT];

#define DECLARE(name, base, from, before, kind) EXPORT int name(void);
FRAG_DRIVER_CALLS(DECLARE)
#undef DECLARE

/* Wherever they are declared with their parameters, it is not here: only addresses matter. */
static void *const wrappers[FRAG_DRIVER_CALL_COUNT] = {
#define ADDRESS(name, base, from, before, kind) [CALL_##name] = (void *)name,
	FRAG_DRIVER_CALLS(ADDRESS)
#undef ADDRESS
};

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
		atomic_compare_exchange_strong(&behind[call], &none, function);
}

static void *driver_handle(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return handle ? handle : dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
}

void *frag_driver_symbol(const char *name)
{
	void *handle = the_next_dlsym() ? driver_handle() : NULL, *found;

	if (!handle)
		return NULL;
	found = atomic_load(&own_dlsym)(handle, name);
	dlclose(handle);
	return found;
}

void *frag_driver_behind(enum frag_driver_call call)
{
	void *function = atomic_load_explicit(&behind[call], memory_order_acquire);

	if (function)
		return function;
	if (the_next_dlsym())
		adopt((int)call, the_next_dlsym()(RTLD_NEXT, frag_driver_call_names[call]));
	if (!atomic_load(&behind[call]))
		adopt((int)call, frag_driver_symbol(frag_driver_call_names[call]));
	return atomic_load(&behind[call]);
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

void frag_driver_wrap(const char *name, int version, uint64_t flags, void **at)
{
	const enum frag_stream_kind kind = flags & CUDA_PER_THREAD_STREAM ? FRAG_THREAD_STREAM
									   : FRAG_LEGACY_STREAM;

	for (int i = 0; i < FRAG_DRIVER_CALL_COUNT; i++) {
		if (!is_meant(i, name, version, kind))
			continue;
		adopt(i, *at);
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

static _Atomic(void *) get_device;      /* cuCtxGetDevice */

static void keep_printable(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			*s = '?';
}

/* A driver without these calls, or one that fails, leaves one device without name and total. */
void frag_devices_find(void)
{
	int (*get_count)(int *) = (int (*)(int *))frag_driver_symbol("cuDeviceGetCount");
	int (*get)(int *, int) = (int (*)(int *, int))frag_driver_symbol("cuDeviceGet");
	int (*get_name)(char *, int, int) =
		(int (*)(char *, int, int))frag_driver_symbol("cuDeviceGetName");
	int (*get_total)(size_t *, int) =
		(int (*)(size_t *, int))frag_driver_symbol("cuDeviceTotalMem_v2");
	int n = 0, device;

	atomic_store(&get_device, frag_driver_symbol("cuCtxGetDevice"));
	if (!get_count || get_count(&n) != 0 || n < 1)
		n = 1;
	count = (uint16_t)(n < FRAG_DEVICES_MAX ? n : FRAG_DEVICES_MAX);
	for (int i = 0; i < count; i++) {
		size_t total = 0;

		if (!get || get(&device, i) != 0)
			continue;
		if (get_name
		    && get_name(devices[i].name, (int)sizeof(devices[i].name), device) == 0)
			keep_printable(devices[i].name);
		if (get_total && get_total(&total, device) == 0)
			devices[i].total = total;
	}
}

uint16_t frag_device_current(void)
{
	int (*get)(int *) = (int (*)(int *))atomic_load_explicit(&get_device, memory_order_relaxed);
	int device = 0;

	if (!get || get(&device) != 0 || device < 0 || device >= count)
		return 0;
	return (uint16_t)device;
}

static void driver_devices_measure(uint16_t device)
{
	int (*get_memory)(size_t *, size_t *) =
		(int (*)(size_t *, size_t *))frag_driver_symbol("cuMemGetInfo_v2");
	size_t left = 0, total = 0;

	if (!get_memory || get_memory(&left, &total) != 0 || left > total)
		return;
	atomic_store(&devices[device].context, total - left);
	atomic_store(&changed, true);
}

/* One thread measures, and the others wait: their next requests would be counted. */
void frag_device_measure(uint16_t device)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	_Atomic int *state = &devices[device].state;
	int unseen = UNSEEN;

	if (atomic_load_explicit(state, memory_order_acquire) == MEASURED)
		return;
	if (atomic_compare_exchange_strong(state, &unseen, MEASURING)) {
		driver_devices_measure(device);
		atomic_store(state, MEASURED);
	}
	while (atomic_load(state) != MEASURED)
		nanosleep(&moment, NULL);
}

uint16_t frag_devices_count(void)
{
	return count;
}

size_t frag_devices_write(char *buf, size_t room)
{
	size_t n = 0;

	for (int i = 0; i < count && n < room; i++)
		n += (size_t)snprintf(buf + n, room - n,
			"%c{\"name\":\"%s\",\"total_bytes\":%llu,\"context_bytes\":%llu}",
			i ? ',' : '[', devices[i].name, (unsigned long long)devices[i].total,
			(unsigned long long)atomic_load(&devices[i].context));
	n += n < room ? (size_t)snprintf(buf + n, room - n, "]") : 0;
	return n;
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
