/* explain_message.c - fragsim explain --message: what an out-of-memory message says. */
#include "cmd/explain_message.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/interrupt.h"
#include "cmd/terminal.h"
#include "documents/message_write.h"
#include "messages/groups.h"
#include "messages/log.h"
#include "report/message_text.h"

struct explained {
	const struct frag_explain_message *how;
	struct frag_message_groups groups;
	struct frag_outfile json;       /* written as they are found */
	uint64_t count;
	struct frag_error *err;
};

static int found(void *ctx, const struct frag_message *m)
{
	struct explained *e = ctx;

	if (!frag_message_groups_add(&e->groups, m))
		return frag_fail_nomem(e->err);
	if (!e->how->json)
		return 0;
	frag_message_write(m, e->count++, &e->json);
	return frag_outfile_status(&e->json, e->err);
}

static int none(const struct frag_message_log *log, struct frag_error *err)
{
	if (log->bare)
		return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ": out of memory, but no figures"
				 " are said: there is nothing to judge", frag_input_name(log->path),
				 log->bare_line);
	return frag_fail(err, FRAG_ETRACE, "%s: no out-of-memory message was found",
			 frag_input_name(log->path));
}

static int report(struct explained *e, struct frag_error *err)
{
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	const struct frag_text_style paper = {
		.colour = frag_terminal_colour(columns), .columns = columns,
	};

	if (e->how->json)
		frag_message_write_end(&e->json);
	if (!e->how->quiet && !(e->how->json && strcmp(e->how->json, "-") == 0))
		frag_report_messages(&e->groups, &paper, stdout);
	return e->how->json ? frag_outfile_commit(&e->json, err) : 0;
}

/* The JSON is opened first and written as messages come; without one nothing is left of it. */
int frag_explain_message(const struct frag_explain_message *how, struct frag_error *err)
{
	struct explained e = { .how = how, .err = err };
	struct frag_message_log log = {
		.path = how->path, .stop = frag_interrupted, .found = found, .ctx = &e,
	};
	int rc = 0;

	if (how->json) {
		frag_register_partial_file(&e.json);
		rc = frag_outfile_open(&e.json, how->json, err);
	}
	if (!rc && !how->quiet && strcmp(how->path, "-") == 0 && isatty(STDIN_FILENO))
		frag_print_message("paste the error or the log, then press Ctrl-D on a line of its"
				   " own");
	rc = rc ? rc : frag_message_log_read(&log, err);
	if (!rc && !e.groups.messages)
		rc = none(&log, err);
	rc = rc ? rc : report(&e, err);
	if (how->json) {
		frag_outfile_abandon(&e.json);
		frag_register_partial_file(NULL);
	}
	frag_message_groups_fini(&e.groups);
	return frag_or_interrupted(rc, err);
}
