/* driver_devices.c - queries the driver's devices, for the header. */
#include "recorder/driver_devices.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "recorder/driver_lookup.h"

enum { UNSEEN, MEASURING, MEASURED };

static struct {
	char name[100];
	uint64_t total;
	_Atomic uint64_t context;
	_Atomic int state;
} devices[FRAG_DEVICES_MAX];
static uint16_t count = 1;
static _Atomic bool changed;

static _Atomic(void *) get_device;      /* cuCtxGetDevice */

static void keep_printable(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			*s = '?';
}

/* A driver without these calls, or one that fails, leaves one device without name and total. */
void frag_devices_find(void)
{
	int (*get_count)(int *) = (int (*)(int *))frag_driver_symbol("cuDeviceGetCount");
	int (*get)(int *, int) = (int (*)(int *, int))frag_driver_symbol("cuDeviceGet");
	int (*get_name)(char *, int, int) =
		(int (*)(char *, int, int))frag_driver_symbol("cuDeviceGetName");
	int (*get_total)(size_t *, int) =
		(int (*)(size_t *, int))frag_driver_symbol("cuDeviceTotalMem_v2");
	int n = 0, device;

	atomic_store(&get_device, frag_driver_symbol("cuCtxGetDevice"));
	if (!get_count || get_count(&n) != 0 || n < 1)
		n = 1;
	count = (uint16_t)(n < FRAG_DEVICES_MAX ? n : FRAG_DEVICES_MAX);
	for (int i = 0; i < count; i++) {
		size_t total = 0;

		if (!get || get(&device, i) != 0)
			continue;
		if (get_name
		    && get_name(devices[i].name, (int)sizeof(devices[i].name), device) == 0)
			keep_printable(devices[i].name);
		if (get_total && get_total(&total, device) == 0)
			devices[i].total = total;
	}
}

uint16_t frag_device_current(void)
{
	int (*get)(int *) = (int (*)(int *))atomic_load_explicit(&get_device, memory_order_relaxed);
	int device = 0;

	if (!get || get(&device) != 0 || device < 0 || device >= count)
		return 0;
	return (uint16_t)device;
}

static void driver_devices_measure(uint16_t device)
{
	int (*get_memory)(size_t *, size_t *) =
		(int (*)(size_t *, size_t *))frag_driver_symbol("cuMemGetInfo_v2");
	size_t left = 0, total = 0;

	if (!get_memory || get_memory(&left, &total) != 0 || left > total)
		return;
	atomic_store(&devices[device].context, total - left);
	atomic_store(&changed, true);
}

/* One thread measures, and the others wait: their next requests would be counted. */
void frag_device_measure(uint16_t device)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	_Atomic int *state = &devices[device].state;
	int unseen = UNSEEN;

	if (atomic_load_explicit(state, memory_order_acquire) == MEASURED)
		return;
	if (atomic_compare_exchange_strong(state, &unseen, MEASURING)) {
		driver_devices_measure(device);
		atomic_store(state, MEASURED);
	}
	while (atomic_load(state) != MEASURED)
		nanosleep(&moment, NULL);
}

uint16_t frag_devices_count(void)
{
	return count;
}

size_t frag_devices_write(char *buf, size_t room)
{
	size_t n = 0;

	for (int i = 0; i < count && n < room; i++)
		n += (size_t)snprintf(buf + n, room - n,
			"%c{\"name\":\"%s\",\"total_bytes\":%llu,\"context_bytes\":%llu}",
			i ? ',' : '[', devices[i].name, (unsigned long long)devices[i].total,
			(unsigned long long)atomic_load(&devices[i].context));
	n += n < room ? (size_t)snprintf(buf + n, room - n, "]") : 0;
	return n;
}

bool frag_devices_changed(void)
{
	return atomic_exchange(&changed, false);
}

void frag_devices_forget(void)
{
	for (int i = 0; i < FRAG_DEVICES_MAX; i++) {
		atomic_store(&devices[i].state, UNSEEN);
		atomic_store(&devices[i].context, 0);
	}
}
