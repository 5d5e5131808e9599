/*
 * plan_policy.c - plan: each request where a plan has put it (fragsim-policies(7), plan), else
 * bestfit.
 *
 * A space of the plan is a segment, in a separate list. The key of a free block there is its
 * end: the first one that ends at or after a place is the only one that can hold it. In the
 * lists of bestfit the key is the size, and so the order is that of bestfit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "plan/plan_file.h"
#include "policy/fit_keys.h"
#include "policy/heap_access.h"
#include "policy/policies.h"

enum { FILE_KEY, PERIOD };
#define LIST_PLAN 1             /* a pool's list of its space; 0 is that of bestfit */
#define OF_PLAN 1               /* what segments of the plan are marked with */

/* What is made of the file, in one piece: this, places, spaces. */
struct plan_table {
	uint32_t place_count, space_count;
};

struct plan_place {
	uint64_t size, offset;
	uint32_t space, device;
};

struct plan_space {
	uint64_t height;
	uint32_t device;
	bool first;             /* of the pool 0, which has a segment from before the first step */
	uint32_t row;           /* the first one in it */
};

struct following {
	struct frag_planned count;
	uint32_t next;          /* place */
	bool begun;             /* a mark that the key period names was met */
};

static struct plan_place *places_of(const struct plan_table *t)
{
	return (struct plan_place *)(uintptr_t)(t + 1);
}

static struct plan_space *spaces_of(const struct plan_table *t)
{
	return (struct plan_space *)(uintptr_t)(places_of(t) + t->place_count);
}

static const struct plan_table *table_of(const struct frag_policy *p)
{
	const struct frag_file *file = frag_param_file(p->param[FILE_KEY]);

	return file ? file->bytes : NULL;
}

static bool same_pool(const struct frag_handle *a, const struct frag_handle *b)
{
	return !a->text == !b->text && a->number == b->number
	       && (!a->text || memcmp(a->text, b->text, (size_t)a->number) == 0);
}

/* The number of the space of row i: one of the few that are known, or a new one. */
static uint32_t number_of_space(struct plan_table *t, const struct frag_plan_file *f, uint32_t i)
{
	const struct frag_plan_row *row = &f->rows[i];
	struct plan_space *spaces = spaces_of(t);
	uint32_t k = 0;

	while (k < t->space_count
	       && !(spaces[k].device == row->device
		    && same_pool(&f->rows[spaces[k].row].pool, &row->pool)))
		k++;
	if (k == t->space_count)
		spaces[t->space_count++] = (struct plan_space){
			.device = row->device, .first = !row->pool.text && !row->pool.number,
			.row = i,
		};
	return k;
}

/*
 * Fills the table with the places of the plan, and the height of each space. A block from before
 * the period is no request of it, but its place is kept.
 */
static int make_table(const struct frag_plan_file *f, void **bytes, uint64_t *length,
		      struct frag_error *err)
{
	struct plan_table *t;
	uint32_t n = 0;

	*length = sizeof(*t)
		  + f->count * (sizeof(struct plan_place) + sizeof(struct plan_space));
	*bytes = t = calloc(1, *length);
	if (!t)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < f->count; i++)
		t->place_count += !f->rows[i].carried;
	for (uint32_t i = 0; i < f->count; i++) {
		const struct frag_plan_row *row = &f->rows[i];
		const uint32_t k = number_of_space(t, f, i);
		struct plan_space *s = &spaces_of(t)[k];

		s->height = frag_max(s->height, row->offset + row->size);
		if (!row->carried)
			places_of(t)[n++] = (struct plan_place){
				.size = row->size, .offset = row->offset, .space = k,
				.device = row->device,
			};
	}
	return 0;
}

static int plan_load(const struct frag_file *file, void **bytes, uint64_t *length,
		     struct frag_error *err)
{
	struct frag_plan_file f;
	int rc = frag_plan_file_parse(&f, "plan", file->bytes, file->length, err);

	for (uint32_t i = 1; !rc && i < f.count; i++)
		if (f.rows[i].step < f.rows[i - 1].step)
			rc = frag_fail(err, FRAG_ETRACE, "its buffers are not by step");
	rc = rc ? rc : make_table(&f, bytes, length, err);
	frag_plan_file_fini(&f);
	return rc;
}

static uint64_t plan_key(const void *state, const uint64_t *param,
			 const struct frag_segment_view *s, const struct frag_block_view *b)
{
	(void)state;
	(void)param;
	return s->user == OF_PLAN ? b->offset + b->bytes : b->bytes;
}

/* A segment of a space of the plan. Whole, its end is its size: marked, it has the key it had. */
static int obtain_space(struct frag_policy *p, frag_list list, uint64_t height)
{
	frag_block whole;
	int rc = frag_heap_grow(p->heap, list, height, &whole);

	rc = rc ? rc : frag_heap_keep(p->heap, whole);
	if (!rc)
		frag_heap_set_segment_user(
			p->heap, frag_heap_look_unchecked(p->heap, whole).segment, OF_PLAN);
	return rc;
}

