/* fit_answer.h - what fragsim fit found, and its formats: fragsim-fit(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "search/fit_all.h"

/* Memory of a GPU that a recording on fake tensors does not have. */
struct frag_extra_memory {
	const char *name;       /* NULL ends a table */
	uint64_t bytes;         /* that are counted as memory of others; 0: unknown */
	bool sharded;           /* only where several ranks share a model */
	const char *source;     /* a public page */
};

struct frag_fit_answer {
	const struct frag_trace_info *const *traces;    /* one a source */
	const struct frag_fits *fits;
	const uint32_t *iterations;     /* of each trace; 0: none were found */
	bool map;               /* every interval too */
	bool usual;             /* no policy was given: text leaves the reference policy out */
	bool context_given;     /* by --context-bytes: it is that of every card */
	const struct frag_extra_memory *extras; /* of the recording of a model; or NULL */
	bool sharded;           /* and the model is */
	bool interrupted;	/* not complete: what is proven until then */
	bool time_up;		/* as its time was up, and not by a signal */
};

extern const struct frag_format *const frag_fit_formats[];
extern const struct frag_document_type frag_fit_document;
