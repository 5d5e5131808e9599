/* frame.c - what all commands do alike: options, files, answers, the steps of those that search. */
#include "cmd/frame.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "iterations/iterations.h"

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is a file created where the one name leads the one that the other leads to? */
static bool same_place(const char *a, const char *b)
{
	const char *const names[] = { frag_file_name(a), frag_file_name(b) };
	struct stat folder[2];

	if (strcmp(names[0], names[1]) != 0)
		return false;
	for (int i = 0; i < 2; i++) {
		const char *path = i ? b : a;
		char *parent = strndup(path, (size_t)(names[i] - path));
		const bool there = parent && stat(*parent ? parent : ".", &folder[i]) == 0;

		free(parent);
		if (!there)
			return strcmp(a, b) == 0;
	}
	return same_inode(&folder[0], &folder[1]);
}

/* Do the two paths lead to the same regular file, there or not yet? */
static bool same_file(const char *a, const char *b)
{
	struct frag_output_path x, y;
	bool same = false;

	if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
		return false;
	/* what is wrong with a name, opening it says */
	(void)frag_destination_find(&x, a);
	(void)frag_destination_find(&y, b);
	if (x.there && y.there)
		same = S_ISREG(x.now.st_mode) && same_inode(&x.now, &y.now);
	else if (!x.there && !y.there && x.name && y.name)
		same = same_place(x.name, y.name);
	free(x.name);
	free(y.name);
	return same;
}

/*
 * The inputs and outputs of a command. An input comes as one path or several, and messages call it
 * `what`; a path that is NULL is none.
 */
#define FILES_MAX 20
struct files {
	struct {
		const char *const *paths;
		uint32_t count;
		const char *what;
	} inputs[FILES_MAX];
	const char *outputs[FILES_MAX];
	uint32_t input_count, output_count;
	uint32_t standard;      /* outputs that have no path: they go to standard output */
};

static void add_input(struct files *f, const char *const *paths, uint32_t count, const char *what)
{
	FRAG_ASSERT(f->input_count < FILES_MAX);
	if (!count || !*paths)
		return;
	f->inputs[f->input_count].paths = paths;
	f->inputs[f->input_count].count = count;
	f->inputs[f->input_count++].what = what;
}

static void add_output(struct files *f, const char *path)
{
	FRAG_ASSERT(f->output_count < FILES_MAX);
	if (path)
		f->outputs[f->output_count++] = path;
}

/* What the options name; own are their values. */
static void files_of_options(struct files *f, const struct frag_cmd *cmd, const void *own)
{
	for (const struct frag_opt *o = cmd->opts; o->name; o++) {
		const char *const *path = (const char *const *)((const char *)own + o->at);

		if (o->kind == FRAG_OPT_INPUT)
			add_input(f, path, 1, o->what);
		else if (o->kind == FRAG_OPT_OUTPUT)
			add_output(f, *path);
	}
	/* the page of -o or --format, in the options of a run, which begin these */
	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		add_output(f, ((const struct frag_run_options *)own)->html);
}

/* No output may replace an input, which is still being read then. */
static int check_replaced(const struct files *f, const char *path, struct frag_error *err)
{
	for (uint32_t i = 0; i < f->input_count; i++)
		for (uint32_t k = 0; k < f->inputs[i].count; k++)
			if (same_file(path, f->inputs[i].paths[k]))
				return frag_fail(err, FRAG_EUSAGE,
						 "%s: the output would replace %s", path,
						 f->inputs[i].what);
	return 0;
}

/*
 * Standard input and standard output are each used once; no output replaces an input, and none is
 * the same file as another one. Files are compared as files, not as names.
 */
