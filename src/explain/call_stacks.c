/* call_stacks.c - stacks as sequences of the program's calls. */
#include "explain/call_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "snapshot/snapshot.h"

/* More numbers than this come of no program: later stacks count as unknown. */
#define NUMBERS_MAX (UINT32_C(1) << 26)

bool frag_call_stacks_init(struct frag_call_stacks *s)
{
	*s = (struct frag_call_stacks){ .call_count = 0 };
	/* number 0 of stacks and frames is none */
	if (!frag_stacks_init(&s->table, frag_hash_seed())
	    || !frag_map_init(&s->seen, frag_hash_seed())
	    || !FRAG_EXTEND(s->stacks, s->stack_capacity, s->stack_count, 0))
		return false;
	return true;
}

void frag_call_stacks_fini(struct frag_call_stacks *s)
{
	frag_stacks_fini(&s->table);
	frag_map_fini(&s->seen);
	free(s->calls);
	free(s->stacks);
	free(s->numbers);
	*s = (struct frag_call_stacks){ .call_count = 0 };
}

static bool is_among(struct frag_text name, const char *const *names)
{
	return name.text && names[frag_text_among(name, names)] != NULL;
}

static bool call_stacks_contains(struct frag_text text, const char *part)
{
	return text.text && frag_text_find(text, part);
}

static struct frag_called_line describe(const struct frag_frame *f)
{
	static const char *const wrappers[] = {
		"_call_impl", "_wrapped_call_impl", "_fn", "wrapper", "decorate_context", NULL,
	};
	const enum frag_origin origin = frag_frame_origin(f->file, f->line);
	const bool optimizer = call_stacks_contains(f->file, "/torch/optim/");

	return (struct frag_called_line){
		.line = (uint32_t)f->line,
		.own = origin == FRAG_ORIGIN_PROGRAM,
		.python = origin != FRAG_ORIGIN_NATIVE,
		.library = origin == FRAG_ORIGIN_PYTHON,
		.wrapper = is_among(f->name, wrappers),
		.backward = call_stacks_contains(f->name, "backward"),
		.shell = call_stacks_contains(f->file, "<ipython"),
		.optimizer = optimizer,
		.init_group = f->name.text && frag_text_equals(f->name, "_init_group"),
	};
}

/* The number of a frame, which is described once. False: out of memory. */
static bool call_number(struct frag_call_stacks *s, const struct frag_frame *f, uint32_t *out)
{
	const struct frag_frame function = { .file = f->file, .name = f->name };
	struct frag_called_line *call;

	if (!frag_stacks_frame(&s->table, f, out)
	    || !FRAG_EXTEND(s->calls, s->call_capacity, s->call_count, *out))
		return false;
	call = &s->calls[*out];
	if (call->function)
		return true;
	*call = describe(f);
	return frag_stacks_frame(&s->table, &function, &call->function);
}

static bool note_number(struct frag_call_stacks *s, uint32_t number)
{
	if (!FRAG_GROW(s->numbers, s->number_capacity, s->number_count))
		return false;
	s->numbers[s->number_count++] = number;
	return true;
}

/* The frames are in `numbers` from `first` on, the innermost first: turns them, and picks. */
static void fill_stack(struct frag_call_stacks *s, struct frag_call_stack *k, uint32_t first)
{
	uint32_t end = s->number_count, kept = first;

	for (uint32_t i = first; i < end - (end - first + 1) / 2; i++) {
		const uint32_t other = s->numbers[end - 1 - (i - first)];

		s->numbers[end - 1 - (i - first)] = s->numbers[i];
		s->numbers[i] = other;
	}
	for (uint32_t i = first; i < end; i++) {
		const struct frag_called_line *call = &s->calls[s->numbers[i]];

		if (call->python)
			k->site = s->numbers[i];
		if (call->python && !call->library && !call->wrapper)
			s->numbers[kept++] = s->numbers[i];
	}
	s->number_count = kept;
	k->first = first;
	k->count = kept - first;
}

uint32_t frag_call_stacks_add(struct frag_call_stacks *s, const struct frag_symbols *symbols,
			      uint32_t stack)
{
	const uint32_t known = frag_map_get(&s->seen, stack), first = s->number_count;
	const uint32_t number = s->stack_count;
	uint64_t at = stack;
	struct frag_frame frame;
	uint32_t depth = 0;

	if (known != FRAG_MAP_NONE)
		return known;
	if (first > NUMBERS_MAX)
		return 0;
	while (at && depth++ < FRAG_FRAMES_MAX && frag_symbols_whole(symbols, &at, &frame)) {
		uint32_t call;

		if (!call_number(s, &frame, &call) || !note_number(s, call))
			return UINT32_MAX;
	}
	if (!FRAG_EXTEND(s->stacks, s->stack_capacity, s->stack_count, number))
		return UINT32_MAX;
	fill_stack(s, &s->stacks[number], first);
	return frag_map_add(&s->seen, stack, number) ? number : UINT32_MAX;
}
