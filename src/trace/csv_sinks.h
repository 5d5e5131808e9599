/* csv_sinks.h - traces as other programs' CSV: RMM's log, minimalloc's buffers. */
#ifndef TRACE_CSV_SINKS_H
#define TRACE_CSV_SINKS_H

#include "trace/trace_formats.h"

extern const struct frag_sink_ops frag_sink_rmm, frag_sink_minimalloc;

#endif