static int files_check(const struct files *f, const struct frag_cmd *cmd, struct frag_error *err)
{
	uint32_t input = 0, output = f->standard;
	int rc = 0;

	for (uint32_t i = 0; i < f->input_count; i++)
		for (uint32_t k = 0; k < f->inputs[i].count; k++)
			input += strcmp(f->inputs[i].paths[k], "-") == 0;
	if (input > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	for (uint32_t i = 0; i < f->output_count && !rc; i++) {
		output += strcmp(f->outputs[i], "-") == 0;
		rc = check_replaced(f, f->outputs[i], err);
		for (uint32_t k = 0; k < i && !rc; k++)
			if (same_file(f->outputs[i], f->outputs[k]))
				rc = frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file",
					       f->outputs[i]);
	}
	if (!rc && output > 1)
		rc = frag_usage(cmd, "two outputs to standard output: only one can be -", err);
	return rc;
}

static const struct frag_format *output_format(const struct frag_answer_output *p, const char *name)
{
	uint32_t i = 0;

	while (p->formats[i] && strcmp(p->formats[i]->name, name) != 0)
		i++;
	return p->formats[i];
}

static int no_format(const struct frag_answer_output *p, const char *option, const char *value,
		     struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; p->formats[i]; i++)
		frag_listed_add(&names, p->formats[i]->name);
	frag_listed_add(&names, "html");
	return frag_fail(err, FRAG_EUSAGE, "%s %.60s: use %s", option, value,
			 frag_listed_text(&names, " or "));
}

static int find_format(struct frag_answer_output *p, const char *value, struct frag_error *err)
{
	p->format = output_format(p, value);
	return p->format ? 0 : no_format(p, "--format", value, err);
}

int frag_question_set_format(void *at, const struct frag_opt *o, const char *value,
			     struct frag_error *err)
{
	struct frag_question *q = at;

	(void)o;
	if (strcmp(value, "html") != 0)
		return find_format(&q->printed, value, err);
	q->run.html = "-";
	return 0;
}

int frag_question_set_top(void *at, const struct frag_opt *o, const char *value,
			  struct frag_error *err)
{
	uint32_t *top = &((struct frag_question *)at)->printed.top;
	uint64_t count;
	int rc;

	*top = FRAG_TOP_ALL;
	if (strcmp(value, "all") == 0)
		return 0;
	rc = frag_option_count(&count, o->name, value, 0, FRAG_TOP_FITTING - 1, err);
	*top = rc ? 0 : (uint32_t)count;
	return rc;
}

uint32_t frag_question_top(const struct frag_question *q, uint32_t usual)
{
	return q->printed.top == FRAG_TOP_FITTING ? usual : q->printed.top;
}

/* Adds an output of `what`, in a format outside the table. -FRAG_EUSAGE */
static int printed_add(struct frag_answer_output *p, const char *option,
		       const struct frag_format *format, const char *path, const void *what,
		       struct frag_error *err)
{
	if (p->count == FRAG_PRINTED_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%s %.60s: at most %d files are possible",
				 option, path, FRAG_PRINTED_MAX);
	p->outputs[p->count].format = format;
	p->outputs[p->count].what = what;
	p->outputs[p->count++].path = path;
	return 0;
}

/* Endings, and the formats that they name. */
static const struct {
	const char *ending, *format;
} endings[] = {
	{ ".txt", "text" }, { ".md", "markdown" }, { ".json", "json" }, { ".csv", "csv" },
	{ ".html", "html" }, { ".xml", "junit" }, { NULL, "github" },
};

/*
 * Stores the format that the ending of a file's name is of, NULL for another ending. -FRAG_EUSAGE for
 * FORMAT:FILE, as this option was written before.
 */
static int output_named(const char **format, const char *value, struct frag_error *err)
{
	const char *dot = strrchr(frag_file_name(value), '.'), *colon = strchr(value, ':');

	*format = NULL;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *name = endings[i].format;

		if (colon && strlen(name) == (size_t)(colon - value)
		    && strncmp(value, name, (size_t)(colon - value)) == 0)
			return frag_fail(err, FRAG_EUSAGE, "--output %.100s: the ending of FILE names its"
					 " form, --format that of standard output", value);
		if (dot && endings[i].ending && strcmp(dot, endings[i].ending) == 0)
			*format = name;
	}
	return 0;
}

