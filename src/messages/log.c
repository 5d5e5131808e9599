/* log.c - the out-of-memory messages of a file. */
#include "messages/log.h"

#include "input/input.h"

static int log_read_all(struct frag_message_log *log, struct frag_input *in, struct frag_finder *f,
			struct frag_error *err)
{
	size_t used = 0;
	int more, rc;

	in->by_byte = true;     /* the finder counts lines */
	do {
		more = frag_input_fill(in, used, err);
		if (more < 0)
			return more;
		used = in->end;
		rc = frag_finder_feed(f, in->buf, used);
		if (rc)
			return rc;
		if (log->stop && log->stop(log->ctx))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	} while (more);
	return frag_finder_end(f);
}

int frag_message_log_read(struct frag_message_log *log, struct frag_error *err)
{
	struct frag_finder *f = frag_finder_new(log->found, log->ctx);
	struct frag_input in;
	int rc;

	if (!f)
		return frag_fail_nomem(err);
	rc = frag_input_open(&in, log->path, err);
	if (!rc) {
		rc = log_read_all(log, &in, f, err);
		frag_input_close(&in);
	}
	log->bare = frag_finder_bare(f, &log->bare_line);
	frag_finder_del(f);
	return rc;
}
