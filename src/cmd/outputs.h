/* outputs.h - the files that a run writes, and who writes into them. */
#ifndef CMD_OUTPUTS_H
#define CMD_OUTPUTS_H

#include "answers/report.h"
#include "answers/row_writer.h"

struct frag_page_section;

/* One kind of rows: a file, and for each policy after the first a spool of its own. */
struct frag_stream {
	const char *path;               /* NULL: not wanted */
	enum frag_rows_form form;
	struct frag_outfile file;
	struct frag_outfile *spools;    /* count - 1 */
	struct frag_rows *rows;         /* count */
	const struct frag_columns *columns;     /* of steps; borrowed */
	uint32_t count;
};

/* A file that is not open is zeroed. */
struct frag_outputs {
	struct frag_stream steps, placements;
	const char *json_path, *html_path, *profile_path;
	struct frag_outfile json, html, profile;
	struct frag_page_section *section;      /* of the page; borrowed, as is the next */
	const char *command;
};

/* Do the two paths lead to the same regular file, there or not yet? */
bool frag_same_file(const char *a, const char *b);

/* No two outputs are one file, and none is an input: the trace, a profile (or NULL).
 * -FRAG_EUSAGE */
int frag_outputs_apart(const struct frag_outputs *o, const char *trace, const char *profile,
		       struct frag_error *err);

/* Opens what is required, for these simulations, and makes them write into it. */
int frag_outputs_open(struct frag_outputs *o, struct frag_sim *const *sims,
		      const struct frag_choice *choices, uint32_t count, bool many_devices,
		      struct frag_error *err);

/* Writes and closes all of them, so that what can fail has failed. */
int frag_outputs_finish(struct frag_outputs *o, const struct frag_report *report,
			struct frag_error *err);

/* All is well: the files take their places. */
int frag_outputs_commit(struct frag_outputs *o, struct frag_error *err);

/* Leaves no file behind that was not committed. */
void frag_outputs_fini(struct frag_outputs *o);

#endif
