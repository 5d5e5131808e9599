/* log.h - the out-of-memory messages of a file. */
#ifndef MESSAGES_LOG_H
#define MESSAGES_LOG_H

#include "messages/finder.h"

/*
 * Reads all of it, "-" for standard input, unpacked, while stop(ctx) is false; found as in
 * finder.h, an error of its own in err. *bare as frag_finder_bare() says. -FRAG_ETRACE,
 * -FRAG_EINTERRUPTED, -FRAG_ENOMEM
 */
struct frag_message_log {
	const char *path;
	bool (*stop)(void *ctx);
	int (*found)(void *ctx, const struct frag_message *m);
	void *ctx;
	uint64_t bare, bare_line;
};
int frag_message_log_read(struct frag_message_log *log, struct frag_error *err);

#endif
