/* call_loops.c - finds the loops of a program in the outer frames of its stacks. */
#include "iterations/call_loops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/parse.h"
#include "events/resolve.h"
#include "events/tape.h"
#include "snapshot/snapshot.h"

#define DEPTH_MAX 64            /* frames of a path: loops are near its beginning */
#define NOWHERE UINT32_MAX

/* A frame below its callers: equal nodes are equal paths up to them. */
struct node {
	uint64_t function;      /* a hash of file and name */
	uint64_t line;
	uint32_t frame;         /* this line of this function, whatever calls it */
};

/* Requests at which a loop begins again, at one depth and frame. */
struct loop {
	uint32_t depth, frame;
	uint32_t count, first, last;    /* events */
	uint32_t longest;               /* round */
};

struct paths {
	const struct frag_tape *tape;
	struct frag_map of_stack;       /* number of a stack -> its path */
	struct path {
		uint32_t at, length;    /* in the list of nodes */
	} *of;
	uint32_t *list;
	struct node *nodes;
	struct frag_map of_node;        /* a hash of parent and frame -> node */
	struct frag_map of_frame;
	uint32_t count, capacity, list_count, list_capacity, node_count, node_capacity;
	uint32_t frame_count;
	uint64_t seed;
};

/* The last path, and the frames that each caller on it began with. */
struct place {
	uint32_t path;
	uint32_t began[DEPTH_MAX + 1], began_count;
};

static bool paths_init(struct paths *p, const struct frag_tape *tape)
{
	*p = (struct paths){ .tape = tape, .seed = frag_hash_seed() };
	return (int)frag_map_init(&p->of_stack, p->seed) & (int)frag_map_init(&p->of_node, p->seed)
	       & (int)frag_map_init(&p->of_frame, p->seed);
}

static void paths_fini(struct paths *p)
{
	frag_map_fini(&p->of_stack);
	frag_map_fini(&p->of_node);
	frag_map_fini(&p->of_frame);
	free(p->of);
	free(p->list);
	free(p->nodes);
}

/* Does PyTorch take over here: a module, a backward pass, an optimizer? */
static bool is_taken_over(const struct frag_frame *f)
{
	static const char *const calls[] = {
		"_call_impl", "_wrapped_call_impl", "_engine_run_backward", "backward",
		"run_backward", NULL,
	};

	return calls[frag_text_among(f->name, calls)] || frag_text_find(f->file, "/torch/optim/")
	       || frag_text_find(f->file, "/nn/modules/");
}

/* The value of a key, which is the next number where it is new. FRAG_MAP_NONE: out of memory. */
static uint32_t numbered(struct frag_map *map, uint64_t key, uint32_t *count)
{
	const uint32_t known = frag_map_get(map, key);

	if (known != FRAG_MAP_NONE)
		return known;
	return frag_map_add(map, key, *count) ? (*count)++ : FRAG_MAP_NONE;
}

/* Adds a frame to the path of its callers, whose node is *parent. False: out of memory. */
static bool add_node(struct paths *p, const struct frag_frame *f, uint32_t *parent)
{
	const uint32_t before = p->node_count;
	struct node node = { .line = f->line };
	uint64_t key;

	node.function = frag_hash_fold(frag_hash_text(f->file.text, f->file.length, p->seed),
				       frag_hash_text(f->name.text, f->name.length, ~p->seed));
	key = frag_hash_key(node.function + f->line, p->seed);
	node.frame = numbered(&p->of_frame, key, &p->frame_count);
	if (node.frame == FRAG_MAP_NONE)
		return false;
	key = frag_hash_key((uint64_t)*parent << 32 | node.frame, ~p->seed);
	*parent = numbered(&p->of_node, key, &p->node_count);
	if (*parent == FRAG_MAP_NONE || !FRAG_GROW(p->nodes, p->node_capacity, *parent)
	    || !FRAG_GROW(p->list, p->list_capacity, p->list_count))
		return false;
	if (p->node_count > before)
		p->nodes[*parent] = node;
	p->list[p->list_count++] = *parent;
	return true;
}

/* From the outermost of these frames on. */
static bool loops_add_path(struct paths *p, const struct frag_frame *frames, uint32_t count)
{
	struct path path = { .at = p->list_count };
	uint32_t parent = NOWHERE;

	while (count-- > 0 && p->list_count - path.at < DEPTH_MAX) {
		const struct frag_frame *f = &frames[count];
		const enum frag_origin origin = frag_frame_origin(f->file, f->line);

		if (origin == FRAG_ORIGIN_TORCH && is_taken_over(f))
			break;
		if (origin >= FRAG_ORIGIN_PACKAGE && !add_node(p, f, &parent))
			return false;
	}
	path.length = p->list_count - path.at;
	if (!FRAG_GROW(p->of, p->capacity, p->count))
		return false;
	p->of[p->count++] = path;
	return true;
}

