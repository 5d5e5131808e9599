/*
 * driver_lookup.h - the driver's own functions behind the wrappers, and the ways to them:
 * dlsym, dlvsym and cuGetProcAddress hand out the wrappers. And its devices, for the header.
 *
 * Context bytes are all bytes in use before the program's first request: no call separates them
 * from the memory of other processes.
 */
#ifndef RECORDER_DRIVER_LOOKUP_H
#define RECORDER_DRIVER_LOOKUP_H

#include <stdbool.h>
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

#define FRAG_DEVICES_MAX 64

/* Asks for the number of them, for names and totals; a thread of the program does. */
void frag_devices_find(void);

/* The device of the current context; 0 where there is none. */
uint16_t frag_device_current(void);

/* Before a request of the device, the current one: measures once what is used without any. */
void frag_device_measure(uint16_t device);

/* At least one. */
uint16_t frag_devices_count(void);

/* The array of devices of a header; how long it is. */
size_t frag_devices_write(char *buf, size_t room);

/* Whether a device was measured since the last time. */
bool frag_devices_changed(void);

/* Of a forked child. */
void frag_devices_forget(void);

/*
 * The address of a function is a void pointer.
 *
 * POSIX has it so for dlsym; C does not, and compilers say it with -Wpedantic.
 */
#pragma GCC diagnostic ignored "-Wpedantic"

#endif
