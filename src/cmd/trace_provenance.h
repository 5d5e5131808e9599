/* trace_provenance.h - what a written trace says of the recording that it comes from. */
#ifndef CMD_TRACE_PROVENANCE_H
#define CMD_TRACE_PROVENANCE_H

#include "fragsim/trace.h"

/*
 * A `meta` for a trace that is written: its recorder, the settings that PyTorch's allocator
 * had, and with `end` the failed request that the recording ended with, where it did. Of
 * several, the first one's recorder, and the settings where all have the same. The caller's to
 * free; NULL where one of them is no recording under PyTorch. -FRAG_ENOMEM
 */
int frag_recorded_mark(char **meta, const struct frag_trace *const *traces, uint32_t count,
		       bool end, const struct frag_log *log, struct frag_error *err);

#endif
