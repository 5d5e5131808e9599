/*
 * workers.c - several simulations over one reading of a trace, on several threads.
 *
 * The caller's thread reads, ahead of the simulations where the trace can be read so, and
 * simulates when it can not go on; the others simulate, and read when they can not go on. The
 * results of a simulation do not depend on the other simulations, nor on the threads. A short
 * trace is over before a thread has started: that is when there is work for it.
 */
#include "engine/engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/bug.h"
#include "base/parallel.h"
#include "events/read_ahead.h"

struct consumer {
	struct frag_sim *sim;           /* NULL: the tape */
	uint64_t next;                  /* batch */
	uint64_t stopped;               /* batch in which the simulation stopped; or FRAG_NEVER */
	uint64_t failed;                /* likewise, with err */
	struct frag_error err;
	bool busy;                      /* a thread has it, at `next` */
};

/* Why there is no batch from `end` on. Of two reasons at the same place the first counts. */
enum ending {
	END_FAILED,     /* a consumer has, in the last one */
	END_STOPPED,    /* all simulations have; no other consumer needs more of the
				 * stream */
	END_READ,       /* the trace's end, an error in it, an interruption */
};

struct workers {
	struct frag_trace *trace;
	const struct frag_worker_options *options;
	uint32_t threads;               /* that may be used, the caller's among them */
	bool threads_decided;                   /* whether to use them */
	pthread_t *others;
	uint32_t started;
	uint64_t told;                  /* the number of batches at the last progress report */
	bool stream;                    /* a read may block until the producer writes */
	void (*between)(void *ctx);     /* see engine/engine.h; NULL: not called */
	void *ctx;

	pthread_mutex_t lock;
	pthread_cond_t more, room;      /* for the threads, for the caller */
	uint32_t idle;                  /* threads that wait for more */
	bool caller_waits, quit;

	struct consumer *consumers;        /* the tape first, if there is one */
	uint32_t count, sims;           /* all, and without the tape */
	struct frag_owned_batch *ring;  /* batches read ahead; NULL: `own` is the only one */
	uint32_t ring_size;
	struct frag_batch own;
	uint64_t made, consumed, end;   /* numbers of batches; end: FRAG_NEVER at first */
	enum ending ending;
	bool reading, read_out;         /* a thread is reading; there is nothing more to read */
	int rc;                         /* of the reader, with err */
	struct frag_error err;
	uint64_t warned, shown;         /* the warnings of batches below `warned` are printed;
					 * frag_trace_info() covers batches below `shown` */
	bool telling;                   /* the caller is, of batch `warned` */
};

#define WORTH_THREADS 8192      /* events, times simulations: a millisecond of work */
#define RING_SIZE 8                /* batches that are read ahead */
#ifdef __APPLE__
#define WAIT_CLOCK CLOCK_REALTIME
#else
#define WAIT_CLOCK CLOCK_MONOTONIC
#endif
#define PATIENCE_NS 100000000   /* then the caller checks again whether to stop */

/* One consumer per simulation, after the tape writer if there is one. */
static int workers_init(struct workers *h, struct frag_sim *const *sims, uint32_t count,
			struct frag_error *err)
{
	const uint32_t first = h->options->tape ? 1 : 0;
	pthread_condattr_t clock;

	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&clock);
#ifndef __APPLE__       /* macOS has only the clock of the day here */
	pthread_condattr_setclock(&clock, WAIT_CLOCK);
#endif
	pthread_cond_init(&h->more, NULL);
	pthread_cond_init(&h->room, &clock);
	pthread_condattr_destroy(&clock);
	h->sims = count;
	h->count = first + count;
	h->consumers = calloc((size_t)h->count + 1, sizeof(*h->consumers));
	if (!h->consumers)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < h->count; i++)
		h->consumers[i] = (struct consumer){
			.sim = i < first ? NULL : sims[i - first],
			.stopped = FRAG_NEVER, .failed = FRAG_NEVER,
		};
	return 0;
}

/* Back to one place, the trace's own. */
static void drop_ring(struct workers *h)
{
	frag_kept_del(h->ring, h->ring_size);
	h->ring = NULL;
	h->ring_size = 1;
}

static void workers_fini(struct workers *h)
{
	FRAG_ASSERT(!h->reading);
	drop_ring(h);
	free(h->consumers);
	pthread_cond_destroy(&h->room);
	pthread_cond_destroy(&h->more);
	pthread_mutex_destroy(&h->lock);
}

/*
 * Has batches read ahead. The numbers go on: with nothing under way, any place is as good for the
 * next batch.
 */
