/*
 * driver_devices.h - the driver's devices, for the header of a trace.
 *
 * Context bytes are all bytes in use before the program's first request: no call separates them
 * from the memory of other processes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/raw.h"

/* The driver's functions that say what its devices are. */
enum frag_device_call {
	FRAG_DEVICE_COUNT, FRAG_DEVICE_GET, FRAG_DEVICE_NAME, FRAG_DEVICE_TOTAL, FRAG_DEVICE_MEMORY,
	FRAG_DEVICE_CURRENT, FRAG_DEVICE_CALL_COUNT
};
extern const char *const frag_device_call_names[FRAG_DEVICE_CALL_COUNT];
/* Set once the driver is there; NULL: it lacks the function. */
extern _Atomic(void *) frag_device_calls[FRAG_DEVICE_CALL_COUNT];

#define FRAG_DEVICES_MAX 64

/* Requests the number of them, names and totals from the driver; a thread of the program does. */
void frag_devices_find(void);

/* At least one. */
uint16_t frag_devices_count(void);

/* The array of devices of a header. */
void frag_devices_write(struct frag_raw_text *t);

/* Whether a device was measured since the last time. */
bool frag_devices_changed(void);

/* Of a forked child. */
void frag_devices_forget(void);

/* The device of the current context; 0 where there is none. */
uint16_t frag_devices_current(void);

/*
 * Before a request of the device, the current one: measures once what is used without any. One
 * thread measures, and the others wait, for a while: their next requests would be counted. A
 * handler that interrupted the measuring does not.
 */
void frag_devices_measure_once(uint16_t device);
