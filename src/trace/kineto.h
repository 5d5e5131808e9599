/* kineto.h - the Chrome trace that torch.profiler (Kineto) writes, as a source. */
#ifndef TRACE_KINETO_H
#define TRACE_KINETO_H

#include "trace/reader.h"

extern const struct frag_reader frag_reader_kineto;

#endif
