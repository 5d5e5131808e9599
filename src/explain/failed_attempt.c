/*
 * failed_attempt.c - what attempts that failed earlier left behind: a program that tries again.
 *
 * The first request of the same thread after a failure decides. The program tries *again* if this
 * stack requested memory before, at a place not later than the failing one: the whole stack, or its
 * inner frames up to a function that now has another caller. What was allocated between that place
 * and the failure, and is alive at a later failure, is left behind. A new stack, or one of a later
 * line: the program continued. The outermost function of a stack stands for its thread.
 */
#include "explain/failed_attempt.h"

#include <stdlib.h>

#define FAILURES_MAX 64         /* the last ones before the failure */
#define NOWHERE UINT64_MAX

/* A failure, and where the program was. */
struct attempt {
	const struct frag_history *h;
	struct frag_calls where;        /* of the last request that has frames */
	uint64_t failed, until;         /* events: this failure, and the one that is explained */
	uint64_t step;                  /* the last step of an optimizer before it; 0: none */
	uint32_t index;                 /* of the failed request */
	bool exact;                     /* `where` is of the failed request itself */
};

static const struct frag_called_line *call_of(const struct attempt *a, struct frag_calls c, uint32_t i)
{
	return frag_call_at(&a->h->stacks, c, i);
}

static uint32_t function_at(const struct attempt *a, struct frag_calls c, uint32_t i)
{
	return call_of(a, c, i)->function;
}

static struct frag_calls calls_at(const struct attempt *a, uint32_t request)
{
	return frag_calls_of(&a->h->stacks, a->h->requests[request].stack);
}

static bool same_thread(const struct attempt *a, struct frag_calls c)
{
	return c.count && function_at(a, c, 0) == function_at(a, a->where, 0);
}

static bool is_equal(struct frag_calls a, uint32_t from_a, struct frag_calls b, uint32_t from_b,
		     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (a.of[from_a + i] != b.of[from_b + i])
			return false;
	return true;
}

static bool is_same_stack(struct frag_calls a, struct frag_calls b)
{
	return a.count == b.count && is_equal(a, 0, b, 0, a.count);
}

/*
 * Requests before the failure, the last one first, of its thread; the failed one is a place, too,
 * where it has frames. False: there is no more.
 */
static bool attempt_walk_back(const struct attempt *a, uint32_t *i, struct frag_calls *c)
{
	while (*i > 0) {
		const uint32_t at = --*i;

		*c = calls_at(a, at);
		if (at == a->index ? a->exact : same_thread(a, *c))
			return true;
	}
	return false;
}

/* Does stack c come from the same call as `head`: its first k + 1 frames, and the next function? */
static bool is_of_call(const struct attempt *a, struct frag_calls c, struct frag_calls head,
		       uint32_t k)
{
	return c.count > k + 1 && is_equal(c, 0, head, 0, k + 1)
	       && function_at(a, c, k + 1) == function_at(a, head, k + 1);
}

/* The same statement of the program again: all that this one call made. */
static uint64_t back_to_statement(const struct attempt *a, struct frag_calls now, uint32_t depth)
{
	uint32_t k = depth, i = a->index + 1;
	uint64_t place = a->failed;
	struct frag_calls c;

	while (k > 0 && !call_of(a, now, k - 1)->own)
		k--;
	/* k is one more than the last own frame of what both have in common */
	if (k + 1 >= a->where.count)
		return is_same_stack(now, a->where) ? a->failed : NOWHERE;
	while (attempt_walk_back(a, &i, &c)) {
		const uint64_t born = a->h->requests[i].born;

		if (born < a->step
		    || !(k ? is_of_call(a, c, a->where, k - 1)
			   : c.count && function_at(a, c, 0) == function_at(a, a->where, 0)))
			break;
		place = born;
	}
	return place;
}

/* The last request before the failure whose stack ends like `now` from frame e on. */
static uint32_t find_place(const struct attempt *a, struct frag_calls now, uint32_t depth,
			   uint32_t e)
{
	const bool part = e > depth;
	const uint32_t from = part ? e : 0, tail = now.count - from;
	uint32_t i = a->index + 1;
	struct frag_calls c;

	if (part && (now.count <= e
		     || (!call_of(a, now, e)->own
			 && !(a->where.count > e
			      && function_at(a, a->where, e) == function_at(a, now, e)))))
		return FRAG_ALL;
	while (attempt_walk_back(a, &i, &c)) {
		if (c.count < tail || !is_equal(c, c.count - tail, now, from, tail)
		    || (part && (c.count - tail < depth || !is_equal(c, 0, a->where, 0, depth))))
			continue;
		if (depth < c.count && depth < a->where.count
		    && function_at(a, c, depth) == function_at(a, a->where, depth)) {
			/* a later place of the previous pass: the program continued */
			if (call_of(a, c, depth)->line > call_of(a, a->where, depth)->line)
				continue;
		} else if (a->h->requests[i].born < a->step) {
			continue;
		}
		return i;
	}
	return FRAG_ALL;
}

