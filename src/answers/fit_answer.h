/* fit_answer.h - what fragsim fit found, and its formats: fragsim-fit(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "search/fit_all.h"
#include "search/recommend.h"

/* Memory of a GPU that a recording on fake tensors does not have. */
struct frag_extra_memory {
	const char *name;       /* NULL ends a table */
	uint64_t bytes;         /* 0: unknown */
	bool counted;           /* as memory of others */
	bool sharded;           /* only where several ranks share a model */
	const char *source;     /* a public page */
};

/* A trace that the recommended setting was not chosen for. */
struct frag_fit_test {
	bool tried;             /* else it was interrupted before */
	struct frag_recommendation ranked;      /* its own; */
	uint32_t with;          /* the candidate of the recommended setting */
};

struct frag_fit_answer {
	const struct frag_trace_info *const *traces;    /* one a source */
	const struct frag_fits *fits;
	const uint32_t *iterations;     /* of each trace; 0: none were found */
	const struct frag_recommendation *ranked;       /* of settings; NULL: none were tried */
	uint32_t best;          /* the recommended choice; UINT32_MAX: none */
	uint32_t given;         /* the first choices; a recommended one behind them is in no row */
	const struct frag_fit_test *tests;
	uint32_t test_count;
	bool verbose;
	bool map;               /* every interval too */
	bool usual;             /* no policy was given: text leaves the reference policy out */
	bool context_given;     /* by --context-bytes: it is that of every card */
	const struct frag_extra_memory *extras; /* of the recording of a model; or NULL */
	bool sharded;           /* and the model is */
	bool interrupted;	/* not complete: what is proven until then */
	bool time_up;		/* as its time was up, and not by a signal */
};

/* The requirement of a setting, where one card of a kind stands for each device of the trace. */
struct frag_fit_need {
	uint64_t smallest, reliable;    /* NONE: no device fits */
	uint64_t at_most;               /* NONE: no device is known to fit */
	uint64_t examined_to;           /* NONE: all there are */
	uint64_t no_refusal, other;     /* the program takes no more than their difference */
	struct frag_claim claim;
	bool known;
};
struct frag_fit_need frag_fit_need_of(const struct frag_fits *fits, uint32_t choice);
/* The recommended choice; UINT32_MAX: none fits. */
uint32_t frag_fit_best(const struct frag_fit_answer *a);

/* Cards that fit with the best setting, and those too small for what the program has; */
void frag_fit_put_cards(const struct frag_fit_answer *a, uint32_t best,
			const struct frag_text_style *to);
/* of parts: too small for the program, and those that the recorded part fits. */
void frag_fit_put_cards_of_part(const struct frag_fit_answer *a, const struct frag_claim *claim,
				uint32_t best, const struct frag_text_style *to);
/* The member `cards`, of an answer. */
extern const struct frag_field frag_card_fields[];
bool frag_fit_card_at(const void *of, uint32_t i, void *element);

/* Does what the answer is about fit the device that was given? */
enum frag_on_device {
	FRAG_ON_DEVICE_FITS,    /* with a setting at least */
	FRAG_ON_DEVICE_NOT,
	FRAG_ON_DEVICE_OPEN,    /* the recording is a part, which does not show it */
};
enum frag_on_device frag_fit_on_device(const struct frag_fit_answer *answer);
bool frag_fit_test_fits(const struct frag_fit_test *test);

/* The claim of the settings that the answer shows, and of its recordings the one that proves least. */
struct frag_claim frag_fit_claim(const struct frag_fit_answer *answer);
const struct frag_scope *frag_fit_scope(const struct frag_fit_answer *answer);

/* Line 1 about the device that was given, and the setting to copy. */
void frag_fit_put_device(const struct frag_fit_answer *a, const struct frag_text_style *to);
/* "expandable_segments:True", or "default settings"; of another policy its name. */
const char *frag_fit_setting(const struct frag_choice *choice, char *buf);
/* What a setting rules out, in a row. */
void frag_put_limits(const struct frag_text_style *to, const char *settings);
/* A row of each setting that counts: the recommended one, the own, those that need less. */
void frag_fit_put_settings(const struct frag_fit_answer *a, const struct frag_text_style *to);
void frag_fit_put_tests(const struct frag_fit_answer *a, const struct frag_text_style *to);
/* The members `recommended`, `settings` and `tests`, of an answer. */
extern const struct frag_field frag_recommended_fields[], frag_ranked_fields[], frag_test_fields[];
bool frag_fit_recommended_at(const void *of, uint32_t i, void *element);
bool frag_fit_ranked_at(const void *of, uint32_t i, void *element);
bool frag_fit_test_at(const void *of, uint32_t i, void *element);

extern const struct frag_format *const frag_fit_formats[];
extern const struct frag_document_type frag_fit_document;