/* The path of a stack; NOWHERE: out of memory. */
static uint32_t loops_path_of(struct paths *p, uint32_t stack)
{
	const struct frag_symbols *symbols = frag_tape_symbols(p->tape);
	uint32_t path = frag_map_get(&p->of_stack, stack), count = 0;
	struct frag_frame *frames;
	uint64_t at = stack;

	if (path != FRAG_MAP_NONE)
		return path;
	path = p->count;
	frames = malloc(FRAG_FRAMES_MAX * sizeof(*frames));
	while (frames && count < FRAG_FRAMES_MAX
	       && frag_symbols_whole(symbols, &at, &frames[count]))
		count++;
	if (!frames || !loops_add_path(p, frames, count) || !frag_map_add(&p->of_stack, stack, path))
		path = NOWHERE;
	free(frames);
	return path;
}

static uint32_t node_at(const struct paths *p, uint32_t path, uint32_t depth)
{
	const struct path *of = &p->of[path];

	return path != NOWHERE && depth < of->length ? p->list[of->at + depth] : NOWHERE;
}

/* The depth at which two paths differ: equal nodes have equal callers. */
static uint32_t differ_at(const struct paths *p, uint32_t one, uint32_t other)
{
	const uint32_t length = p->of[one].length < p->of[other].length ? p->of[one].length
									: p->of[other].length;
	uint32_t depth;

	FRAG_COUNT_WHILE(depth, length, node_at(p, one, depth) == node_at(p, other, depth));
	return depth;
}

/*
 * A request comes from this path: does a loop begin again, and at which depth? *frame is where,
 * NOWHERE where the path ends.
 */
static bool begins_again(const struct paths *p, struct place *place, uint32_t path,
			 uint32_t *depth, uint32_t *frame)
{
	const uint32_t before = place->path;
	const struct node *one, *other;
	uint32_t node, d;

	place->path = path;
	if (before == NOWHERE || before == path)
		return false;
	*depth = d = differ_at(p, path, before);
	/* stacks that differ below have the same path */
	if (d == p->of[path].length && d == p->of[before].length)
		return false;
	if (place->began_count > d + 1)
		place->began_count = d + 1;
	for (; place->began_count <= d; place->began_count++)
		place->began[place->began_count] = node_at(p, before, place->began_count);
	node = node_at(p, path, d);
	one = node == NOWHERE ? NULL : &p->nodes[node];
	other = node_at(p, before, d) == NOWHERE ? NULL : &p->nodes[node_at(p, before, d)];
	*frame = one ? one->frame : NOWHERE;
	return node == place->began[d]
	       || (one && other && one->function == other->function && one->line < other->line);
}

/* Each request with a path, from an event on: `found` at which loops begin again. */
struct search {
	struct paths paths;
	const struct frag_loop_search *in;
	uint32_t end, first;           /* events; first: a request with a path; NOWHERE: none */
	struct loop *loops;
	uint32_t count, capacity;
	struct frag_map at;             /* depth and frame -> loop */
	const struct loop *best;
	struct frag_iterations *it;     /* of the best loop */
};

/* Counts it; or of the loop that was chosen adds an iteration. */
static bool note_loop(struct search *s, uint32_t event, uint32_t depth, uint32_t frame)
{
	const uint64_t key = (uint64_t)depth << 32 | frame;
	struct loop *loop;
	uint32_t at;

	if (s->best) {
		if (s->best->depth == depth && s->best->frame == frame)
			s->it->start[s->it->count++] = event;
		return true;
	}
	at = frag_map_get(&s->at, key);
	if (at == FRAG_MAP_NONE) {
		at = s->count;
		if (!FRAG_GROW(s->loops, s->capacity, at) || !frag_map_add(&s->at, key, at))
			return false;
		s->loops[s->count++] = (struct loop){
			.depth = depth, .frame = frame, .first = event, .last = event,
		};
	}
	loop = &s->loops[at];
	loop->count++;
	if (event - loop->last > loop->longest)
		loop->longest = event - loop->last;
	loop->last = event;
	return true;
}

