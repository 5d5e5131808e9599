/* diff_outputs.h - the files that a comparison writes. */
#ifndef CMD_DIFF_OUTPUTS_H
#define CMD_DIFF_OUTPUTS_H

#include "base/atomic_file.h"
#include "cmd/diff_options.h"
#include "cmd/answer_page.h"

struct frag_diff_outputs {
	struct frag_outfile files[FRAG_DIFF_OUTPUTS_MAX + 1];   /* the baseline is the last */
};

/* Opens all that is required, so that what cannot be written is known before the work. */
int frag_diff_outputs_open(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			   struct frag_error *err);

/*
 * Writes all of them, and what goes to standard output; then all take their places. page: of
 * --html.
 */
int frag_diff_outputs_write(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			    struct frag_diff *diff, struct frag_answer_page *page,
			    struct frag_error *err);

/* Leaves no file behind that was not committed. */
void frag_diff_outputs_fini(struct frag_diff_outputs *outputs);

#endif
