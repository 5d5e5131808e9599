/* printed.h - an answer in the forms that were asked for: --format, --output and --json. */
#ifndef CMD_PRINTED_H
#define CMD_PRINTED_H

#include "base/outfile.h"
#include "cmd/command.h"
#include "report/forms.h"

#define FRAG_PRINTED_MAX 12

/* Rows of a table of options. */
#define FRAG_PRINTED_ROWS(format, output, json)                                                \
	{ 0, "format", "FORMAT", "text, markdown, json or csv (text)", (format) },             \
	{ 'o', "output", "FORMAT:FILE", "write it to a file too; repeatable", (output) },      \
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", (json) }

struct frag_printed {
	const struct frag_format *const *formats;       /* that there are, ended by NULL; the
							 * first is what people read */
	const struct frag_format *format;       /* of standard output; NULL: not given */
	struct {
		const struct frag_format *format;
		const char *path;               /* "-": standard output */
		struct frag_outfile file;
	} outputs[FRAG_PRINTED_MAX];
	uint32_t count;
	struct frag_outfile *beside;            /* one more, written by someone else, that takes
						 * its place with them; NULL: none */
	bool quiet;                             /* nothing for people */
};

/* --format, --output and --json FILE. -FRAG_EUSAGE */
int frag_printed_format(struct frag_printed *p, const char *value, struct frag_error *err);
int frag_printed_output(struct frag_printed *p, const char *value, struct frag_error *err);
int frag_printed_json(struct frag_printed *p, const char *path, struct frag_error *err);

/*
 * Each output is another file, and none is one of the inputs, which are called `what`; one at
 * most is standard output. -FRAG_EUSAGE
 */
int frag_printed_apart(const struct frag_printed *p, const struct frag_cmd *cmd,
		       const char *const *inputs, uint32_t count, const char *what,
		       struct frag_error *err);

/* None is this file, which is called `what`; NULL: there is none. -FRAG_EUSAGE */
int frag_printed_spare(const struct frag_printed *p, const char *input, const char *what,
		       struct frag_error *err);

/* Opens all, so that what cannot be written is known before the work. */
int frag_printed_open(struct frag_printed *p, struct frag_error *err);

/* Prints it in every form, then all files take their places. */
int frag_printed_write(struct frag_printed *p, const void *what, struct frag_error *err);

/* Leaves no file behind that was not written. */
void frag_printed_fini(struct frag_printed *p);

#endif
