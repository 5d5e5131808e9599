/* leaking.c - what stays from each iteration of a program. */
#include "iterations/leaking.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "events/tape.h"
#include "explain/holders.h"
#include "iterations/marked_tags.h"

#define POINTS 200              /* of a growth */

/* What a slot of the trace holds. */
struct held {
	uint64_t bytes, step, stack;
	uint32_t device, tag, iteration;
	bool live;
};

struct walk {
	struct frag_leaks *out;
	struct frag_marked_tags tags;
	uint32_t devices;
	uint32_t at;            /* the iteration, from 1; 0: before the first */
	struct held *slots;     /* those that are live; at the end, what stays */
	uint32_t slot_count, slot_capacity;
	uint64_t *now;          /* live bytes, one a device */
	uint64_t *starts;       /* likewise at points, device by device */
	uint32_t point, points;
	uint32_t rare, gap;     /* of the tape: the next ones */
	uint64_t skipped;       /* what a step is ahead of its event */
};

/* Starts, from that of iteration 1 to that of the last, that lie evenly among all. */
static uint32_t points_of(const struct frag_iterations *it)
{
	return it->count - 1 < POINTS ? it->count - 1 : POINTS;
}

static uint32_t iteration_at(const struct frag_iterations *it, uint32_t point)
{
	return 1 + (uint32_t)((uint64_t)point * (it->count - 2) / (points_of(it) - 1));
}

static bool hold(struct walk *w, const struct frag_tape_event *e, uint64_t step,
		 const struct frag_tape_site *site)
{
	uint32_t tag;

	if (!frag_marked_tags_find(&w->tags, site->tag, &tag)
	    || !frag_grow(&w->slots, &w->slot_capacity, (uint64_t)e->slot + 1, sizeof(*w->slots)))
		return false;
	while (w->slot_count <= e->slot)
		w->slots[w->slot_count++].live = false;
	w->slots[e->slot] = (struct held){
		.bytes = e->word >> FRAG_TAPE_VALUE_SHIFT, .step = step, .stack = site->stack,
		.device = site->device, .tag = tag, .iteration = w->at, .live = true,
	};
	w->now[site->device] += w->slots[e->slot].bytes;
	return true;
}

static void let_go(struct walk *w, const struct frag_tape_event *e)
{
	struct held *held = e->slot < w->slot_count ? &w->slots[e->slot] : NULL;

	if (held && held->live)
		w->now[held->device] -= held->bytes;
	if (held)
		held->live = false;
}

/* Iteration w->at begins. */
static void begin(struct walk *w)
{
	if (w->point < w->points && w->at == iteration_at(&w->out->iterations, w->point)) {
		memcpy(w->starts + (size_t)w->point * w->devices, w->now,
		       w->devices * sizeof(*w->now));
		w->point++;
	}
	w->at++;
}

static void note_peak(struct walk *w, uint32_t device)
{
	struct frag_leaking *d = &w->out->devices[device];

	if (w->at + 1 == w->out->iterations.count && w->now[device] > d->peak)
		d->peak = w->now[device];
}

/* Of a mark; all rare events before it go by. */
static struct frag_text text_at(struct walk *w, const struct frag_tape *tape, uint32_t event)
{
	while (tape->rare[w->rare].event < event)
		w->rare++;
	return frag_tape_text(tape->texts, &tape->rare[w->rare]);
}

static bool do_event(struct walk *w, const struct frag_tape *tape, uint32_t i)
{
	const struct frag_tape_event *e = &tape->events[i];
	const struct frag_tape_site *site = &tape->sites[e->site];
	bool good = true;

	for (; w->gap < tape->gap_count && tape->gaps[w->gap].event <= i; w->gap++)
		w->skipped = tape->gaps[w->gap].step - tape->gaps[w->gap].event;
	if (frag_tape_op(e) == FRAG_OP_ALLOC) {
		good = hold(w, e, i + w->skipped, site);
		note_peak(w, site->device);
	} else if (frag_tape_op(e) == FRAG_OP_FREE) {
		let_go(w, e);
	} else if (frag_tape_op(e) == FRAG_OP_MARK) {
		frag_marked_tags_mark(&w->tags, text_at(w, tape, i));
	}
	return good;
}

/* As far as the start of the last iteration. All that is needed of an event is in its few words. */
static bool walk_tape(struct walk *w, const struct frag_tape *tape)
{
	const struct frag_iterations *it = &w->out->iterations;
	bool good = true;

	for (uint32_t i = 0; w->at < it->count && good; begin(w))
		for (const uint64_t end = it->start[w->at]; i < end && good; i++)
			good = do_event(w, tape, i);
	return good;
}

