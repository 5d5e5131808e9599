/*
 * call_stacks.h - stacks as sequences of the program's calls, to compare where requests came from.
 *
 * Of a stack the Python frames count, without those of Python's own modules and wrappers of
 * PyTorch: the outermost first.
 */
#pragma once

#include "fragsim/trace.h"
#include "trace/name_tables.h"

struct frag_called_line {
	uint32_t function;      /* file and name, as a number */
	uint32_t line;
	bool own;               /* of the program */
	bool wrapper;           /* of PyTorch */
	bool python, library;   /* whose file; library: Python's own */
	bool backward, shell, optimizer, init_group;
};

struct frag_call_stack {
	uint32_t first, count;          /* calls, in `numbers` */
	uint32_t site;                  /* the innermost line of Python; 0: none */
};

struct frag_call_stacks {
	struct frag_stack_table table;  /* numbers of frames and functions */
	struct frag_called_line *calls;        /* by number of frame */
	struct frag_call_stack *stacks; /* from 1 on */
	uint32_t *numbers;              /* of frames */
	struct frag_map seen;           /* stack of the tape -> stack */
	uint32_t call_count, call_capacity, stack_count, stack_capacity;
	uint32_t number_count, number_capacity;
};

bool frag_call_stacks_init(struct frag_call_stacks *s);
void frag_call_stacks_fini(struct frag_call_stacks *s);
/* The number of a stack of the tape, which is not 0; UINT32_MAX: out of memory. */
uint32_t frag_call_stacks_add(struct frag_call_stacks *s, const struct frag_symbols *symbols,
			      uint32_t stack);

/* Calls as a sequence of numbers of frames, the outermost first. */
struct frag_calls {
	const uint32_t *of;
	uint32_t count;
};

static inline struct frag_calls frag_calls_of(const struct frag_call_stacks *s, uint32_t stack)
{
	const struct frag_call_stack *k = &s->stacks[stack];

	if (!stack || !k->count)
		return (struct frag_calls){ .of = NULL };
	return (struct frag_calls){ .of = &s->numbers[k->first], .count = k->count };
}

static inline const struct frag_called_line *frag_call_at(const struct frag_call_stacks *s,
						   struct frag_calls calls, uint32_t i)
{
	return &s->calls[calls.of[i]];
}
