/* merge_traces.c - merges several traces into one; each keeps its own devices. */
#include "transform/merge_traces.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "trace/header_scan.h"
#include "transform/kept_beginning.h"

void frag_ranks_fini(struct frag_ranks *r)
{
	for (uint32_t i = 0; i < r->count && r->ranks; i++)
		frag_trace_close(r->ranks[i].trace);
	free(r->ranks);
	free(r->turns);
	free(r->devices);
}

static bool is_before(const struct frag_turn *a, const struct frag_turn *b)
{
	return a->t < b->t || (a->t == b->t && a->rank < b->rank);
}

/* From the place that is free downwards, or where that is the last one, upwards. */
static void place_turn(struct frag_ranks *r, uint32_t at, struct frag_turn turn)
{
	uint32_t next;

	while ((next = 2 * at + 1) < r->turn_count) {
		if (next + 1 < r->turn_count && is_before(&r->turns[next + 1], &r->turns[next]))
			next++;
		if (!is_before(&r->turns[next], &turn))
			break;
		r->turns[at] = r->turns[next];
		at = next;
	}
	for (; at && is_before(&turn, &r->turns[(at - 1) / 2]); at = (at - 1) / 2)
		r->turns[at] = r->turns[(at - 1) / 2];
	r->turns[at] = turn;
}

/* Sorts the first rank again by its new time; if it has ended, the last rank replaces it. */
static void take_turns(struct frag_ranks *r)
{
	const struct frag_rank *rank = &r->ranks[r->turns[0].rank];

	if (rank->ended && --r->turn_count)
		place_turn(r, 0, r->turns[r->turn_count]);
	else if (!rank->ended)
		place_turn(r, 0, (struct frag_turn){ rank->t, r->turns[0].rank });
}

/* Reads the next event of a trace ahead: the times select the next trace. */
static int merge_traces_advance(struct frag_rank *rank, struct frag_error *err)
{
	int rc = 0;

	if (rank->at == rank->batch.count) {
		rank->at = 0;
		rc = frag_trace_next(rank->trace, &rank->batch, err);
		rank->ended = !rc && rank->batch.count == 0;
	}
	if (rc || rank->ended)
		return rc;
	if (rank->batch.records[rank->at].members & FRAG_HAS_PLACE)
		rank->t = -INFINITY;
	else if (rank->batch.records[rank->at].members & FRAG_HAS_T)
		rank->t = rank->batch.records[rank->at].t;
	else if (rank->t < -DBL_MAX)
		rank->t = -DBL_MAX;
	return 0;
}

/* Events before a rank's first time are older than any. */
static int open_rank(struct frag_ranks *r, struct frag_rank *rank, const char *path,
		     const struct frag_trace_options *options, struct frag_error *err)
{
	const struct frag_trace_info *info;
	struct frag_device_figures *more;
	int rc = frag_trace_open(&rank->trace, path, options, err);

	if (rc)
		return rc;
	info = frag_trace_info(rank->trace);
	rank->first = r->device_count;
	rank->count = info->device_count;
	rank->t = -DBL_MAX;
	if (r->device_count + info->device_count > FRAG_DEVICES_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%s: more than %d devices in all", path,
				 FRAG_DEVICES_MAX);
	more = realloc(r->devices, (r->device_count + info->device_count) * sizeof(*more));
	if (!more)
		return frag_fail_nomem(err);
	memcpy(more + r->device_count, info->devices, info->device_count * sizeof(*more));
	r->devices = more;
	r->device_count += info->device_count;
	return 0;
}

int frag_ranks_open(struct frag_ranks *r, char *const *paths, uint32_t count,
		    const struct frag_trace_options *options, struct frag_error *err)
{
	int rc = 0;

	*r = (struct frag_ranks){
		.count = count, .ranks = calloc(count, sizeof(*r->ranks)),
		.turns = calloc(count, sizeof(*r->turns)),
	};
	if (!r->ranks || !r->turns)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = open_rank(r, &r->ranks[i], paths[i], options, err);
	return rc;
}

struct frag_scope frag_ranks_scope(const struct frag_ranks *r)
{
	struct frag_scope sum = { .begins = FRAG_BEGINS_STATE };
	bool start = true;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct frag_scope *s = &frag_trace_info(r->ranks[i].trace)->scope;