/* Who left them: by device, then tag, else stack, else size; then iteration, then step. */
static int by_owner(const void *one, const void *other)
{
	const struct held *a = one, *b = other;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (!a->tag && a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (!a->tag && !a->stack && a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return 0;
}

static int by_owner_and_step(const void *one, const void *other)
{
	const struct held *a = one, *b = other;
	const int order = by_owner(a, b);

	return order ? order : a->step < b->step ? -1 : a->step > b->step;
}

static int by_bytes(const void *one, const void *other)
{
	const struct frag_leak *a = one, *b = other;

	if (a->an_iteration != b->an_iteration)
		return a->an_iteration > b->an_iteration ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->first_step < b->first_step ? -1 : a->first_step > b->first_step;
}

/* Those of one owner: a leak where each iteration has left some. */
static bool judge(const struct walk *w, const struct held *first, uint32_t count)
{
	struct frag_leaks *out = w->out;
	const uint32_t looked_at = out->iterations.count - 3;
	struct frag_leak leak = {
		.device = first->device,
		.size = first->tag || first->stack ? 0 : first->bytes, .blocks = count,
		.first_step = first->step,
	};
	uint32_t iterations = 0;

	for (uint32_t i = 0; i < count; i++) {
		iterations += !i || first[i].iteration != first[i - 1].iteration;
		leak.bytes += first[i].bytes;
	}
	if (iterations < looked_at || !leak.bytes)
		return true;
	leak.an_iteration = leak.bytes / looked_at;
	leak.an_iteration += !leak.an_iteration;
	out->devices[leak.device].leak += leak.an_iteration;
	if (first->stack)
		leak.frames = frag_frames_json(w->tags.symbols, first->stack);
	if (!frag_marked_tags_json(&w->tags, first->tag, &leak.tag)
	    || (first->stack && !leak.frames)) {
		free(leak.frames);
		return false;
	}
	out->leaks[out->leak_count++] = leak;
	return true;
}

/* What of iterations 1 to n - 3 is live still moves to the front. */
static uint32_t keep_left(struct walk *w)
{
	const uint32_t last = w->out->iterations.count - 3;
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->slot_count; i++)
		/* w->at counts from 1: iteration 1 is the second one, which has 2 */
		if (w->slots[i].live && w->slots[i].iteration >= 2
		    && w->slots[i].iteration <= last + 1)
			w->slots[count++] = w->slots[i];
	return count;
}

static bool find_leaks(struct walk *w)
{
	const uint32_t count = keep_left(w);
	uint32_t end;
	bool good = true;

	if (!count)
		return true;
	qsort(w->slots, count, sizeof(*w->slots), by_owner_and_step);
	/* an owner has a block of each iteration at least */
	w->out->leaks = calloc(count, sizeof(*w->out->leaks));
	if (!w->out->leaks)
		return false;
	for (uint32_t i = 0; i < count && good; i = end) {
		for (end = i + 1; end < count && !by_owner(&w->slots[i], &w->slots[end]);)
			end++;
		good = judge(w, &w->slots[i], end - i);
	}
	qsort(w->out->leaks, w->out->leak_count, sizeof(*w->out->leaks), by_bytes);
	return good;
}

static int by_value(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static double start_at(const struct walk *w, uint32_t point, uint32_t device)
{
	return (double)w->starts[(size_t)point * w->devices + device];
}

/* The median of the slopes between any two points. */
static bool find_growth(const struct walk *w, uint32_t device, double *growth)
{
	const struct frag_iterations *it = &w->out->iterations;
	double *slopes = malloc((size_t)w->points * w->points / 2 * sizeof(*slopes));
	uint32_t count = 0;

	if (!slopes)
		return false;
	for (uint32_t i = 0; i < w->points; i++)
		for (uint32_t k = 0; k < i; k++)
			slopes[count++] = (start_at(w, i, device) - start_at(w, k, device))
					  / (iteration_at(it, i) - iteration_at(it, k));
	qsort(slopes, count, sizeof(*slopes), by_value);
	*growth = count % 2 ? slopes[count / 2] : (slopes[count / 2 - 1] + slopes[count / 2]) / 2;
	free(slopes);
	return true;
}

static bool look_at_device(const struct walk *w, uint32_t device, uint64_t room)
{
	struct frag_leaking *d = &w->out->devices[device];

	d->first = w->starts[device];
	d->last = w->starts[(size_t)(w->points - 1) * w->devices + device];
	d->full_in = UINT64_MAX;
	if (room && d->leak)
		d->full_in = room > d->peak ? (room - d->peak) / d->leak : 0;
	return find_growth(w, device, &d->growth);
}

int frag_leaks_find(struct frag_leaks *leaks, const struct frag_tape *tape, const char *mark,
		    const uint64_t *rooms, struct frag_error *err)
{
	struct walk w = { .out = leaks, .devices = frag_tape_info(tape)->device_count };
	const struct frag_iterations *it = &leaks->iterations;
	bool good;
	int rc;

	*leaks = (struct frag_leaks){ .leak_count = 0 };
	rc = frag_iterations_find(&leaks->iterations, tape, mark, err);
	if (rc)
		return rc;
	leaks->steps = (it->start[it->count - 1] - it->start[0]) / (it->count - 1);
	leaks->devices = calloc(w.devices, sizeof(*leaks->devices));
	w.now = calloc(w.devices, sizeof(*w.now));
	w.points = points_of(it);
	w.starts = calloc((size_t)w.points * w.devices, sizeof(*w.starts));
	good = frag_marked_tags_init(&w.tags, frag_tape_symbols(tape)) && leaks->devices && w.now
	       && w.starts && walk_tape(&w, tape) && find_leaks(&w);
	for (uint32_t d = 0; d < w.devices && good; d++)
		good = look_at_device(&w, d, rooms[d]);
	frag_marked_tags_fini(&w.tags);
	free(w.slots);
	free(w.now);
	free(w.starts);
	return good ? 0 : frag_fail_nomem(err);
}

void frag_leaks_fini(struct frag_leaks *leaks)
{
	frag_iterations_fini(&leaks->iterations);
	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		free(leaks->leaks[i].tag);
		free(leaks->leaks[i].frames);
	}
	free(leaks->leaks);
	free(leaks->devices);
}

uint64_t frag_steps_until_full(const struct frag_leaks *leaks, uint32_t device)
{
	uint64_t steps;

	return __builtin_mul_overflow(leaks->devices[device].full_in, leaks->steps, &steps)
		? UINT64_MAX : steps;
}
