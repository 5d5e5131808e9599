/*
 * block_makers.h - the phases of a program, and what blocks are by the phase that requested them.
 *
 * A recording with stacks records for each request whether a module was set up, or a forward
 * pass, a backward pass or an optimizer asked (enum frag_maker). Where others have a stack and
 * one has none, a thread without Python frames asked: that of autograd. Requests of one part, up
 * to the next part, are a *phase*. So:
 *
 *   set up, and not freed before the phase ends         weights
 *   forward, recomputed forward                         activations
 *   backward, there at the last request of the phase,
 *   has the size of a weight, or of one that the program
 *   frees outside backward passes                       gradients; else activations
 *   optimizer, outlives the next steps                  optimizer state; else temporaries
 *   program, between backward and optimizer, of such a size         gradients, by size
 *   program, before the first optimizer step, never freed, has the
 *   size of an optimizer's state                                    weights, by size
 *   program, between forward and backward, freed, or freed
 *   between the requests of a later backward phase                  activations
 *
 * Instead of a stack a tag may have the phase: "op | step1 bwd", as scripts/record_torch.py writes
 * it. These are used where the tags of a recording have forward and backward phases.
 *
 * Of blocks from before the recording, those of sizes that gradients have: what is freed were
 * gradients. Each weight has one gradient and the same number of optimizer states, so of the others
 * there is a multiple of the gradients, one for all sizes: the first part is weights, the others
 * optimizer state. Sizes with more blocks have others too, such as frozen weights. All else is
 * unknown.
 */
#pragma once

#include "base/hash.h"
#include "events/tape.h"
#include "explain/block_classes.h"

/* Requests of one part of the program, up to the next phase. */
struct frag_phase {
	uint64_t from, last;            /* steps of its first and last request */
	enum frag_maker part;           /* never UNKNOWN or RECOMPUTE */
};

/* How many blocks of a size were set up, outlived one backward phase, or one optimizer phase. */
struct frag_size_counts {
	uint64_t bytes;
	uint32_t set_up, gradients, optimizer;
	uint32_t before;                /* older than the recording, */
	uint32_t before_freed;          /* and freed in it */
	uint32_t classified;            /* of these, so far */
	uint32_t released;              /* by the program, and made by a backward pass */
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
	bool silent;                    /* none has either: no sizes are counted, as there may be many */
	uint8_t *of_tag;                /* by tag: its phase; NULL: stacks say it */
	uint32_t tag_count;
	uint64_t first_optimizer;       /* step; UINT64_MAX: none */
	uint32_t multiple;              /* of the gradients; 0: not known yet */
};

/* The maker of a block from before the recording. */
#define FRAG_MAKER_BEFORE (FRAG_MAKER_PROGRAM + 1)

/* Reads the phases of the tape's tags, where stacks say none. Release it also where it fails. */
bool frag_makers_init(struct frag_makers *m, const struct frag_tape *tape);
void frag_makers_fini(struct frag_makers *m);

/* The next event. *maker: of an alloc, or FRAG_MAKER_BEFORE. False: out of memory. */
bool frag_makers_note(struct frag_makers *m, const struct frag_event *ev, uint8_t *maker);

/* After the last event, where there is a phase: the last one is over, too. False: out of memory. */
bool frag_makers_count_survivors(struct frag_makers *m);

/* What is known of blocks of a size; NULL: nothing. */
struct frag_size_counts *frag_makers_find_row(const struct frag_makers *m, uint64_t bytes);

/* The index of the first phase that begins after the step; phase_count: none does. */
uint32_t frag_makers_phase_after(const struct frag_makers *m, uint64_t step);

/*
 * A verb: derives the class of the next block from the part that allocated it and from its lifetime.
 * Of blocks from before the recording those of one size are classified in their order.
 */
enum frag_life_class frag_makers_class(struct frag_makers *m, uint8_t maker, uint64_t birth,
				       uint64_t freed, uint64_t bytes,
				       enum frag_class_evidence *evidence);
