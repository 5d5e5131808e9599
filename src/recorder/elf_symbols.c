/* elf_symbols.c - the dynamic symbols of what is loaded, read from memory. */
#include "recorder/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>

/* The tables of one module. */
struct module {
	const Elf64_Sym *symbols;
	const char *names;
	uint32_t count;
	uint64_t base;
};

/* How many symbols there are is written nowhere: the last chain of the hash table ends with them. */
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

/* By hand, as the C library's may be wrapped by one who is about to ask dlsym for them. */
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
 * The list that debuggers read. dl_iterate_phdr may be wrapped by one who first asks dlsym for
 * what is behind it: sanitizers are.
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
