/* native.h - fragsim's own JSON, the lines form and the object form, as a source. */
#ifndef TRACE_NATIVE_H
#define TRACE_NATIVE_H

#include "trace/reader.h"

extern const struct frag_reader frag_reader_object, frag_reader_lines;

#endif
