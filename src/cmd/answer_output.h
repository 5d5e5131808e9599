/* answer_output.h - where an answer is written, and in which formats. */
#pragma once

#include "answers/table.h"
#include "base/atomic_file.h"
#include "cmd/command_files.h"

#define FRAG_PRINTED_MAX 12

struct frag_answer_output {
	const struct frag_format *const *formats;       /* that there are, ended by NULL; the
							 * first is what people read */
	const struct frag_format *format;       /* of standard output; NULL: not given */
	struct {
		const struct frag_format *format;       /* NULL: that of --format, until
							 * they are opened */
		const char *path;               /* "-": standard output */
		const void *what;               /* of this one alone; NULL: as of all */
		struct frag_outfile file;
	} outputs[FRAG_PRINTED_MAX];
	uint32_t count;
	struct frag_outfile *beside;            /* optional: a file that the caller writes; it
						 * is committed with the others */
	bool quiet;                             /* no text output */
	uint32_t top;                           /* as struct frag_text_style has it */
};

/* The format of that name; NULL: it has none. And the error for that, -FRAG_EUSAGE. */
const struct frag_format *frag_output_format(const struct frag_answer_output *p, const char *name);
int frag_output_no_format(const struct frag_answer_output *p, const char *option, const char *value,
			  struct frag_error *err);

/* Sets the format of standard output. -FRAG_EUSAGE */
int frag_output_find_format(struct frag_answer_output *p, const char *value, struct frag_error *err);

/* Adds an output of `what`, in a format outside the table. -FRAG_EUSAGE */
int frag_output_add(struct frag_answer_output *p, const char *option, const struct frag_format *format,
		    const char *path, const void *what, struct frag_error *err);

/*
 * Stores the name of the format that the ending of a file's name is of, NULL for another ending.
 * -FRAG_EUSAGE for FORMAT:FILE, as this option was written before.
 */
int frag_output_named(const char **format, const char *value, struct frag_error *err);

/* Another kind of answer, with formats of the same names. -FRAG_EUSAGE: one is missing */
int frag_output_switch_formats(struct frag_answer_output *p, const struct frag_format *const *formats,
			       struct frag_error *err);

/* Adds the answer's outputs, for frag_files_check(). */
void frag_output_files(const struct frag_answer_output *p, struct frag_command_files *files);

/* Opens all, so that what cannot be written is known before the work. */
int frag_output_open(struct frag_answer_output *p, struct frag_error *err);

/* Prints it in every form, then all files take their places. */
int frag_output_write(struct frag_answer_output *p, const void *what, struct frag_error *err);

/* Leaves no file behind that was not written. */
void frag_output_fini(struct frag_answer_output *p);
