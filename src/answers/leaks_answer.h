/* leaks_answer.h - what fragsim leaks found, and its formats: fragsim-leaks(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "iterations/leak_detect.h"

struct frag_leaks_answer {
	const struct frag_trace_info *trace;
	const struct frag_leaks *leaks;
	const struct frag_device_figures *devices;      /* those of the options */
	uint32_t top;           /* leaks that people see */
};

extern const struct frag_format *const frag_leaks_formats[];
extern const struct frag_document_type frag_leaks_document;
