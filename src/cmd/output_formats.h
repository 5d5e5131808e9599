/* output_formats.h - an answer in the forms that were asked for: --format, --output and --json. */
#ifndef CMD_OUTPUT_FORMATS_H
#define CMD_OUTPUT_FORMATS_H

#include "answers/table.h"
#include "answers/report.h"
#include "answers/row_writer.h"
#include "base/atomic_file.h"
#include "cmd/run_options.h"

#define FRAG_PRINTED_MAX 12

/* Rows of a table of options: how an answer is printed; */
#define FRAG_PRINTED_ROWS                                                                     \
	{ 0, "format", "FORMAT", "text, markdown, json or csv (text)", FRAG_OPT_FORMAT },     \
	{ 'o', "output", "FILE", "write it to a file too, .txt, .md, .json or .csv; repeatable", \
	  FRAG_OPT_OUTPUT },                                                                  \
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_OPT_JSON }

/* and these with what all have that simulate traces on one device or several. */
#define FRAG_ANSWER_ROWS                                                                      \
	FRAG_PRINTED_ROWS,                                                                    \
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),                                                       \
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },              \
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),                                                   \
	FRAG_PROFILE_ROW(0),                                                                  \
	FRAG_DEVICE_ROWS(0)

struct frag_answer_output {
	const struct frag_format *const *formats;       /* that there are, ended by NULL; the
							 * first is what people read */
	const struct frag_format *format;       /* of standard output; NULL: not given */
	struct {
		const struct frag_format *format;       /* NULL: that of --format, until
							 * frag_printed_open() sets it */
		const char *path;               /* "-": standard output */
		const void *what;               /* of this one alone; NULL: as of all */
		struct frag_outfile file;
	} outputs[FRAG_PRINTED_MAX];
	uint32_t count;
	struct frag_outfile *beside;            /* one more, written by someone else, that takes
						 * its place with them; NULL: none */
	bool has_page;                          /* the command has --html */
	bool quiet;                             /* nothing for people */
};

/*
 * Reads a value of -o: a file, in the format that its ending names, or in that of --format if the
 * ending names none. The old FORMAT:FILE is read with a warning.
 */
struct frag_output_name {
	char format[12];                /* empty: that of --format */
	const char *path;               /* into the value */
};
struct frag_output_name frag_output_named(const char *value);

/* --format, --output and --json FILE. -FRAG_EUSAGE */
int frag_printed_json(struct frag_answer_output *p, const char *path, struct frag_error *err);

/* One more, in the format of that name. -FRAG_EUSAGE */
int frag_printed_named(struct frag_answer_output *p, const char *format, const char *path,
		       struct frag_error *err);

/* One more, in a form that is in no table, of something else. -FRAG_EUSAGE */
int frag_printed_add(struct frag_answer_output *p, const char *option,
		     const struct frag_format *format, const char *path, const void *what,
		     struct frag_error *err);

/* One of these, or else an option of run's. -FRAG_EUSAGE, -FRAG_ENOMEM */
int frag_answer_set_option(struct frag_answer_output *p, struct frag_run_options *run, int id,
			   const char *value, struct frag_error *err);

/*
 * Each output is another file, and none is one of the inputs, which are called `what`; one at
 * most is standard output. -FRAG_EUSAGE
 */
int frag_printed_apart(const struct frag_answer_output *p, const struct frag_cmd *cmd,
		       const char *const *inputs, uint32_t count, const char *what,
		       struct frag_error *err);

/* None is this file, which is called `what`; NULL: there is none. -FRAG_EUSAGE */
int frag_answer_output_check_input(const struct frag_answer_output *p, const char *input,
				   const char *what, struct frag_error *err);

/* Opens all, so that what cannot be written is known before the work. */
int frag_printed_open(struct frag_answer_output *p, struct frag_error *err);

/* Prints it in every form, then all files take their places. */
int frag_printed_write(struct frag_answer_output *p, const void *what, struct frag_error *err);

/* Leaves no file behind that was not written. */
void frag_printed_fini(struct frag_answer_output *p);

/* The files that a run writes, and who writes into them. */
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