static bool enable_read_ahead(struct workers *h)
{
	FRAG_ASSERT(h->made == h->shown && !h->ring);
	h->ring = frag_trace_read_ahead(h->trace, RING_SIZE);
	if (!h->ring)
		return false;
	h->ring_size = RING_SIZE;
	h->warned = h->made;
	return true;
}

static struct frag_owned_batch *ring_slot(const struct workers *h, uint64_t batch)
{
	FRAG_ASSERT(h->ring);
	return &h->ring[batch % h->ring_size];
}

/* Returns false if the run already ends earlier. Interrupts a thread that waits for a stream. */
static bool set_end(struct workers *h, uint64_t end, enum ending why)
{
	if (end > h->end || (end == h->end && why >= h->ending))
		return false;
	h->end = end;
	h->ending = why;
	if (h->reading && why != END_READ)
		frag_trace_abandon(h->trace);
	return true;
}

/* Batches below this one may be taken. */
static uint64_t end_of_work(const struct workers *h)
{
	return h->made < h->end ? h->made : h->end;
}

/*
 * With a `between` callback, no consumer begins a batch before all have finished the previous
 * one.
 */
static bool can_go_on(const struct workers *h, const struct consumer *c)
{
	return !c->busy && c->next < end_of_work(h) && (!h->between || c->next == h->consumed);
}

/* The consumer that is the furthest behind. */
static struct consumer *find_work(const struct workers *h)
{
	struct consumer *found = NULL;

	for (uint32_t i = 0; i < h->count; i++) {
		struct consumer *c = &h->consumers[i];

		if (can_go_on(h, c) && (!found || c->next < found->next))
			found = c;
	}
	return found;
}

/* Have all consumed all? */
static bool is_over(const struct workers *h)
{
	return h->consumed >= h->end;
}

/* Is a place free, more to read, and no thread reading? */
static bool can_read(const struct workers *h)
{
	return !h->reading && !h->read_out && h->made < h->end
	       && h->made - h->shown < h->ring_size;
}

/* Is there a batch whose warnings can be told, as all have had the one before it? */
static bool can_tell(const struct workers *h)
{
	return h->ring && !h->telling && h->warned < end_of_work(h) && h->warned <= h->consumed;
}

/* A caller that has waited is woken when half of the ring is free, not for each. */
static bool caller_has_cause(const struct workers *h)
{
	return is_over(h) || find_work(h) || can_tell(h)
	       || (can_read(h) && h->made - h->shown <= h->ring_size / 2);
}

/* So is a thread that sleeps, where more is sure to come. */
static bool worth_waking(const struct workers *h, const struct consumer *c)
{
	const bool more = h->ring && !h->stream && !h->between && !h->read_out;

	return can_go_on(h, c) && (!more || h->made - c->next >= h->ring_size / 2);
}

/*
 * Wakes as many threads as there is work for, less `own`, the work that the calling thread does
 * itself.
 */
static void wake(struct workers *h, uint32_t own)
{
	uint32_t work = 0;

	for (uint32_t i = 0; i < h->count && h->idle; i++)
		work += worth_waking(h, &h->consumers[i]);
	for (uint32_t i = own; i < work && i - own < h->idle; i++)
		pthread_cond_signal(&h->more);
	if (h->caller_waits && caller_has_cause(h))
		pthread_cond_signal(&h->room);
}

static bool all_had(const struct workers *h, uint64_t batch)
{
	for (uint32_t i = 0; i < h->count; i++)
		if (h->consumers[i].next <= batch)
			return false;
	return true;
}

static bool all_stopped_in(const struct workers *h, uint64_t batch)
{
	for (uint32_t i = 0; i < h->count; i++)
		if (h->consumers[i].stopped > batch)
			return false;
	return true;
}

/*
 * What all have had is shown, and its place is free: as far as there are no warnings, which are
 * the caller's to tell.
 */
static void workers_settle(struct workers *h)
{
	uint64_t to = h->consumed;

	FRAG_ASSERT(h->shown <= h->consumed && h->consumed <= h->made);
	while (can_tell(h) && !ring_slot(h, h->warned)->warnings)
		h->warned++;
	if (h->ring && h->warned < to)
		to = h->warned;
	if (h->ring && to > h->shown)
		frag_trace_show(h->trace, ring_slot(h, to - 1));
	h->shown = to;
}

/* Called by the caller's thread: prints the warnings of the batches that are due. */
static void print_warnings(struct workers *h)
{
	for (workers_settle(h); can_tell(h); workers_settle(h)) {
		h->telling = true;
		pthread_mutex_unlock(&h->lock);
		frag_trace_warn(h->trace, ring_slot(h, h->warned));
		pthread_mutex_lock(&h->lock);
		h->telling = false;
		h->warned++;
	}
}

/*
 * Counts the batches that all consumers have finished. Only one thread at once can be between
 * two batches, as no consumer begins one meanwhile.
 */
