/*
 * workers.c - several simulations over one reading of a trace, on several threads.
 *
 * The caller's thread reads, ahead of the simulations where the trace can be read so, and
 * simulates when it can not go on; the others simulate, and read when they can not go on. The
 * results of a simulation do not depend on the other simulations, nor on the threads. A short
 * trace is over before a thread has started: that is when there is work for it.
 */
#include "engine/workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/bug.h"
#include "base/parallel.h"
#include "base/platform.h"
#include "engine/sim.h"
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
	void (*between)(void *ctx);     /* see workers.h; NULL: not called */
	void *ctx;

	pthread_mutex_t lock;
	pthread_cond_t more, room;      /* for the threads, for the caller */
	clockid_t clock;                /* of timed waits */
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
#define PATIENCE_NS 100000000   /* then the caller checks again whether to stop */

/* One consumer per simulation, after the tape writer if there is one. */
static int workers_init(struct workers *w, struct frag_sim *const *sims, uint32_t count,
			struct frag_error *err)
{
	const uint32_t first = w->options->tape ? 1 : 0;
	pthread_condattr_t clock;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&clock);
	w->clock = frag_wait_clock(&clock);
	pthread_cond_init(&w->more, NULL);
	pthread_cond_init(&w->room, &clock);
	pthread_condattr_destroy(&clock);
	w->sims = count;
	w->count = first + count;
	w->consumers = calloc((size_t)w->count + 1, sizeof(*w->consumers));
	if (!w->consumers)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < w->count; i++)
		w->consumers[i] = (struct consumer){
			.sim = i < first ? NULL : sims[i - first],
			.stopped = FRAG_NEVER, .failed = FRAG_NEVER,
		};
	return 0;
}

/* Back to one place, the trace's own. */
static void drop_ring(struct workers *w)
{
	frag_kept_del(w->ring, w->ring_size);
	w->ring = NULL;
	w->ring_size = 1;
}

static void workers_fini(struct workers *w)
{
	FRAG_ASSERT(!w->reading);
	drop_ring(w);
	free(w->consumers);
	pthread_cond_destroy(&w->room);
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
}

/*
 * Has batches read ahead. The numbers go on: with nothing under way, any place is as good for the
 * next batch.
 */
static bool enable_read_ahead(struct workers *w)
{
	FRAG_ASSERT(w->made == w->shown && !w->ring);
	w->ring = frag_trace_read_ahead(w->trace, RING_SIZE);
	if (!w->ring)
		return false;
	w->ring_size = RING_SIZE;
	w->warned = w->made;
	return true;
}

static struct frag_owned_batch *ring_slot(const struct workers *w, uint64_t batch)
{
	FRAG_ASSERT(w->ring);
	return &w->ring[batch % w->ring_size];
}

/* Returns false if the run already ends earlier. Interrupts a thread that waits for a stream. */
static bool set_end(struct workers *w, uint64_t end, enum ending why)
{
	if (end > w->end || (end == w->end && why >= w->ending))
		return false;
	w->end = end;
	w->ending = why;
	if (w->reading && why != END_READ)
		frag_trace_abandon(w->trace);
	return true;
}

/* Batches below this one may be taken. */
static uint64_t end_of_work(const struct workers *w)
{
	return w->made < w->end ? w->made : w->end;
}

/*
 * With a `between` callback, no consumer begins a batch before all have finished the previous
 * one.
 */
static bool can_go_on(const struct workers *w, const struct consumer *c)
{
	return !c->busy && c->next < end_of_work(w) && (!w->between || c->next == w->consumed);
}

/* The consumer that is the furthest behind. */
static struct consumer *find_work(const struct workers *w)
{
	struct consumer *found = NULL;

	for (uint32_t i = 0; i < w->count; i++) {
		struct consumer *c = &w->consumers[i];

		if (can_go_on(w, c) && (!found || c->next < found->next))
			found = c;
	}
	return found;
}

/* Have all consumed all? */
static bool is_over(const struct workers *w)
{
	return w->consumed >= w->end;
}

