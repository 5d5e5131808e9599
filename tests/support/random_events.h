/* random_events.h - valid traces of random events, for tests that compare two ways to run one. */
#pragma once

#include "fragsim/trace.h"

struct random_events {
	struct frag_record *records;
	uint32_t count;
	/* its own */
	uint64_t state;
	uint64_t *live, *pending;       /* ids */
	uint32_t live_count, pending_count;
	uint64_t next_id;
	uint32_t devices;
	bool plain;
};

/*
 * `count` events on so many devices: blocks of all sizes, in pools and on streams, with and
 * without tags, pending ones of both kinds, and each of the rare events. Owns its records.
 */
void random_events_init(struct random_events *r, uint64_t seed, uint32_t count,
			uint32_t devices);
/* The same on one device, of nothing but allocs and frees of one stream, and marks. */
void random_events_plain(struct random_events *r, uint64_t seed, uint32_t count);
void random_events_fini(struct random_events *r);

/* A trace of them. The source's state must live as long as the trace. */
struct records;
struct frag_trace *random_events_open(const struct random_events *r, struct records *source,
				      const struct frag_device_figures *devices);

/* Policies with settings of each kind, ended by NULL; and device sizes that some run out of. */
extern const char *const random_policies[];
uint64_t random_capacity(uint64_t *state);
