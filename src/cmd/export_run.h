/* export_run.h - convert, where what is written is a run of the trace. */
#ifndef CMD_EXPORT_RUN_H
#define CMD_EXPORT_RUN_H

#include "base/compress.h"
#include "cmd/run_options.h"
#include "report/export.h"

/* Runs the trace under the options' one policy, or that of its kind, and writes that. */
int frag_export_run(const struct frag_export_ops *form, enum frag_packing packing,
		    struct frag_run_options *options, const char *from, const char *to,
		    struct frag_error *err);

#endif
