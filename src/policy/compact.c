/*
 * compact.c - another policy, with relocation: where that policy fails, the cheapest move of
 * live blocks after which the request succeeds.
 *
 * Every hook calls the other policy; this policy owns its state. compaction/move_candidates.h
 * finds the candidates; the last one is all blocks. Each candidate is tried in a fork: its blocks
 * are freed, the request is allocated, the blocks are allocated again, the largest first. The
 * first candidate for which all requests succeed is carried out. If there is none, the state and
 * the failure of the other policy remain.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/parse.h"
#include "heap/relocate.h"
#include "policy/fit_keys.h"
#include "policy/heap_access.h"
#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"
#include "compaction/move_candidates.h"
#include "heap/fork.h"

/* Places in the array of parameters: this policy's own, then those of the others. */
enum { OVER, BLOCK_COST, OF_PYTORCH, OF_BESTFIT = OF_PYTORCH + PYTORCH_KEYS,
       COMPACT_KEYS = OF_BESTFIT + FIT_KEYS };

_Static_assert(COMPACT_KEYS <= FRAG_PARAMS_MAX, "as many keys as a policy can have");

/* A policy that this one can be over. */
struct base {
	const struct frag_policy_ops *ops;
	uint32_t first, count;  /* its keys */
	bool streams;           /* the number of a list is its stream's, twice, and one bit */
};

static const struct base bases[] = {
	{ .ops = &frag_policy_pytorch,
	  .first = OF_PYTORCH,
	  .count = PYTORCH_KEYS,
	  .streams = true },
	{ .ops = &frag_policy_bestfit, .first = OF_BESTFIT, .count = FIT_KEYS },
};
#define BASES (sizeof(bases) / sizeof(bases[0]))

static bool parse_over(const char *text, size_t length, uint64_t *value)
{
	for (*value = 0; *value < BASES; ++*value)
		if (frag_is_word(text, length, bases[*value].ops->name))
			return true;
	return false;
}

static void print_over(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", bases[value].ops->name);
}

static const struct frag_param_spec compact_params[] = {
	[OVER] = {
		.name = "over", .type = FRAG_PARAM_OWN, .expects = "pytorch or bestfit",
		.parse = parse_over, .print = print_over,
		.help = "the policy that decides until it is out of memory" },
	[BLOCK_COST] = {
		.name = "block_cost", .type = FRAG_PARAM_SIZE, .fallback = FRAG_BLOCK_COST,
		.min = 1, .max = UINT64_C(1) << 40,
		.help = "cost of a move for each block, in addition to its bytes" },
	FRAG_PYTORCH_KEYS(OF_PYTORCH, "over=pytorch: "),
	FRAG_FIT_KEYS(OF_BESTFIT, "over=bestfit: "),
	{ 0 },
};

static const struct base *base_of(const struct frag_policy *p)
{
	return &bases[p->param[OVER]];
}

/* The other policy, on this one's heap and state. */
static struct frag_policy inner_of(const struct frag_policy *p)
{
	const struct base *base = base_of(p);

	return (struct frag_policy){
		.ops = base->ops, .heap = p->heap, .state = p->state,
		.param = p->param + base->first, .err = p->err,
	};
}

static bool is_default(const uint64_t *param, uint32_t i)
{
	const char *as = compact_params[i].same_as;
	uint32_t k = 0;

	while (as && !frag_is_word(as, strlen(as), compact_params[k].name))
		k++;
	return param[i] == (as ? param[k] : compact_params[i].fallback);
}

/* A key of a policy other than the base has no effect, so it is refused. */
static int compact_check(const uint64_t *param, struct frag_error *err)
{
	const struct base *over = &bases[param[OVER]];

	for (const struct base *base = bases; base < bases + BASES; base++)
		for (uint32_t i = base->first; base != over && i < base->first + base->count; i++)
			if (!is_default(param, i))
				return frag_fail(err, FRAG_EUSAGE, "policy compact: %s is a key of"
						 " over=%s, not of over=%s", compact_params[i].name,
						 base->ops->name, over->ops->name);
	return over->ops->check ? over->ops->check(param + over->first, err) : 0;
}

static int compact_init(struct frag_policy *p)
{
	struct frag_policy inner = inner_of(p);

	return inner.ops->init(&inner);
}

static int compact_restore_segment(struct frag_policy *p, const struct frag_restored_segment *seg,
				   frag_block *out)
{
	struct frag_policy inner = inner_of(p);

	*out = FRAG_NO_BLOCK;
	return inner.ops->restore_segment ? inner.ops->restore_segment(&inner, seg, out) : 0;
}

static int compact_restore_block(struct frag_policy *p, const struct frag_request *rq,
				 frag_block hole, uint64_t offset, uint64_t bytes, uint64_t room,
				 frag_block *out)
{
	struct frag_policy inner = inner_of(p);

	return inner.ops->restore_block(&inner, rq, hole, offset, bytes, room, out);
}

