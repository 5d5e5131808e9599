/* readers.c - the table of forms, and which of them the first bytes are. */
#include "events/readers.h"

#include "input/unpack.h"
#include "snapshot/snapshot.h"
#include "trace/fsb.h"
#include "trace/reader.h"

/* The last reader accepts every input that no other reader recognises, and reports its errors. */
static const struct frag_reader *const readers[] = {
	&frag_reader_fsb,
	&frag_reader_pickle,
	&frag_reader_snapshot_page,
	&frag_reader_snapshot_json,
	&frag_reader_kineto,
	&frag_reader_minimalloc,
	&frag_reader_rmm,
	&frag_reader_object,
	&frag_reader_lines,
	NULL,
};

/* Returns the first reader that accepts the input; NULL where an earlier one needs more bytes. */
static const struct frag_reader *ask(const struct frag_input *in)
{
	bool last = in->eof || in->end >= FRAG_SNIFF_MAX;

	for (const struct frag_reader *const *r = readers; *r; r++) {
		enum frag_sniff answer = (*r)->sniff(in->buf, in->end);

		if (answer == FRAG_SNIFF_YES || !r[1])
			return *r;
		if (answer == FRAG_SNIFF_MORE && !last)
			return NULL;
	}
	return NULL;
}

/*
 * The window grows until a reader knows its form. That ends at FRAG_SNIFF_MAX, as
 * the last reader takes whatever no other one knows.
 */
int frag_reading_open(struct frag_reading *out, const char *path,
		      const struct frag_trace_options *options, struct frag_error *err)
{
	const struct frag_reader *reader;
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	if (rc)
		return rc;
	if (options->lenient)
		frag_unpacker_allow_torn(in.unpacker);
	do {
		rc = frag_input_fill(&in, 0, err);
		reader = rc < 0 ? NULL : ask(&in);
	} while (rc >= 0 && !reader);
	if (rc < 0) {
		frag_input_close(&in);
		return rc;
	}
	*out = (struct frag_reading){ .form = reader->name, .any_meta = options->meta,
				      .with_host = options->host, .sized = options->sized };
	return reader->open(out, &in, &options->log, err);
}

void frag_reading_close(struct frag_reading *r)
{
	if (r->ops && r->ops->close)
		r->ops->close(r->state);
	*r = (struct frag_reading){ .ops = NULL };
}