/* Is a place free, more to read, and no thread reading? */
static bool can_read(const struct workers *w)
{
	return !w->reading && !w->read_out && w->made < w->end
	       && w->made - w->shown < w->ring_size;
}

/* Is there a batch whose warnings can be told, as all have had the one before it? */
static bool can_tell(const struct workers *w)
{
	return w->ring && !w->telling && w->warned < end_of_work(w) && w->warned <= w->consumed;
}

/* A caller that has waited is woken when half of the ring is free, not for each. */
static bool caller_has_cause(const struct workers *w)
{
	return is_over(w) || find_work(w) || can_tell(w)
	       || (can_read(w) && w->made - w->shown <= w->ring_size / 2);
}

/* So is a thread that sleeps, where more is sure to come. */
static bool worth_waking(const struct workers *w, const struct consumer *c)
{
	const bool more = w->ring && !w->stream && !w->between && !w->read_out;

	return can_go_on(w, c) && (!more || w->made - c->next >= w->ring_size / 2);
}

/*
 * Wakes as many threads as there is work for, less `own`, the work that the calling thread does
 * itself.
 */
static void wake(struct workers *w, uint32_t own)
{
	uint32_t work = 0;

	for (uint32_t i = 0; i < w->count && w->idle; i++)
		work += worth_waking(w, &w->consumers[i]);
	for (uint32_t i = own; i < work && i - own < w->idle; i++)
		pthread_cond_signal(&w->more);
	if (w->caller_waits && caller_has_cause(w))
		pthread_cond_signal(&w->room);
}

static bool all_had(const struct workers *w, uint64_t batch)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->consumers[i].next <= batch)
			return false;
	return true;
}

static bool all_stopped_in(const struct workers *w, uint64_t batch)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->consumers[i].stopped > batch)
			return false;
	return true;
}

/*
 * What all have had is shown, and its place is free: as far as there are no warnings, which are
 * the caller's to tell.
 */
static void workers_settle(struct workers *w)
{
	uint64_t to = w->consumed;

	FRAG_ASSERT(w->shown <= w->consumed && w->consumed <= w->made);
	while (can_tell(w) && !ring_slot(w, w->warned)->warnings)
		w->warned++;
	if (w->ring && w->warned < to)
		to = w->warned;
	if (w->ring && to > w->shown)
		frag_trace_show(w->trace, ring_slot(w, to - 1));
	w->shown = to;
}

/* Called by the caller's thread: prints the warnings of the batches that are due. */
static void print_warnings(struct workers *w)
{
	for (workers_settle(w); can_tell(w); workers_settle(w)) {
		w->telling = true;
		pthread_mutex_unlock(&w->lock);
		frag_trace_warn(w->trace, ring_slot(w, w->warned));
		pthread_mutex_lock(&w->lock);
		w->telling = false;
		w->warned++;
	}
}

/*
 * Counts the batches that all consumers have finished. Only one thread at once can be between
 * two batches, as no consumer begins one meanwhile.
 */
static void workers_advance(struct workers *w)
{
	while (w->consumed < end_of_work(w) && all_had(w, w->consumed)) {
		const bool failed = w->ending == END_FAILED && w->end == w->consumed + 1;

		if (w->between && !failed) {
			pthread_mutex_unlock(&w->lock);
			w->between(w->ctx);
			pthread_mutex_lock(&w->lock);
		}
		w->consumed++;
		if (w->stream && !w->options->tape && !failed && all_stopped_in(w, w->consumed - 1))
			set_end(w, w->consumed, END_STOPPED);
	}
	workers_settle(w);
}

