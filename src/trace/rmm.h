/* rmm.h - the CSV log of RMM's logging_resource_adaptor, as a source. */
#ifndef TRACE_RMM_H
#define TRACE_RMM_H

#include "trace/reader.h"

#define FRAG_RMM_HEADER "Thread,Time,Action,Pointer,Size,Stream"

extern const struct frag_reader frag_reader_rmm;

#endif