static bool search_walk(struct search *s)
{
	const struct frag_tape *tape = s->paths.tape;
	struct place place = { .path = NOWHERE };
	uint32_t allocs = 0, depth, frame;

	for (uint32_t i = 0; i < s->end; i++) {
		const struct frag_tape_event *e = &tape->events[i];
		uint32_t stack, path;

		/* blocks from before the first event are in no order */
		if (!frag_tape_is_alloc(e) || allocs++ < tape->spot_count || i < s->in->from)
			continue;
		stack = tape->sites[e->site].whole;
		path = stack ? loops_path_of(&s->paths, stack) : NOWHERE;
		if (stack && path == NOWHERE)
			return false;
		if (!stack || !s->paths.of[path].length)
			continue;
		if (s->first == NOWHERE)
			s->first = i;
		if (begins_again(&s->paths, &place, path, &depth, &frame)
		    && !note_loop(s, i, depth, frame))
			return false;
	}
	return true;
}

/* Its events: the last round is no longer than any other. */
static uint64_t span_of(const struct search *s, const struct loop *l)
{
	return l->last - l->first + frag_min(s->end - l->last, l->longest);
}

/* Of the shallowest that take up half of the events; of these the one with the fewest rounds. */
static const struct loop *choose(const struct search *s)
{
	const uint64_t events = s->end - frag_min(s->end, s->in->from);
	const struct loop *best = NULL;

	for (const struct loop *l = s->loops; l && l < s->loops + s->count; l++)
		if (l->count + 1 >= s->in->least && 2 * span_of(s, l) >= events
		    && (!best || l->depth < best->depth
			|| (l->depth == best->depth && l->count < best->count)))
			best = l;
	return best;
}

/* "train.py:31 main", of the request that the loop begins again with. */
static char *loop_text(const struct frag_tape *tape, const struct frag_iterations *it,
		       const struct loop *loop)
{
	const uint32_t stack = tape->sites[tape->events[it->start[it->count - 1]].site].whole;
	struct frag_frame frame, kept[DEPTH_MAX + 1];
	const char *file, *slash;
	uint64_t at = stack;
	/* of a loop of one line the path ends there, and the caller has that line */
	const uint32_t depth = loop->depth - (loop->frame == NOWHERE && loop->depth);
	uint32_t count = 0;
	size_t length;
	char *text;

	/* the innermost come first, so those of the depth and above are the last ones */
	while (frag_symbols_whole(frag_tape_symbols(tape), &at, &frame))
		if (frag_frame_origin(frame.file, frame.line) >= FRAG_ORIGIN_PACKAGE)
			kept[count++ % (DEPTH_MAX + 1)] = frame;
	if (!count)
		return calloc(1, 1);
	frame = kept[(count > depth ? count - 1 - depth : 0) % (DEPTH_MAX + 1)];
	file = frame.file.text;
	length = frame.file.length;
	for (; (slash = memchr(file, '/', length)) != NULL; file = slash + 1)
		length -= (size_t)(slash + 1 - file);
	text = malloc(length + frame.name.length + FRAG_NUMBER_ROOM + 4);
	if (text)
		snprintf(text, length + frame.name.length + FRAG_NUMBER_ROOM + 4,
			 "%.*s:%" PRIu64 " %.*s", (int)length, file, frame.line,
			 (int)frame.name.length, frame.name.text);
	return text;
}

int frag_loops_find(struct frag_iterations *it, const struct frag_tape *tape,
		    const struct frag_loop_search *in, bool *any, struct frag_error *err)
{
	struct search s = {
		.in = in, .end = (uint32_t)frag_min(in->until, tape->count), .first = NOWHERE, .it = it,
	};
	bool good = paths_init(&s.paths, tape);

	*it = (struct frag_iterations){ .by = FRAG_BY_LOOP, .end = s.end };
	good = frag_map_init(&s.at, s.paths.seed) && good;
	good = good && search_walk(&s);
	s.best = good ? choose(&s) : NULL;
	if (s.best) {
		it->start = malloc(((size_t)s.best->count + 1) * sizeof(*it->start));
		good = it->start;
		if (good && s.first < s.best->first)
			it->start[it->count++] = s.first;
		good = good && search_walk(&s);
		it->loop = good ? loop_text(tape, it, s.best) : NULL;
		good = it->loop;
	}
	*any = s.first != NOWHERE;
	free(s.loops);
	frag_map_fini(&s.at);
	paths_fini(&s.paths);
	return good ? 0 : frag_fail_nomem(err);
}