int frag_run_set_output(void *at, const struct frag_opt *o, const char *value,
			struct frag_error *err)
{
	struct frag_run_options *run = at;
	const char *format, **path;
	int rc = output_named(&format, value, err);

	if (rc)
		return rc;
	path = format && strcmp(format, "json") == 0 ? &run->json : &run->html;
	if (!format || (path == &run->html && (strcmp(format, "html") != 0 || o->min & FRAG_NO_PAGE)))
		return frag_fail(err, FRAG_EUSAGE, "--output %.60s: no such format; valid endings:"
				 " .json%s", value, o->min & FRAG_NO_PAGE ? "" : ", .html");
	if (*path && strcmp(*path, "-") != 0)
		return frag_fail(err, FRAG_EUSAGE, "--output %.60s: %.60s has this form", value, *path);
	*path = value;
	return 0;
}

int frag_question_set_output(void *at, const struct frag_opt *o, const char *value,
			     struct frag_error *err)
{
	struct frag_question *q = at;
	const struct frag_format *format;
	const char *name;
	int rc = output_named(&name, value, err);

	(void)o;
	if (rc)
		return rc;
	if (!name)
		return printed_add(&q->printed, "--output", NULL, value, NULL, err);
	if (strcmp(name, "html") == 0) {
		if (q->run.html && strcmp(q->run.html, "-") != 0)
			return frag_fail(err, FRAG_EUSAGE, "--output %.60s: %.60s has this form", value,
					 q->run.html);
		q->run.html = value;
		return 0;
	}
	format = output_format(&q->printed, name);
	return format ? printed_add(&q->printed, "--output", format, value, NULL, err)
		      : no_format(&q->printed, "--output", value, err);
}

/* Another kind of answer, with formats of the same names. -FRAG_EUSAGE: one is missing */
static int switch_formats(struct frag_answer_output *p, const struct frag_format *const *formats,
			  struct frag_error *err)
{
	int rc;

	p->formats = formats;
	rc = p->format ? find_format(p, p->format->name, err) : 0;
	for (uint32_t i = 0; i < p->count && !rc; i++) {
		const struct frag_format **format = &p->outputs[i].format;
		const char *name = *format ? (*format)->name : "";

		if (*format)
			*format = output_format(p, name);
		if (*name && !*format)
			rc = no_format(p, "--output", name, err);
	}
	return rc;
}

int frag_question_set_json(void *at, const struct frag_opt *o, const char *value,
			   struct frag_error *err)
{
	struct frag_answer_output *p = &((struct frag_question *)at)->printed;

	(void)o;
	return printed_add(p, "--json", output_format(p, "json"), value, NULL, err);
}

/* The answer's outputs, for files_check(). */
static void printed_files(const struct frag_answer_output *p, struct files *files)
{
	files->standard += p->format != NULL;
	for (uint32_t i = 0; i < p->count; i++) {
		/* the page is added with the options */
		if (!p->outputs[i].what)
			add_output(files, p->outputs[i].path);
		/* `--format csv -o -` names one output twice */
		if (p->format && !p->outputs[i].format && strcmp(p->outputs[i].path, "-") == 0)
			files->standard--;
	}
}

static int no_ending(const char *path, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (endings[i].ending)
			frag_listed_add(&names, endings[i].ending);
	return frag_fail(err, FRAG_EUSAGE, "--output %.200s: no format has this ending (%s);"
			 " --format selects one", path, frag_listed_text(&names, ", "));
}

