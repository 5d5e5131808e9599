/*
 * device.h - where segments come from: it gives or refuses, and knows no blocks.
 */
#ifndef FRAGSIM_DEVICE_H
#define FRAGSIM_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "fragsim/error.h"

typedef uint64_t frag_addr;     /* opaque: what the device calls a segment */

struct frag_device;
struct frag_driver_model;       /* what calls of a driver take, as it was measured */

/*
 * Every call returns 0, -FRAG_EDEVMEM (refused: a result), -FRAG_EDEVICE (failed)
 * or -FRAG_ENOMEM (the host's memory is short). cost_ns is what the call took; on
 * a simulated device what the model says, 0 without one.
 */
struct frag_device_ops {
	const char *name;
	const char *summary;
	size_t state_size;      /* the core allocates and frees it, zeroed */

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

/* A device whose memory comes from a pool of its own: what that says, in bytes. */
struct frag_device_pool {
	uint64_t reserved, used;
	uint64_t top_reserved;  /* the most so far */
};

struct frag_device {
	const struct frag_device_ops *ops;
	void    *state;
	void    *ctx;           /* the user's, for ops that want one; set after open */
	const struct frag_device_pool *pool;    /* NULL: a heap knows all that is reserved */
	struct frag_error *err; /* likewise: for a call that fails and knows why; may be NULL */
	uint64_t total;         /* bytes; 0: unlimited */
	uint64_t context, other;        /* bytes */
	uint64_t granularity;   /* a held run of bytes counts rounded up to this */
	/* what asks for at most small_most bytes (0: nothing) counts rounded up to
	 * small_granularity, and shares pages of granularity with others of its kind */
	uint64_t small_most, small_granularity;
	uint64_t small_used;    /* their bytes, so rounded */
	uint64_t used;          /* bytes held, so rounded; small ones in whole pages */
	uint64_t limit;         /* `used` may not pass this; UINT64_MAX: no limit */
	/* simulated: borrowed, set after open; NULL: none. And what it came to so far */
	const struct frag_driver_model *model;
	uint64_t model_ns, model_calls, model_unknown;  /* calls of which it knows nothing */
};

extern const struct frag_device_ops frag_device_simulated;

/* Opens a device with the figures given; close it with frag_device_close(). */
int  frag_device_open(struct frag_device *dev, const struct frag_device_ops *ops,
		      uint64_t total, uint64_t context, uint64_t other, uint64_t granularity,
		      struct frag_error *err);
void frag_device_close(struct frag_device *dev);

/* What a segment of so many bytes is rounded up to. */
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

#endif