/*
 * The same place many times in one call, as layers in a loop: back to the first of them, as long
 * as the frame that repeats only moves forward in between.
 */
static uint64_t back_to_first(const struct attempt *a, struct frag_calls now, uint32_t depth,
			      uint32_t e, uint32_t place)
{
	const bool part = e > depth;
	const uint32_t from = part ? e : 0, tail = now.count - from;
	uint32_t line = UINT32_MAX, deep = UINT32_MAX, i = place + 1, first = place;
	struct frag_calls c;

	while (attempt_walk_back(a, &i, &c)) {
		const struct frag_called_line *here;

		if (c.count <= depth || depth >= a->where.count
		    || !is_equal(c, 0, a->where, 0, depth))
			break;
		here = call_of(a, c, depth);
		if (here->function != function_at(a, a->where, depth) || here->line > line
		    || (!part && depth < now.count
			&& function_at(a, now, depth) == here->function
			&& here->line < call_of(a, now, depth)->line))
			break;
		if (part) {
			/* called from elsewhere: within the one call, whose lines go forward */
			if (c.count <= e + 1 || function_at(a, c, e) != function_at(a, now, e)
			    || call_of(a, c, e)->line > deep)
				break;
			deep = call_of(a, c, e)->line;
		}
		line = here->line;
		if (c.count >= tail && is_equal(c, c.count - tail, now, from, tail)
		    && a->h->requests[i].born >= a->step)
			first = i;
	}
	return a->h->requests[first].born;
}

/* The step at which a program begins again that makes this request next; NOWHERE: it continues. */
static uint64_t match(const struct attempt *a, struct frag_calls now)
{
	const struct frag_calls q = a->where;
	const uint32_t shorter = now.count < q.count ? now.count : q.count;
	uint32_t depth = 0, place = FRAG_ALL, e;

	while (depth < shorter && now.of[depth] == q.of[depth])
		depth++;
	if ((depth == now.count && depth == q.count)
	    || (depth < shorter && !call_of(a, now, depth)->own && !call_of(a, q, depth)->own))
		return back_to_statement(a, now, depth);
	/* the same function called from another line, else the whole stack */
	for (e = depth + 1; place == FRAG_ALL && e != depth - 1; e--)
		place = find_place(a, now, depth, e);
	e++;
	if (place == FRAG_ALL)
		return NOWHERE;
	if (a->h->requests[place].born == a->failed && e == depth)
		return a->failed;
	return back_to_first(a, now, depth, e, place);
}

/*
 * Only the first request after the failure decides. A request whose block is free again before the
 * next one, as in a handler, is skipped.
 */
static uint64_t went_back_to(const struct attempt *a)
{
	const struct frag_history *h = a->h;
	const struct frag_past_request *last = NULL;

	for (uint32_t i = a->index + 1; i < h->request_count && h->requests[i].born <= a->until;
	     i++) {
		const struct frag_calls c = calls_at(a, i);
		uint64_t place;

		if (!c.count || !(same_thread(a, c) || (call_of(a, c, 0)->shell
							&& call_of(a, a->where, 0)->shell)))
			continue;
		/* is something of the one before left? */
		if (last && (last->failed || last->died > h->requests[i].born))
			return NOWHERE;
		place = match(a, c);
		if (place != NOWHERE)
			return place;
		last = &h->requests[i];
	}
	return NOWHERE;
}

static bool begin_attempt(struct attempt *a, const struct frag_history *h, uint32_t failure,
			  uint64_t until)
{
	uint32_t i = frag_history_framed(h, h->requests[failure].born), steps;

	if (i == FRAG_ALL)
		return false;
	*a = (struct attempt){
		.h = h, .index = failure, .failed = h->requests[failure].born, .until = until,
		.where = frag_calls_of(&h->stacks, h->requests[i].stack), .exact = i == failure,
	};
	FRAG_COUNT_WHILE(steps, h->step_count, h->steps[steps] < a->failed);
	a->step = steps ? h->steps[steps - 1] : 0;
	return true;
}

