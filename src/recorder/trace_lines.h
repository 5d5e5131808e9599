/*
 * trace_lines.h - what was noted as the lines of a trace.
 *
 * Stores the live blocks, so that the trace is valid even if calls were missed: ids count up, a
 * free of an unknown block is omitted, and an address that repeats gets the missing free. Only
 * one thread at once may call these functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/recorder.h"

/* Times count from here, of CLOCK_MONOTONIC. whole_stacks: tags are whole stacks. */
void frag_lines_start(uint64_t start_ns, bool whole_stacks);

/* How many bytes of lines there are now. */
size_t frag_lines_add(const struct frag_note *note);

/* The lines since they were last taken; they stay as long as none is added. */
const char *frag_lines_take(size_t *length);

/* What a tag of this call is made of: that return address, or the stack from it on. */
uint64_t frag_caller_here(uint64_t caller);

/* Of a forked child: nothing lives, and the table of stacks is unlocked. */
void frag_lines_forget(void);
