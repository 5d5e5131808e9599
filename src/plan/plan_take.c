/* plan_take.c - the placement of a file, which is checked before it is believed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/escape.h"
#include "events/id_map.h"
#include "plan/plan_file.h"

/* While rows are compared with buffers. */
struct taker {
	struct frag_plan *plan;
	const struct frag_plan_file *file;
	struct frag_map by_id;          /* hash of an id -> a buffer; several of one id */
	bool *taken;                    /* by buffer */
	struct frag_error *err;
};

#define ID_ROOM 120

/* For messages. */
static const char *id_text(char buf[ID_ROOM], const struct frag_handle *id)
{
	if (id->text)
		frag_format_printable(buf, ID_ROOM, "\"%.*s\"",
				      (int)(id->number < 60 ? id->number : 60), id->text);
	else
		frag_format_printable(buf, ID_ROOM, "%" PRIu64, id->number);
	return buf;
}

static uint64_t hash_of(const struct taker *t, const struct frag_handle *id)
{
	return id->text ? frag_hash_text(id->text, (size_t)id->number, t->by_id.seed)
			: frag_hash_mix(id->number + 1);
}

static bool plan_take_same(const struct frag_handle *a, const struct frag_handle *b)
{
	if (!a->text != !b->text || a->number != b->number)
		return false;
	return !a->text || memcmp(a->text, b->text, (size_t)a->number) == 0;
}

/*
 * The buffer of a row: of that id and that allocation step. A CSV may have other times: then an id
 * that only one buffer has is enough. The count: there is none.
 */
static uint32_t plan_take_buffer_of(const struct taker *t, const struct frag_plan_row *row)
{
	const uint64_t key = hash_of(t, &row->id);
	uint32_t at = frag_map_home(&t->by_id, key), i, only = t->plan->count, met = 0;

	while ((i = frag_map_next(&t->by_id, key, &at)) != FRAG_MAP_NONE) {
		if (!plan_take_same(&t->plan->buffers[i].id, &row->id))
			continue;
		if (t->plan->buffers[i].birth == row->step)
			return i;
		only = i;
		met++;
	}
	return t->file->csv && met == 1 ? only : t->plan->count;
}

static int refuse(struct taker *t, const char *what, const struct frag_handle *id, uint64_t step)
{
	char buf[ID_ROOM];

	return frag_fail(t->err, FRAG_ETRACE, "%s: buffer %s, from %s %" PRIu64 ", %s",
			 t->file->path, id_text(buf, id), t->file->csv ? "time" : "step", step,
			 what);
}

static int plan_take_take_row(struct taker *t, const struct frag_plan_row *row)
{
	const uint32_t i = plan_take_buffer_of(t, row);
	struct frag_buffer *b = &t->plan->buffers[i];

	/* a row of 0 bytes takes nothing, whatever its id is */
	if (!row->size)
		return 0;
	if (i == t->plan->count)
		return refuse(t, "is not one of the trace", &row->id, row->step);
	if (t->file->csv && !row->placed)
		return refuse(t, "has no offset", &row->id, row->step);
	if (t->taken[i])
		return refuse(t, "is specified more than once", &row->id, row->step);
	if (row->size < b->requested)
		return refuse(t, "is smaller than what the trace requests", &row->id, row->step);
	if (!t->file->csv && row->end != b->end)
		return refuse(t, "ends at another step of the trace", &row->id, row->step);
	if (!t->file->csv && row->device != t->plan->spaces[b->space].device)
		return refuse(t, "is on another device of the trace", &row->id, row->step);
	t->taken[i] = true;
	b->size = row->size;
	b->offset = row->offset;
	return 0;
}

