/*
 * frames.h - whose code a frame of a stack is in.
 *
 * The rule is in fragsim-formats(5).
 */
#ifndef TRACE_FRAMES_H
#define TRACE_FRAMES_H

#include "fragsim/trace.h"

/* From what says the least about a program to what says the most. */
enum frag_origin {
	FRAG_ORIGIN_NATIVE,     /* no line of a Python file */
	FRAG_ORIGIN_TORCH,      /* in a folder of PyTorch */
	FRAG_ORIGIN_PYTHON,     /* of Python itself, or record_torch.py */
	FRAG_ORIGIN_PACKAGE,    /* of another package */
	FRAG_ORIGIN_PROGRAM,
};

enum frag_origin frag_frame_origin(struct frag_text file, uint64_t line);

#endif
