/* claim.c - states what a recording proves of the capacity that its program needs. */
#include "scope/claim.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "events/tape.h"

enum frag_part frag_scope_part(const struct frag_scope *scope)
{
	if (scope->begins == FRAG_BEGINS_STATE)
		return FRAG_PART_STATE;
	if (scope->begins == FRAG_BEGINS_LATE)
		return FRAG_PART_LATE;
	return scope->ends == FRAG_ENDS_OOM ? FRAG_PART_OOM
	     : scope->ends == FRAG_ENDS_CUT ? FRAG_PART_CUT : FRAG_PART_WHOLE;
}

const struct frag_scope *frag_scope_less(const struct frag_scope *a, const struct frag_scope *b)
{
	return frag_scope_part(b) > frag_scope_part(a) ? b : a;
}

/* Bytes of the live blocks of one device, as its events go by. */
struct live {
	const struct frag_claim_facts *of;
	uint64_t param[FRAG_PARAMS_MAX];        /* as the last `configure` left them */
	uint64_t *slots;                        /* bytes of the block in each */
	uint32_t capacity;
	uint64_t now, peak;
};

/* What the block of a request has under the policy, wherever it is. */
static uint64_t block_bytes(const struct live *l, const struct frag_event *ev)
{
	const struct frag_policy_ops *ops = l->of->choice->ops;
	const uint64_t least = ev->place && ev->place->least ? ev->place->least : ev->bytes;

	return ops->round && least ? ops->round(l->param, l->of->figures->granularity, least)
				   : least;
}

static int follow(struct live *l, const struct frag_event *ev, struct frag_error *err)
{
	const struct frag_policy_ops *ops = l->of->choice->ops;

	/* settings that are omitted have no value */
	if (ev->op == FRAG_OP_CONFIGURE && ops->settings && ev->members & FRAG_HAS_VALUE)
		return ops->settings(l->param, ev->text.text, ev->text.length, err);
	if (ev->device != l->of->device || (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE))
		return 0;
	if (!FRAG_GROW(l->slots, l->capacity, ev->slot))
		return frag_fail_nomem(err);
	if (ev->op == FRAG_OP_ALLOC) {
		l->slots[ev->slot] = block_bytes(l, ev);
		l->now += l->slots[ev->slot];
	} else {
		l->now -= l->slots[ev->slot];
	}
	l->peak = frag_max(l->peak, l->now);
	return 0;
}

/*
 * The highest sum of live blocks. A block that was freed and is pending counts no longer: when it
 * stops being pending can depend on the device.
 */
static int find_live_peak(uint64_t *bytes, const struct frag_claim_facts *of,
			  struct frag_error *err)
{
	struct live l = { .of = of };
	struct frag_tape_walk walk = { .reader = frag_tape_reader_new(of->tape) };
	const struct frag_event *ev;
	int rc = walk.reader ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < FRAG_PARAMS_MAX; i++)
		l.param[i] = of->choice->param[i];
	while (!rc && (ev = frag_tape_walk_next(&walk)))
		rc = follow(&l, ev, err);
	*bytes = l.peak;
	frag_tape_reader_del(walk.reader);
	free(l.slots);
	return rc;
}

/*
 * A device on which the whole program completes completes each of its beginnings, so of those the
 * smallest device is a bound. Of any other part it is not, as the allocator may have been in another
 * state on another device: there only the blocks count, which are live together wherever they are.
 */
int frag_claim_make(struct frag_claim *claim, const struct frag_claim_facts *f,
		    struct frag_error *err)
{
	const uint64_t taken = f->figures->context + f->figures->other;
	uint64_t bytes;
	int rc;

	claim->part = frag_scope_part(f->scope);
	claim->at_least = f->smallest;
	if (claim->part < FRAG_PART_LATE && f->smallest != UINT64_MAX)
		return 0;
	rc = find_live_peak(&bytes, f, err);
	bytes = taken + frag_round_up(bytes, f->figures->granularity);
	claim->at_least = claim->part < FRAG_PART_LATE ? frag_max(bytes, f->examined_to) : bytes;
	return rc;
}

void frag_claim_all(struct frag_claim *claim, const struct frag_claim *other)
{
	claim->part = other->part > claim->part ? other->part : claim->part;
	claim->at_least = frag_max(claim->at_least, other->at_least);
}

void frag_claim_any(struct frag_claim *claim, const struct frag_claim *other)
{
	claim->part = other->part > claim->part ? other->part : claim->part;
	claim->at_least = frag_min(claim->at_least, other->at_least);
}