/* Opens all, so that what cannot be written is known before the work. */
static int printed_open(struct frag_answer_output *p, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->count && !rc; i++) {
		const char *path = p->outputs[i].path;

		if (!p->outputs[i].format && !p->format && strchr(frag_file_name(path), '.'))
			return no_ending(path, err);
		if (!p->outputs[i].format)
			p->outputs[i].format = p->format ? p->format : p->formats[0];
		rc = frag_open_guarded(&p->outputs[i].file, path, err);
	}
	return rc;
}

static int print_into(struct frag_outfile *to, const struct frag_format *format, const void *what,
		      const struct frag_text_style *paper, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(to);
	int rc;

	if (!f)
		return frag_outfile_status(to, err);
	rc = frag_format_print(format, what, paper, f, err);
	frag_outfile_stream_end(to, f);
	return rc ? rc : frag_outfile_finish(to, err);
}

bool frag_question_has_document(const struct frag_question *q)
{
	const struct frag_answer_output *p = &q->printed;
	const struct frag_format *json = output_format(p, "json");
	bool any = p->format == json;

	for (uint32_t i = 0; i < p->count; i++)
		any |= p->outputs[i].format == json;
	return json && any;
}

/* For people, where nothing else was requested. */
static int print_standard(const struct frag_answer_output *p, const void *what,
			  struct frag_error *err)
{
	const struct frag_format *format = p->format ? p->format : p->formats[0];
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	const struct frag_text_style paper = {
		.colour = frag_terminal_colour(columns), .columns = columns, .top = p->top,
	};
	struct frag_outfile standard;
	int rc;

	for (uint32_t i = 0; i < p->count; i++)
		if (strcmp(p->outputs[i].path, "-") == 0)
			return 0;
	if (format == p->formats[0] && p->quiet)
		return 0;
	rc = frag_outfile_open(&standard, "-", err);
	if (rc)
		return rc;
	rc = print_into(&standard, format, what, &paper, err);
	frag_outfile_abandon(&standard);
	return rc;
}

/* Prints it in every form, then all files take their places. */
static int printed_write(struct frag_answer_output *p, const void *what, struct frag_error *err)
{
	const struct frag_text_style plain = { .top = p->top };
	struct frag_outfile *files[FRAG_PRINTED_MAX + 1];
	uint32_t count = p->count;
	int rc = 0;

	for (uint32_t i = 0; i < p->count && !rc; i++)
		rc = print_into(&p->outputs[i].file, p->outputs[i].format,
				p->outputs[i].what ? p->outputs[i].what : what, &plain, err);
	rc = rc ? rc : print_standard(p, what, err);
	for (uint32_t i = 0; i < p->count; i++)
		files[i] = &p->outputs[i].file;
	if (p->beside)
		files[count++] = p->beside;
	return rc ? rc : frag_outfile_commit_all(files, count, err);
}

/* Leaves no file behind that was not written. */
static void printed_fini(struct frag_answer_output *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		frag_outfile_abandon(&p->outputs[i].file);
	frag_register_partial_file(NULL);
}

/* Conditions ------------------------------------------------------------------ */

int frag_conditions_set(void *at, const struct frag_opt *o, const char *value,
			struct frag_error *err)
{
	struct frag_conditions *w = at;

	if (!FRAG_GROW(w->of, w->capacity, w->count))
		return frag_fail_nomem(err);
	w->paths = o->words;
	w->of[w->count].checked = (struct frag_checked){ .runs = 0 };
	return frag_condition_among(&w->of[w->count++].condition, value, o->words, err);
}

double frag_bytes_or_none(uint64_t bytes)
{
	return bytes == UINT64_MAX ? INFINITY : (double)bytes;
}

double frag_at_least_or_none(const struct frag_claim *claim)
{
	return frag_claim_is_exact(claim) ? NAN : frag_bytes_or_none(claim->at_least);
}

