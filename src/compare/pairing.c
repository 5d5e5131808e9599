/* pairing.c - which run belongs to which, and where two of them differ. */
#include "compare/pairing.h"

#include <string.h>

#include "base/path.h"

struct frag_runs *frag_find_trace(const struct frag_run_set *set, const struct frag_runs *like)
{
	struct frag_runs *named = NULL;
	uint32_t alike = 0;

	for (uint32_t i = 0; i < set->count; i++)
		if (strcmp(set->trace[i].path, like->path) == 0)
			return &set->trace[i];
	for (uint32_t i = 0; i < set->count; i++)
		if (like->content && set->trace[i].content
		    && strcmp(set->trace[i].content, like->content) == 0)
			return &set->trace[i];
	for (uint32_t i = 0; i < set->count; i++) {
		if (strcmp(frag_file_name(set->trace[i].path), frag_file_name(like->path)) == 0) {
			named = &set->trace[i];
			alike++;
		}
	}
	return alike == 1 ? named : NULL;
}

static bool same_policy(const struct frag_run *a, const struct frag_run *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->params, b->params) == 0;
}

/* As it is written, else by its keys. */
static struct frag_run *find_like(const struct frag_runs *runs, const struct frag_run *run)
{
	for (uint32_t i = 0; i < runs->count; i++)
		if (runs->run[i].result.device == run->result.device
		    && strcmp(runs->run[i].policy, run->policy) == 0)
			return &runs->run[i];
	for (uint32_t i = 0; i < runs->count; i++)
		if (runs->run[i].result.device == run->result.device
		    && same_policy(&runs->run[i], run))
			return &runs->run[i];
	return NULL;
}

struct frag_run *frag_find_run(const struct frag_runs *runs, const struct frag_runs *of, uint32_t i)
{
	struct frag_run *like = find_like(runs, &of->run[i]);

	if (like)
		return like;
	/* other policies on both sides: the first beside the first, and so on */
	if (runs->count != of->count || runs->run[i].result.device != of->run[i].result.device
	    || find_like(of, &runs->run[i]))
		return NULL;
	return &runs->run[i];
}

static enum frag_verdict join(enum frag_verdict a, enum frag_verdict b)
{
	if (a == b || b == FRAG_SAME)
		return a;
	if (a == FRAG_SAME || a == FRAG_CHANGED)
		return b;
	return b == FRAG_CHANGED ? a : FRAG_MIXED;
}

/* What decides says better or worse; other figures that differ say that something did. */
static enum frag_verdict verdict_of(const struct frag_result *base, const struct frag_result *run)
{
	enum frag_verdict verdict = base->status == run->status ? FRAG_SAME : FRAG_CHANGED;

	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		struct frag_change c = frag_figure_change(&frag_figures[i], base, run);

		if (c.verdict != FRAG_SAME)
			verdict = join(verdict, frag_figures[i].decides ? c.verdict : FRAG_CHANGED);
	}
	return verdict;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* How far apart: reserved counts first. */
static bool farther(const struct frag_where *a, const struct frag_where *b)
{
	uint64_t x = distance(a->reserved, a->base_reserved);
	uint64_t y = distance(b->reserved, b->base_reserved);

	if (x != y)
		return x > y;
	return distance(a->allocated, a->base_allocated)
	       > distance(b->allocated, b->base_allocated);
}

static void note_place(struct frag_pair *pair, const struct frag_where *place)
{
	const struct frag_where none = { .kind = FRAG_WHERE_NOWHERE };

	if (!farther(place, &none))
		return;
	if (pair->first.kind == FRAG_WHERE_NOWHERE)
		pair->first = *place;
	if (pair->largest.kind == FRAG_WHERE_NOWHERE || farther(place, &pair->largest))
		pair->largest = *place;
}

/* Marks that both have: the same names in the same order. */
static void compare_marks(struct frag_pair *pair)
{
	const struct frag_result *a = &pair->base->result, *b = &pair->run->result;

	for (uint32_t i = 0; i < a->mark_count && i < b->mark_count; i++) {
		struct frag_where place = {
			.kind = FRAG_WHERE_MARK,
			.step = b->marks[i].step, .last = b->marks[i].step,
			.base_reserved = a->marks[i].metrics.reserved,
			.base_allocated = a->marks[i].metrics.allocated,
			.reserved = b->marks[i].metrics.reserved,
			.allocated = b->marks[i].metrics.allocated,
		};

		if (strcmp(a->marks[i].name, b->marks[i].name) != 0)
			return;
		frag_where_json_name(place.mark, sizeof(place.mark), b->marks[i].name);
		note_place(pair, &place);
	}
}

static const struct frag_mark *mark_before(const struct frag_result *r, uint64_t step)
{
	const struct frag_mark *before = NULL;

	for (uint32_t i = 0; i < r->mark_count && r->marks[i].step <= step; i++)
		before = &r->marks[i];
	return before;
}

static void compare_courses(struct frag_pair *pair)
{
	struct frag_course a = pair->base->course, b = pair->run->course;

	frag_course_widen(&a, b.width);
	frag_course_widen(&b, a.width);
	for (uint32_t i = 0; i < a.count && i < b.count; i++) {
		const struct frag_mark *mark = mark_before(&pair->run->result, b.stretch[i].from);
		struct frag_where place = {
			.kind = FRAG_WHERE_STRETCH, .step = b.stretch[i].from,
			.last = i + 1 < b.count ? b.stretch[i + 1].from - 1
						: b.stretch[i].from + b.in_last - 1,
			.base_reserved = a.stretch[i].reserved,
			.base_allocated = a.stretch[i].allocated,
			.reserved = b.stretch[i].reserved,
			.allocated = b.stretch[i].allocated,
		};

		if (a.stretch[i].from != b.stretch[i].from)
			return;
		if (mark)
			frag_where_json_name(place.mark, sizeof(place.mark), mark->name);
		note_place(pair, &place);
	}
}

void frag_pair_compare(struct frag_pair *pair, bool same_trace)
{
	pair->verdict = verdict_of(&pair->base->result, &pair->run->result);
	if (!same_trace)
		return;
	compare_marks(pair);
	if (pair->base->course.count && pair->run->course.count
	    && pair->first.kind == FRAG_WHERE_NOWHERE)
		compare_courses(pair);
}
