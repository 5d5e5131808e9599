/* driver_devices.c - the driver's devices, for the header of a trace. */
#include "recorder/driver_devices.h"

#include <stddef.h>

#include "recorder/loaded_modules.h"


const char *const frag_device_call_names[FRAG_DEVICE_CALL_COUNT] = {
	[FRAG_DEVICE_COUNT] = "cuDeviceGetCount", [FRAG_DEVICE_GET] = "cuDeviceGet",
	[FRAG_DEVICE_NAME] = "cuDeviceGetName", [FRAG_DEVICE_TOTAL] = "cuDeviceTotalMem_v2",
	[FRAG_DEVICE_MEMORY] = "cuMemGetInfo_v2", [FRAG_DEVICE_CURRENT] = "cuCtxGetDevice",
};

_Atomic(void *) frag_device_calls[FRAG_DEVICE_CALL_COUNT];

enum { UNSEEN, MEASURING, MEASURED };

static struct {
	char name[100];
	uint64_t total;
	_Atomic uint64_t context;
	_Atomic int state;
} devices[FRAG_DEVICES_MAX];
static uint16_t count = 1;
static _Atomic bool changed;

static void keep_printable(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			*s = '?';
}

/* A driver without these calls, or one that fails, leaves one device without name and total. */
void frag_devices_find(void)
{
	int (*count_them)(int *) = (int (*)(int *))atomic_load(&frag_device_calls[FRAG_DEVICE_COUNT]);
	int (*get)(int *, int) = (int (*)(int *, int))atomic_load(&frag_device_calls[FRAG_DEVICE_GET]);
	int (*name)(char *, int, int) =
		(int (*)(char *, int, int))atomic_load(&frag_device_calls[FRAG_DEVICE_NAME]);
	int (*measure)(size_t *, int) =
		(int (*)(size_t *, int))atomic_load(&frag_device_calls[FRAG_DEVICE_TOTAL]);
	int n = 0, device;

	if (!count_them || count_them(&n) != 0 || n < 1)
		n = 1;
	count = (uint16_t)(n < FRAG_DEVICES_MAX ? n : FRAG_DEVICES_MAX);
	for (int i = 0; i < count; i++) {
		size_t total = 0;

		if (!get || get(&device, i) != 0)
			continue;
		if (name && name(devices[i].name, (int)sizeof(devices[i].name), device) == 0)
			keep_printable(devices[i].name);
		if (measure && measure(&total, device) == 0)
			devices[i].total = total;
	}
}

uint16_t frag_devices_current(void)
{
	int (*get)(int *) = (int (*)(int *))atomic_load_explicit(
		&frag_device_calls[FRAG_DEVICE_CURRENT], memory_order_relaxed);
	int device = 0;

	if (!get || get(&device) != 0 || device < 0 || device >= count)
		return 0;
	return (uint16_t)device;
}

static void device_measure(uint16_t device)
{
	int (*measure)(size_t *, size_t *) =
		(int (*)(size_t *, size_t *))atomic_load(&frag_device_calls[FRAG_DEVICE_MEMORY]);
	size_t left = 0, total = 0;

	if (!measure || measure(&left, &total) != 0 || left > total)
		return;
	atomic_store(&devices[device].context, total - left);
	atomic_store(&changed, true);
}

#define PATIENCE_NS 1000000000u

static __thread bool measuring __attribute__((tls_model("initial-exec")));

void frag_devices_measure_once(uint16_t device)
{
	_Atomic int *state = &devices[device].state;
	int unseen = UNSEEN;
	uint64_t since;

	if (atomic_load_explicit(state, memory_order_acquire) == MEASURED)
		return;
	if (atomic_compare_exchange_strong(state, &unseen, MEASURING)) {
		measuring = true;
		device_measure(device);
		measuring = false;
		atomic_store(state, MEASURED);
	}
	since = frag_raw_now();
	while (!measuring && atomic_load(state) != MEASURED) {
		if (frag_raw_now() - since > PATIENCE_NS)
			atomic_store(state, MEASURED);
		frag_raw_sleep(20000);
	}
}

uint16_t frag_devices_count(void)
{
	return count;
}

void frag_devices_write(struct frag_raw_text *t)
{
	for (int i = 0; i < count; i++) {
		frag_raw_put(t, i ? ",{\"name\":\"" : "[{\"name\":\"");
		frag_raw_put(t, devices[i].name);
		frag_raw_put(t, "\",\"total_bytes\":");
		frag_raw_put_number(t, devices[i].total);
		frag_raw_put(t, ",\"context_bytes\":");
		frag_raw_put_number(t, atomic_load(&devices[i].context));
		frag_raw_put(t, "}");
	}
	frag_raw_put(t, "]");
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
