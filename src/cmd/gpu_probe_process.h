/* gpu_probe_process.h - a second process, which sees what our first call to a GPU costs. */
#ifndef CMD_GPU_PROBE_PROCESS_H
#define CMD_GPU_PROBE_PROCESS_H

#include <sys/types.h>

#include "device/gpu.h"

struct frag_gpu_probe_process {
	pid_t pid;              /* 0: there is none */
	int ask, answer;        /* our ends of two pipes */
};

/* Before anything else speaks to a GPU. *out speaks of w, also where no process was to be had. */
void frag_witness_begin(struct frag_gpu_probe_process *w, struct frag_gpu_witness *out);

/* Ends it, if it has not ended yet. */
void frag_witness_end(struct frag_gpu_probe_process *w);

#endif
