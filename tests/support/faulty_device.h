/*
 * faulty_device.h - the simulated device, failing one call, with a table.
 *
 * The figures knows each segment, range and mapped page by an address of its
 * own, so that what is given back twice, in part or never is seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/device.h"

struct faulty {
	uint64_t fail_at;       /* this call fails, counted from 1; 0: none does */
	int code;               /* -FRAG_EDEVICE, or -FRAG_EDEVMEM: then calls that give
				 * back neither fail nor count */
	uint64_t calls;
	bool failed;            /* that call has come */
	uint32_t opened, closed;
	uint32_t held;          /* segments and ranges now */
	uint64_t mapped;        /* bytes in ranges now */
	uint32_t mistakes;      /* calls that no honest user makes */
};

/* One for the whole process; faulty_begin() sets it back. */
extern struct faulty faulty;
extern const struct frag_device_ops faulty_device;

void faulty_begin(uint64_t fail_at, int code);
