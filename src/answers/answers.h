/* answers.h - the answers of the commands, in every format. */
#ifndef ANSWERS_ANSWERS_H
#define ANSWERS_ANSWERS_H

#include "answers/table.h"
#include "documents/documents.h"
#include "messages/finder.h"
#include "search/trace_change.h"

/* Each for the struct of its name in documents.h: text, csv, json, markdown. */
extern const struct frag_format *const frag_change_formats[];   /* for a struct frag_change_found */
extern const struct frag_format *const frag_explain_formats[];  /* text and json */
extern const struct frag_format *const frag_extrapolate_formats[];
extern const struct frag_format *const frag_fit_formats[];
extern const struct frag_format *const frag_leaks_formats[];
extern const struct frag_format *const frag_plan_formats[];
extern const struct frag_format *const frag_ranks_formats[];
extern const struct frag_format *const frag_tune_formats[];
extern const struct frag_format *const frag_what_if_formats[];

/* Prints what out-of-memory messages say, for people; there is at least one group. */
void frag_report_messages(const struct frag_message_groups *groups,
			  const struct frag_text_style *paper, bool verbose, FILE *f);

/* A script that gives the shards of a sweep to who distributes work. */
struct frag_sweep_script {
	const char *program;    /* the path of fragsim */
	const char *work;       /* the folder that the names of files start from */
	const char *folder;     /* the sweep's */
	uint32_t runs, tasks;
};

/* "slurm", "parallel", "kubernetes", ended by NULL, */
extern const char *const frag_sweep_script_names[];
/* and the one of that index. */
void frag_sweep_script_write(uint32_t kind, const struct frag_sweep_script *script, FILE *f);

#endif
