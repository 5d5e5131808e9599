/* minimalloc.h - the CSV of google/minimalloc: buffers with their lifetimes, as a source. */
#ifndef TRACE_MINIMALLOC_H
#define TRACE_MINIMALLOC_H

#include "trace/reader.h"

extern const struct frag_reader frag_reader_minimalloc;

#endif
