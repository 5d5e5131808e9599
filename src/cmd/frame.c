/* frame.c - what all commands do alike: their options, then the steps of those that search. */
#include "cmd/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *frag_put_shell_word(char *p, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=:,./@%";
	const bool quoted = !*word || word[strspn(word, plain)];

	p = stpcpy(p, quoted ? "'" : "");
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			p = stpcpy(p, "'\\''");
		else
			*p++ = *c;
	return stpcpy(p, quoted ? "'" : "");
}

/* The command and its words, before the options are read, which moves them. NULL: out of memory. */
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
		p = frag_put_shell_word(stpcpy(p, " "), argv[i]);
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

static void question_fini(struct frag_question *q)
{
	frag_printed_fini(&q->printed);
	frag_redraw_fini(&q->redraw);
	frag_conditions_fini(&q->conditions);
	frag_taped_close(q->taped, q->count);
	free(q->taped);
	free(q->sources);
	free(q->traces);
}

/* The options have their usual values before the first one is read. */
static int frame_call(const struct frag_cmd *cmd, void *own, struct frag_args *args, int argc,
		      char **argv, struct frag_error *err)
{
	struct frag_question *q = cmd->needs & FRAG_NEEDS_ANSWER ? own : NULL;
	int rest = 0, rc;

	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		frag_run_options_init(own);
	if (q)
		q->printed = (struct frag_answer_output){ .formats = cmd->formats,
							  .has_page = true };
	frag_options_usual(own, cmd->opts);
	if (cmd->init)
		cmd->init(own);
	rc = frag_options(cmd, argc, argv, own, args, &rest, err);
	if (!rc && rest) {
		args->words = argv + rest;
		args->count = (uint32_t)(argc - rest);
		rc = check_operands(args, err);
		if (!rc)
			rc = cmd->exec ? cmd->exec(own, args, err)
				       : frag_question_run(own, cmd->question, args, err);
	}
	if (cmd->fini)
		cmd->fini(own);
	if (q)
		question_fini(q);
	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		frag_run_options_fini(own);
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
	rc = line && own ? frame_call(cmd, own, &args, argc, argv, err) : frag_fail_nomem(err);
	free(own);
	free(line);
	return rc;
}

int frag_question_set_format(void *at, const struct frag_opt *o, const char *value,
			     struct frag_error *err)
{
	struct frag_question *q = at;

	(void)o;
	return frag_printed_format(&q->printed, value, err);
}

int frag_question_set_json(void *at, const struct frag_opt *o, const char *value,
			   struct frag_error *err)
{
	struct frag_question *q = at;

	(void)o;
	return frag_printed_json(&q->printed, value, err);
}

int frag_question_set_output(void *at, const struct frag_opt *o, const char *value,
			     struct frag_error *err)
{
	struct frag_question *q = at;

	(void)o;
	return frag_printed_output(&q->printed, &q->run, value, err);
}

void frag_question_progress(void *ctx, uint32_t done, uint32_t count)
{
	struct frag_question *q = ctx;

	frag_progress_count(&q->progress, q->ops->unit, done, count);
}

/* The set of all inputs and outputs, which exclude each other. */
int frag_question_check_files(struct frag_question *q, struct frag_error *err)
{
	struct frag_files files = { .input_count = 0 };

	frag_files_read(&files, q->paths, q->count, q->ops->input ? q->ops->input : "the trace");
	frag_files_read(&files, &q->run.profile_path, 1, "the profile");
	frag_printed_files(&q->printed, &files);
	frag_files_write(&files, q->out);
	if (q->ops->files)
		q->ops->files(q, &files);
	return frag_files_check(&files, q->cmd, err);
}

/* Everything that can be wrong with the command line is found before a trace is read. */
static int question_check(struct frag_question *q, struct frag_error *err)
{
	int rc = q->ops->check ? q->ops->check(q, err) : 0;

	if (!rc && !q->out && q->rewrite.form)
		rc = frag_usage(q->cmd, "--to is for --output FILE", err);
	if (rc)
		return rc;
	q->rewrite.quiet = q->run.quiet;
	q->reading = frag_taped_reading(&q->run);
	q->printed.quiet = q->run.quiet || (q->out && strcmp(q->out, "-") == 0);
	rc = frag_answer_page_set_path(&q->redraw, q->run.html, &q->printed, err);
	if (!rc && q->out)
		rc = frag_rewrite_find_form(&q->rewrite, q->out, err);
	if (!rc)
		rc = q->ops->prepare ? q->ops->prepare(q, err)
				     : frag_run_settings(&q->run, true, err);
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
		q->sources[i] = (struct frag_fit_source){
			.tape = q->taped[i].tape, .choices = q->taped[i].choices,
			.devices = q->taped[i].devices.figures,
		};
	}
	return rc;
}

static int question_draw(struct frag_question *q, uint32_t source, struct frag_error *err)
{
	struct frag_redrawn x;
	int rc = frag_redrawn_begin(&x, &q->taped[source], err);

	rc = rc ? rc : q->ops->draw(q, &x, source, err);
	rc = rc ? rc : frag_redrawn_end(&x, &q->redraw, err);
	frag_redrawn_fini(&x);
	return rc;
}

int frag_question_answer(struct frag_question *q, const void *answer, struct frag_error *err)
{
	const bool drawn = q->redraw.path && q->ops->draw && (!q->interrupted || q->time_up);
	int rc = drawn ? frag_redraw_room(&q->redraw, q->count, err) : 0;

	q->redraw.what = answer;
	for (uint32_t i = 0; drawn && i < q->count && !rc; i++)
		rc = question_draw(q, i, err);
	return rc ? rc : frag_printed_write(&q->printed, answer, err);
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
	return rc || q->time_up ? rc : interrupted;
}

bool frag_question_is_read(const struct frag_question *q)
{
	return q->conditions.count || q->printed.count || q->printed.format || !q->printed.quiet
	       || !q->out;
}

/* Where the options name nothing but the trace that is written, nothing is simulated. */
static int question_read_and_search(struct frag_question *q, struct frag_sink *sink,
				    struct frag_error *err)
{
	int rc = q->ops->read    ? q->ops->read(q, sink, err)
		 : q->ops->reads ? 0 : question_read_traces(q, err);

	return rc || !frag_question_is_read(q) ? rc : question_search(q, err);
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
	rc = rc ? rc : frag_run_read_profile(&q->run, err);
	rc = rc || !ops->open ? rc : ops->open(q, err);
	rc = rc ? rc : frag_printed_open(&q->printed, err);
	if (rc || !q->out)
		return rc ? rc : question_read_and_search(q, NULL, err);
	return frag_rewrite_into(&q->rewrite, q->paths[0], q->out, question_write_trace, q, err);
}
