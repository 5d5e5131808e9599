/* predict_answer.h - what fragsim predict found, and its formats: fragsim-predict(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "search/prediction.h"

struct frag_predict_answer {
	const struct frag_trace_info *const *traces;    /* one a recording */
	uint32_t trace_count;
	const char *const *changes;             /* as they were given, in their order */
	uint32_t change_count;
	const struct frag_predicted *found;
	bool interrupted, time_up; /* as of a fit */
};

extern const struct frag_format *const frag_predict_formats[];
extern const struct frag_document_type frag_predict_document;

/* What text and rows share. */
#define FRAG_SHIFT_ROOM 32
/* "+12.3 %", or nothing where one of the two is unknown. */
const char *frag_predict_shift(char buf[FRAG_SHIFT_ROOM], uint64_t before, uint64_t after);
/* The same setting and device of the recorded trace; NULL: nothing recorded was simulated. */
const struct frag_fitted *frag_predict_recorded(const struct frag_predicted *x,
						const struct frag_fitted *one);
/* The device that a setting needs: the one from which on all fit. UINT64_MAX: it is not known. */
uint64_t frag_predict_device(const struct frag_fit *fit);
/* What the settings of the first policy prove of a source: the smallest of their bounds. */
struct frag_claim frag_predict_claim(const struct frag_predicted *x, uint32_t source);
uint64_t frag_predict_events(const struct frag_predicted *x, uint32_t source);
uint64_t frag_predict_allocs(const struct frag_recordings *r, enum frag_growth growth);
/* The largest margin of any source. */
uint64_t frag_predict_margin(const struct frag_predicted *x);
/* What the recordings do not show, one sentence each: of a struct frag_predict_answer. */
struct frag_predict_doubt {
	const char *text;               /* the words */
	char words[500];
};
bool frag_predict_doubt_at(const void *of, uint32_t i, void *element);
void frag_predict_print(const void *what, const struct frag_text_style *to);
