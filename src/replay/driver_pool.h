/* driver_pool.h - the driver's own pool, where a policy would be. */
#ifndef REPLAY_DRIVER_POOL_H
#define REPLAY_DRIVER_POOL_H

#include "device/gpu.h"
#include "fragsim/policy.h"

/* For frag_choice_of(): with frag_device_gpu_pool only. */
extern const struct frag_policy_ops frag_replay_pool;

struct frag_gpu_pool_options frag_replay_pool_options(const struct frag_choice *choice);

#endif