void frag_question_judge(struct frag_question *q, const double *values,
			 const double *at_least, const char *who, ...)
{
	struct frag_conditions *w = &q->conditions;
	char name[PATH_MAX + 40];
	struct frag_finding found;
	va_list args;

	va_start(args, who);
	frag_vsnprintf(name, sizeof(name), who, args);
	va_end(args);
	for (uint32_t i = 0; i < w->count; i++) {
		const struct frag_condition *c = &w->of[i].condition;
		uint32_t at = 0;
		bool holds;

		while (strcmp(w->paths[at], c->path) != 0)
			at++;
		if (isnan(values[at]))
			continue;
		holds = frag_condition_true(c, values[at], at_least && !q->run.partial
						   ? at_least[at] : NAN, &found);
		frag_checked_note(&w->of[i].checked, &found);
		snprintf(w->who, sizeof(w->who), "%.199s", name);
		if (!holds)
			continue;
		frag_print_message("%s: %s", name, found.line);
		*q->status = 1;
	}
}

/* What the conditions were held to, where none holds; one that was held to nothing is a no. */
static void question_checked(struct frag_question *q)
{
	const struct frag_conditions *w = &q->conditions;
	char line[1000], range[FRAG_RANGE_ROOM];
	struct frag_words text = FRAG_WORDS(line);
	uint32_t runs = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct frag_condition *c = &w->of[i].condition;
		const struct frag_checked *checked = &w->of[i].checked;

		runs = checked->runs > runs ? checked->runs : runs;
		if (checked->runs) {
			frag_add(&text, ", %s is %s", c->path, frag_checked_range(range, checked));
		} else if (!*q->status) {
			frag_print_message("--fail-if '%s' cannot be judged: nothing has this value",
					   c->text);
			*q->status = 1;
		}
	}
	if (!w->count || *q->status || q->run.quiet)
		return;
	if (runs == 1)
		frag_print_message("passed: %s%s", w->who, line);
	else
		frag_print_message("passed: %u runs%s", runs, line);
}

/* Commands -------------------------------------------------------------------- */

/*
 * The command and its words, before the options are read, which moves them. Files have no folders:
 * the line stands on pages that are sent to others. NULL: out of memory.
 */
static char *command_line(const char *command, int argc, char *const *argv)
{
	size_t length = strlen("fragsim ") + strlen(command) + 1;
	char *text, *p;

	for (int i = 1; i < argc; i++)
		length += 4 * strlen(argv[i]) + 3;
	text = p = malloc(length);
	if (!text)
		return NULL;
	p = stpcpy(stpcpy(p, "fragsim "), command);
	for (int i = 1; i < argc; i++)
		p = frag_put_shell_word(stpcpy(p, " "), *argv[i] == '-' || strchr(argv[i], ' ')
					? argv[i] : frag_file_name(argv[i]));
	return text;
}

/* Are there as many operands as the command needs? */
static int check_operands(const struct frag_args *args, struct frag_error *err)
{
	const struct frag_cmd *cmd = args->cmd;
	const char *operand = cmd->operand ? cmd->operand : "TRACE";
	char text[80];

	if (cmd->needs & FRAG_NEEDS_INS_OUT && args->count < 2)
		return frag_usage(cmd, "IN... and OUT are required", err);
	if (cmd->needs & FRAG_NEEDS_IN_OUT && args->count != 2)
		return frag_usage(cmd, args->count < 2 ? "IN and OUT are required"
						       : "too many files", err);
	if (cmd->needs & (FRAG_NEEDS_TRACE | FRAG_NEEDS_TRACES) && !args->count) {
		snprintf(text, sizeof(text), "missing argument: %s", operand);
		return frag_usage(cmd, text, err);
	}
	if (cmd->needs & FRAG_NEEDS_TRACE && args->count > 1) {
		snprintf(text, sizeof(text), "too many arguments: one %s", operand);
		return frag_usage(cmd, text, err);
	}
	return 0;
}

int frag_check_files(const struct frag_args *args, const char *what, const char *output,
		     struct frag_error *err)
{
	struct files files = { .input_count = 0 };

