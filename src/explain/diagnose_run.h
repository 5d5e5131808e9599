/*
 * diagnose_run.h - completes the diagnosis of a run by simulating its tape again: the memory
 * that the whole trace needs, a device or setting that fits it, the blocks at the peak.
 */
#pragma once

#include "base/job.h"
#include "explain/device_state.h"
#include "explain/oom_diagnosis.h"
#include "policy/evidence.h"
#include "search/fit_intervals.h"

/* Results of policies on a tape: each is simulated once, on all devices. */
struct frag_trials {
	const struct frag_tape *tape;
	const struct frag_sim_options *options; /* of the runs, with their devices */
	struct frag_job job;
	struct frag_trial *trial;       /* those that were made, while runs are diagnosed */
	uint32_t count, capacity;
};

/* The setting that is recommended instead of the run's own, on the same devices. */
struct frag_setting_fix {
	bool found;
	struct frag_choice choice;      /* the run's own, with that setting */
	uint64_t requested, reserved;   /* peaks */
	uint64_t wasted;                 /* at the peak of reserved */
	uint64_t left;                  /* of the device, reliably; UINT64_MAX: it has no capacity */
};

/* What is known about the order that decides between equal free blocks. */
struct frag_block_order {
	bool recorded;                  /* for all segments of the run */
	bool tried;                     /* else: the run in the other order, and how it ended */
	enum frag_run_status status;
	uint64_t reserved;              /* its peak */
};

/* Of one policy on one device. Bytes. */
struct frag_diagnosis {
	/* the peaks of the whole trace where nothing limits the device; 0: not known */
	uint64_t requested, allocated;
	/* after an OOM: smallest is the minimum larger device that this run fits; 0: none was
	 * found, and those below `failing` fail. reliable is the minimum from which it fits all that
	 * were examined, up to half above the smallest; a larger one can fail again */
	uint64_t smallest, reliable, failing;
	bool limit_stays;               /* where memory ran out: no later event may change a
					 * fraction of the device that the program has set */
	struct frag_oom_diagnosis oom;  /* of the first OOM */
	struct frag_device_state peak;  /* of a run that did not fail, after peak_step; owned */
	bool has_peak;
	struct frag_setting_fix fix;
	uint32_t fixes;                 /* settings that were tried */
	struct frag_block_order order;
};

/* The parts of a diagnosis that need a search. */
enum frag_wanted {
	FRAG_WANTED_DEVICE = 1,         /* the smallest larger device, where memory ran out */
	FRAG_WANTED_FIX = 2,            /* another setting */
};

/*
 * Answers the runs of simulations at FRAG_LEVEL_ALL that have ended, which are retired: others are
 * made that need as much memory. answers, zeroed, and wanted, of enum frag_wanted: one a run,
 * simulation by simulation, device by device. peaks: simulates the tape again up to each peak; else
 * only those at the end are known. The search for a larger device ends after a number of events,
 * never by the clock. -FRAG_ENOMEM, -FRAG_EINTERRUPTED; a setting with which a simulation fails is
 * no fix.
 */
int frag_diagnose_runs(struct frag_diagnosis *answers, struct frag_trials *trials,
		       struct frag_sim *const *sims, uint32_t sim_count, bool peaks,
		       const unsigned *wanted, struct frag_error *err);

/* Returns the usable bytes: the device without context and other processes. */
uint64_t frag_usable_bytes(const struct frag_result *run);
/* What a device needs at least: what is requested at its peak, rounded up to its granularity, with
 * the context and others. */
uint64_t frag_diagnosis_lower_bound(const struct frag_diagnosis *answer,
				    const struct frag_result *run);
/*
 * Are the bytes that are requested too many for that fraction alone? a may be NULL. A fraction that
 * a later event changes is judged by the request that failed.
 */
static inline bool frag_diagnosis_is_over_limit(const struct frag_diagnosis *a,
						const struct frag_result *run)
{
	const struct frag_oom *oom = run->oom_count ? &run->ooms[0] : NULL;

	if (!a || !oom || !frag_oom_is_limit(oom))
		return false;
	return oom->metrics.requested + oom->size > oom->limit
	       || (a->limit_stays && a->requested > oom->limit);
}
/* Does no layout hold the trace, not even a perfect one? answer may be NULL, as below. */
bool frag_diagnosis_exceeds_capacity(const struct frag_diagnosis *answer,
				     const struct frag_result *run);
/* The verdict of the run's first OOM; from its record alone where answer is NULL or has none. */
struct frag_oom_diagnosis frag_diagnosis_oom(const struct frag_diagnosis *answer,
					       const struct frag_result *run);

/*
 * What the run's rules were compared with, and what they assume; in buf, which is returned. answer
 * may be NULL.
 */
const char *frag_diagnosis_evidence(const struct frag_diagnosis *answer,
				    const struct frag_result *run, char buf[FRAG_EVIDENCE_ROOM]);
