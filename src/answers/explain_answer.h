/* explain_answer.h - what fragsim explain found, and its formats: fragsim-explain(1). */
#pragma once

#include "answers/table.h"
#include "documents/fields.h"
#include "explain/block_classes.h"
#include "explain/explanation.h"

struct frag_explain_answer {
	const struct frag_trace_info *trace;
	const struct frag_explanation *found;
	uint32_t top;           /* rows of a table, for people */
	bool verbose;           /* with the tables */
	bool time_up;		/* the moments, or parts of them, that its time has left */
	const char *picked;             /* why this file of a folder; "": it was given */
	const char *beside;             /* the database of the next; NULL: none */
	const struct frag_outside *outside;     /* one a moment */
};

extern const struct frag_format *const frag_explain_formats[];
extern const struct frag_document_type frag_explain_document;

/* The class that has more than half of its bytes; unknown where none has: it is of several kinds. */
enum frag_life_class frag_holder_class(const struct frag_tag_memory *held);