/* Copies the offset and the alignment of a row to its buffer. */
static int plan_take_constraint(struct taker *t, const struct frag_plan_row *row)
{
	const uint32_t i = plan_take_buffer_of(t, row);
	struct frag_buffer *b = &t->plan->buffers[i];

	if (!row->size || (!row->placed && row->align <= 1))
		return 0;
	if (i == t->plan->count || t->taken[i])
		return refuse(t, "cannot be told from another one of its id", &row->id, row->step);
	if (row->placed && row->align > 1 && row->offset % row->align)
		return refuse(t, "has an offset that is no multiple of its alignment", &row->id,
			      row->step);
	t->taken[i] = true;
	b->fixed = row->placed;
	b->offset = row->offset;
	b->align = row->align;
	t->plan->fixed += row->placed;
	t->plan->aligned += row->align > 1;
	return 0;
}

/* Calls `take` for each row, which finds its buffer by id. */
static int plan_take_each(struct taker *t,
			  int (*take)(struct taker *t, const struct frag_plan_row *row))
{
	const struct frag_plan *plan = t->plan;
	int rc = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		if (!frag_map_add(&t->by_id, hash_of(t, &plan->buffers[i].id), i))
			return frag_fail_nomem(t->err);
	for (uint32_t i = 0; i < t->file->count && !rc; i++)
		rc = take(t, &t->file->rows[i]);
	return rc;
}

static int plan_take_take_rows(struct taker *t)
{
	const struct frag_plan *plan = t->plan;
	char buf[ID_ROOM];
	int rc = plan_take_each(t, plan_take_take_row);

	for (uint32_t i = 0; i < plan->count && !rc; i++)
		if (!t->taken[i])
			rc = frag_fail(t->err, FRAG_ETRACE,
				       "%s: buffer %s of the trace, from step %" PRIu64
				       ", is missing",
				       t->file->path, id_text(buf, &plan->buffers[i].id),
				       plan->buffers[i].birth);
	return rc;
}

static int plan_take_sweep(struct taker *t, bool fixed)
{
	struct frag_plan *plan = t->plan;
	const struct frag_buffer *a, *b;
	char one_id[ID_ROOM], other_id[ID_ROOM];
	uint32_t one, other;
	int rc = frag_plan_sweep(plan, fixed, &one, &other, t->err);

	if (rc || one == plan->count)
		return rc;
	a = &plan->buffers[other];
	b = &plan->buffers[one];
	return frag_fail(t->err, FRAG_ETRACE,
			 "%s: buffers %s, at %" PRIu64 " to %" PRIu64 ", and %s,"
			 " at %" PRIu64 " to %" PRIu64 ", overlap at step %" PRIu64,
			 t->file->path, id_text(one_id, &a->id), a->offset, a->offset + a->size,
			 id_text(other_id, &b->id), b->offset, b->offset + b->size, b->birth);
}

int frag_plan_take(struct frag_plan *plan, const struct frag_plan_file *f, struct frag_error *err)
{
	struct taker t = {
		.plan = plan, .file = f, .err = err,
		.taken = calloc((size_t)plan->count + 1, sizeof(bool)),
	};
	int rc = t.taken && frag_map_init(&t.by_id, frag_hash_seed()) ? plan_take_take_rows(&t)
								      : frag_fail_nomem(err);

	rc = rc ? rc : frag_plan_bound(plan, err);
	rc = rc ? rc : plan_take_sweep(&t, false);
	frag_map_fini(&t.by_id);
	free(t.taken);
	for (uint32_t i = 0; i < plan->space_count; i++)
		plan->spaces[i].found_by = f->path;
	return rc;
}

int frag_plan_constrain(struct frag_plan *plan, const struct frag_plan_file *f,
			struct frag_error *err)
{
	struct taker t = {
		.plan = plan, .file = f, .err = err,
		.taken = calloc((size_t)plan->count + 1, sizeof(bool)),
	};
	int rc = t.taken && frag_map_init(&t.by_id, frag_hash_seed())
			 ? plan_take_each(&t, plan_take_constraint) : frag_fail_nomem(err);

	rc = rc ? rc : plan_take_sweep(&t, true);
	frag_map_fini(&t.by_id);
	free(t.taken);
	return rc;
}
