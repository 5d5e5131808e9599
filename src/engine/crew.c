/*
 * crew.c - several simulations over one reading of a trace, on several threads.
 *
 * The reader makes a batch, all simulations consume it, the reader makes the
 * next: nobody touches the trace's tables while a simulation reads them, and
 * what a simulation does cannot depend on the others.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fragsim/engine.h"

struct crew {
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
static void work(struct crew *crew)
{
	while (crew->next < crew->count) {
		uint32_t i = crew->next++;

		pthread_mutex_unlock(&crew->lock);
		frag_sim_feed(crew->sims[i], crew->batch, &crew->errors[i]);
		pthread_mutex_lock(&crew->lock);
		if (--crew->unfinished == 0)
			pthread_cond_signal(&crew->done);
	}
}

static void *worker(void *arg)
{
	struct crew *crew = arg;
	uint64_t seen = 0;

	pthread_mutex_lock(&crew->lock);
	for (;;) {
		while (!crew->quit && crew->round == seen)
			pthread_cond_wait(&crew->begin, &crew->lock);
		if (crew->quit)
			break;
		seen = crew->round;
		work(crew);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

/* One batch through all simulations; the first error in their order. */
static int feed_all(struct crew *crew, const struct frag_batch *batch, struct frag_error *err)
{
	pthread_mutex_lock(&crew->lock);
	crew->batch = batch;
	crew->next = 0;
	crew->unfinished = crew->count;
	crew->round++;
	pthread_cond_broadcast(&crew->begin);
	work(crew);
	while (crew->unfinished)
		pthread_cond_wait(&crew->done, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
	for (uint32_t i = 0; i < crew->count; i++) {
		if (crew->errors[i].code) {
			*err = crew->errors[i];
			return err->code;
		}
	}
	return 0;
}

static bool all_stopped(const struct crew *crew)
{
	for (uint32_t i = 0; i < crew->count; i++)
		if (!frag_sim_stopped(crew->sims[i]))
			return false;
	return true;
}

static bool stopped(const struct frag_crew_options *options)
{
	return options->stop && options->stop(options->ctx);
}

/*
 * A batch is read when all workers are done with the one before. When every simulation has
 * stopped, a file is read on, because its identity and validity are those of the whole; a
 * stream is not.
 */
static int read_and_feed(struct crew *crew, struct frag_trace *trace,
			 const struct frag_crew_options *options, struct frag_error *err)
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
		/* an empty trace still has its end told to the simulations */
		if (!rc && !idle)
			rc = feed_all(crew, &batch, err);
		if (rc || batch.count == 0)
			return rc;
		idle = all_stopped(crew);
		if (idle && !options->tape && frag_trace_is_stream(trace))
			return 0;
		if (options->progress)
			options->progress(options->ctx, frag_trace_info(trace));
	}
}

static uint32_t thread_count(const struct frag_crew_options *options, uint32_t sims)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t threads = options->threads;

	if (!threads)
		threads = processors > 0 ? (uint32_t)processors : 1;
	return threads < sims ? threads : sims;
}

/* Workers are started once and wait at each batch; simulations are not tied to a thread. */
int frag_crew_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		  const struct frag_crew_options *options, struct frag_error *err)
{
	static const struct frag_crew_options plain = { .threads = 0 };
	struct crew crew = { .sims = sims, .count = count };
	uint32_t threads = thread_count(options ? options : &plain, count), started = 0;
	pthread_t *others = calloc((size_t)threads + 1, sizeof(*others));
	int rc;

	crew.errors = calloc((size_t)count + 1, sizeof(*crew.errors));
	if (!others || !crew.errors) {
		rc = frag_fail_nomem(err);
		goto out;
	}
	pthread_mutex_init(&crew.lock, NULL);
	pthread_cond_init(&crew.begin, NULL);
	pthread_cond_init(&crew.done, NULL);
	/* this thread works too; where one cannot be had, the rest do its share */
	while (started + 1 < threads
	       && pthread_create(&others[started], NULL, worker, &crew) == 0)
		started++;
	rc = read_and_feed(&crew, trace, options ? options : &plain, err);
	pthread_mutex_lock(&crew.lock);
	crew.quit = true;
	pthread_cond_broadcast(&crew.begin);
	pthread_mutex_unlock(&crew.lock);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(others[i], NULL);
	pthread_cond_destroy(&crew.done);
	pthread_cond_destroy(&crew.begin);
	pthread_mutex_destroy(&crew.lock);
out:
	free(crew.errors);
	free(others);
	return rc;
}
