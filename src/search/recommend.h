/*
 * recommend.h - the one ranking of allocator settings: which setting a program should have.
 *
 * Settings that fit the device reliably come first: no capacity between their smallest and the
 * device's fails. Of these the one that leaves the most bytes is the best, and those that leave less
 * by under 2 % of the smallest device are as good. Of equals the one with the fewest keys is
 * recommended, then the one with the fewest calls of the driver. The program's own setting, which is
 * the first candidate, wins where it is as good.
 */
#pragma once

#include "search/fit_all.h"
#include "search/settings_grid.h"

/* Devices that differ by less than this part are as good as each other. */
#define FRAG_EQUAL_DEVICES 0.02

enum frag_rank_status {
	FRAG_RANK_OPEN,            /* not tried */
	FRAG_RANK_FITS, FRAG_RANK_OOM,
	FRAG_RANK_SKIPPED,         /* the program's release or device does not have it */
	FRAG_RANK_ERROR,           /* its simulation fails */
};

/* A setting on all places at once. Capacities: of the first place's device; UINT64_MAX: not known. */
struct frag_setting_rank {
	struct frag_choice *choices;    /* one a source: the program's own with this setting */
	struct frag_fit_intervals *intervals;   /* one a place, */
	struct frag_fit_intervals **by_place;   /* and their addresses */
	enum frag_rank_status status;      /* on the device, or on the one that is named */
	char line[FRAG_GRID_TEXT];      /* the setting as it was given */
	uint32_t keys;
	bool walked;                    /* all capacities up to the device were examined: */
	bool without_gaps;              /* no capacity above its smallest fails */
	uint64_t smallest, reliable;
	uint64_t fails_at;              /* the highest capacity that is known to fail; 0: none */
	struct frag_attempt at;         /* on the device, or on `reliable`; where it fits */
	char why[240];                  /* it was skipped, or cannot be simulated; else "" */
};

struct frag_recommendation {
	/* the question. Borrowed. The programs' own settings are the first choice of each source */
	const struct frag_fit_source *sources;
	uint32_t source_count;
	const struct frag_grid *grid;   /* settings to try; NULL: frag_grid_short */
	uint64_t total;         /* of each device; 0: as the sources' devices have it, 0: none */
	double spare;           /* 0.05: on every device from total / 1.05 on */
	bool no_expandable;     /* none with expandable segments */
	bool own;               /* the own setting's smallest and reliable capacities, too; */
	bool every;             /* of every candidate whether it fits, too; */
	bool exact;             /* and its smallest and reliable capacities */
	const char *also;               /* a setting that is tried and examined, too; NULL: none */
	const uint64_t *requested;      /* peak of each device of the one source; NULL: not known */
	const struct frag_driver_model *model;
	struct frag_job job;            /* shows "settings" */
	/* the answer */
	struct frag_setting_rank *candidates;      /* the first has the programs' own settings */
	uint32_t count, capacity;
	uint32_t best;                  /* the recommended one; 0: the first is as good, or FRAG_ALL */
	uint32_t also_index;            /* its candidate; 0: none */
	bool no_spare;                  /* none fits with `spare`, which was given up */
	uint64_t lower_bound;           /* below, nothing fits */
	/* of the search */
	struct frag_place *places;
	struct frag_interval *unlimited;        /* by place: the own settings without a limit; no steps:
					 * not run; NULL: interrupted */
	struct frag_smallreq_cache smalls;
	uint32_t place_count;
	uint64_t device;                /* of the first place; 0: none is given */
};

/*
 * Fills in the answer; the caller must release it with frag_recommend_fini(), also on failure.
 * Policies without settings have no candidates but their own. -FRAG_ENOMEM, -FRAG_EINTERRUPTED
 */
int frag_recommend(struct frag_recommendation *r, struct frag_error *err);
void frag_recommend_fini(struct frag_recommendation *r);

/* The recommended candidate; NULL: the program's own is as good, or none fits. */
static inline const struct frag_setting_rank *frag_recommended(const struct frag_recommendation *r)
{
	return r->best && r->best < r->count ? &r->candidates[r->best] : NULL;
}

/*
 * What was simulated of a choice on a device of a source; NULL: nothing, as where r is NULL.
 * *unlimited: as frag_fit_case_unlimited() returns it, or NULL; not wanted: NULL. Both last as long
 * as the recommendation.
 */
const struct frag_fit_intervals *frag_recommend_intervals(const struct frag_recommendation *r,
							  uint32_t source, uint32_t device,
							  const struct frag_choice *choice,
							  const struct frag_interval **unlimited);

/* How many other settings were tried. */
uint32_t frag_recommend_tried(const struct frag_recommendation *r);

/* Bytes of the device that it leaves reliably; UINT64_MAX: not known, or there is no device. */
static inline uint64_t frag_setting_left(const struct frag_recommendation *r,
					   const struct frag_setting_rank *c)
{
	return r->device && c->reliable <= r->device ? r->device - c->reliable : UINT64_MAX;
}