/* A request that was refused, and what could be done for it. */
struct refused_request {
	const struct frag_request *rq;
	struct frag_memory_state state;
	struct frag_move_candidates candidates;
	struct frag_request *requests;  /* of the blocks of a candidate, in its order */
	frag_block *moved;              /* where those are now */
	struct place {
		uint64_t offset;
		uint32_t ordinal;       /* of the segment */
	} *before;                      /* where they were */
};

static struct place place_of(const struct frag_heap *heap, frag_block b)
{
	const struct frag_block_view k = frag_heap_look_unchecked(heap, b);

	return (struct place){ k.offset,
			       frag_heap_look_segment_unchecked(heap, k.segment).ordinal };
}

/* Rebuilds the request of a block: its pool and stream are those of its list. */
static struct frag_request request_of(const struct frag_policy *p, frag_block b, uint64_t tick)
{
	const struct frag_block_view k = frag_heap_look_unchecked(p->heap, b);
	const struct frag_segment_view s = frag_heap_look_segment_unchecked(p->heap, k.segment);
	const struct frag_list_view list = frag_heap_look_list_unchecked(p->heap, s.list);

	return (struct frag_request){
		.bytes = k.requested, .pool = s.pool, .tick = tick, .stream_order = list.user,
		.stream = base_of(p)->streams ? list.which / 2 : 0,
	};
}

static frag_block compact_block_of(const struct refused_request *refused,
				   const struct frag_move_candidate *candidate, uint32_t i)
{
	return refused->state.blocks[candidate->blocks[i]].block;
}

/*
 * Frees these blocks, allocates the request and then the blocks again. Returns 0, -FRAG_EDEVMEM,
 * or another failure of the policy.
 */
static int compact_move(struct frag_policy *inner, struct refused_request *refused,
			const struct frag_move_candidate *candidate, frag_block *out)
{
	int rc = 0;

	for (uint32_t i = 0; i < candidate->count && !rc; i++)
		rc = inner->ops->free(inner, compact_block_of(refused, candidate, i));
	rc = rc ? rc : inner->ops->alloc(inner, refused->rq, out);
	for (uint32_t i = 0; i < candidate->count && !rc; i++)
		rc = inner->ops->alloc(inner, &refused->requests[i], &refused->moved[i]);
	return rc;
}

/* The same in a fork. */
static int compact_try_move(const struct frag_policy *p, struct refused_request *refused,
			    const struct frag_move_candidate *candidate)
{
	struct pytorch state = *(const struct pytorch *)p->state;
	struct frag_policy inner = inner_of(p);
	struct frag_fork fork;
	frag_block out;
	int rc = frag_heap_fork(&fork, p->heap);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < candidate->count; i++)
		refused->requests[i] =
			request_of(p, compact_block_of(refused, candidate, i), refused->rq->tick);
	inner.heap = fork.heap;
	inner.state = &state;
	rc = compact_move(&inner, refused, candidate, &out);
	frag_heap_del(fork.heap);
	return rc;
}

/* What was called b; of two blocks that were given each other's handles. */
static frag_block compact_renamed(frag_block b, frag_block x, frag_block y)
{
	return b == x ? y : b == y ? x : b;
}

/*
 * Carries out a move that succeeded in a fork. Callers keep block handles, so each moved block
 * gets its previous handle. A block that is allocated where it was has not moved.
 */
static int make_move(struct frag_policy *p, struct refused_request *refused,
		     const struct frag_move_candidate *candidate, frag_block *out)
{
	struct frag_policy inner = inner_of(p);
	uint64_t bytes = candidate->bytes;
	uint32_t moved = 0;
	int rc;

	for (uint32_t i = 0; i < candidate->count; i++)
		refused->before[i] = place_of(p->heap, compact_block_of(refused, candidate, i));
	rc = compact_move(&inner, refused, candidate, out);
	FRAG_ASSERT(rc != -FRAG_EDEVMEM);
	for (uint32_t i = 0; i < candidate->count && !rc; i++) {
		const frag_block now = refused->moved[i], was = compact_block_of(refused, candidate, i);

		rc = frag_heap_rename(p->heap, now, was);
		for (uint32_t k = i; k < candidate->count; k++)
			refused->moved[k] = compact_renamed(refused->moved[k], now, was);
		*out = compact_renamed(*out, now, was);
	}
	for (uint32_t i = 0; i < candidate->count && !rc; i++) {
		const frag_block b = compact_block_of(refused, candidate, i);
		const struct place now = place_of(p->heap, b), *was = &refused->before[i];

		if (now.ordinal != was->ordinal || now.offset != was->offset)
			refused->moved[moved++] = b;
		else
			bytes -= refused->state.blocks[candidate->blocks[i]].bytes;
	}
	return rc || !moved ? rc : frag_heap_note_move(p->heap, refused->moved, moved, bytes);
}

