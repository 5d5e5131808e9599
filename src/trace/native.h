/* native.h - fragsim's own JSON, the lines form and the object form, as a source. */
#ifndef TRACE_NATIVE_H
#define TRACE_NATIVE_H

#include "trace/header.h"

struct frag_native;

extern const struct frag_source_ops frag_native_source;

/* Opens a file and reads its header, which stays the source's. */
int frag_native_open(struct frag_native **out, const char *path, struct frag_error *err);
const struct frag_header *frag_native_header(const struct frag_native *n);
const char *frag_native_form(const struct frag_native *n);

#endif
