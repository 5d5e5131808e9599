/*
 * claim.h - states what a recording proves of the capacity that its program needs.
 *
 * Simulations are exact for the recorded events. What a recording does not contain decides which
 * of their results hold for the program: all, or a lower bound alone. Every answer about a capacity
 * takes its bound from here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/policy.h"
#include "fragsim/trace.h"

/* Which part of the run a recording is, by what that leaves of an answer. */
enum frag_part {
	FRAG_PART_WHOLE,        /* the smallest device of the recording is that of the program */
	FRAG_PART_OOM,          /* a beginning: its smallest device is a lower bound. It ends at its
				 * OOM, or */
	FRAG_PART_CUT,          /* events were lost */
	FRAG_PART_LATE,         /* its events, without those that made its first segments */
	FRAG_PART_STATE,        /* its last state alone */
};

enum frag_part frag_scope_part(const struct frag_scope *scope);

/* Of several recordings the one that proves least. */
const struct frag_scope *frag_scope_less(const struct frag_scope *a, const struct frag_scope *b);

/* Bytes of device that the program needs. */
struct frag_claim {
	enum frag_part part;            /* FRAG_PART_WHOLE: at_least is exact */
	uint64_t at_least;              /* UINT64_MAX: no device is enough */
};

/* Do answers name devices, and counts of programs on them, that fit? */
static inline bool frag_claim_is_exact(const struct frag_claim *claim)
{
	return claim->part == FRAG_PART_WHOLE;
}

/* What simulations found under one policy on one device of a recording. */
struct frag_claim_facts {
	const struct frag_scope *scope;
	const struct frag_tape *tape;
	const struct frag_choice *choice;
	const struct frag_device_figures *figures;
	uint32_t device;                /* ordinal */
	uint64_t smallest;              /* UINT64_MAX: not found; and no device below this fits: */
	uint64_t examined_to;           /* UINT64_MAX: none does */
};

/* -FRAG_ENOMEM */
int frag_claim_make(struct frag_claim *claim, const struct frag_claim_facts *facts,
		    struct frag_error *err);

/*
 * The claim about a device on which several programs, or one under several settings, fit: all of
 * them, so the largest bound counts; or under any of the settings, so the smallest does.
 */
void frag_claim_all(struct frag_claim *claim, const struct frag_claim *other);
void frag_claim_any(struct frag_claim *claim, const struct frag_claim *other);
