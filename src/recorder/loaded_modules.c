/* loaded_modules.c - the libraries of a process and their functions, found without the dynamic linker. */
#include "recorder/loaded_modules.h"

#include <stddef.h>

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

bool frag_module_read(uint64_t base, const Elf64_Dyn *d, struct frag_module *m)
{
	const uint32_t *old_hash = NULL, *hash = NULL;

	*m = (struct frag_module){ .base = base };
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
bool frag_raw_begins(const char *s, const char *with)
{
	while (*with && *s == *with) {
		s++;
		with++;
	}
	return !*with;
}

static bool is_function(const struct frag_module *m, const Elf64_Sym *s, const char *name)
{
	return s->st_value && s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC
	       && frag_raw_begins(m->names + s->st_name, name) && frag_raw_begins(name, m->names + s->st_name);
}

const char *frag_module_file(const char *path)
{
	const char *file = path;

	for (; *path; path++)
		if (*path == '/')
			file = path + 1;
	return file;
}

bool frag_is_c_library(const char *file)
{
	return frag_raw_begins(file, "libc.so") || frag_raw_begins(file, "libdl.so") || frag_raw_begins(file, "libc.musl")
	       || frag_raw_begins(file, "ld-musl");
}

/* Searches the chain of the name's bucket; without a table of GNU's all symbols. */
void *frag_module_function(const struct frag_module *m, const char *name)
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
	struct frag_module m;

	for (const struct link_map *l = _r_debug.r_map; l && !found; l = l->l_next)
		if (l->l_name && frag_is_c_library(frag_module_file(l->l_name))
		    && frag_module_read(l->l_addr, l->l_ld, &m))
			found = frag_module_function(&m, name);
	return found;
}

bool frag_module_extent(bool (*is_it)(const char *file), uint64_t *from, uint64_t *to)
{
	const struct link_map *l = _r_debug.r_map;
	const Elf64_Phdr *p;
	uint64_t length = 0;

	while (l && !(l->l_name && is_it(frag_module_file(l->l_name))))
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
