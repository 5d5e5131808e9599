/*
 * stacks.h - the stacks that blocks were requested on, in a table: each text, each
 * frame, and each end that several stacks have in common is in it once.
 *
 * Stacks have numbers from 1 on: the innermost frame, and the number of the stack of its
 * callers. So equal stacks have equal numbers, and each number comes after those that it needs.
 * The tables never move: a thread may read a stack while another adds some.
 */
#ifndef TRACE_STACKS_H
#define TRACE_STACKS_H

#include "fragsim/trace.h"
#include "trace/name_tables.h"

/* Numbers are from 1 on; 0 is none. */
struct frag_stack_frame {
	uint32_t file, name;    /* texts */
	uint64_t line;
};

struct frag_stack {
	uint32_t frame;         /* the innermost one */
	uint32_t below;         /* its parent: the stack of its callers */
};

struct frag_stack_table {
	struct frag_handles texts;
	struct frag_chunks frames;      /* struct frag_stack_frame */
	struct frag_chunks stacks;      /* struct frag_stack */
	uint32_t frame_count;           /* with number 0 */
	uint32_t count;                 /* likewise */
	struct frag_map frame_map, map;
};

static inline struct frag_stack_frame *frag_stacks_frame_at(const struct frag_stack_table *s,
							    uint32_t frame)
{
	return frag_chunks_at(&s->frames, frame, sizeof(struct frag_stack_frame));
}

static inline struct frag_stack *frag_stacks_stack_at(const struct frag_stack_table *s,
						      uint32_t stack)
{
	return frag_chunks_at(&s->stacks, stack, sizeof(struct frag_stack));
}

bool frag_stacks_init(struct frag_stack_table *s, uint64_t seed);
void frag_stacks_fini(struct frag_stack_table *s);

/* Their numbers, new ones where they are not there yet; 0 where the host is out of memory. */
uint32_t frag_stacks_frame(struct frag_stack_table *s, const struct frag_frame *frame);
uint32_t frag_stacks_push(struct frag_stack_table *s, uint32_t frame, uint32_t below);

/* The frame at *at, which becomes the stack below; as frag_source_ops.frame. */
void frag_stacks_at(const struct frag_stack_table *s, uint64_t *at, struct frag_frame *frame);

/*
 * Whose code a frame of a stack is in.
 *
 * The rule is in fragsim-formats(5).
 */
/* In rising order of how much the origin reveals about the program. */
enum frag_origin {
	FRAG_ORIGIN_NATIVE,     /* no line of a Python file */
	FRAG_ORIGIN_TORCH,      /* in a folder of PyTorch */
	FRAG_ORIGIN_PYTHON,     /* of Python itself, or record_torch.py */
	FRAG_ORIGIN_PACKAGE,    /* of another package */
	FRAG_ORIGIN_PROGRAM,
};

enum frag_origin frag_frame_origin(struct frag_text file, uint64_t line);

/*
 * The part of the program that a single frame implies: SETUP, FORWARD, BACKWARD, OPTIMIZER;
 * UNKNOWN leaves the decision to its caller. fragsim-explain(1) has the rule.
 */
enum frag_maker frag_frame_maker(const struct frag_frame *frame);

/* Does a frame of native code only unwind, allocate or dispatch? */
bool frag_frame_is_plumbing(struct frag_text name);

/* "MmBackward0" of "torch::autograd::generated::MmBackward0::apply(...)"; length 0: it is none. */
struct frag_text frag_frame_autograd_node(struct frag_text name);

#endif