		sum.stated = sum.stated || s->stated;
		start = start && s->begins == FRAG_BEGINS_START;
		if (s->begins != FRAG_BEGINS_STATE)
			sum.begins = FRAG_BEGINS_LATE;
		if (s->ends != FRAG_ENDS_END)
			sum.ends = FRAG_ENDS_CUT;
		sum.before_active += s->before_active;
		sum.before_reserved += s->before_reserved;
		sum.lost += s->lost;
	}
	if (start)
		sum.begins = FRAG_BEGINS_START;
	return sum;
}

int frag_ranks_beginning(const struct frag_ranks *r, struct frag_first_state *sum,
			 struct frag_error *err)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (!frag_beginning_add(sum, frag_trace_info(r->ranks[i].trace)->beginning, 0,
					r->ranks[i].count))
			return frag_fail_nomem(err);
	return 0;
}

int frag_ranks_begin(struct frag_ranks *r, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->count && !rc; i++) {
		rc = merge_traces_advance(&r->ranks[i], err);
		if (!rc && !r->ranks[i].ended)
			place_turn(r, r->turn_count++, (struct frag_turn){ r->ranks[i].t, i });
	}
	return rc;
}

/* "2:name"; a number that has grown too large is "2#number". NULL: out of memory. */
static char *word_id(uint32_t rank, const struct frag_handle *id, uint64_t *length)
{
	char *word = malloc((size_t)(id->text ? id->number : 0) + 2 * FRAG_NUMBER_ROOM), *p;

	if (!word)
		return NULL;
	p = frag_put_u64(word, rank);
	*p++ = id->text ? ':' : '#';
	if (id->text)
		p = (char *)memcpy(p, id->text, (size_t)id->number) + id->number;
	else
		p = frag_put_u64(p, id->number);
	*length = (uint64_t)(p - word);
	return word;
}

/* An event for all devices is one for each of the rank's. */
static int merge_traces_write_event(const struct frag_rank *rank, struct frag_sink *sink,
				    struct frag_record *rec, struct frag_error *err)
{
	const struct frag_event *ev = &rank->batch.events[rank->at];
	bool all = ev->device == FRAG_ALL;
	uint32_t first = all ? 0 : ev->device, last = all ? rank->count - 1 : ev->device;
	int rc = 0;

	rec->members |= FRAG_HAS_DEVICE;
	for (uint32_t d = first; d <= last && !rc; d++) {
		struct frag_event e = *ev;

		rec->device = rank->first + d;
		e.device = rank->first + d;
		e.members |= FRAG_HAS_DEVICE;
		rc = sink->ops->event(sink, rec, &e, err);
	}
	return rc;
}

/*
 * Ids stay unique without a table: n ranks interleave their numbers, n * id + i. A number too
 * large for that, and a text, become a text with the rank in front.
 */
static int write_next(struct frag_ranks *r, uint32_t i, struct frag_sink *sink,
		      struct frag_error *err)
{
	struct frag_rank *rank = &r->ranks[i];
	struct frag_record rec = rank->batch.records[rank->at];
	char *word = NULL;
	int rc;

	FRAG_ASSERT(!rank->ended && rank->at < rank->batch.count);
	if (rec.members & FRAG_HAS_ID && !rec.id.text
	    && rec.id.number < (FRAG_SIZE_LIMIT - i) / r->count) {
		rec.id.number = rec.id.number * r->count + i;
	} else if (rec.members & FRAG_HAS_ID) {
		word = word_id(i, &rec.id, &rec.id.number);
		rec.id.text = word;
		if (!word)
			return frag_fail_nomem(err);
	}
	rc = merge_traces_write_event(rank, sink, &rec, err);
	free(word);
	return rc;
}

int frag_ranks_next(struct frag_ranks *r, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_rank *rank;
	int rc;

	if (!r->turn_count)
		return 0;
	rank = &r->ranks[r->turns[0].rank];
	rc = write_next(r, r->turns[0].rank, sink, err);
	rank->at++;
	rc = rc ? rc : merge_traces_advance(rank, err);
	if (rc)
		return rc;
	take_turns(r);
	return 1;
}
