/* tape_input.h - what buffers.c and slots.c share while they read a tape. */
#ifndef PLAN_TAPE_INPUT_H
#define PLAN_TAPE_INPUT_H

#include "events/stream_pool_names.h"
#include "plan/plan.h"

/* Is it a mark of such a name, in which * is any characters and ? one? NULL: no name is. */
bool frag_plan_is_mark(const struct frag_event *ev, const char *name);

/* The space of a device's pool, which may be a new one. UINT32_MAX: memory is short. */
uint32_t frag_plan_space_of(struct frag_plan *plan, const struct frag_tape *tape, uint32_t device,
			    uint32_t pool);

/* At the end: spaces without buffers go, and the others are put in order. -FRAG_ENOMEM */
int frag_plan_order_spaces(struct frag_plan *plan, struct frag_error *err);

#endif
