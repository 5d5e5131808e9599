/*
 * fast_scan.h - the events that are nearly all of a trace, known by their spelling.
 *
 * What our own writers write of an alloc or a free: no white space, op, id and
 * size first, in this order. Here such an event is recognised as it is there, and
 * nothing is ever judged: whatever is spelled otherwise, be it good or bad, is left to
 * frag_record_scan(), which reads it from its brace on. So this may know as little
 * as it likes, but what it takes must be what that function would have said.
 */
#ifndef TRACE_FAST_SCAN_H
#define TRACE_FAST_SCAN_H

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

#endif
