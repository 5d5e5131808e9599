/*
 * elf_symbols.h - the dynamic symbols of what is loaded, read from memory.
 *
 * dlsym is no way to find dlsym once it is wrapped, and dladdr waits for whoever is in dlopen,
 * who may wait for the recorder: so neither is asked.
 */
#ifndef RECORDER_ELF_SYMBOLS_H
#define RECORDER_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* The C library's own function of that name; NULL: it has none. */
void *frag_c_library_symbol(const char *name);

/*
 * "module:symbol", or "module+0xoffset" where no symbol of the module has the address, or
 * "0xaddress" outside of all. At most room - 1 bytes of ASCII.
 */
void frag_name_address(uint64_t address, char *buf, size_t room);

#endif
