/* stage_sizes.c - blocks of other sizes, in pieces, or not at all: scale, shard, split, drop. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "base/atomic_file.h"
#include "transform/stage.h"

#define PIECES_MAX 65536		   /* of a block, */
#define ALL_PIECES_MAX (UINT64_C(1) << 20) /* and of all blocks */

/* Of a block that was split: pieces after the first have numbers that follow each other. */
struct pieces {
	uint32_t second, count;
};

struct sizes {
	struct frag_map of;     /* by block: index into pieces; of dropped ones anything */
	struct pieces *pieces;
	uint32_t count, capacity;
	uint64_t all; /* pieces so far */
};

static bool sizes_init(struct frag_stage *s)
{
	struct sizes *z = s->state;

	return frag_map_init(&z->of, frag_hash_seed());
}

static void sizes_fini(struct frag_stage *s)
{
	struct sizes *z = s->state;

	frag_map_fini(&z->of);
	free(z->pieces);
}

/* Exactly, rounded up to a whole byte. */
static int scale(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	__extension__ typedef unsigned __int128 wide;
	const struct frag_what_if_change *c = s->change;
	struct frag_item changed = *item;
	const wide size = ((wide)item->rec.size * c->numerator + c->denominator - 1)
			  / c->denominator;

	if (size >= FRAG_SIZE_LIMIT)
		return frag_fail(err, FRAG_EUSAGE, "%s: a block of %s has %" PRIu64 " bytes and"
				 " would have 2^53 or more", c->text, frag_chain_path(s->chain),
				 item->rec.size);
	changed.rec.size = (uint64_t)size;
	s->changes = s->changes || changed.rec.size != item->rec.size;
	return frag_stage_emit(s, &changed, err);
}

/* The same record for each piece; sizes are those of an alloc. */
static int give_pieces(struct frag_stage *s, const struct frag_item *item,
		       const struct pieces *pieces, struct frag_error *err)
{
	const uint64_t left = item->rec.size, most = s->change->bytes;
	int rc = 0;

	for (uint32_t i = 0; i < pieces->count && !rc; i++) {
		struct frag_item piece = *item;

		if (i) {
			piece.block = pieces->second + i - 1;
			frag_chain_name(s->chain, &piece);
		}
		piece.rec.size = i + 1 < pieces->count ? most : left - most * i;
		rc = frag_stage_emit(s, &piece, err);
	}
	return rc;
}

/* Splits an allocation that is too large into several blocks, each with a separate id. */
static int stage_sizes_split(struct frag_stage *s, const struct frag_item *item,
			     struct frag_error *err)
{
	struct sizes *z = s->state;
	const uint64_t most = s->change->bytes;
	const uint64_t count = item->rec.size / most + (item->rec.size % most != 0);
	struct pieces pieces = { .count = (uint32_t)count };
	int rc = 0;

	if (count <= 1)
		return frag_stage_emit(s, item, err);
	if (count > PIECES_MAX)
		return frag_fail(err, FRAG_EUSAGE,
				 "%s: a block of %s has %" PRIu64 " bytes and would"
				 " be %" PRIu64 " pieces; %d are possible",
				 s->change->text, frag_chain_path(s->chain), item->rec.size, count,
				 PIECES_MAX);
	z->all += count;
	if (z->all > ALL_PIECES_MAX)
		return frag_fail(err, FRAG_EUSAGE,
				 "%s: the blocks of %s would be more than %" PRIu64
				 " pieces; a larger SIZE is required",
				 s->change->text, frag_chain_path(s->chain), ALL_PIECES_MAX);
	for (uint32_t i = 1; i < count && !rc; i++) {
		uint32_t block = 0;

		rc = frag_chain_block(s->chain, &block, err);
		rc = rc ? rc : frag_chain_id(s->chain, block, err);
		if (i == 1)
			pieces.second = block;
	}
	if (rc)
		return rc;
	if (!FRAG_GROW(z->pieces, z->capacity, z->count)
	    || !frag_map_add(&z->of, item->block, z->count))
		return frag_fail_nomem(err);
	z->pieces[z->count++] = pieces;
	s->changes = true;
	return give_pieces(s, item, &pieces, err);
}

static int stage_sizes_put_alloc(struct frag_stage *s, const struct frag_item *item,
				 struct frag_error *err)
{
	struct sizes *z = s->state;

	if (!frag_stage_fits(s, item))
		return frag_stage_emit(s, item, err);
	if (s->change->kind == FRAG_CHANGE_SPLIT)
		return stage_sizes_split(s, item, err);
	if (s->change->kind != FRAG_CHANGE_DROP)
		return scale(s, item, err);
	s->changes = true;
	return frag_map_add(&z->of, item->block, 0) ? 0 : frag_fail_nomem(err);
}

static int sizes_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	const struct sizes *z = s->state;
	uint32_t at;

	if (item->rec.op == FRAG_OP_ALLOC)
		return stage_sizes_put_alloc(s, item, err);
	at = frag_item_refers(item) && z->of.count ? frag_map_get(&z->of, item->block)
						   : FRAG_MAP_NONE;
	if (at == FRAG_MAP_NONE)
		return frag_stage_emit(s, item, err);
	return s->change->kind == FRAG_CHANGE_DROP ? 0 : give_pieces(s, item, &z->pieces[at], err);
}

const struct frag_stage_ops frag_stage_sizes = {
	.state_size = sizeof(struct sizes),
	.init = sizes_init,
	.put = sizes_put,
	.fini = sizes_fini,
};
