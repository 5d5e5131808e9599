/*
 * block_makers.h - what blocks are, by the part of the program that requested them.
 *
 * A recording with stacks records for each request whether a module was set up, or a forward
 * pass, a backward pass or an optimizer asked (enum frag_maker). Where others have a stack and
 * one has none, a thread without Python frames asked: that of autograd. Requests of one part, up
 * to the next part, are a *phase*. So:
 *
 *   set up, and not freed before the phase ends         weights
 *   forward, recomputed forward                         activations
 *   backward, there at the last request of the phase,
 *   has the size of a weight                            gradients; else activations
 *   optimizer, outlives the next steps                  optimizer state; else temporaries
 *   program, between backward and optimizer, of such a size         gradients, by size
 *   program, before the first optimizer step, never freed, has the
 *   size of an optimizer's state                                    weights, by size
 *   program, between forward and backward, freed                    activations
 *
 * Instead of a stack a tag may have the phase: "op | step1 bwd", as scripts/record_torch.py writes
 * it. These are used where the tags of a recording have forward and backward phases.
 *
 * Of blocks from before the recording, those of sizes that gradients have: what is freed were
 * gradients; of the others as many as there are gradients are weights, twice as many optimizer
 * state. All else is unknown.
 */
#ifndef SEARCH_BLOCK_MAKERS_H
#define SEARCH_BLOCK_MAKERS_H

#include "base/hash.h"
#include "fragsim/engine.h"
#include "search/block_classes.h"

/* Requests of one part of the program, up to the next phase. */
struct frag_phase {
	uint64_t from, last;            /* steps of its first and last request */
	enum frag_maker part;           /* never UNKNOWN or RECOMPUTE */
};

/* How many blocks of a size were set up, outlived one backward phase, or one optimizer phase. */
struct frag_size_counts {
	uint32_t set_up, gradients, optimizer;
	uint32_t before;                /* older than the recording */
	uint32_t classified;            /* of these, so far */
};

struct frag_maker_slot {
	uint64_t bytes;
	uint32_t phase;                 /* in which it was requested, and 1; 0: nothing is here */
};

/* Zeroed: nothing is known. */
struct frag_makers {
	struct frag_phase *phases;      /* in their order */
	uint32_t phase_count, phase_capacity;
	struct frag_maker_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct frag_map row_of;         /* by bytes */
	struct frag_size_counts *rows;
	uint32_t row_count, row_capacity;
	uint32_t ends[FRAG_MAKER_PROGRAM + 1];  /* phases of a part whose survivors were counted */
	bool any;                       /* some request has a stack, or all have a phase */
	uint8_t *of_tag;                /* by tag: its phase; NULL: stacks say it */
	uint32_t tag_count;
	uint64_t first_optimizer;       /* step; UINT64_MAX: none */
};

/* False: out of memory; call fini in both cases. */
bool frag_makers_init(struct frag_makers *m, const struct frag_tape *tape);
void frag_makers_fini(struct frag_makers *m);

/* The next event. *maker: of an alloc; or from before the recording. False: out of memory */
#define FRAG_MAKER_BEFORE (FRAG_MAKER_PROGRAM + 1)
bool frag_makers_note(struct frag_makers *m, const struct frag_event *ev, uint8_t *maker);

/* After the last event. False: out of memory */
bool frag_makers_end(struct frag_makers *m);

/* After that. Blocks from before the recording come in the order of addresses. */
enum frag_life_class frag_makers_class(struct frag_makers *m, uint8_t maker, uint64_t birth,
				       uint64_t freed, uint64_t bytes,
				       enum frag_class_evidence *evidence);

#endif
