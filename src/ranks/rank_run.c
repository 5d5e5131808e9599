/* rank_run.c - one rank of a distributed job: its run, and the top tags at its peak. */
#include "ranks/compare_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "live_blocks/live_blocks.h"

bool frag_owners_init(struct frag_owners *owners)
{
	*owners = (struct frag_owners){ .count = 0 };
	if (!frag_map_init(&owners->at, frag_hash_seed()))
		return false;
	pthread_mutex_init(&owners->lock, NULL);
	return true;
}

void frag_owners_fini(struct frag_owners *owners)
{
	for (uint32_t i = 0; i < owners->count; i++)
		free(owners->list[i].tag);
	free(owners->list);
	frag_map_fini(&owners->at);
	pthread_mutex_destroy(&owners->lock);
}

int frag_owner_order(const struct frag_owner *a, const struct frag_owner *b)
{
	if (a->tag && b->tag)
		return strcmp(a->tag, b->tag);
	if (a->tag || b->tag)
		return a->tag ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static uint32_t tag_numbers_find(const struct frag_owners *owners, const struct frag_owner *one,
				 uint64_t key)
{
	uint32_t at = frag_map_home(&owners->at, key), number;

	do
		number = frag_map_next(&owners->at, key, &at);
	while (number != FRAG_MAP_NONE && frag_owner_order(&owners->list[number], one) != 0);
	return number;
}

static uint32_t tag_numbers_add(struct frag_owners *owners, const struct frag_owner *one,
				uint64_t key)
{
	if (!frag_grow(&owners->list, &owners->capacity, (uint64_t)owners->count + 1,
		       sizeof(*owners->list))
	    || !frag_map_add(&owners->at, key, owners->count))
		return FRAG_NO_OWNER;
	owners->list[owners->count] = *one;
	return owners->count++;
}

/*
 * Its number, from any thread. The tag is theirs from here on, also where this fails; NULL: of
 * blocks of this size without one. FRAG_NO_OWNER: out of memory.
 */
static uint32_t frag_owners_number(struct frag_owners *owners, char *tag, uint64_t size)
{
	const struct frag_owner one = { .tag = tag, .size = tag ? 0 : size };
	const uint64_t key = tag ? frag_hash_text(tag, strlen(tag), owners->at.seed) : size;
	uint32_t number;

	pthread_mutex_lock(&owners->lock);
	number = tag_numbers_find(owners, &one, key);
	if (number == FRAG_MAP_NONE) {
		number = tag_numbers_add(owners, &one, key);
		tag = number == FRAG_NO_OWNER ? tag : NULL;
	}
	pthread_mutex_unlock(&owners->lock);
	free(tag);
	return number;
}

#define STRETCH 100000          /* events between two questions whether to stop */

static int rank_run_play(const struct frag_rank_work *w, struct frag_sim *sim,
			 struct frag_tape_reader *reader, uint64_t until, struct frag_error *err)
{
	const uint64_t events = frag_tape_info(w->tape)->events;
	const uint64_t end = until < events ? until : events;
	int rc = 0;

	while (!rc && frag_tape_at(reader) < end && !frag_sim_stopped(sim)) {
		const uint64_t at = frag_tape_at(reader);

		if (w->stop && w->stop(w->ctx))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		rc = frag_sim_play(sim, reader, end - at < STRETCH ? end : at + STRETCH, err);
	}
	return rc;
}

static int rank_run_make_sim(struct frag_sim **out, const struct frag_rank_work *w,
			     enum frag_level level, struct frag_error *err)
{
	const struct frag_sim_options options = { .level = level, .devices = w->devices };
	const int rc = frag_sim_on_tape(out, w->choice, w->tape, &options, err);

	return rc ? rc : frag_sim_begin(*out, err);
}

static void take_figures(struct frag_ranked *row, const struct frag_result *r, uint32_t source)
{
	*row = (struct frag_ranked){
		.source = source, .device = r->device, .total = r->total, .status = r->status,
		.figure = {
			[FRAG_RANK_RESERVED] = r->peak.reserved,
			[FRAG_RANK_REQUESTED] = r->peak.requested,
			[FRAG_RANK_LOST] = r->at_peak.wasted,
		},
		.peak_step = r->peak_step, .ooms = r->counts.ooms,
	};
	if (r->oom_count) {
		row->oom_step = r->ooms[0].step;
		row->oom_size = r->ooms[0].size;
	}
}

/* Of all devices those that the trace uses. */
static int find_figures(struct frag_ranked **rows, uint32_t *count, const struct frag_rank_work *w,
			struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(w->tape);
	const struct frag_result *results;
	struct frag_sim *sim = NULL;
	uint32_t devices;
	int rc = reader ? rank_run_make_sim(&sim, w, FRAG_LEVEL_PEAKS, err) : frag_fail_nomem(err);

	rc = rc ? rc : rank_run_play(w, sim, reader, UINT64_MAX, err);
	frag_tape_reader_del(reader);
	if (!rc) {
		results = frag_sim_results(sim, false, &devices);
		*rows = calloc(devices, sizeof(**rows));
		rc = *rows ? 0 : frag_fail_nomem(err);
	}
	for (uint32_t d = 0; !rc && d < devices; d++)
		if (results[d].counts.allocs || results[d].beginning.segments
		    || results[d].counts.ooms)
			take_figures(&(*rows)[(*count)++], &results[d], w->source);
	if (!rc && !*count)
		take_figures(&(*rows)[(*count)++], &results[0], w->source);
	frag_sim_del(sim);
	return rc;
}

static void rank_run_add_live(void *ctx, const struct frag_live *live)
{
	frag_block_groups_add(ctx, live->tag, 0, live->tag ? 0 : live->block.requested,
			      live->block.bytes, live->birth);
}

static int rank_run_by_bytes(const void *one, const void *other)
{
	const struct frag_block_group *a = one, *b = other;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static int rank_run_by_owner(const void *one, const void *other)
{
	const struct frag_rank_share *a = one, *b = other;

	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* What is kept of the sums. False: out of memory. */
static bool rank_run_keep(struct frag_ranked *row, struct frag_block_groups *s,
			  const struct frag_symbols *symbols, struct frag_owners *owners)
{
	const uint32_t count = s->count < FRAG_HELD_MAX ? s->count : FRAG_HELD_MAX;
	char *tag;

	if (!count)
		return true;
	qsort(s->of, s->count, sizeof(*s->of), rank_run_by_bytes);
	row->held = calloc(count, sizeof(*row->held));
	for (uint32_t i = 0; row->held && i < count; i++) {
		struct frag_rank_share *to = &row->held[i];

		if (!frag_tag_json(symbols, s->of[i].tag, &tag))
			return false;
		to->bytes = s->of[i].bytes;
		to->owner = frag_owners_number(owners, tag, s->of[i].size);
		if (to->owner == FRAG_NO_OWNER)
			return false;
		row->held_count = i + 1;
	}
	if (row->held)
		qsort(row->held, row->held_count, sizeof(*row->held), rank_run_by_owner);
	return row->held != NULL;
}

static int find_holders(struct frag_ranked *row, const struct frag_sim *sim,
			struct frag_owners *owners, struct frag_error *err)
{
	struct frag_block_groups groups;
	bool good = frag_block_groups_init(&groups);

	if (good) {
		frag_sim_walk(sim, row->device, &groups, rank_run_add_live);
		good = !groups.failed
		       && rank_run_keep(row, &groups, frag_sim_symbols(sim), owners);
	}
	frag_block_groups_fini(&groups);
	return good ? 0 : frag_fail_nomem(err);
}

static int by_peak(const void *one, const void *other)
{
	const struct frag_ranked *a = one, *b = other;

	return a->peak_step < b->peak_step ? -1 : a->peak_step > b->peak_step;
}

static int rank_run_by_device(const void *one, const void *other)
{
	const struct frag_ranked *a = one, *b = other;

	return a->device < b->device ? -1 : a->device > b->device;
}

/* Sets the tag of the failed request; a segment from before the first event has none. */
static int name_oom(struct frag_ranked *row, struct frag_tape_reader *reader,
		    const struct frag_tape *tape, struct frag_error *err)
{
	struct frag_batch batch;

	if (!row->ooms)
		return 0;
	frag_tape_seek(reader, frag_tape_event(tape, row->oom_step));
	frag_tape_next(reader, UINT64_MAX, &batch);
	if (!batch.count || batch.events[0].op != FRAG_OP_ALLOC)
		return 0;
	return frag_tag_json(frag_tape_symbols(tape), batch.events[0].tag, &row->oom_tag)
	       ? 0 : frag_fail_nomem(err);
}

/* The same run again, from one device's peak to the next one's. */
static int find_held(struct frag_ranked *rows, uint32_t count, const struct frag_rank_work *w,
		     struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(w->tape);
	struct frag_sim *sim = NULL;
	int rc =
		reader ? rank_run_make_sim(&sim, w, FRAG_LEVEL_SURVIVE, err) : frag_fail_nomem(err);

	qsort(rows, count, sizeof(*rows), by_peak);
	for (uint32_t i = 0; i < count && !rc; i++) {
		rc = rank_run_play(w, sim, reader, frag_tape_event(w->tape, rows[i].peak_step) + 1,
				   err);
		rc = rc ? rc : find_holders(&rows[i], sim, w->owners, err);
	}
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = name_oom(&rows[i], reader, w->tape, err);
	qsort(rows, count, sizeof(*rows), rank_run_by_device);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

int frag_ranked_run(struct frag_ranked **rows, uint32_t *count, const struct frag_rank_work *work,
		    struct frag_error *err)
{
	int rc;

	*rows = NULL;
	*count = 0;
	rc = find_figures(rows, count, work, err);
	rc = rc ? rc : find_held(*rows, *count, work, err);
	if (!rc)
		return 0;
	for (uint32_t i = 0; i < *count; i++)
		frag_ranked_fini(&(*rows)[i]);
	free(*rows);
	*rows = NULL;
	*count = 0;
	return rc;
}

void frag_ranked_fini(struct frag_ranked *row)
{
	free(row->oom_tag);
	free(row->held);
	free(row->from_median.list);
}