static int attempt_by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What blocks that were made by the attempt, and are alive, add up to. */
struct sum {
	struct frag_failed_attempt *out;
	uint64_t until;
	uint8_t *taken;         /* by request: it counts already */
	uint64_t *sizes;        /* of blocks alive that are older than the attempt, rising */
	uint32_t size_count;
	struct frag_map tag_at;
	uint64_t *tag_bytes;
	uint32_t tag_count, tag_capacity;
	uint64_t tag_most;
};

/* A gradient has the size of its parameter, and stays with it. */
static bool may_be_gradient(const struct sum *s, uint64_t bytes)
{
	uint32_t i;

	FRAG_COUNT_WHILE(i, s->size_count, s->sizes[i] < bytes);
	return i < s->size_count && s->sizes[i] == bytes;
}

/* States that an optimizer keeps are none where only its step is tried again. */
static bool is_left_behind(const struct attempt *a, const struct sum *s, uint32_t i, bool in_step)
{
	const struct frag_past_request *r = &a->h->requests[i];
	const struct frag_calls c = calls_at(a, i);
	const struct frag_called_line *inner = c.count ? call_of(a, c, c.count - 1) : NULL;

	if (s->taken[i] || !frag_was_alive(r, s->until) || (inner && !same_thread(a, c)))
		return false;
	if ((!inner || inner->backward) && may_be_gradient(s, r->bytes))
		return false;
	return !(inner && inner->init_group && in_step);
}

static bool note_left(struct sum *s, const struct frag_past_request *r)
{
	uint32_t i = frag_map_get(&s->tag_at, r->tag);

	s->out->blocks++;
	s->out->bytes += r->bytes;
	if (!r->tag)
		return true;
	if (i == FRAG_MAP_NONE) {
		i = s->tag_count;
		if (!FRAG_GROW(s->tag_bytes, s->tag_capacity, i)
		    || !frag_map_add(&s->tag_at, r->tag, i))
			return false;
		s->tag_bytes[s->tag_count++] = 0;
	}
	s->tag_bytes[i] += r->bytes;
	if (s->tag_bytes[i] > s->tag_most) {
		s->tag_most = s->tag_bytes[i];
		s->out->tag = r->tag;
	}
	return true;
}

/* Adds what one attempt left behind since its place. False: out of memory. */
static bool add_attempt(struct sum *s, const struct attempt *a, uint64_t place, uint64_t *most)
{
	const struct frag_history *h = a->h;
	const uint32_t from = frag_history_find(h, place);
	const uint64_t before = s->out->bytes;
	bool in_step = false, good = true;
	const struct frag_calls first = calls_at(a, from);

	for (uint32_t i = 0; i < first.count && !in_step; i++)
		in_step = call_of(a, first, i)->optimizer;
	s->size_count = 0;
	for (uint32_t i = 0; i < from; i++)
		if (frag_was_alive(&h->requests[i], s->until))
			s->sizes[s->size_count++] = h->requests[i].bytes;
	FRAG_SORT(s->sizes, s->size_count, attempt_by_size);
	for (uint32_t i = from; i < a->index && good; i++) {
		if (!is_left_behind(a, s, i, in_step))
			continue;
		s->taken[i] = 1;
		good = note_left(s, &h->requests[i]);
	}
	if (s->out->bytes - before > *most) {
		*most = s->out->bytes - before;
		s->out->failed_at = a->failed;
	}
	return good;
}

/* The first of the last FAILURES_MAX failures before the request with this index. */
static uint32_t attempt_first_failure(const struct frag_history *h, uint32_t end)
{
	uint32_t count = 0;

	while (end > 0 && count < FAILURES_MAX)
		count += h->requests[--end].failed;
	return end;
}

int frag_find_failed_attempt(struct frag_failed_attempt *out, const struct frag_history *h,
			     uint64_t at, struct frag_error *err)
{
	const uint32_t end = frag_history_find(h, at);
	struct sum s = {
		.out = out, .until = at, .taken = calloc((size_t)end + 1, 1),
		.sizes = malloc(sizeof(*s.sizes) * ((size_t)end + 1)),
	};
	bool good = frag_map_init(&s.tag_at, frag_hash_seed()) && s.taken && s.sizes;
	uint64_t most = 0;

	*out = (struct frag_failed_attempt){ .bytes = 0 };
	for (uint32_t i = attempt_first_failure(h, end); i < end && good; i++) {
		struct attempt a;
		uint64_t place;

		if (!h->requests[i].failed || !begin_attempt(&a, h, i, at))
			continue;
		place = went_back_to(&a);
		if (place < a.failed)
			good = add_attempt(&s, &a, place, &most);
	}
	frag_map_fini(&s.tag_at);
	free(s.taken);
	free(s.sizes);
	free(s.tag_bytes);
	return good ? 0 : frag_fail_nomem(err);
}
