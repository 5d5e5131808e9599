/*
 * answer.h - what a run leaves open, found by simulating its tape again: what the whole trace
 * needs, which device or setting would have done, who was there at the peak.
 */
#ifndef SEARCH_ANSWER_H
#define SEARCH_ANSWER_H

#include "explain/moment.h"
#include "search/trials.h"

/* A setting that was tried in place of the run's own, on the same device. */
struct frag_remedy {
	bool found;
	struct frag_choice choice;      /* the run's own, with that setting */
	uint64_t requested, reserved;   /* peaks */
	uint64_t lost;                  /* at the peak of reserved */
};

/* Of one policy on one device. Bytes. */
struct frag_answer {
	/* the peaks of the whole trace where nothing limits the device; 0: not known */
	uint64_t requested, allocated;
	/* where memory ran out: the least larger device on which this run survives; 0: none was
	 * found, and those below `failing` do not. And the least from which it survives on all
	 * that were examined, up to 5 % above the smallest; a larger one can fail again */
	uint64_t smallest, safe, failing;
	bool limit_stays;               /* where memory ran out: no later event may change a
					 * fraction of the device that the program has set */
	struct frag_moment peak;        /* of a run that did not fail, after peak_step */
	bool has_peak;
	struct frag_remedy remedy;
	uint32_t remedies;              /* settings that were tried */
};

/*
 * Who is there at the peak of each device, of the runs of one policy on all devices of the trace.
 * sim: the simulation that has just made them, for those whose peak is at their end, and then no
 * other is looked at. NULL: another one is made, and they are passed through one after the
 * other; it leaves out those that are answered. -FRAG_ENOMEM, -FRAG_EINTERRUPTED
 */
int frag_answer_peaks(struct frag_answer *answers, const struct frag_trials *trials,
		      const struct frag_sim *sim, const struct frag_result *runs, uint32_t count,
		      struct frag_error *err);

/*
 * The other answers to a run's result at FRAG_LEVEL_ALL. remedies: another setting is looked for,
 * too. The search for a larger device ends after a number of events, never by the clock.
 * -FRAG_ENOMEM, -FRAG_EINTERRUPTED; a setting with which a simulation fails is no remedy.
 */
int frag_answer_find(struct frag_answer *answer, struct frag_trials *trials, bool remedies,
		     const struct frag_result *run, struct frag_error *err);

/* One that is zeroed is fine, and before the first call it has to be. */
void frag_answer_fini(struct frag_answer *answer);

#endif
