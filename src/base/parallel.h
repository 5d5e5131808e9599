/*
 * parallel.h - Runs independent tasks on all processors.
 *
 * Tasks start in order. After a failure no further task starts, and all earlier ones finish. So
 * the reported failure, the first in order, does not depend on the timing of threads.
 */
#pragma once

#include <stdint.h>

#include "base/job.h"

struct frag_tasks {
	uint32_t count;
	const struct frag_job *job;     /* its threads, and its progress; NULL: all processors */
	const char *what;               /* of the progress; NULL: none is shown */
	/* from any thread, several at once */
	int (*task)(void *ctx, uint32_t index, struct frag_error *err);
	void *ctx;                      /* of the tasks */
};

/*
 * The failure of the first task that has one; an interruption gives way to any other. The
 * caller's thread works too, so one that cannot be had costs only time. -FRAG_ENOMEM
 */
int frag_tasks_run(const struct frag_tasks *tasks, struct frag_error *err);
