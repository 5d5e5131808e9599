/*
 * batch_queue.h - batches of a trace to all who consume them, some of them ahead.
 *
 * Batches have numbers, from 0. They are made in this order, by one thread at a time, each in one
 * of a few places that go round (events/read_ahead.h). Each *consumer*, a simulation or the tape, takes
 * them in this order too, with one thread at a time. Which thread does what does not matter: any
 * that runs finds something to do, so nobody waits for one that the system has put aside. But a
 * stream, which may have to be waited for, is read by the thread that called, as signals reach it;
 * and that one alone tells warnings and progress. A batch is *consumed* when all have had it; its
 * place is free then.
 *
 *   who reads        the trace with its tables, but for what ahead.h lets others see; the place
 *                    of the batch that is made
 *   a consumer's     its simulation, from when a thread takes the consumer until it is done with
 *                    the batch; the batch, to be looked at
 *   the lock's       the numbers below, by which all of this passes from one to the other. It is
 *                    held for some counting a batch, never while anybody reads or simulates
 *
 * Which batches are consumed at all does not depend on who is faster: up to `end`, which is set
 * by the first batch in which something ended the run, in the order of batches. What others did
 * beyond it is not seen: they have stopped, or the run has failed.
 *
 * With one place, reader and consumers take turns: the next batch is made when the last one is
 * consumed, and it borrows from the trace itself.
 */
#ifndef ENGINE_BATCH_QUEUE_H
#define ENGINE_BATCH_QUEUE_H

#include <pthread.h>

#include "events/read_ahead.h"
#include "fragsim/engine.h"

struct frag_consumer {
	struct frag_sim *sim;           /* NULL: the tape */
	uint64_t next;                  /* batch */
	uint64_t stopped;               /* batch in which the simulation stopped; or FRAG_NEVER */
	uint64_t failed;                /* likewise, with err */
	struct frag_error err;
	bool busy;                      /* a thread has it, at `next` */
};

/* Why there is no batch from `end` on. Of two reasons at the same place the first counts. */
enum frag_ending {
	FRAG_ENDING_FAILED,     /* a consumer has, in the last one */
	FRAG_ENDING_STOPPED,    /* all simulations have; nobody else needs more of the stream */
	FRAG_ENDING_READ,       /* the trace's end, an error in it, an interruption */
};

struct frag_batch_queue {
	struct frag_trace *trace;
	struct frag_tape_writer *tape;
	bool stream;                    /* who reads may have to wait for its producer */
	void (*between)(void *ctx);     /* see engine/workers.h; NULL: nobody asks */
	void *ctx;

	pthread_mutex_t lock;
	pthread_cond_t more, room;      /* for the threads, for the caller */
	uint32_t idle;                  /* threads that wait for more */
	bool caller_waits, quit;

	struct frag_consumer *consumers;        /* the tape first, if there is one */
	uint32_t count;
	struct frag_owned_batch *kept;         /* the places; NULL: there is one, the trace's own */
	uint32_t places;
	struct frag_batch own;
	uint64_t made, consumed, end;   /* numbers of batches; end: FRAG_NEVER at first */
	enum frag_ending ending;
	bool reading, read_out;         /* somebody is at it; there is nothing more to read */
	int rc;                         /* of the reader, with err */
	struct frag_error err;
	uint64_t warned, shown;         /* warnings of those before the one are told; those before
					 * the other are what frag_trace_info() tells of */
	bool telling;                   /* the caller is, of batch `warned` */
};

/* Whether or not it succeeds, fini is due. tape may be NULL. -FRAG_ENOMEM */
int frag_handover_init(struct frag_batch_queue *h, struct frag_sim *const *sims, uint32_t count,
		       struct frag_trace *trace, struct frag_tape_writer *tape,
		       struct frag_error *err);
void frag_handover_fini(struct frag_batch_queue *h);

/* Nothing is under way: several places from now on. False: there can only be one. */
bool frag_batch_queue_enable_read_ahead(struct frag_batch_queue *h);
/* The same backwards, before anything was made. */
void frag_handover_narrow(struct frag_batch_queue *h);

/* All that follows is called with the lock held; it is released meanwhile. */

/* Is there a place, and more to read, and nobody who reads? */
bool frag_handover_can_read(const struct frag_batch_queue *h);
/* Then: makes a batch. stop, which may be NULL, is asked where there is none any more. */
void frag_handover_read(struct frag_batch_queue *h, bool (*stop)(void *ctx), void *ctx);
/* One batch through one consumer; false where there is none that could go on. */
bool frag_handover_work(struct frag_batch_queue *h);
/* Have all consumed all? */
bool frag_handover_is_over(const struct frag_batch_queue *h);

/* The caller: no batch is begun any more, but that all come to the same place. */
void frag_handover_interrupt(struct frag_batch_queue *h);
/* The caller: what there was to warn of, as far as it is time. */
void frag_batch_queue_print_warnings(struct frag_batch_queue *h);
/* The caller waits until there is something for it to do, or for 0.1 s where it is impatient. */
void frag_handover_wait(struct frag_batch_queue *h, bool impatient);

/* After the end, and with no other thread any more: what came of it. */
int frag_handover_outcome(struct frag_batch_queue *h, struct frag_error *err);

#endif