static void workers_advance(struct workers *h)
{
	while (h->consumed < end_of_work(h) && all_had(h, h->consumed)) {
		const bool failed = h->ending == END_FAILED && h->end == h->consumed + 1;

		if (h->between && !failed) {
			pthread_mutex_unlock(&h->lock);
			h->between(h->ctx);
			pthread_mutex_lock(&h->lock);
		}
		h->consumed++;
		if (h->stream && !h->options->tape && !failed && all_stopped_in(h, h->consumed - 1))
			set_end(h, h->consumed, END_STOPPED);
	}
	workers_settle(h);
}

/* One batch through one consumer; false where there is none that could go on. */
static bool consume(struct workers *h)
{
	struct consumer *c = find_work(h);
	const struct frag_batch *batch;
	bool stopped = false;
	int rc;

	if (!c)
		return false;
	batch = h->ring ? &ring_slot(h, c->next)->batch : &h->own;
	c->busy = true;
	pthread_mutex_unlock(&h->lock);
	if (c->sim && c->sim->failure.code) {
		rc = 0;
	} else if (c->sim) {
		rc = frag_sim_feed(c->sim, batch, &c->err);
		stopped = frag_sim_stopped(c->sim);
	} else {
		rc = frag_tape_write(h->options->tape, batch, &c->err);
	}
	pthread_mutex_lock(&h->lock);
	c->busy = false;
	/* the other policies go on */
	if (rc == -FRAG_EPOLICY && c->sim && h->sims > 1) {
		c->sim->failure = c->err;
		stopped = true;
		rc = 0;
	}
	if (stopped && c->stopped == FRAG_NEVER)
		c->stopped = c->next;
	if (rc) {
		c->failed = c->next;
		set_end(h, c->next + 1, END_FAILED);
	}
	c->next++;
	workers_advance(h);
	wake(h, 1);
	return true;
}

/*
 * Drops the batches of a file that were read ahead and that no consumer has begun: no output
 * shows that they were read. Batches from a producer are not dropped.
 */
static void interrupt_run(struct workers *h)
{
	uint64_t begun = h->stream || !h->ring ? h->made : 0;

	for (uint32_t i = 0; i < h->count; i++) {
		const struct consumer *c = &h->consumers[i];
		const uint64_t to = c->next + c->busy;

		begun = to > begun ? to : begun;
	}
	if (set_end(h, begun, END_READ))
		h->rc = frag_fail(&h->err, FRAG_EINTERRUPTED, "interrupted");
}

/*
 * An empty batch is handed over too, as an empty trace still has its end passed to the
 * simulations. Ctrl-C ends the writer of a pipe too: where that broke off says nothing.
 */
static void read_next(struct workers *h, bool (*stop)(void *ctx), void *ctx)
{
	struct frag_owned_batch *k = h->ring ? ring_slot(h, h->made) : NULL;
	struct frag_error *err = k ? &k->err : &h->err;
	bool last, stopped;
	int rc;

	h->reading = true;
	wake(h, 0);
	pthread_mutex_unlock(&h->lock);
	if (k) {
		frag_trace_keep(h->trace, k);
		rc = k->rc;
		last = rc || k->batch.count == 0;
	} else {
		rc = frag_trace_next(h->trace, &h->own, err);
		last = rc || h->own.count == 0;
	}
	stopped = last && stop && stop(ctx);
	pthread_mutex_lock(&h->lock);
	h->reading = false;
	h->read_out = last;
	if (stopped) {
		interrupt_run(h);
		return;
	}
	h->made += rc == 0;
	workers_settle(h);
	if (last && set_end(h, h->made, END_READ)) {
		h->rc = rc;
		if (rc)
			h->err = *err;
	}
	wake(h, 0);
}

/* The caller waits until there is something for it to do, or for 0.1 s where it is impatient. */
static void wait_for_cause(struct workers *h, bool impatient)
{
	struct timespec until;

	h->caller_waits = true;
	if (impatient) {
		clock_gettime(WAIT_CLOCK, &until);
		until.tv_nsec += PATIENCE_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&h->room, &h->lock, &until);
	} else {
		pthread_cond_wait(&h->room, &h->lock);
	}
	h->caller_waits = false;
}

/* A batch that could not be read has had its warnings too, and its part of the trace. */
static void show_broken(struct workers *h)
{
	struct frag_owned_batch *k = h->ring ? ring_slot(h, h->made) : NULL;

	if (!k || !h->rc || !k->rc || h->end != h->made)
		return;
	frag_trace_warn(h->trace, k);
	frag_trace_show(h->trace, k);
}

