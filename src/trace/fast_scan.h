/*
 * fast_scan.h - the events that are nearly all of a trace, known by their spelling.
 *
 * Recognises an alloc or a free as fragsim's own writers spell it: no white space, op, id and
 * size first, in this order. It reports no errors: any other spelling, valid or not, is read by
 * frag_record_scan(), the reference, from the brace on. So it may accept as little as it likes,
 * but what it accepts must give the same record as that function.
 */
#pragma once

#include "fragsim/trace.h"

/*
 * The event at p, in a window that ends as scan.h has it. The place after its brace, or
 * NULL: not a usual one, or not all of it is there. The scratch of a scan is not needed.
 */
const char *frag_fast_scan_event(const char *p, const char *end, struct frag_record *rec);

/*
 * The same for lines, each an event and a line end, from window[*at] on: how many of
 * them, at most max. *at moves after the last; each record's `at` is where it begins.
 */
uint32_t frag_usual_lines(const char *window, size_t *at, const char *end,
			  struct frag_record *recs, uint32_t max);