	add_input(&files, (const char *const *)args->words, args->count, what);
	files_of_options(&files, args->cmd, args->own);
	add_output(&files, output);
	return files_check(&files, args->cmd, err);
}

static void question_fini(struct frag_question *q)
{
	printed_fini(&q->printed);
	for (uint32_t i = 0; i < q->redraw.count; i++)
		frag_page_section_fini(&q->redraw.sections[i]);
	free(q->redraw.sections);
	frag_outfile_abandon(&q->extra);
	free(q->conditions.of);
	frag_taped_close(q->taped, q->count);
	free(q->taped);
	free(q->sources);
	free(q->traces);
	free(q->iterations);
}

static void run_options_init(struct frag_run_options *run)
{
	*run = (struct frag_run_options){
		.total = UINT64_MAX,
		.context = UINT64_MAX,
		.other = UINT64_MAX,
		.granularity = UINT64_MAX,
		.stacks = -1,
	};
}

static void run_options_fini(struct frag_run_options *run)
{
	for (uint32_t i = 0; i < run->choice_count; i++)
		frag_choice_fini(&run->choices[i]);
	free(run->choices);
	free(run->conditions);
	free(run->settings.at);
	free(run->profile.figures.name);
}

/*
 * The options have their usual values before the first one is read. Where a command writes no
 * trace, its operands are inputs, and the options name the outputs.
 */
static int frame_call(const struct frag_cmd *cmd, void *own, struct frag_args *args, int argc,
		      char **argv, struct frag_error *err)
{
	struct frag_question *q = cmd->needs & FRAG_NEEDS_ANSWER ? own : NULL;
	int rest = 0, rc;

	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		run_options_init(own);
	if (q)
		q->printed.formats = cmd->formats, q->printed.top = FRAG_TOP_FITTING;
	if (cmd->init)
		cmd->init(own);
	rc = frag_options(cmd, argc, argv, own, args, &rest, err);
	if (!rc && rest) {
		args->words = argv + rest;
		args->count = (uint32_t)(argc - rest);
		rc = check_operands(args, err);
		rc = rc ? rc : frag_refuse_options(args, cmd->refusals, err);
		if (!rc && !q && cmd->needs & (FRAG_NEEDS_TRACE | FRAG_NEEDS_TRACES))
			rc = frag_check_files(args, "the trace", NULL, err);
		if (!rc)
			rc = cmd->exec ? cmd->exec(own, args, err)
				       : frag_question_run(own, cmd->question, args, err);
	}
	if (cmd->fini)
		cmd->fini(own);
	if (q)
		question_fini(q);
	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		run_options_fini(own);
	return rc;
}

int frag_command_run(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		     struct frag_error *err)
{
	struct frag_args args = { .cmd = cmd, .status = status };
	char *line;
	void *own;
	int rc;

	if (cmd->raw)
		return cmd->raw(cmd, argc, argv, status, err);
	args.line = line = command_line(cmd->name, argc, argv);
	own = calloc(1, cmd->size + 1);
	args.own = own;
	rc = line && own ? frame_call(cmd, own, &args, argc, argv, err) : frag_fail_nomem(err);
	free(own);
	free(line);
	return rc;
}

static void question_show(void *ctx, const char *what, uint32_t done, uint32_t count)
{
	struct frag_question *q = ctx;

	(void)what;
	frag_progress_count(&q->progress, q->ops->unit, done, count);
}

struct frag_job frag_question_job(struct frag_question *q, bool (*stop)(void *ctx))
{
	return (struct frag_job){
		.stop = stop, .progress = question_show, .ctx = q,
		.threads = q->run.threads,
	};
}