/* The one of pool 0 is there from the beginning; a list of the plan knows its space, and 1. */
static int plan_init(struct frag_policy *p)
{
	const struct plan_table *t = table_of(p);
	frag_list list;
	int rc = 0;

	((struct following *)p->state)->count.there = t != NULL;
	for (uint32_t k = 0; t && k < t->space_count && !rc; k++) {
		const struct plan_space *s = &spaces_of(t)[k];

		if (!s->first || s->device != p->device)
			continue;
		rc = frag_heap_list(p->heap, 0, LIST_PLAN, &list);
		rc = rc ? rc : obtain_space(p, list, s->height);
		if (!rc)
			frag_heap_set_list_user(p->heap, list, k + UINT64_C(1));
	}
	return rc;
}

/* Counts a request that is not placed as planned, and why. */
static int missed(struct following *at, uint64_t *why)
{
	at->count.misses++;
	++*why;
	return 0;
}

/* The place of the next request on this device; NULL: the plan has none, and that is counted. */
static const struct plan_place *next_place(struct frag_policy *p)
{
	const struct plan_table *t = table_of(p);
	struct following *at = p->state;
	const struct plan_place *place;

	if (p->param[PERIOD] && !at->begun) {
		missed(at, &at->count.before);
		return NULL;
	}
	while (t && at->next < t->place_count) {
		place = &places_of(t)[at->next++];
		if (place->device == p->device)
			return place;
	}
	missed(at, &at->count.beyond);
	return NULL;
}

/*
 * *out stays none where the place cannot be taken: it is too small, of another pool, or not free,
 * and that is counted.
 * Segments of pools other than 0 are obtained when they are first needed; a refused one is none.
 */
static int take_place(struct frag_policy *p, const struct frag_request *rq,
		      const struct plan_place *place, frag_block *out)
{
	const struct plan_space *s = &spaces_of(table_of(p))[place->space];
	struct following *at = p->state;
	frag_list list;
	frag_block b;
	int rc;

	if (rq->bytes > place->size)
		return missed(at, &at->count.too_large);
	rc = frag_heap_list_unchecked(p->heap, rq->pool, LIST_PLAN, &list);
	if (!rc && !frag_heap_look_list_unchecked(p->heap, list).user && !s->first && rq->pool) {
		rc = obtain_space(p, list, s->height);
		if (rc == -FRAG_EDEVMEM)
			return missed(at, &at->count.not_free);
		if (!rc)
			frag_heap_set_list_user(p->heap, list, place->space + UINT64_C(1));
	}
	if (rc)
		return rc;
	if (frag_heap_look_list_unchecked(p->heap, list).user != place->space + UINT64_C(1))
		return missed(at, &at->count.other_pool);
	b = frag_heap_find_key(p->heap, list, place->size, place->offset + place->size);
	if (b == FRAG_NO_BLOCK || frag_heap_look_unchecked(p->heap, b).offset > place->offset)
		return missed(at, &at->count.not_free);
	rc = frag_cut_below(p->heap, &b, place->offset);
	rc = rc ? rc : frag_heap_take_unchecked(p->heap, &b, rq->bytes, place->size);
	*out = rc ? FRAG_NO_BLOCK : b;
	at->count.hits += !rc;
	return rc;
}

/* bestfit with its defaults, on the same heap. */
static struct frag_policy bestfit_of(const struct frag_policy *p)
{
	static const uint64_t defaults[FIT_KEYS] = {
		[ALIGN] = 512, [SEGMENT] = 2 << 20, [MIN_SPLIT] = 512, [RELEASE] = true,
	};

	return (struct frag_policy){
		.ops = &frag_policy_bestfit, .heap = p->heap, .param = defaults, .err = p->err,
	};
}

static int plan_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	const struct plan_place *place = next_place(p);
	struct frag_policy bestfit = bestfit_of(p);
	int rc = 0;

	*out = FRAG_NO_BLOCK;
	if (place)
		rc = take_place(p, rq, place, out);
	return rc || *out != FRAG_NO_BLOCK ? rc : frag_policy_bestfit.alloc(&bestfit, rq, out);
}

/* A period begins with the plan's first buffer; all else is left to the default. */
static int plan_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	const char *period = frag_param_name(p->param[PERIOD]);
	struct following *at = p->state;

	*handled = false;
	if (period && n->kind == FRAG_NOTICE_MARK && frag_glob_fits(period, n->text, n->length)) {
		at->next = 0;
		at->begun = true;
	}
	return 0;
}

static struct frag_sought plan_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	const struct frag_policy bestfit = bestfit_of(p);

	return frag_policy_bestfit.seek(&bestfit, rq);
}

static const struct frag_param_spec plan_params[] = {
	[FILE_KEY] = {
		.name = "file", .type = FRAG_PARAM_FILE, .load = plan_load,
		.help = "what fragsim plan --plan has written; without one it is bestfit",
	},
	[PERIOD] = {
		.name = "period", .type = FRAG_PARAM_NAME,
		.help = "the plan begins again at marks of this name (* any characters, ? one)",
	},
	{ 0 },
};

static struct frag_planned plan_planned(const struct frag_policy *p)
{
	return ((const struct following *)p->state)->count;
}

const struct frag_policy_ops frag_policy_plan = {
	.name = "plan",
	.summary = "each request where a plan has put it, else bestfit",
	.params = plan_params,
	.order = FRAG_ORDER_KEY,
	.key = plan_key,
	.state_size = sizeof(struct following),
	.init = plan_init,
	.alloc = plan_alloc,
	.free = frag_policy_give,
	.notice = plan_notice,
	.planned = plan_planned,
	.seek = plan_seek,
};
