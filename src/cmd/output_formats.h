/* output_formats.h - writes an answer in the formats of --format, --output and --json. */
#ifndef CMD_OUTPUT_FORMATS_H
#define CMD_OUTPUT_FORMATS_H

#include "answers/table.h"
#include "answers/report.h"
#include "answers/row_writer.h"
#include "base/atomic_file.h"
#include "cmd/run_options.h"

#define FRAG_PRINTED_MAX 12

/*
 * The inputs and outputs of a command. An input comes as one path or several, and messages call it
 * `what`; a path that is NULL is none.
 */
#define FRAG_FILES_MAX 20
struct frag_files {
	struct {
		const char *const *paths;
		uint32_t count;
		const char *what;
	} inputs[FRAG_FILES_MAX];
	const char *outputs[FRAG_FILES_MAX];
	uint32_t input_count, output_count;
	uint32_t standard;      /* outputs that have no path: they go to standard output */
};
void frag_files_read(struct frag_files *files, const char *const *paths, uint32_t count,
		     const char *what);
void frag_files_write(struct frag_files *files, const char *path);

/*
 * Standard input and standard output are each used once; no output replaces an input, and none is
 * the same file as another one. -FRAG_EUSAGE
 */
int frag_files_check(const struct frag_files *files, const struct frag_cmd *cmd,
		     struct frag_error *err);

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
	struct frag_outfile *beside;            /* optional: a file that the caller writes; it
						 * is committed with the others */
	bool has_page;                          /* the command has --html */
	bool quiet;                             /* no text output */
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

/* --format, --output and --json FILE; run has the page of --output. -FRAG_EUSAGE */
int frag_printed_format(struct frag_answer_output *p, const char *value, struct frag_error *err);
int frag_printed_output(struct frag_answer_output *p, struct frag_run_options *run,
			const char *value, struct frag_error *err);
int frag_printed_json(struct frag_answer_output *p, const char *path, struct frag_error *err);

/* Another kind of answer, with formats of the same names. -FRAG_EUSAGE: one is missing */
int frag_printed_switch(struct frag_answer_output *p, const struct frag_format *const *formats,
			struct frag_error *err);

/* Adds an output of `what`, in a format outside the table. -FRAG_EUSAGE */
int frag_printed_add(struct frag_answer_output *p, const char *option,
		     const struct frag_format *format, const char *path, const void *what,
		     struct frag_error *err);

/* The answer's outputs, for frag_files_check(). */
void frag_printed_files(const struct frag_answer_output *p, struct frag_files *files);

/* Opens all, so that what cannot be written is known before the work. */
int frag_printed_open(struct frag_answer_output *p, struct frag_error *err);

/* Prints it in every form, then all files take their places. */
int frag_printed_write(struct frag_answer_output *p, const void *what, struct frag_error *err);

/* Leaves no file behind that was not written. */
void frag_printed_fini(struct frag_answer_output *p);

/* Do the two paths lead to the same regular file, there or not yet? */
bool frag_same_file(const char *a, const char *b);

#endif
