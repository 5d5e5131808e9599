/*
 * compare_ranks.c - compares the ranks of a distributed job: finds those that differ, and their
 * tags.
 */
#include "ranks/compare_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "engine/tape_run.h"
#include "live_blocks/live_blocks.h"

bool frag_ranking_init(struct frag_ranking *r)
{
	if (!frag_map_init(&r->owner_at, frag_hash_seed()))
		return false;
	pthread_mutex_init(&r->lock, NULL);
	r->ready = true;
	return true;
}

#define NO_OWNER UINT32_MAX
#define HELD_MAX 1000           /* tags of a row: all others have less than a thousandth each */

/* By text, then by size: an order that threads do not change. */
static int owner_order(const struct frag_owner *a, const struct frag_owner *b)
{
	if (a->tag && b->tag)
		return strcmp(a->tag, b->tag);
	if (a->tag || b->tag)
		return a->tag ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static uint32_t tag_numbers_find(const struct frag_ranking *r, const struct frag_owner *one,
				 uint64_t key)
{
	uint32_t at = frag_map_home(&r->owner_at, key), number;

	do
		number = frag_map_next(&r->owner_at, key, &at);
	while (number != FRAG_MAP_NONE && owner_order(&r->owners[number], one) != 0);
	return number;
}

static uint32_t tag_numbers_add(struct frag_ranking *r, const struct frag_owner *one, uint64_t key)
{
	if (!FRAG_GROW(r->owners, r->owner_capacity, r->owner_count)
	    || !frag_map_add(&r->owner_at, key, r->owner_count))
		return NO_OWNER;
	r->owners[r->owner_count] = *one;
	return r->owner_count++;
}

/*
 * Its number, from any thread. The tag is theirs from here on, also where this fails; NULL: of
 * blocks of this size without one. NO_OWNER: out of memory.
 */
static uint32_t owners_number(struct frag_ranking *r, char *tag, uint64_t size)
{
	const struct frag_owner one = { .tag = tag, .size = tag ? 0 : size };
	const uint64_t key = tag ? frag_hash_text(tag, strlen(tag), r->owner_at.seed) : size;
	uint32_t number;

	pthread_mutex_lock(&r->lock);
	number = tag_numbers_find(r, &one, key);
	if (number == FRAG_MAP_NONE) {
		number = tag_numbers_add(r, &one, key);
		tag = number == NO_OWNER ? tag : NULL;
	}
	pthread_mutex_unlock(&r->lock);
	free(tag);
	return number;
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
		.source = source, .device = r->device, .total = r->total, .context = r->context,
		.status = r->status,
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

	rc = rc ? rc : frag_tape_play(sim, reader, UINT64_MAX, &w->job, err);
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
	return frag_order_two(a->tag, b->tag, a->size, b->size);
}

static int compare_ranks_by_owner(const void *one, const void *other)
{
	const struct frag_rank_share *a = one, *b = other;

	return frag_order_two(a->owner, b->owner, a->bytes, b->bytes);
}

/* What is kept of the sums. False: out of memory. */
static bool rank_run_keep(struct frag_ranked *row, struct frag_block_groups *s,
			  const struct frag_symbols *symbols, struct frag_ranking *r)
{
	const uint32_t count = s->count < HELD_MAX ? s->count : HELD_MAX;
	char *tag;

	if (!count)
		return true;
	FRAG_SORT(s->of, s->count, rank_run_by_bytes);
	row->held = calloc(count, sizeof(*row->held));
	for (uint32_t i = 0; row->held && i < count; i++) {
		struct frag_rank_share *to = &row->held[i];

		if (!frag_tag_json(symbols, s->of[i].tag, &tag))
			return false;
		to->bytes = s->of[i].bytes;
		to->owner = owners_number(r, tag, s->of[i].size);
		if (to->owner == NO_OWNER)
			return false;
		row->held_count = i + 1;
	}
	if (row->held)
		FRAG_SORT(row->held, row->held_count, compare_ranks_by_owner);
	return row->held != NULL;
}

static int find_holders(struct frag_ranked *row, const struct frag_sim *sim,
			struct frag_ranking *r, struct frag_error *err)
{
	struct frag_block_groups groups;
	bool good = frag_block_groups_init(&groups);

	if (good) {
		frag_sim_walk(sim, row->device, &groups, rank_run_add_live);
		good = !groups.failed
		       && rank_run_keep(row, &groups, frag_sim_symbols(sim), r);
	}
	frag_block_groups_fini(&groups);
	return good ? 0 : frag_fail_nomem(err);
}

static int by_peak(const void *one, const void *other)
{
	const struct frag_ranked *a = one, *b = other;

	return a->peak_step < b->peak_step ? -1 : a->peak_step > b->peak_step;
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
static int find_held(struct frag_ranking *r, struct frag_ranked *rows, uint32_t count,
		     const struct frag_rank_work *w, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(w->tape);
	struct frag_sim *sim = NULL;
	int rc =
		reader ? rank_run_make_sim(&sim, w, FRAG_LEVEL_SURVIVE, err) : frag_fail_nomem(err);

	FRAG_SORT(rows, count, by_peak);
	for (uint32_t i = 0; i < count && !rc; i++) {
		rc = frag_tape_play(sim, reader, frag_tape_event(w->tape, rows[i].peak_step) + 1,
				    &w->job, err);
		rc = rc ? rc : find_holders(&rows[i], sim, r, err);
	}
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = name_oom(&rows[i], reader, w->tape, err);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

static void ranked_fini(struct frag_ranked *row)
{
	free(row->oom_tag);
	free(row->held);
	free(row->from_median.list);
}

/* Takes over the rows, from any thread. */
static int add_rows(struct frag_ranking *r, const struct frag_ranked *rows, uint32_t count,
		    struct frag_error *err)
{
	bool good;

	pthread_mutex_lock(&r->lock);
	good = frag_grow(&r->rows, &r->capacity, (uint64_t)r->count + count, sizeof(*r->rows));
	if (good)
		memcpy(r->rows + r->count, rows, count * sizeof(*rows));
	r->count += good ? count : 0;
	pthread_mutex_unlock(&r->lock);
	return good ? 0 : frag_fail_nomem(err);
}

int frag_ranking_add(struct frag_ranking *r, const struct frag_rank_work *work,
		     struct frag_error *err)
{
	struct frag_ranked *rows = NULL;
	uint32_t count = 0;
	int rc = find_figures(&rows, &count, work, err);

	rc = rc ? rc : find_held(r, rows, count, work, err);
	rc = rc ? rc : add_rows(r, rows, count, err);
	for (uint32_t i = 0; rc && i < count; i++)
		ranked_fini(&rows[i]);
	free(rows);
	return rc;
}

const char *const frag_rank_figure_names[FRAG_RANK_FIGURES] = {
	[FRAG_RANK_RESERVED] = "reserved", [FRAG_RANK_REQUESTED] = "requested",
	[FRAG_RANK_LOST] = "wasted",
};

#define BESIDE 10       /* a device with 1/10 of the bytes of another is not compared */

static int compare_ranks_by_value(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Of an even number the mean of the two in the middle, rounded down. The values are sorted. */
static uint64_t median_of(uint64_t *values, uint32_t count)
{
	uint64_t low, high;

	if (!count)
		return 0;
	FRAG_SORT(values, count, compare_ranks_by_value);
	low = values[(count - 1) / 2];
	high = values[count / 2];
	return low + (high - low) / 2;
}

/*
 * Where a rank has much on one device, and little on another, the little strayed there: it is
 * no rank to compare with. Rows of one source are side by side.
 */
static void choose_compared(struct frag_ranking *r)
{
	for (uint32_t i = 0, end; i < r->count; i = end) {
		uint64_t most = 0;

		for (end = i; end < r->count && r->rows[end].source == r->rows[i].source; end++)
			if (r->rows[end].figure[FRAG_RANK_RESERVED] > most)
				most = r->rows[end].figure[FRAG_RANK_RESERVED];
		for (uint32_t k = i; k < end; k++) {
			r->rows[k].compared =
				r->rows[k].figure[FRAG_RANK_RESERVED] >= most / BESIDE;
			r->compared += r->rows[k].compared;
		}
	}
}

/* values: space for one a row. */
static void compare_ranks_measure(struct frag_ranking *r, enum frag_rank_figure figure,
				  uint64_t *values)
{
	uint64_t median, distance;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->rows[i].compared)
			values[n++] = r->rows[i].figure[figure];
	median = median_of(values, n);
	r->median[figure] = median;
	r->least[figure] = values[0];
	r->most[figure] = values[n - 1];
	for (uint32_t i = 0; i < n; i++)
		values[i] = frag_gap_of(values[i], median);
	distance = median_of(values, n);
	r->limit[figure] = distance > UINT64_MAX / FRAG_RANK_SPREADS
			   ? UINT64_MAX : FRAG_RANK_SPREADS * distance;
}

static void set_limits(struct frag_ranking *r)
{
	if (r->floor == UINT64_MAX)
		r->floor = r->median[FRAG_RANK_RESERVED] / FRAG_RANK_FLOOR_PART;
	r->alike = true;
	for (int k = 0; k < FRAG_RANK_FIGURES; k++) {
		if (r->limit[k] < r->floor)
			r->limit[k] = r->floor;
		r->alike &= r->least[k] == r->most[k];
	}
}

/* Those that are far from the median, and those that ran out of memory where most did not. */
static void compare_ranks_judge(struct frag_ranking *r)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < r->count; i++)
		failed += r->rows[i].compared && r->rows[i].ooms;
	r->alike &= !failed || failed == r->compared;
	for (uint32_t i = 0; i < r->count && r->compared >= FRAG_RANK_COMPARED_MIN; i++) {
		struct frag_ranked *row = &r->rows[i];

		if (!row->compared)
			continue;
		for (int k = 0; k < FRAG_RANK_FIGURES; k++)
			if (frag_gap_of(row->figure[k], r->median[k]) > r->limit[k])
				row->apart |= 1U << k;
		row->apart_oom = row->ooms && failed < r->compared - failed;
		r->apart += row->apart || row->apart_oom;
	}
}

static bool is_worse(const struct frag_ranked *a, const struct frag_ranked *b)
{
	if (!a->ooms != !b->ooms)
		return a->ooms != 0;
	return a->figure[FRAG_RANK_RESERVED] > b->figure[FRAG_RANK_RESERVED];
}

/* From the last to the first, so that of equals the first remains. */
static void find_extremes(struct frag_ranking *r)
{
	for (uint32_t i = r->count; i-- > 0;) {
		const struct frag_ranked *row = &r->rows[i];
		const uint64_t reserved = row->figure[FRAG_RANK_RESERVED];

		r->ooms += row->ooms != 0;
		if (i + 1 == r->count || !is_worse(&r->rows[r->worst], row))
			r->worst = i;
		if (row->compared && reserved == r->most[FRAG_RANK_RESERVED])
			r->highest = i;
		if (row->compared && reserved == r->least[FRAG_RANK_RESERVED])
			r->lowest = i;
	}
}

/* What the compared rows have of one owner, the minimum first; what is none is not among them. */
static uint64_t median_among(const struct frag_rank_share *shares, uint32_t count, uint32_t rows)
{
	const uint32_t none = rows - count, at = (rows - 1) / 2, next = rows / 2;
	const uint64_t low = at < none ? 0 : shares[at - none].bytes;
	const uint64_t high = next < none ? 0 : shares[next - none].bytes;

	return low + (high - low) / 2;
}

/* The median of each tag that at least half of the rows have; by tag. */
struct usual {
	struct frag_rank_share *list;
	uint32_t count;
};

/* Sorts the tags of all compared rows, so that the rows of one tag are adjacent. */
static int find_usual(struct usual *usual, const struct frag_ranking *r, struct frag_error *err)
{
	size_t all = 0, used = 0, kept = 0;

	for (uint32_t i = 0; i < r->count; i++)
		all += r->rows[i].compared ? r->rows[i].held_count : 0;
	usual->list = malloc((all + 1) * sizeof(*usual->list));
	if (!usual->list)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->count; i++) {
		const struct frag_ranked *row = &r->rows[i];

		if (!row->compared || !row->held_count)
			continue;
		memcpy(usual->list + used, row->held, row->held_count * sizeof(*row->held));
		used += row->held_count;
	}
	FRAG_SORT(usual->list, used, compare_ranks_by_owner);
	for (size_t i = 0, end; i < used; i = end) {
		struct frag_rank_share one = usual->list[i];

		for (end = i; end < used && usual->list[end].owner == one.owner;)
			end++;
		one.bytes = median_among(usual->list + i, (uint32_t)(end - i), r->compared);
		if (one.bytes)
			usual->list[kept++] = one;
	}
	usual->count = (uint32_t)kept;
	return 0;
}

