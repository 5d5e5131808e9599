/* progress.c - a line on standard error that shows how far a long reading is. */
#include "cmd/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 1.0    /* seconds before it is shown */
#define INTERVAL 0.2
#define CELLS 30

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void frag_progress_begin(struct frag_progress *p, bool wanted)
{
	*p = (struct frag_progress){ .wanted = wanted && isatty(STDERR_FILENO) };
	p->begun = p->last = now();
}

void frag_progress_show(struct frag_progress *p, const struct frag_trace_info *info)
{
	double t, part, elapsed;
	int filled;

	if (!p->wanted)
		return;
	t = now();
	elapsed = t - p->begun;
	if (elapsed < PATIENCE || t - p->last < INTERVAL)
		return;
	p->last = t;
	p->shown = true;
	fprintf(stderr, "\r");
	if (info->total_bytes) {
		part = (double)info->bytes / (double)info->total_bytes;
		filled = (int)(part * CELLS);
		fputc('[', stderr);
		for (int i = 0; i < CELLS; i++)
			fputc(i < filled ? '#' : '.', stderr);
		fprintf(stderr, "] %3.0f%%, ", part * 100);
		if (part > 0)
			fprintf(stderr, "%.0f s to go, ", elapsed / part - elapsed);
	}
	fprintf(stderr, "%" PRIu64 " events, %.2f M/s   ", info->events,
		(double)info->events / elapsed / 1e6);
	fflush(stderr);
}

void frag_progress_end(struct frag_progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", 100, "");
	p->shown = false;
}
