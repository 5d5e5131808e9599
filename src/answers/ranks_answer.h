/* ranks_answer.h - what fragsim ranks found, and its formats: fragsim-ranks(1). */
#pragma once

#include "answers/table.h"
#include "policy/choice.h"
#include "ranks/compare_ranks.h"

struct frag_ranks_answer {
	const struct frag_trace_info *traces;   /* one a source; of each what a document has */
	const struct frag_choice *choices;      /* likewise: what it was run under */
	const uint64_t *numbers;                /* likewise: of the ranks */
	uint32_t source_count;
	const struct frag_ranking *ranking;
	bool named;             /* names have the numbers of the ranks, not places */
	bool all;               /* people see every row, however many there are */
	uint32_t top;           /* differences of a rank that people see */
	const char *folders;            /* that the traces are from; "": none */
};

extern const struct frag_format *const frag_ranks_formats[];
extern const struct frag_document_type frag_ranks_document;