static int by_difference(const void *one, const void *other)
{
	const struct frag_rank_difference *a = one, *b = other;
	const uint64_t x = frag_gap_of(a->bytes, a->other), y = frag_gap_of(b->bytes, b->other);

	if (x != y)
		return x > y ? -1 : 1;
	return owner_order(a->owner, b->owner);
}

/* Owner by owner through both, which are in the same order. */
static int find_differences(struct frag_rank_differences *out, const struct frag_ranked *row,
			    const struct usual *usual, const struct frag_ranking *r,
			    struct frag_error *err)
{
	struct frag_rank_difference *list = calloc((size_t)row->held_count + usual->count + 1,
						   sizeof(*list));
	uint32_t n = 0;

	if (!list)
		return frag_fail_nomem(err);
	for (uint32_t i = 0, k = 0; i < row->held_count || k < usual->count;) {
		const uint32_t has = i < row->held_count ? row->held[i].owner : UINT32_MAX;
		const uint32_t other = k < usual->count ? usual->list[k].owner : UINT32_MAX;
		struct frag_rank_difference d = {
			.owner = &r->owners[has < other ? has : other],
		};

		if (has <= other)
			d.bytes = row->held[i++].bytes;
		if (other <= has)
			d.other = usual->list[k++].bytes;
		if (d.bytes != d.other)
			list[n++] = d;
	}
	FRAG_SORT(list, n, by_difference);
	out->list = list;
	out->all = n;
	out->count = n < FRAG_RANK_DIFFERENCES ? n : FRAG_RANK_DIFFERENCES;
	return 0;
}

