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

/* Times count from here, of CLOCK_MONOTONIC. */
void frag_lines_start(uint64_t start_ns);

/* Tags are whole stacks; before the first of them, as it loads a library. */
void frag_lines_prepare_stacks(void);

/* How many bytes of lines there are now. */
size_t frag_lines_add(const struct frag_note *note);

/* The lines since they were last taken; they stay as long as none is added. */
const char *frag_lines_take(size_t *length);

/* What a tag of this call is made of: that return address, or the stack from it on. */
uint64_t frag_caller_here(uint64_t caller);

/* Lines that were lost to out of memory. */
uint64_t frag_lines_lost(void);

/* Of a forked child: nothing lives. */
void frag_lines_forget(void);