/* The set of all inputs and outputs, which exclude each other. */
int frag_question_check_files(struct frag_question *q, struct frag_error *err)
{
	struct files files = { .input_count = 0 };

	add_input(&files, q->paths, q->count, q->ops->input ? q->ops->input : "the trace");
	add_input(&files, &q->grid, 1, "the grid");
	files_of_options(&files, q->cmd, q);
	/* another file than the answer's is on standard output */
	q->printed.quiet = q->run.quiet;
	for (uint32_t i = 0; i < files.output_count; i++)
		q->printed.quiet |= files.outputs[i] != q->run.html && strcmp(files.outputs[i], "-") == 0;
	printed_files(&q->printed, &files);
	return files_check(&files, q->cmd, err);
}

/* Everything that can be wrong with the command line is found before a trace is read. */
static int question_check(struct frag_question *q, struct frag_error *err)
{
	char text[80];
	int rc;

	q->reading = frag_taped_reading(&q->run);
	/* stacks show the iterations, in which memory grows or does not */
	q->reading.stacks = q->run.html ? FRAG_STACKS_PYTHON : FRAG_STACKS_ALL;
	q->reading.growth = true;
	rc = q->ops->check ? q->ops->check(q, err) : 0;
	if (!rc && q->ops->formats)
		rc = switch_formats(&q->printed, q->ops->formats, err);
	if (!rc && q->run.json)
		rc = frag_question_set_json(q, NULL, q->run.json, err);
	if (!rc && !q->out && q->rewrite.form)
		rc = frag_usage(q->cmd, "--to is for --trace FILE", err);
	if (rc)
		return rc;
	q->rewrite.quiet = q->run.quiet;
	q->redraw.path = q->run.html;
	q->redraw.text = q->printed.formats[0];
	if (q->run.html)
		rc = printed_add(&q->printed, "--output", &frag_redraw_page, q->run.html, &q->redraw,
				 err);
	if (!rc && q->out)
		rc = frag_rewrite_find_form(&q->rewrite, q->out, err);
	if (!rc)
		rc = q->ops->choose ? q->ops->choose(q, err)
				    : frag_run_settings(&q->run, true, err);
	if (!rc && q->ops->one_policy && q->run.choice_count > 1) {
		snprintf(text, sizeof(text), "too many policies: %s takes one", q->cmd->name);
		return frag_usage(q->cmd, text, err);
	}
	return rc ? rc : frag_question_check_files(q, err);
}

/* Reads the traces onto tapes. */
static int question_read_traces(struct frag_question *q, struct frag_error *err)
{
	int rc;

	q->taped = calloc(q->count, sizeof(*q->taped));
	q->sources = calloc(q->count, sizeof(*q->sources));
	q->traces = calloc(q->count, sizeof(*q->traces));
	if (!q->taped || !q->sources || !q->traces)
		return frag_fail_nomem(err);
	rc = frag_taped_read(q->taped, q->paths, q->count, &q->run, q->ops->usual, &q->reading,
			     err);
	for (uint32_t i = 0; i < q->count && !rc; i++) {
		q->traces[i] = frag_trace_info(q->taped[i].trace);
		q->sources[i] = frag_taped_source(&q->taped[i], q->taped[i].tape);
	}
	return rc;
}

int frag_question_read_again(const struct frag_question *q, uint32_t i, frag_usual *usual,
			     bool capacity, struct frag_loaded_trace *taped, struct frag_error *err)
{
	struct frag_taped_reading reading = frag_taped_reading(&q->run);

	reading.quiet = true;
	reading.capacity = capacity;
	return frag_taped_read(taped, &q->paths[i], 1, &q->run, usual, &reading, err);
}

int frag_question_iterations(struct frag_question *q, const uint32_t **counts,
			     struct frag_error *err)
{
	int rc = 0;

	q->iterations = calloc((size_t)q->count + 1, sizeof(*q->iterations));
	if (!q->iterations)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->count && !rc; i++) {
		struct frag_iterations it;

		rc = frag_iterations_find(&it, q->taped[i].tape, err);
		q->iterations[i] = it.count;
		frag_iterations_fini(&it);
	}
	*counts = q->iterations;
	return rc;
}