/* Finds the candidates, and allocates the arrays for the largest of them. */
static int compact_find_candidates(struct frag_policy *p, struct refused_request *refused)
{
	struct frag_policy inner = inner_of(p);
	const uint64_t own = inner.ops->limit ? inner.ops->limit(&inner) : UINT64_MAX;
	const struct frag_shortfall shortfall = frag_heap_shortfall(p->heap, own);
	struct frag_move_target target = {
		.pool = refused->rq->pool, .block_cost = p->param[BLOCK_COST],
		.left = shortfall.left, .missing = shortfall.missing, .all = true,
	};
	const struct frag_sought sought = inner.ops->seek(&inner, refused->rq);
	uint32_t most = 1;
	int rc;

	target.list = sought.list;
	target.need = sought.bytes;
	rc = frag_memory_state_init(&refused->state, p->heap, NULL, 0);
	rc = rc ? rc
		: frag_move_candidates_find(&refused->candidates, &refused->state, &target, NULL);
	for (uint32_t i = 0; i < refused->candidates.count && !rc; i++)
		most = refused->candidates.candidates[i].count > most
			       ? refused->candidates.candidates[i].count
			       : most;
	refused->requests = calloc(most, sizeof(*refused->requests));
	refused->moved = calloc(most, sizeof(*refused->moved));
	refused->before = calloc(most, sizeof(*refused->before));
	return rc || (refused->requests && refused->moved && refused->before) ? rc : -FRAG_ENOMEM;
}

/*
 * The cheapest candidate that holds. Before them comes the move of nothing: a policy that waited
 * for streams may serve what it has just refused.
 */
static int compact_relocate(struct frag_policy *p, struct refused_request *refused, frag_block *out)
{
	static const struct frag_move_candidate nothing = { .count = 0 };
	const struct frag_move_candidate *candidate = &nothing;
	int rc = compact_find_candidates(p, refused);

	if (rc)
		return rc;
	rc = compact_try_move(p, refused, candidate);
	for (uint32_t i = 0; i < refused->candidates.count && rc == -FRAG_EDEVMEM; i++) {
		candidate = &refused->candidates.candidates[i];
		rc = compact_try_move(p, refused, candidate);
	}
	return rc ? rc : make_move(p, refused, candidate, out);
}

/* The other policy's answer, or what a move makes possible. */
static int compact_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	struct frag_policy inner = inner_of(p);
	struct refused_request refused = { .rq = rq };
	int rc = inner.ops->alloc(&inner, rq, out);

	if (rc != -FRAG_EDEVMEM || !frag_heap_can_fork(p->heap))
		return rc;
	rc = compact_relocate(p, &refused, out);
	frag_move_candidates_fini(&refused.candidates);
	frag_memory_state_fini(&refused.state);
	free(refused.requests);
	free(refused.moved);
	free(refused.before);
	return rc;
}

static int compact_free(struct frag_policy *p, frag_block b)
{
	struct frag_policy inner = inner_of(p);

	return inner.ops->free(&inner, b);
}

static void compact_deferred(struct frag_policy *p, frag_block b)
{
	struct frag_policy inner = inner_of(p);

	if (inner.ops->deferred)
		inner.ops->deferred(&inner, b);
}

static int compact_ended(struct frag_policy *p, frag_block b, uint64_t synced)
{
	struct frag_policy inner = inner_of(p);

	return inner.ops->ended ? inner.ops->ended(&inner, b, synced) : inner.ops->free(&inner, b);
}

static int compact_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	struct frag_policy inner = inner_of(p);

	*handled = inner.ops->notice != NULL;
	return inner.ops->notice ? inner.ops->notice(&inner, n, handled) : 0;
}

static bool compact_stats(const struct frag_policy *p, struct frag_memory_stats *out)
{
	const struct frag_policy inner = inner_of(p);

	return inner.ops->stats && inner.ops->stats(&inner, out);
}

static uint64_t compact_limit(const struct frag_policy *p)
{
	const struct frag_policy inner = inner_of(p);

	return inner.ops->limit ? inner.ops->limit(&inner) : UINT64_MAX;
}

static uint64_t compact_range_bytes(struct frag_policy *p, uint64_t page, uint64_t bytes,
				    uint64_t end, uint64_t was)
{
	struct frag_policy inner = inner_of(p);

	return inner.ops->range_bytes ? inner.ops->range_bytes(&inner, page, bytes, end, was)
				      : bytes;
}

static uint64_t compact_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	const struct base *base = &bases[param[OVER]];

	return base->ops->round(param + base->first, granularity, bytes);
}

static struct frag_sought compact_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	const struct frag_policy inner = inner_of(p);

	return inner.ops->seek(&inner, rq);
}

const struct frag_policy_ops frag_policy_compact = {
	.name = "compact",
	.summary = "pytorch or bestfit; when out of memory, live blocks are moved",
	.params = compact_params,
	.order = FRAG_ORDER_SIZE,
	.state_size = sizeof(struct pytorch),
	.check = compact_check,
	.init = compact_init,
	.restore_segment = compact_restore_segment,
	.restore_block = compact_restore_block,
	.alloc = compact_alloc,
	.free = compact_free,
	.deferred = compact_deferred,
	.ended = compact_ended,
	.notice = compact_notice,
	.stats = compact_stats,
	.moves = true,
	.limit = compact_limit,
	.range_bytes = compact_range_bytes,
	.seek = compact_seek,
	.round = compact_round,
};
