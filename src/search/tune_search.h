/*
 * tune_search.h - finds the setting that needs the smallest device, or that is best on a given
 * one.
 *
 * Without a given device the search keeps a best candidate: it tries each setting once, one page
 * below the device that the candidate needs; a setting that fits becomes the candidate, with the
 * smallest device that it fits. The result depends only on the order of the settings.
 */
#pragma once

#include "search/fit_all.h"

/* Result of a setting; of several traces the worst. Bytes; UINT64_MAX: not computed. */
struct frag_point {
	uint32_t choice;                /* by its order; UINT32_MAX: there is none */
	bool tried;                     /* else it was interrupted before: the next are not set */
	struct frag_attempt at;         /* on the device, or on that of the best candidate */
	uint32_t oom_trace;             /* if the setting does not fit */
	bool qualifies;                 /* on a device given: with the headroom too */
	uint64_t smallest, reliable;
	struct frag_claim claim;        /* of those that have a smallest device, and the named ones */
};

/* A trace that was not used for tuning. */
struct frag_tune_test {
	bool tried;                     /* else it was interrupted before, or there is no best */
	bool fits;                  /* the best fits the device, or that of the best
					 * candidate */
	uint64_t smallest;              /* the best there; UINT64_MAX: none */
	uint32_t own;                   /* the choice that would be the best for it alone, */
	uint64_t own_smallest;          /* and what that needs */
};

struct frag_tune {
	const struct frag_fit_source *sources;  /* borrowed; those of the tests behind the others */
	uint32_t source_count, test_count;
	uint32_t choice_count;          /* candidates; the first is what a program has anyway */
	const uint32_t *since;          /* of each; borrowed: 2.since and newer accept it; 0: all */
	const char *const *texts;       /* of each; borrowed: what equals are put in order by */
	/*
	 * of each source the tape with a line of code more, torch.cuda.empty_cache() in each
	 * iteration, or NULL: it has none; borrowed
	 */
	struct frag_tape *const *changed;
	uint32_t plain_expandable;      /* one of them, or UINT32_MAX */
	uint64_t total;                 /* of the device; 0: which is the smallest? */
	double headroom;                /* 0.05: on every device from total / 1.05 on */
	bool exact;                     /* each from the lower bound up to the best candidate */
	const struct frag_driver_model *model;
	struct frag_job job;            /* shows "settings" */
	/* results */
	struct frag_point *points;      /* one a choice */
	struct frag_point best;         /* interrupted: the best until then */
	struct frag_point without;      /* the best without expandable segments */
	struct frag_point newer;        /* better than the best, for newer releases; or none */
	struct frag_point simple;       /* the simplest of about the best; the defaults: no gain */
	/* the first candidate with the line of code on its smallest device, and without; or none */
	struct frag_point code, without_code;
	uint64_t reached; /* that the best is known to fit; UINT64_MAX: none */
	struct frag_tune_test *tests;
	uint64_t lower_bound;                 /* the highest of the traces */
	uint64_t runs;
	bool no_headroom;               /* nothing qualified with it, and it was given up */
	/* known for each choice and place; behind the choices the first one with the line of code */
	struct frag_fit_intervals *intervals;
	struct frag_place *places;
	struct frag_tape **changed_parts;       /* of tuned places, with the line of code */
	struct frag_smallreq_cache smalls;      /* what they share */
	uint32_t place_count, tuned; /* the first `tuned` are of the sources, the others of tests */
};

/*
 * Fills in the results; the caller must release them with frag_tune_fini(), also on failure.
 * -FRAG_EINTERRUPTED, -FRAG_ENOMEM, or a failure of a policy.
 */
int frag_tune_run(struct frag_tune *tune, struct frag_error *err);
/* Why a setting was skipped: its policy failed, as a rule of PyTorch's own does. NULL: it was not. */
const char *frag_tune_why(const struct frag_tune *tune, uint32_t choice);
/* Is the line of code clearly better than this point: 2 % smaller, or on a device given it fits? */
bool frag_tune_code_is_better(const struct frag_tune *tune, const struct frag_point *than);
void frag_tune_fini(struct frag_tune *tune);
