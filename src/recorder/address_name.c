/* address_name.c - the module and function that an address of the program is in. */
#include "recorder/address_name.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "recorder/raw.h"

#define CHUNK 16384
#define NAME_ROOM 256

static int maps = -1, memory = -1;      /* of the writing thread */
static uint64_t program_at;

void frag_name_begin(uint64_t program)
{
	program_at = program;
	maps = (int)frag_raw(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	memory = (int)frag_raw(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

static bool read_memory(uint64_t at, void *to, size_t n)
{
	return memory >= 0 && frag_raw(SYS_pread64, memory, to, n, at) == (long)n;
}

/* What is mapped of one file, from its first byte on. */
struct mapped {
	uint64_t from;
	char file[NAME_ROOM];           /* without folders */
};

/* One line: FROM-TO RIGHTS OFFSET DEVICE INODE PATH. */
struct map_line {
	uint64_t from, to, offset;
	char file[NAME_ROOM];
	size_t length;
	int field;
	uint64_t number;
};

static bool same_file(const struct mapped *m, const struct map_line *l)
{
	return l->file[0] && strcmp(m->file, l->file) == 0;
}

/* True where the line, which has ended, is of the module that holds the address. */
static bool end_line(struct map_line *l, struct mapped *m, uint64_t address)
{
	bool found;

	l->file[l->length] = '\0';
	if (l->offset == 0 || !same_file(m, l)) {
		m->from = l->from;
		memcpy(m->file, l->file, sizeof(m->file));
	}
	found = address >= l->from && address < l->to;
	*l = (struct map_line){ .from = 0 };
	return found;
}

static void add_digit(struct map_line *l, char c)
{
	if (c >= '0' && c <= '9')
		l->number = l->number << 4 | (uint64_t)(c - '0');
	else if (c >= 'a' && c <= 'f')
		l->number = l->number << 4 | (uint64_t)(c - 'a' + 10);
}

/* A character of a line; fields are counted from 0: FROM and TO are the first. */
static void add_character(struct map_line *l, char c)
{
	if (l->field == 5 && (c != ' ' || l->length)) {
		if (c == '/')
			l->length = 0;
		else if (l->length < NAME_ROOM - 1)
			l->file[l->length++] = c;
	} else if (c == '-' && l->field == 0) {
		l->from = l->number;
		l->number = 0;
	} else if (c == ' ' && l->field < 5) {
		if (l->field == 0)
			l->to = l->number;
		else if (l->field == 2)
			l->offset = l->number;
		l->number = 0;
		l->field++;
	} else {
		add_digit(l, c);
	}
}

/* The module that the address is in; anonymous memory has no name. */
static bool find_mapped(uint64_t address, struct mapped *m)
{
	struct map_line line = { .from = 0 };
	char text[4096];
	long n;

	*m = (struct mapped){ .from = 0 };
	if (maps < 0 || frag_raw(SYS_lseek, maps, 0, SEEK_SET) != 0)
		return false;
	while ((n = frag_raw(SYS_read, maps, text, sizeof(text))) > 0)
		for (long i = 0; i < n; i++) {
			if (text[i] != '\n')
				add_character(&line, text[i]);
			else if (end_line(&line, m, address))
				return m->file[0] != '\0';
		}
	return false;
}

/* The tables of one module, in the program's memory. */
struct module {
	uint64_t base, symbols, strings, hash, old_hash, name;
};

/* An entry of the dynamic section is an address: some C libraries add the base, some do not. */
static uint64_t placed(uint64_t base, uint64_t value)
{
	return value < base ? value + base : value;
}

static void read_dynamic(struct module *m, uint64_t at)
{
	uint64_t name = 0;
	bool named = false;
	Elf64_Dyn d;

	for (; read_memory(at, &d, sizeof(d)) && d.d_tag != DT_NULL; at += sizeof(d)) {
		const uint64_t address = placed(m->base, d.d_un.d_ptr);

		if (d.d_tag == DT_SYMTAB)
			m->symbols = address;
		else if (d.d_tag == DT_STRTAB)
			m->strings = address;
		else if (d.d_tag == DT_GNU_HASH)
			m->hash = address;
		else if (d.d_tag == DT_HASH)
			m->old_hash = address;
		else if (d.d_tag == DT_SONAME) {
			name = d.d_un.d_val;
			named = true;
		}
	}
	if (named && m->strings)
		m->name = m->strings + name;
}

static bool read_module(uint64_t from, struct module *m)
{
	uint64_t dynamic = 0;
	bool loaded = false;
	Elf64_Ehdr head;
	Elf64_Phdr p;

	*m = (struct module){ .base = from };
	if (!read_memory(from, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		if (!read_memory(from + head.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && !loaded) {
			m->base = from - (p.p_vaddr & ~(p.p_align ? p.p_align - 1 : 0));
			loaded = true;
		}
		if (p.p_type == PT_DYNAMIC)
			dynamic = p.p_vaddr;
	}
	if (dynamic)
		read_dynamic(m, m->base + dynamic);
	return m->symbols && m->strings;
}

/*
 * How many symbols there are is written nowhere: the last chain of the hash table ends with them.
 */
static uint32_t count_symbols(const struct module *m)
{
	uint32_t head[4], part[256], last = 0, link = 0;
	uint64_t buckets, chain;

	if (m->hash && read_memory(m->hash, head, sizeof(head))) {
		buckets = m->hash + sizeof(head) + head[2] * sizeof(Elf64_Addr);
		chain = buckets + head[0] * sizeof(uint32_t);
		for (uint32_t i = 0; i < head[0]; i += 256) {
			const uint32_t n = head[0] - i < 256 ? head[0] - i : 256;

			if (!read_memory(buckets + i * sizeof(uint32_t), part, n * sizeof(uint32_t)))
				return 0;
			for (uint32_t k = 0; k < n; k++)
				last = part[k] > last ? part[k] : last;
		}
		if (last < head[1])
			return head[1];
		while (!(link & 1))
			if (!read_memory(chain + (last++ - head[1]) * sizeof(link), &link, sizeof(link)))
				return 0;
		return last;
	}
	return m->old_hash && read_memory(m->old_hash, head, 8) ? head[1] : 0;
}

/* The function that the address is in; 0: none that others know. */
static uint64_t find_function_name(const struct module *m, uint64_t address)
{
	Elf64_Sym symbols[CHUNK / sizeof(Elf64_Sym)];
	const uint32_t count = count_symbols(m), most = sizeof(symbols) / sizeof(symbols[0]);

	for (uint32_t i = 0; i < count; i += most) {
		const uint32_t n = count - i < most ? count - i : most;

		if (!read_memory(m->symbols + i * sizeof(symbols[0]), symbols, n * sizeof(symbols[0])))
			return 0;
		for (uint32_t k = 0; k < n; k++) {
			const Elf64_Sym *s = &symbols[k];

			if (s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC
			    && address - m->base - s->st_value < s->st_size)
				return m->strings + s->st_name;
		}
	}
	return 0;
}

/* A string of the program's memory, up to the end of a page if the next one is not there. */
static bool read_string(uint64_t at, char *to, size_t room)
{
	size_t n = room - 1;

	if (!read_memory(at, to, n)) {
		n = 4096 - at % 4096;
		n = n < room - 1 ? n : room - 1;
		if (!read_memory(at, to, n))
			return false;
	}
	to[n] = '\0';
	return to[0] != '\0';
}

void frag_name_address(uint64_t address, char *buf, size_t size)
{
	struct frag_raw_text t = { .at = buf, .room = size };
	char name[NAME_ROOM], function[NAME_ROOM];
	struct mapped mapped;
	struct module m;
	bool read;

	if (!find_mapped(address, &mapped)) {
		frag_raw_put_hex(&t, address);
		frag_raw_string(&t);
		return;
	}
	read = read_module(mapped.from, &m);
	if (program_at - mapped.from < 4096)
		frag_raw_put(&t, program_invocation_short_name);
	else
		frag_raw_put(&t, read && m.name && read_string(m.name, name, sizeof(name))
					 ? name : mapped.file);
	if (read && read_string(find_function_name(&m, address), function, sizeof(function))) {
		frag_raw_put(&t, ":");
		frag_raw_put(&t, function);
	} else {
		frag_raw_put(&t, "+");
		frag_raw_put_hex(&t, address - m.base);
	}
	for (frag_raw_string(&t); *buf; buf++)
		if (*buf < ' ' || *buf > '~')
			*buf = '?';
}
