/* result.h - copies and release of what a result owns. */
#ifndef METRICS_RESULT_H
#define METRICS_RESULT_H

#include "fragsim/metrics.h"

/*
 * The copy owns all that it points to, as its source does, and is released with
 * the result that it is in. False: out of memory; it is to be released even so.
 */
bool frag_oom_copy(struct frag_oom *to, const struct frag_oom *from);
bool frag_mark_copy(struct frag_mark *to, const struct frag_mark *from);

/* Is it the path of a metric that the file lacks which this result was read from? */
bool frag_result_unread(const struct frag_result *result, const char *path);
/* Releases what they own, not the array. */
void frag_holders_fini(struct frag_tag_usage *holders, uint32_t count);

/* Bytes: the peak of reserved memory above the peak of requested memory; 0 if it is not above. */
uint64_t frag_result_overhead(const struct frag_result *r);

#endif
