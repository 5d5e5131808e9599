/*
 * address_name.h - the module and function that an address of the program is in.
 *
 * Reads the program's memory through the kernel: neither a lock of the dynamic linker is taken, nor
 * is it a crash if a library goes meanwhile. The thread that writes calls these functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Opens what is read from then on, also where the program leaves for another root or user. `program` is an
 * address of the first page of the program itself, which has the name that it was started by. */
void frag_name_begin(uint64_t program);

/*
 * "module:symbol", or "module+0xoffset" where no symbol of the module has the address, or
 * "0xaddress" outside of all modules. At most size - 1 bytes of ASCII.
 */
void frag_name_address(uint64_t address, char *buf, size_t size);