/* Traces that the search read itself are read again. */
static int question_draw(struct frag_question *q, uint32_t source, struct frag_error *err)
{
	struct frag_loaded_trace again = { .choice_count = 0 };
	int rc = q->taped ? 0 : frag_question_read_again(q, source, NULL, true, &again, err);

	rc = rc ? rc : frag_answer_page_draw(&q->redraw, q->taped ? &q->taped[source] : &again,
					     source, q->ops->draw, q, err);
	frag_taped_close(&again, 1);
	return rc;
}

int frag_question_answer(struct frag_question *q, const void *answer, struct frag_error *err)
{
	const bool drawn = q->redraw.path && q->ops->draw && (!q->interrupted || q->time_up);
	int rc = 0;

	q->redraw.what = answer;
	q->redraw.paths = q->paths;
	q->redraw.path_count = q->count;
	for (uint32_t i = 0; drawn && i < q->count && !rc; i++)
		rc = question_draw(q, i, err);
	return rc ? rc : printed_write(&q->printed, answer, err);
}

/* The results so far are printed where a signal, or the end of the time, ends the search. */
static int question_search(struct frag_question *q, struct frag_error *err)
{
	int rc, interrupted;

	frag_progress_begin(&q->progress, !q->run.quiet);
	frag_time_begin(q->run.seconds);
	interrupted = q->ops->search(q, err);
	frag_progress_end(&q->progress);
	q->interrupted = interrupted != 0;
	q->time_up = frag_time_ended(interrupted);
	if (interrupted && (interrupted != -FRAG_EINTERRUPTED || (q->ops->whole && !q->time_up)))
		return interrupted;
	rc = q->ops->print(q, err);
	if (!rc && q->ops->judge && (!interrupted || q->time_up))
		q->ops->judge(q);
	if (!rc && (!interrupted || q->time_up))
		question_checked(q);
	return rc || q->time_up ? rc : interrupted;
}

/* Where the options name nothing but the trace that is written, nothing is simulated. */
static int question_read_and_search(struct frag_question *q, struct frag_sink *sink,
				    struct frag_error *err)
{
	int rc = 0;

	if (q->ops->read) {
		frag_progress_begin(&q->reading.progress, !q->run.quiet);
		rc = q->ops->read(q, sink, err);
		frag_progress_end(&q->reading.progress);
		rc = rc || !sink ? rc : sink->ops->end(sink, err);
		rc = frag_or_interrupted(rc, err);
	} else if (!q->ops->reads) {
		rc = question_read_traces(q, err);
	}

	return rc || !q->is_read ? rc : question_search(q, err);
}

/* Commits the trace together with the answer, or alone if there is no answer. */
static int question_write_trace(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_question *q = ctx;

	q->printed.beside = sink->out;
	return question_read_and_search(q, sink, err);
}

int frag_question_run(struct frag_question *q, const struct frag_question_ops *ops,
		      const struct frag_args *args, struct frag_error *err)
{
	int rc;

	q->ops = ops;
	q->cmd = args->cmd;
	q->redraw.command = args->line;
	q->status = args->status;
	q->count = args->count;
	if (!q->paths)
		q->paths = (const char *const *)args->words;
	rc = question_check(q, err);
	q->is_read = q->conditions.count || q->printed.count || q->printed.format
		     || !q->printed.quiet || !q->out;
	rc = rc ? rc : frag_run_read_profile(&q->run, err);
	rc = rc || !ops->open ? rc : ops->open(q, err);
	rc = rc ? rc : frag_open_guarded(&q->extra, q->extra_path, err);
	q->printed.beside = q->extra_path ? &q->extra : NULL;
	rc = rc ? rc : printed_open(&q->printed, err);
	if (rc || !q->out)
		return rc ? rc : question_read_and_search(q, NULL, err);
	return frag_rewrite_into(&q->rewrite, q->paths[0], q->out, question_write_trace, q, err);
}
