/*
 * driver_devices.h - queries the driver's devices, for the header.
 *
 * Context bytes are all bytes in use before the program's first request: no call separates them
 * from the memory of other processes.
 */
#ifndef RECORDER_DRIVER_DEVICES_H
#define RECORDER_DRIVER_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
