/*
 * driver_lookup.h - the driver's own functions behind the wrappers, and the ways to them:
 * dlsym, dlvsym and cuGetProcAddress hand out the wrappers.
 */
#ifndef RECORDER_DRIVER_LOOKUP_H
#define RECORDER_DRIVER_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/driver_calls.h"

/*
 * The function that a wrapper calls, or NULL without a driver: the next library's function of
 * that name, so that other preloaded libraries see the call, too.
 */
void *frag_driver_behind(enum frag_driver_call call);

/* The driver's own function, past whoever else wraps it; NULL: it has none of that name. */
void *frag_driver_symbol(const char *name);

/* cuGetProcAddress returned *at; a wrapper replaces it if one exists. */
void frag_driver_wrap(const char *name, int version, uint64_t flags, void **at);

/* The names of the wrappers, by their number. */
extern const char *const frag_driver_call_names[FRAG_DRIVER_CALL_COUNT];

/*
 * "module:symbol", or "module+0xoffset" where no symbol of the module has the address, or
 * "0xaddress" outside of all modules. At most size - 1 bytes of ASCII.
 */
void frag_name_address(uint64_t address, char *buf, size_t room);

/*
 * The address of a function is a void pointer.
 *
 * POSIX has it so for dlsym; C does not, and compilers say it with -Wpedantic.
 */
#pragma GCC diagnostic ignored "-Wpedantic"

#endif
