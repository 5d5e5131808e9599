/* replay_options.h - the options of fragsim replay. */
#ifndef CMD_REPLAY_OPTIONS_H
#define CMD_REPLAY_OPTIONS_H

#include "cmd/run_options.h"

#define FRAG_REPLAY_GPUS 64

struct frag_replay_args {
	struct frag_run_options run;    /* what `run` has too */
	uint32_t gpus[FRAG_REPLAY_GPUS];        /* ordinals: of the trace's device 0, 1, ... */
	uint32_t gpu_count;     /* 0: not given */
	uint64_t limit;         /* bytes; UINT64_MAX: not given */
	uint64_t repeat;        /* at least 1 */
	double pace;            /* 0: as fast as possible */
	bool verify;
	bool pool;              /* one of the policies is the driver's own pool */
	bool probe_marks;
	uint64_t probe_every;   /* steps; 0: not */
};

extern const struct frag_opt frag_replay_opts[];

void frag_replay_args_init(struct frag_replay_args *args);
void frag_replay_args_fini(struct frag_replay_args *args);

/* For frag_options(). */
int frag_replay_set_option(void *ctx, int id, const char *value, struct frag_error *err);

#endif
