/* job.h - what a caller tells a long computation: when to stop, whom to show progress, how many threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fragsim/error.h"

/* All zero: it is never stopped, shows nothing, and uses all processors. */
struct frag_job {
	/* asked between slices of events and before each run; true: -FRAG_EINTERRUPTED */
	bool (*stop)(void *ctx);
	/* how many "events", "settings", ... are done; from any thread, one at once */
	void (*progress)(void *ctx, const char *what, uint32_t done, uint32_t count);
	void *ctx;
	uint32_t threads;       /* 0: one a processor */
};

static inline bool frag_job_is_stopped(const struct frag_job *job)
{
	return job->stop && job->stop(job->ctx);
}

/* 0, or -FRAG_EINTERRUPTED where the job is stopped. */
static inline int frag_job_check(const struct frag_job *job, struct frag_error *err)
{
	return frag_job_is_stopped(job) ? frag_fail(err, FRAG_EINTERRUPTED, "interrupted") : 0;
}

static inline void frag_job_show(const struct frag_job *job, const char *what, uint64_t done,
				 uint64_t count)
{
	if (job->progress)
		job->progress(job->ctx, what, (uint32_t)done, (uint32_t)count);
}

/* The same for one of several runs side by side, whose events are not shown. */
static inline struct frag_job frag_job_part(const struct frag_job *job)
{
	return (struct frag_job){ .stop = job->stop, .ctx = job->ctx, .threads = job->threads };
}
