/* explain_message.c - fragsim explain --message: what an out-of-memory message says. */
#include "cmd/explain_message.h"

int frag_explain_message(const struct frag_explain_message *how, struct frag_error *err)
{
	return frag_fail(err, FRAG_ETRACE, "%s: no out-of-memory message with figures was found",
			 how->path);
}
