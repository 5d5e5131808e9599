/*
 * device.h - the source of segments: a device grants or refuses memory, and has no notion of
 * blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fragsim/error.h"

/* The kind of a device whose allocator served a program under PyTorch. */
enum frag_accelerator { FRAG_CUDA, FRAG_HIP, FRAG_XPU, FRAG_NPU };

typedef uint64_t frag_addr;     /* opaque: what the device calls a segment */

/* What a device has. A trace suggests it, a profile or options may replace it, a run has it. */
struct frag_device_figures {
	char    *name;          /* NULL: none given */
	uint64_t total;         /* bytes; 0: unlimited */
	uint64_t context, other;        /* bytes */
	uint64_t granularity;   /* bytes, at least 1 */
	/* requests of at most small_max bytes (0: there are none such) are rounded up to
	 * small_granularity, and share pages; set by a device's profile, never by a trace */
	uint64_t small_max, small_granularity;
	bool     host;          /* pinned memory of the host: what is said of a GPU is not meant */
};
#define FRAG_GRANULARITY (UINT64_C(2) << 20)    /* of a device that names none */

/* The devices of a run, by ordinal. Owns the array and the names. */
struct frag_devices {
	struct frag_device_figures *figures;
	uint32_t count;
};

/*
 * Copies the descriptions and their names. -FRAG_EUSAGE where a granularity is 0. The caller
 * must release the result with frag_devices_fini(), also on failure.
 */
int  frag_devices_copy(struct frag_devices *devices, const struct frag_device_figures *figures,
		       uint32_t count, struct frag_error *err);

/* One device becomes another, of this name, which is copied; NULL: none. -FRAG_ENOMEM */
int  frag_devices_replace(struct frag_devices *devices, uint32_t ordinal,
			  const struct frag_device_figures *figures, const char *name,
			  struct frag_error *err);

/* All devices but the host's become this one. -FRAG_ENOMEM */
int frag_devices_replace_all(struct frag_devices *devices,
			     const struct frag_device_figures *figures, struct frag_error *err);

/*
 * Sets these values of all devices except the host's; UINT64_MAX leaves a value unchanged. A
 * granularity applies to small requests too.
 */
void frag_devices_override(struct frag_devices *devices, uint64_t total, uint64_t context,
			   uint64_t other, uint64_t granularity);
/* Sets the context of devices that have none, except the host's. */
void frag_devices_assume_context(struct frag_devices *devices, uint64_t context);
/* -FRAG_EUSAGE where context and other processes hold all that one of them has. */
int frag_devices_have_room(const struct frag_devices *devices, struct frag_error *err);
/* Releases the descriptions and their names; a zeroed struct is fine. */
void frag_devices_fini(struct frag_devices *devices);

struct frag_device;
struct frag_driver_model;       /* what calls of a driver take, as it was measured */

/*
 * Every call returns 0, -FRAG_EDEVMEM (refused: a result), -FRAG_EDEVICE (failed)
 * or -FRAG_ENOMEM (the host is out of memory). cost_ns is what the call took; on
 * a simulated device what the model says, 0 without one.
 */
struct frag_device_ops {
	const char *name;
	size_t state_size;      /* the core allocates and frees it, zeroed */
	bool plain;             /* a copy of struct frag_device is a second device in the same
				 * state */

	int  (*open)(struct frag_device *dev, struct frag_error *err);          /* optional */
	void (*ready)(struct frag_device *dev); /* optional: ctx is set; before the first call */
	void (*close)(struct frag_device *dev);                                 /* optional */
	int  (*acquire)(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			uint64_t *cost_ns);
	int  (*release)(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			uint64_t *cost_ns);
	/* Virtual memory; a device without it leaves all four NULL. */
	int  (*reserve)(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			uint64_t *cost_ns);
	int  (*unreserve)(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			  uint64_t *cost_ns);
	/* bytes is a multiple of page; all of it or nothing */
	int  (*map)(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		    uint64_t page, uint64_t *cost_ns);
	int  (*unmap)(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		      uint64_t page, uint64_t *cost_ns);
};

/* The counters of a device with its own memory pool, in bytes. */
struct frag_device_pool {
	uint64_t reserved, used;
	uint64_t peak_reserved; /* the most so far */
};

struct frag_device {
	const struct frag_device_ops *ops;
	void    *state;
	void    *ctx;           /* the user's, for ops that need one; set after open */
	const struct frag_device_pool *pool;    /* NULL: a heap knows all that is reserved */
	struct frag_error *err; /* likewise: for a call that fails and knows why; may be NULL */
	uint64_t total;         /* bytes; 0: unlimited */
	uint64_t context, other;        /* bytes */
	uint64_t granularity;   /* allocations of the device are rounded up to this */
	/* what asks for at most small_max bytes (0: nothing) counts rounded up to
	 * small_granularity, and shares pages of granularity with others of its kind */
	uint64_t small_max, small_granularity;
	uint64_t small_used;    /* their bytes, so rounded */
	uint64_t used;          /* bytes held, so rounded; small ones in whole pages */
	uint64_t limit;         /* `used` may not pass this; UINT64_MAX: no limit */
	double   fraction;      /* of the total, that the limit is; 1: there is none */
	/* with any total in [min_capacity, end_capacity) all so far would have been the same: see
	 * frag_device_narrow() */
	uint64_t min_capacity, end_capacity;
	/* simulated: segments obtained and released, pages mapped and unmapped, each page one;
	 * and refusals of segments or pages */
	uint64_t calls, refused;
	/* simulated: borrowed, set after open; NULL: none. And its costs so far */
	const struct frag_driver_model *model;
	uint64_t model_ns, model_calls, model_unknown;  /* calls for which it has no cost */
};

/* Grants requests as long as its capacity allows; always plain. */
extern const struct frag_device_ops frag_device_simulated;

/*
 * Opens a device with the given values, in bytes, granularity not 0; the caller must close it
 * with frag_device_close(), except on failure. -FRAG_EDEVICE, -FRAG_ENOMEM.
 */
int  frag_device_open(struct frag_device *dev, const struct frag_device_ops *ops,
		      uint64_t total, uint64_t context, uint64_t other, uint64_t granularity,
		      struct frag_error *err);
void frag_device_close(struct frag_device *dev);

/*
 * Something was decided that would have been the same for totals in [min_capacity, end_capacity)
 * only: a grant says min_capacity, else 0; a refusal end_capacity, else UINT64_MAX. An unlimited device
 * counts as one with a total above all others.
 */
static inline void frag_device_narrow(struct frag_device *dev, uint64_t min_capacity,
				      uint64_t end_capacity)
{
	dev->min_capacity = min_capacity > dev->min_capacity ? min_capacity : dev->min_capacity;
	dev->end_capacity = end_capacity < dev->end_capacity ? end_capacity : dev->end_capacity;
}

/* `used` may not pass floor(fraction x total); 1, and an unlimited device: no limit. */
void frag_device_limit(struct frag_device *dev, double fraction);

/* Returns the rounded size of a segment of `bytes` bytes. */
uint64_t frag_device_round(const struct frag_device *dev, uint64_t bytes);

/* total - context - other - used; only where total is not 0. May be negative. */
static inline int64_t frag_device_free(const struct frag_device *dev)
{
	return (int64_t)(dev->total - dev->context - dev->other - dev->used);
}

/* context + used: what the process holds. */
static inline uint64_t frag_device_process(const struct frag_device *dev)
{
	return dev->context + dev->used;
}
