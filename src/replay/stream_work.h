/*
 * stream_work.h - what a program would do with its blocks on a GPU: uses on streams,
 * whose ends are waited for, and bytes that must still be there.
 *
 * It observes the simulation that drives the GPUs. A block that was freed is
 * marked by an event on each of its streams; before those bytes are handed out
 * again the events are waited for. With `verify` each block is filled with a
 * pattern of its own, and looked at when it is freed and at the end.
 */
#ifndef REPLAY_STREAM_WORK_H
#define REPLAY_STREAM_WORK_H

#include "device/gpu.h"
#include "fragsim/engine.h"

struct frag_work;

/* sim and gpus are borrowed. NULL where the host is out of memory. */
struct frag_work *frag_work_new(struct frag_sim *sim, struct frag_gpu *const *gpus,
				uint32_t gpu_count, bool verify);
/* Before the policy sees the event: it may give back at once what is freed.
 * -FRAG_EDEVICE for corruption: both blocks are named */
int frag_work_before(struct frag_work *work, const struct frag_event *ev, struct frag_error *err);
/* The observer's step: after it. */
int frag_work_observe(void *work, const struct frag_step *step, struct frag_error *err);
/* The end of the trace: all is waited for, and the live blocks are looked at. */
int frag_work_finish(struct frag_work *work, struct frag_error *err);
void frag_work_del(struct frag_work *work);

#endif
