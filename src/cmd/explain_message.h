/* explain_message.h - fragsim explain --message: what an out-of-memory message says. */
#ifndef CMD_EXPLAIN_MESSAGE_H
#define CMD_EXPLAIN_MESSAGE_H

#include <stdbool.h>

#include "cmd/command.h"

struct frag_explain_message {
	const char *path;       /* "-": standard input */
	const char *json;       /* NULL: none */
	bool quiet;
};

/* -FRAG_ETRACE where there is no such message, -FRAG_EOUTPUT, -FRAG_EINTERRUPTED */
int frag_explain_message(const struct frag_explain_message *how, struct frag_error *err);

#endif
