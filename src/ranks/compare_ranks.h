/*
 * compare_ranks.h - compares the ranks of a distributed job: finds those that differ.
 *
 * A rank is an outlier if the distance of a metric from the median of all ranks exceeds five times
 * the median of these distances (Hampel 1974), so that a minority of outliers cannot hide; and if
 * it exceeds a threshold, so that small differences between nearly equal ranks do not count.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/job.h"
#include "fragsim/engine.h"

/*
 * A tag of many traces. Tags of different traces are equal if their texts are. Blocks without a
 * tag are distinguished by the requested size.
 */
struct frag_owner {
	char *tag;              /* as JSON text with its quotes; NULL: none, but a size */
	uint64_t size;
};

/* What an owner has: bytes of live blocks, as the allocator rounds them. */
struct frag_rank_share {
	uint64_t bytes;
	uint32_t owner;
};

/* In what a row differs from what it is compared with; the most first. */
struct frag_rank_differences {
	struct frag_rank_difference {
		const struct frag_owner *owner;
		uint64_t bytes, other;
	} *list;
	uint32_t count;         /* that are kept */
	uint32_t all;
};

/* A metric of a row, by which ranks are compared. */
enum frag_rank_figure {
	FRAG_RANK_RESERVED,     /* at the peak */
	FRAG_RANK_REQUESTED,    /* the most at once */
	FRAG_RANK_LOST,         /* at the peak of reserved */
	FRAG_RANK_FIGURES
};

/* A rank on one device. */
struct frag_ranked {
	uint64_t number;        /* of the rank */
	uint32_t source;        /* which of the files */
	uint32_t device;        /* ordinal in it */
	uint64_t total, context;        /* of the device; total of 0: no capacity */
	enum frag_run_status status;
	uint64_t figure[FRAG_RANK_FIGURES];
	uint64_t peak_step;
	uint64_t ooms, oom_step, oom_size;      /* the first one; where there are some */
	char *oom_tag;          /* of its request, as JSON text; NULL: none */
	struct frag_rank_share *held;   /* at the peak of reserved; by owner */
	uint32_t held_count;
	/* the result of its comparison: */
	bool compared;          /* else the rank has ten times as much on another device */
	unsigned apart;         /* a bit for each metric that is far from the median */
	bool apart_oom;         /* it has an OOM, and most ranks have none */
	struct frag_rank_differences from_median;       /* where it stands out */
};

/* How a trace is run. All is borrowed. */
struct frag_rank_work {
	const struct frag_tape *tape;
	const struct frag_choice *choice;
	const struct frag_device_figures *devices;
	uint32_t source;
	struct frag_job job;
};

#define FRAG_RANK_SPREADS 5             /* times the median distance */
#define FRAG_RANK_FLOOR_PART 100        /* of the median of reserved, where no floor is given */
#define FRAG_RANK_DIFFERENCES 100       /* that are kept of a rank that stands out */
#define FRAG_RANK_COMPARED_MIN 3        /* of two neither is the exception */

struct frag_ranking {
	uint64_t floor;                 /* bytes; UINT64_MAX: not given. Set in any case */
	struct frag_ranked *rows;       /* once they are compared, by number, then by device */
	uint32_t count, capacity;
	/* each tag of all traces once; places depend on the threads, so no output may use them */
	struct frag_owner *owners;
	uint32_t owner_count, owner_capacity;
	struct frag_map owner_at;       /* hash -> place */
	pthread_mutex_t lock;
	bool ready;                     /* both of them are initialized */
	/* the result */
	uint32_t compared, apart;       /* rows */
	uint32_t ooms;                  /* rows that ran out of memory */
	uint64_t median[FRAG_RANK_FIGURES], limit[FRAG_RANK_FIGURES];
	uint64_t least[FRAG_RANK_FIGURES], most[FRAG_RANK_FIGURES];     /* of those compared */
	uint32_t worst;                 /* row: of those that ran out of memory, else of all, the
					 * one with most reserved; of equals the first */
	bool alike;                     /* all metrics of the compared rows are equal */
	/* the compared rows with most and least reserved, of equals the first; `between` has their
	 * differences if no row is an outlier and their distance exceeds the threshold */
	uint32_t highest, lowest;
	struct frag_rank_differences between;
};

/* False: out of memory. frag_ranking_fini() is needed in any case. */
bool frag_ranking_init(struct frag_ranking *ranking);

/*
 * Runs one trace, from any thread, and adds a row for each device on which something is allocated,
 * or for the first one where that is none. A row has the metrics of the run and the top tags at its
 * peak, so memory does not grow with the traces. -FRAG_ENOMEM, -FRAG_EINTERRUPTED, or what a
 * simulation returns.
 */
int frag_ranking_add(struct frag_ranking *ranking, const struct frag_rank_work *work,
		     struct frag_error *err);

/* Compares the rows. numbers: of the ranks, one a source. -FRAG_ENOMEM */
int frag_ranking_compare(struct frag_ranking *ranking, const uint64_t *numbers,
			 struct frag_error *err);
void frag_ranking_fini(struct frag_ranking *ranking);   /* one that is zeroed is fine */

/* The maximum of all rows, compared or not. */
uint64_t frag_ranking_most(const struct frag_ranking *ranking, int figure);

/* "reserved", "requested", "wasted". */
extern const char *const frag_rank_figure_names[FRAG_RANK_FIGURES];
