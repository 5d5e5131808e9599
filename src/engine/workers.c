/*
 * workers.c - several simulations over one reading of a trace, on several threads.
 *
 * The caller's thread reads, ahead of the simulations where the trace can be read so, and
 * simulates when it can not go on; the others simulate, and read when they can not go on.
 * handover.h says what is whose. What a simulation does cannot depend on the others, nor on the
 * threads. A short trace is over before a thread has started: that is when there is work for it.
 */
#include "engine/workers.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/processors.h"
#include "engine/batch_queue.h"

#define WORTH_THREADS 8192      /* events, times simulations: a millisecond of work */

struct workers {
	struct frag_batch_queue handover;
	const struct frag_worker_options *options;
	uint32_t sims;
	uint32_t threads;       /* that may be used, the caller's among them */
	bool decided;           /* whether to use them */
	pthread_t *others;
	uint32_t started;
	uint64_t told;          /* batches of which there was a report of progress */
};

static void *work(void *arg)
{
	struct frag_batch_queue *h = arg;

	pthread_mutex_lock(&h->lock);
	while (!h->quit) {
		if (frag_handover_work(h))
			continue;
		if (h->kept && !h->stream && frag_handover_can_read(h)) {
			frag_handover_read(h, NULL, NULL);
			continue;
		}
		h->idle++;
		pthread_cond_wait(&h->more, &h->lock);
		h->idle--;
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/*
 * More threads than can work at a time are of no use: one a consumer, and one that reads if it can
 * do so meanwhile. Where none can be had, the caller does it all, in turns.
 */
static void start_threads(struct workers *w)
{
	struct frag_batch_queue *h = &w->handover;
	const uint32_t most = h->count + (frag_batch_queue_enable_read_ahead(h) ? 1 : 0);
	const uint32_t threads = w->threads < most ? w->threads : most;

	w->others = calloc(threads, sizeof(*w->others));
	while (w->others && w->started + 1 < threads
	       && pthread_create(&w->others[w->started], NULL, work, h) == 0)
		w->started++;
	if (!w->started)
		frag_handover_narrow(h);
}

static void stop_threads(struct workers *w)
{
	pthread_mutex_lock(&w->handover.lock);
	w->handover.quit = true;
	pthread_cond_broadcast(&w->handover.more);
	pthread_mutex_unlock(&w->handover.lock);
	for (uint32_t i = 0; i < w->started; i++)
		pthread_join(w->others[i], NULL);
	free(w->others);
}

/* Once so much has been simulated that the rest is worth it, and nothing is under way. */
static void decide(struct workers *w)
{
	const struct frag_batch_queue *h = &w->handover;

	if (w->decided || h->shown != h->made || !h->made
	    || frag_trace_info(h->trace)->events * w->sims < WORTH_THREADS)
		return;
	w->decided = true;
	start_threads(w);
}

/* Somebody may read on meanwhile, so what is known of the trace is copied. */
static void report(struct workers *w)
{
	struct frag_batch_queue *h = &w->handover;
	struct frag_trace_info info;

	if (!w->options->progress || h->shown == w->told || frag_handover_is_over(h))
		return;
	w->told = h->shown;
	info = *frag_trace_info(h->trace);
	pthread_mutex_unlock(&h->lock);
	w->options->progress(w->options->ctx, &info);
	pthread_mutex_lock(&h->lock);
}

static bool stops(const struct workers *w)
{
	return w->options->stop && w->options->stop(w->options->ctx);
}

/* What the caller's thread does: read first, as the others live on it. */
static void read_and_work(struct workers *w)
{
	struct frag_batch_queue *h = &w->handover;

	pthread_mutex_lock(&h->lock);
	while (!frag_handover_is_over(h)) {
		frag_batch_queue_print_warnings(h);
		report(w);
		decide(w);
		if (stops(w))
			frag_handover_interrupt(h);
		if (frag_handover_can_read(h))
			frag_handover_read(h, w->options->stop, w->options->ctx);
		else if (!frag_handover_work(h) && !frag_handover_is_over(h))
			frag_handover_wait(h, w->options->stop != NULL);
	}
	frag_batch_queue_print_warnings(h);
	pthread_mutex_unlock(&h->lock);
}

static uint32_t thread_count(const struct frag_worker_options *options)
{
	return options->threads ? options->threads : frag_processors();
}

int frag_workers_in_step(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
			 const struct frag_worker_options *options, void (*between)(void *ctx),
			 void *ctx, struct frag_error *err)
{
	static const struct frag_worker_options plain = { .threads = 0 };
	struct workers w = { .options = options ? options : &plain, .sims = count };
	int rc = frag_handover_init(&w.handover, sims, count, trace, w.options->tape, err);

	w.handover.between = between;
	w.handover.ctx = ctx;
	w.threads = thread_count(w.options);
	w.decided = w.threads < 2;
	if (!rc) {
		read_and_work(&w);
		stop_threads(&w);
		rc = frag_handover_outcome(&w.handover, err);
	}
	frag_handover_fini(&w.handover);
	return rc;
}

int frag_workers_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		     const struct frag_worker_options *options, struct frag_error *err)
{
	return frag_workers_in_step(sims, count, trace, options, NULL, NULL, err);
}
