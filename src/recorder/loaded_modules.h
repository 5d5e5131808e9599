/* loaded_modules.h - the libraries of a process and their functions, found without the dynamic linker. */
#pragma once

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The tables of one module. */
struct frag_module {
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash;           /* GNU's; NULL: it has none */
	uint32_t count;
	uint64_t base;
};

/* Of a module at this base, with this dynamic section. False: it has no names. */
bool frag_module_read(uint64_t base, const Elf64_Dyn *d, struct frag_module *m);

/* Its function of that name; NULL: it has none. */
void *frag_module_function(const struct frag_module *m, const char *name);

/* The last part of a path. */
const char *frag_module_file(const char *path);

bool frag_raw_begins(const char *s, const char *with);
bool frag_is_c_library(const char *file);

/* Where such a library is loaded; false: it is not there. */
bool frag_module_extent(bool (*is_it)(const char *file), uint64_t *from, uint64_t *to);

/* A function of the C library that no other library can have in front of it; NULL: none. */
void *frag_c_library_symbol(const char *name);

/* A function's address as a void pointer: POSIX has it so for dlsym; C does not, and -Wpedantic says it. */
#pragma GCC diagnostic ignored "-Wpedantic"
