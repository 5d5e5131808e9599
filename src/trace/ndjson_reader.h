/* ndjson_reader.h - fragsim's own JSON, the lines form and the object form, as a source. */
#ifndef TRACE_NDJSON_READER_H
#define TRACE_NDJSON_READER_H

#include "trace/reader.h"

extern const struct frag_reader frag_reader_object, frag_reader_lines;

#endif
