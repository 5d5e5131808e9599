/*
 * compare_ranks.h - the ranks of a distributed job beside each other: which stand out, and in what.
 *
 * A rank stands out by a figure that is further from the median of all than five times the median
 * of those distances (Hampel 1974), so that no number of odd ranks below half hides them; and
 * further than a floor, so that where most are alike to the byte a small difference is none.
 */
#ifndef RANKS_COMPARE_RANKS_H
#define RANKS_COMPARE_RANKS_H

#include "ranks/rank_run.h"

#define FRAG_RANK_SPREADS 5             /* times the median distance */
#define FRAG_RANK_FLOOR_PART 100        /* of the median of reserved, where no floor is given */
#define FRAG_RANK_DIFFERENCES 100       /* that are kept of a rank that stands out */
#define FRAG_RANK_COMPARED_MIN 3        /* of two nobody knows which is odd */

struct frag_ranking {
	uint64_t floor;                 /* bytes; UINT64_MAX: not given. Set in any case */
	struct frag_ranked *rows;       /* by number, then by device */
	uint32_t count;
	/* what comes of it */
	uint32_t compared, apart;       /* rows */
	uint32_t ooms;                  /* rows that ran out of memory */
	uint64_t median[FRAG_RANK_FIGURES], limit[FRAG_RANK_FIGURES];
	uint64_t least[FRAG_RANK_FIGURES], most[FRAG_RANK_FIGURES];     /* of those compared */
	uint32_t worst;                 /* row: of those that ran out of memory, else of all, the
					 * one with most reserved; of equals the first */
	bool alike;                     /* all figures of those compared are the same */
	/* of those compared the rows with most and least reserved, of equals the first; where none
	 * stands out, and they are further apart than the floor, what the one has else */
	uint32_t highest, lowest;
	struct frag_rank_differences between;
};

/*
 * The numbers of ranks by their names: what follows the last "rank" of each, or else the one
 * number in which the names differ. False where that is not so for all, or two have the same:
 * then they are those of the places.
 */
bool frag_rank_numbers(const char *const *names, uint32_t count, uint64_t *numbers);

/* Compares the rows, which are there. -FRAG_ENOMEM */
int frag_ranking_compare(struct frag_ranking *ranking, const struct frag_owners *owners,
			 struct frag_error *err);
void frag_ranking_fini(struct frag_ranking *ranking);   /* one that is zeroed is fine */

/* The most that any row has, compared or not. */
uint64_t frag_ranking_most(const struct frag_ranking *ranking, int figure);

/* "reserved", "requested", "wasted". */
extern const char *const frag_rank_figure_names[FRAG_RANK_FIGURES];

#endif
