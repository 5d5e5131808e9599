/* readers.h - all formats of traces, recognised by their first bytes. */
#ifndef EVENTS_READERS_H
#define EVENTS_READERS_H

#include "trace/reader.h"


/* Opens a file, or standard input ("-"), with the reader that knows its bytes. */
int frag_reading_open(struct frag_reading *out, const char *path,
		      const struct frag_trace_options *options, struct frag_error *err);
void frag_reading_close(struct frag_reading *r);

#endif