/* Returns the outcome of the run, after its end, when no other thread is left. */
static int run_outcome(struct workers *h, struct frag_error *err)
{
	uint32_t failed = 0;

	FRAG_ASSERT(is_over(h));
	for (uint32_t i = 0; i < h->count; i++)
		failed += h->consumers[i].sim && h->consumers[i].sim->failure.code;
	for (uint32_t i = 0; i < h->count && failed == h->sims && h->sims > 1; i++)
		if (h->consumers[i].sim)
			return frag_fail(err, FRAG_EPOLICY, "%s", h->consumers[i].err.message);
	if (h->ending == END_STOPPED)
		return 0;
	for (uint32_t i = 0; i < h->count && h->ending == END_FAILED; i++) {
		const struct consumer *c = &h->consumers[i];

		if (c->failed == h->end - 1)
			return frag_fail(err, (enum frag_error_code)-c->err.code, "%s",
					 c->err.message);
	}
	show_broken(h);
	if (h->rc && err)
		*err = h->err;
	return h->rc;
}

static void *work(void *arg)
{
	struct workers *h = arg;

	pthread_mutex_lock(&h->lock);
	while (!h->quit) {
		if (consume(h))
			continue;
		if (h->ring && !h->stream && can_read(h)) {
			read_next(h, NULL, NULL);
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
 * More threads than can work at once are of no use: one a consumer, and one that reads if it can
 * do so meanwhile. Where none can be had, the caller does it all, in turns.
 */
static void start_threads(struct workers *h)
{
	const uint32_t most = h->count + (enable_read_ahead(h) ? 1 : 0);
	const uint32_t threads = h->threads < most ? h->threads : most;

	h->others = calloc(threads, sizeof(*h->others));
	while (h->others && h->started + 1 < threads
	       && pthread_create(&h->others[h->started], NULL, work, h) == 0)
		h->started++;
	if (!h->started)
		drop_ring(h);
}

static void stop_threads(struct workers *h)
{
	pthread_mutex_lock(&h->lock);
	h->quit = true;
	pthread_cond_broadcast(&h->more);
	pthread_mutex_unlock(&h->lock);
	for (uint32_t i = 0; i < h->started; i++)
		pthread_join(h->others[i], NULL);
	free(h->others);
}

/*
 * Starts threads once enough events have been simulated to pay for them, and no batch is under
 * way.
 */
static void decide_threads(struct workers *h)
{
	const uint32_t sims = h->count - (h->options->tape != NULL);

	if (h->threads_decided || h->shown != h->made || !h->made
	    || frag_trace_info(h->trace)->events * sims < WORTH_THREADS)
		return;
	h->threads_decided = true;
	start_threads(h);
}

/* Another thread may read meanwhile, so the trace's info is copied. */
static void workers_report(struct workers *h)
{
	struct frag_trace_info info;

	if (!h->options->progress || h->shown == h->told || is_over(h))
		return;
	h->told = h->shown;
	info = *frag_trace_info(h->trace);
	pthread_mutex_unlock(&h->lock);
	h->options->progress(h->options->ctx, &info);
	pthread_mutex_lock(&h->lock);
}

/* The loop of the caller's thread: it reads first, because the other threads need its batches. */
static void read_and_work(struct workers *h)
{
	pthread_mutex_lock(&h->lock);
	while (!is_over(h)) {
		print_warnings(h);
		workers_report(h);
		decide_threads(h);
		if (h->options->stop && h->options->stop(h->options->ctx))
			interrupt_run(h);
		if (can_read(h))
			read_next(h, h->options->stop, h->options->ctx);
		else if (!consume(h) && !is_over(h))
			wait_for_cause(h, h->options->stop != NULL);
	}
	print_warnings(h);
	pthread_mutex_unlock(&h->lock);
}

int frag_workers_in_step(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
			 const struct frag_worker_options *options, void (*between)(void *ctx),
			 void *ctx, struct frag_error *err)
{
	static const struct frag_worker_options plain = { .threads = 0 };
	struct workers h = {
		.trace = trace, .options = options ? options : &plain, .between = between,
		.ctx = ctx, .stream = frag_trace_is_stream(trace), .ring_size = 1,
		.end = FRAG_NEVER,
		.ending = END_READ,
	};
	int rc = workers_init(&h, sims, count, err);

	h.threads = h.options->threads ? h.options->threads : frag_processors();
	h.threads_decided = h.threads < 2;
	if (!rc) {
		read_and_work(&h);
		stop_threads(&h);
		rc = run_outcome(&h, err);
	}
	workers_fini(&h);
	return rc;
}

int frag_workers_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		     const struct frag_worker_options *options, struct frag_error *err)
{
	return frag_workers_in_step(sims, count, trace, options, NULL, NULL, err);
}