/* One batch through one consumer; false where there is none that could go on. */
static bool consume(struct workers *w)
{
	struct consumer *c = find_work(w);
	const struct frag_batch *batch;
	bool stopped = false;
	int rc;

	if (!c)
		return false;
	batch = w->ring ? &ring_slot(w, c->next)->batch : &w->own;
	c->busy = true;
	pthread_mutex_unlock(&w->lock);
	if (c->sim && c->sim->failure.code) {
		rc = 0;
	} else if (c->sim) {
		rc = frag_sim_feed(c->sim, batch, &c->err);
		stopped = frag_sim_stopped(c->sim);
	} else {
		rc = frag_tape_write(w->options->tape, batch, &c->err);
	}
	pthread_mutex_lock(&w->lock);
	c->busy = false;
	/* the other policies go on */
	if (rc == -FRAG_EPOLICY && c->sim && w->sims > 1) {
		c->sim->failure = c->err;
		stopped = true;
		rc = 0;
	}
	if (stopped && c->stopped == FRAG_NEVER)
		c->stopped = c->next;
	if (rc) {
		c->failed = c->next;
		set_end(w, c->next + 1, END_FAILED);
	}
	c->next++;
	workers_advance(w);
	wake(w, 1);
	return true;
}

/*
 * Drops the batches of a file that were read ahead and that no consumer has begun: no output
 * shows that they were read. Batches from a producer are not dropped.
 */
static void interrupt_run(struct workers *w)
{
	uint64_t begun = w->stream || !w->ring ? w->made : 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct consumer *c = &w->consumers[i];
		const uint64_t to = c->next + c->busy;

		begun = to > begun ? to : begun;
	}
	if (set_end(w, begun, END_READ))
		w->rc = frag_fail(&w->err, FRAG_EINTERRUPTED, "interrupted");
}

/*
 * An empty batch is handed over too, as an empty trace still has its end passed to the
 * simulations. Ctrl-C ends the writer of a pipe too: where that broke off says nothing. job: NULL in
 * threads that are not the caller's.
 */
static void read_next(struct workers *w, const struct frag_read_job *job)
{
	struct frag_owned_batch *k = w->ring ? ring_slot(w, w->made) : NULL;
	struct frag_error *err = k ? &k->err : &w->err;
	bool last, stopped;
	int rc;

	w->reading = true;
	wake(w, 0);
	pthread_mutex_unlock(&w->lock);
	if (k) {
		frag_trace_keep(w->trace, k);
		rc = k->rc;
		last = rc || k->batch.count == 0;
	} else {
		rc = frag_trace_next(w->trace, &w->own, err);
		last = rc || w->own.count == 0;
	}
	stopped = last && job && frag_read_is_stopped(job);
	pthread_mutex_lock(&w->lock);
	w->reading = false;
	w->read_out = last;
	if (stopped) {
		interrupt_run(w);
		return;
	}
	w->made += rc == 0;
	workers_settle(w);
	if (last && set_end(w, w->made, END_READ)) {
		w->rc = rc;
		if (rc)
			w->err = *err;
	}
	wake(w, 0);
}

/* The caller waits until there is something for it to do, or for 0.1 s where it is impatient. */
static void wait_for_cause(struct workers *w, bool impatient)
{
	struct timespec until;

	w->caller_waits = true;
	if (impatient) {
		clock_gettime(w->clock, &until);
		until.tv_nsec += PATIENCE_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&w->room, &w->lock, &until);
	} else {
		pthread_cond_wait(&w->room, &w->lock);
	}
	w->caller_waits = false;
}

/* A batch that could not be read has had its warnings too, and its part of the trace. */
static void show_broken(struct workers *w)
{
	struct frag_owned_batch *k = w->ring ? ring_slot(w, w->made) : NULL;

	if (!k || !w->rc || !k->rc || w->end != w->made)
		return;
	frag_trace_warn(w->trace, k);
	frag_trace_show(w->trace, k);
}

/* Returns the outcome of the run, after its end, when no other thread is left. */
static int run_outcome(struct workers *w, struct frag_error *err)
{
	uint32_t failed = 0;

	FRAG_ASSERT(is_over(w));
	for (uint32_t i = 0; i < w->count; i++)
		failed += w->consumers[i].sim && w->consumers[i].sim->failure.code;
	for (uint32_t i = 0; i < w->count && failed == w->sims && w->sims > 1; i++)
		if (w->consumers[i].sim)
			return frag_fail(err, FRAG_EPOLICY, "%s", w->consumers[i].err.message);
	if (w->ending == END_STOPPED)
		return 0;
	for (uint32_t i = 0; i < w->count && w->ending == END_FAILED; i++) {
		const struct consumer *c = &w->consumers[i];

		if (c->failed == w->end - 1)
			return frag_fail(err, (enum frag_error_code)-c->err.code, "%s",
					 c->err.message);
	}
	show_broken(w);
	if (w->rc && err)
		*err = w->err;
	return w->rc;
}

