/*
 * compare_ranks.h - compares the ranks of a distributed job: finds those that differ.
 *
 * A rank is an outlier if the distance of a metric from the median of all ranks exceeds five times
 * the median of these distances (Hampel 1974), so that a minority of outliers cannot hide; and if
 * it exceeds a threshold, so that small differences between nearly equal ranks do not count.
 */
#ifndef RANKS_COMPARE_RANKS_H
#define RANKS_COMPARE_RANKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "fragsim/engine.h"

/*
 * One rank of a distributed job: the run of its trace, and the top tags at its peak.
 *
 * A run keeps its metrics, and the top tags of each device. The trace and the simulation are freed
 * after it, so memory does not grow with the number of ranks.
 */

/*
 * The tags of many traces: each tag once, with a number.
 *
 * Tags of different traces are equal if their texts are. Blocks without a tag are distinguished by
 * the requested size. Numbers depend on the order of the threads, so no output may use them.
 */
struct frag_owner {
	char *tag;              /* as JSON text with its quotes; NULL: none, but a size */
	uint64_t size;
};

struct frag_owners {
	struct frag_owner *list;
	uint32_t count, capacity;
	struct frag_map at;     /* hash -> number */
	pthread_mutex_t lock;
};

#define FRAG_NO_OWNER UINT32_MAX

/* False: out of memory, and there is nothing to release. */
bool frag_owners_init(struct frag_owners *owners);
void frag_owners_fini(struct frag_owners *owners);

#define FRAG_HELD_MAX 1000      /* tags of a row: all others have less than a thousandth each */

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
	uint64_t number;        /* of the rank: the caller's to set */
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
	struct frag_owners *owners;
	bool (*stop)(void *ctx);        /* optional */
	void *ctx;
};

/*
 * A row for each device on which something is allocated, and for the first one where that is
 * none; both are released with frag_ranked_fini() and free(). -FRAG_ENOMEM, -FRAG_EINTERRUPTED,
 * or what a simulation returns; nothing is left then.
 */
int frag_ranked_run(struct frag_ranked **rows, uint32_t *count, const struct frag_rank_work *work,
		    struct frag_error *err);
void frag_ranked_fini(struct frag_ranked *row);

#define FRAG_RANK_SPREADS 5             /* times the median distance */
#define FRAG_RANK_FLOOR_PART 100        /* of the median of reserved, where no floor is given */
#define FRAG_RANK_DIFFERENCES 100       /* that are kept of a rank that stands out */
#define FRAG_RANK_COMPARED_MIN 3        /* of two neither is the exception */

struct frag_ranking {
	uint64_t floor;                 /* bytes; UINT64_MAX: not given. Set in any case */
	struct frag_ranked *rows;       /* by number, then by device */
	uint32_t count;
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

/*
 * The numbers of ranks by their names: the number after the last "rank" of each, or else the one
 * number in which the names differ. False if a name has no such number or two are equal: then the
 * numbers are the indexes.
 */
bool frag_rank_numbers(const char *const *names, uint32_t count, uint64_t *numbers);

/* The number after the last "rank" of a name: 3 of "out/rank-03/trace.gz". False: none. */
bool frag_rank_number(const char *name, uint64_t *number);

/* Compares the rows, which are there. -FRAG_ENOMEM */
int frag_ranking_compare(struct frag_ranking *ranking, const struct frag_owners *owners,
			 struct frag_error *err);
void frag_ranking_fini(struct frag_ranking *ranking);   /* one that is zeroed is fine */

/* The maximum of all rows, compared or not. */
uint64_t frag_ranking_most(const struct frag_ranking *ranking, int figure);

/* "reserved", "requested", "wasted". */
extern const char *const frag_rank_figure_names[FRAG_RANK_FIGURES];

#endif
