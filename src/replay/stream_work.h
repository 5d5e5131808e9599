/*
 * stream_work.h - performs the work of a program on its blocks: uses on streams, their
 * completion, and the check of the bytes.
 *
 * Observes the simulation that drives the GPUs. A freed block gets an event on each of its
 * streams; before its bytes are allocated again the events are waited for. With `verify` each
 * block is filled with a separate pattern, which is checked when the block is freed and at the
 * end.
 */
#pragma once

#include "device/gpu.h"
#include "fragsim/engine.h"

struct frag_work;

/* Observes the simulation; sim and gpus are borrowed. NULL where the host is out of memory. */
struct frag_work *frag_work_new(struct frag_sim *sim, struct frag_gpu *const *gpus,
				uint32_t gpu_count, bool verify);
/* Before the policy receives the event, because it may release the block at once. -FRAG_EDEVICE
 * for corruption: the message names both blocks */
int frag_work_before(struct frag_work *work, const struct frag_event *ev, struct frag_error *err);
/* At the end of the trace: waits for all work, and checks the live blocks. */
int frag_work_finish(struct frag_work *work, struct frag_error *err);
void frag_work_del(struct frag_work *work);