static void *work(void *arg)
{
	struct workers *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->quit) {
		if (consume(w))
			continue;
		if (w->ring && !w->stream && can_read(w)) {
			read_next(w, NULL);
			continue;
		}
		w->idle++;
		pthread_cond_wait(&w->more, &w->lock);
		w->idle--;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/*
 * More threads than can work at once are of no use: one a consumer, and one that reads if it can
 * do so meanwhile. Where none can be had, the caller does it all, in turns.
 */
static void start_threads(struct workers *w)
{
	const uint32_t most = w->count + (enable_read_ahead(w) ? 1 : 0);
	const uint32_t threads = w->threads < most ? w->threads : most;

	w->others = calloc(threads, sizeof(*w->others));
	while (w->others && w->started + 1 < threads
	       && pthread_create(&w->others[w->started], NULL, work, w) == 0)
		w->started++;
	if (!w->started)
		drop_ring(w);
}

static void stop_threads(struct workers *w)
{
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (uint32_t i = 0; i < w->started; i++)
		pthread_join(w->others[i], NULL);
	free(w->others);
}

/*
 * Starts threads once enough events have been simulated to pay for them, and no batch is under
 * way.
 */
static void decide_threads(struct workers *w)
{
	if (w->threads_decided || w->shown != w->made || !w->made
	    || frag_trace_info(w->trace)->events * w->sims < WORTH_THREADS)
		return;
	w->threads_decided = true;
	start_threads(w);
}

/* Another thread may read meanwhile, so the trace's info is copied. */
static void workers_report(struct workers *w)
{
	struct frag_trace_info info;

	if (!w->options->read.progress || w->shown == w->told || is_over(w))
		return;
	w->told = w->shown;
	info = *frag_trace_info(w->trace);
	pthread_mutex_unlock(&w->lock);
	frag_read_show(&w->options->read, &info);
	pthread_mutex_lock(&w->lock);
}

/* The loop of the caller's thread: it reads first, because the other threads need its batches. */
static void read_and_work(struct workers *w)
{
	pthread_mutex_lock(&w->lock);
	while (!is_over(w)) {
		print_warnings(w);
		workers_report(w);
		decide_threads(w);
		if (frag_read_is_stopped(&w->options->read))
			interrupt_run(w);
		if (can_read(w))
			read_next(w, &w->options->read);
		else if (!consume(w) && !is_over(w))
			wait_for_cause(w, w->options->read.stop != NULL);
	}
	print_warnings(w);
	pthread_mutex_unlock(&w->lock);
}

int frag_workers_in_step(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
			 const struct frag_worker_options *options, void (*between)(void *ctx),
			 void *ctx, struct frag_error *err)
{
	static const struct frag_worker_options plain = { .threads = 0 };
	struct workers w = {
		.trace = trace, .options = options ? options : &plain, .between = between,
		.ctx = ctx, .stream = frag_trace_is_stream(trace), .ring_size = 1,
		.end = FRAG_NEVER,
		.ending = END_READ,
	};
	int rc = workers_init(&w, sims, count, err);

	w.threads = w.options->threads ? w.options->threads : frag_processors();
	w.threads_decided = w.threads < 2;
	if (!rc) {
		read_and_work(&w);
		stop_threads(&w);
		rc = run_outcome(&w, err);
	}
	workers_fini(&w);
	return rc;
}

int frag_workers_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		     const struct frag_worker_options *options, struct frag_error *err)
{
	return frag_workers_in_step(sims, count, trace, options, NULL, NULL, err);
}
