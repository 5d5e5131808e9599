/*
 * workers.c - several simulations over one reading of a trace, on several threads.
 *
 * The reader makes a batch, all simulations consume it, the reader makes the
 * next: nobody touches the trace's tables while a simulation reads them, and
 * what a simulation does cannot depend on the others.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fragsim/engine.h"

struct workers {
	struct frag_sim *const *sims;
	uint32_t count;
	const struct frag_batch *batch;
	struct frag_error *errors;      /* one a simulation */
	uint32_t next;                  /* simulation that nobody works on yet */
	uint32_t unfinished;            /* simulations of this round */
	uint64_t round;
	bool quit;
	pthread_mutex_t lock;
	pthread_cond_t begin, done;
};

/* Feeds simulations of this round until none is left; the lock is held around. */
static void work(struct workers *workers)
{
	while (workers->next < workers->count) {
		uint32_t i = workers->next++;

		pthread_mutex_unlock(&workers->lock);
		frag_sim_feed(workers->sims[i], workers->batch, &workers->errors[i]);
		pthread_mutex_lock(&workers->lock);
		if (--workers->unfinished == 0)
			pthread_cond_signal(&workers->done);
	}
}

static void *worker(void *arg)
{
	struct workers *workers = arg;
	uint64_t seen = 0;

	pthread_mutex_lock(&workers->lock);
	for (;;) {
		while (!workers->quit && workers->round == seen)
			pthread_cond_wait(&workers->begin, &workers->lock);
		if (workers->quit)
			break;
		seen = workers->round;
		work(workers);
	}
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

/* One batch through all simulations; the first error in their order. */
static int feed_all(struct workers *workers, const struct frag_batch *batch, struct frag_error *err)
{
	pthread_mutex_lock(&workers->lock);
	workers->batch = batch;
	workers->next = 0;
	workers->unfinished = workers->count;
	workers->round++;
	pthread_cond_broadcast(&workers->begin);
	work(workers);
	while (workers->unfinished)
		pthread_cond_wait(&workers->done, &workers->lock);
	pthread_mutex_unlock(&workers->lock);
	for (uint32_t i = 0; i < workers->count; i++) {
		if (workers->errors[i].code) {
			*err = workers->errors[i];
			return err->code;
		}
	}
	return 0;
}

static bool all_stopped(const struct workers *workers)
{
	for (uint32_t i = 0; i < workers->count; i++)
		if (!frag_sim_stopped(workers->sims[i]))
			return false;
	return true;
}

static bool stopped(const struct frag_worker_options *options)
{
	return options->stop && options->stop(options->ctx);
}

/*
 * A batch is read when all workers are done with the one before. When every simulation has
 * stopped, a file is read on, because its identity and validity are those of the whole; a
 * stream is not.
 */
static int read_and_feed(struct workers *workers, struct frag_trace *trace,
			 const struct frag_worker_options *options, struct frag_error *err)
{
	struct frag_batch batch;
	bool idle = false;
	int rc;

	for (;;) {
		if (stopped(options))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		rc = frag_trace_next(trace, &batch, err);
		/* Ctrl-C ends the writer of a pipe too: where that broke off says nothing */
		if ((rc || batch.count == 0) && stopped(options))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		if (rc)
			return rc;
		if (options->tape)
			rc = frag_tape_write(options->tape, &batch, err);
		/* an empty trace still has its end passed to the simulations */
		if (!rc && !idle)
			rc = feed_all(workers, &batch, err);
		if (rc || batch.count == 0)
			return rc;
		idle = all_stopped(workers);
		if (idle && !options->tape && frag_trace_is_stream(trace))
			return 0;
		if (options->progress)
			options->progress(options->ctx, frag_trace_info(trace));
	}
}

static uint32_t thread_count(const struct frag_worker_options *options, uint32_t sims)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t threads = options->threads;

	if (!threads)
		threads = processors > 0 ? (uint32_t)processors : 1;
	return threads < sims ? threads : sims;
}

/* Workers are started once and wait at each batch; simulations are not tied to a thread. */
int frag_workers_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		     const struct frag_worker_options *options, struct frag_error *err)
{
	static const struct frag_worker_options plain = { .threads = 0 };
	struct workers workers = { .sims = sims, .count = count };
	uint32_t threads = thread_count(options ? options : &plain, count), started = 0;
	pthread_t *others = calloc((size_t)threads + 1, sizeof(*others));
	int rc;

	workers.errors = calloc((size_t)count + 1, sizeof(*workers.errors));
	if (!others || !workers.errors) {
		rc = frag_fail_nomem(err);
		goto out;
	}
	pthread_mutex_init(&workers.lock, NULL);
	pthread_cond_init(&workers.begin, NULL);
	pthread_cond_init(&workers.done, NULL);
	/* this thread works too; where one cannot be had, the rest do its share */
	while (started + 1 < threads
	       && pthread_create(&others[started], NULL, worker, &workers) == 0)
		started++;
	rc = read_and_feed(&workers, trace, options ? options : &plain, err);
	pthread_mutex_lock(&workers.lock);
	workers.quit = true;
	pthread_cond_broadcast(&workers.begin);
	pthread_mutex_unlock(&workers.lock);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(others[i], NULL);
	pthread_cond_destroy(&workers.done);
	pthread_cond_destroy(&workers.begin);
	pthread_mutex_destroy(&workers.lock);
out:
	free(workers.errors);
	free(others);
	return rc;
}