/* Where none stands out there may yet be stages, or two halves, that hold other things. */
static int explain_spread(struct frag_ranking *r, struct frag_error *err)
{
	const struct frag_ranked *lowest = &r->rows[r->lowest];
	const struct usual other = { .list = lowest->held, .count = lowest->held_count };

	if (r->most[FRAG_RANK_RESERVED] - r->least[FRAG_RANK_RESERVED] <= r->floor)
		return 0;
	return find_differences(&r->between, &r->rows[r->highest], &other, r, err);
}

static int explain_apart(struct frag_ranking *r, struct frag_error *err)
{
	struct usual usual = { .count = 0 };
	int rc = find_usual(&usual, r, err);

	for (uint32_t i = 0; i < r->count && !rc; i++)
		if (r->rows[i].apart || r->rows[i].apart_oom)
			rc = find_differences(&r->rows[i].from_median, &r->rows[i], &usual, r, err);
	free(usual.list);
	return rc;
}

static int by_number(const void *one, const void *other)
{
	const struct frag_ranked *a = one, *b = other;

	return frag_order_two(a->number, b->number, a->device, b->device);
}

/* Each number is one source's, so the order does not depend on the threads that added the rows. */
int frag_ranking_compare(struct frag_ranking *r, const uint64_t *numbers, struct frag_error *err)
{
	uint64_t *values = malloc(((size_t)r->count + 1) * sizeof(*values));

	if (!values)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->count; i++)
		r->rows[i].number = numbers[r->rows[i].source];
	FRAG_SORT(r->rows, r->count, by_number);
	choose_compared(r);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		compare_ranks_measure(r, (enum frag_rank_figure)k, values);
	free(values);
	set_limits(r);
	compare_ranks_judge(r);
	find_extremes(r);
	return r->apart ? explain_apart(r, err) : explain_spread(r, err);
}

void frag_ranking_fini(struct frag_ranking *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		ranked_fini(&r->rows[i]);
	free(r->rows);
	free(r->between.list);
	for (uint32_t i = 0; i < r->owner_count; i++)
		free(r->owners[i].tag);
	free(r->owners);
	if (r->ready) {
		frag_map_fini(&r->owner_at);
		pthread_mutex_destroy(&r->lock);
	}
}

uint64_t frag_ranking_most(const struct frag_ranking *r, int figure)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->rows[i].figure[figure] > most)
			most = r->rows[i].figure[figure];
	return most;
}
