/* tape_device.h - the part of a tape that concerns one device. */
#ifndef EVENTS_TAPE_DEVICE_H
#define EVENTS_TAPE_DEVICE_H

#include "fragsim/trace.h"

/*
 * Sets *out to a tape with the events of this device, which is its only one and number 0. Steps,
 * tags, streams and pools keep their numbers. It shares texts and tags with `from`, which must
 * outlive it. Sets *out to NULL where the trace has one device, or segments from before its first
 * event: the tape itself is to be used. -FRAG_ENOMEM
 */
int frag_tape_of_device(struct frag_tape **out, const struct frag_tape *from, uint32_t device,
			struct frag_error *err);

/* Which device of the trace is the tape's first: 0, or the device of a part. */
uint32_t frag_tape_first_device(const struct frag_tape *tape);

#endif
