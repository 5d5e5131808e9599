/* find_reader.c - which reader knows the bytes of a file: the table of forms. */
#include <string.h>

#include "events/resolve.h"
#include "input/input.h"
#include "snapshot/snapshot.h"
#include "trace/fsb.h"

/* The last reader accepts every input that no other reader recognises, and reports its errors. */
static const struct frag_reader *const readers[] = {
	&frag_reader_fsb,
	&frag_reader_nsys,
	&frag_reader_pickle,
	&frag_reader_timeline,
	&frag_reader_snapshot_page,
	&frag_reader_snapshot_json,
	&frag_reader_kineto,
	&frag_reader_hlo,
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

/* The window grows until a reader knows its form, at FRAG_SNIFF_MAX the last one, for any input. */
static int find_reader(const struct frag_reader **reader, struct frag_input *in,
		       struct frag_error *err)
{
	int rc;

	do {
		rc = frag_input_fill(in, 0, err);
		*reader = rc < 0 ? NULL : ask(in);
	} while (rc >= 0 && !*reader);
	return rc < 0 ? rc : 0;
}

int frag_is_text(const char *path, bool *is, struct frag_error *err)
{
	const struct frag_reader *reader;
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	if (rc)
		return rc;
	rc = find_reader(&reader, &in, err);
	*is = !rc && (reader == &frag_reader_lines
		      || (reader == &frag_reader_snapshot_page && !strstr(in.buf, "MemoryViz")
			  && !strstr(in.buf, "base64")));
	while (*is && frag_sniff_text(in.buf, in.end) == FRAG_SNIFF_MORE && !in.eof
	       && in.end < FRAG_SNIFF_MAX && !rc) {
		rc = frag_input_fill(&in, 0, err);
		rc = rc < 0 ? rc : 0;
	}
	*is = *is && frag_sniff_text(in.buf, in.end) == FRAG_SNIFF_YES;
	if (rc || (in.rewindable && strcmp(path, "-") != 0))
		frag_input_close(&in);
	else
		frag_input_keep_open(&in);
	return rc;
}

/* The reader of the snapshot that a complete fsb file has: every command reads that. */
static int find_inside(const struct frag_reader **r, struct frag_input *in, struct frag_error *err)
{
	const int rc = *r == &frag_reader_fsb ? frag_fsb_take_snapshot(in, err) : 0;

	if (rc == 1)
		*r = ask(in);
	if (rc != 1 || *r == &frag_reader_pickle || *r == &frag_reader_snapshot_json
	    || *r == &frag_reader_snapshot_page)
		return rc;
	return frag_fail(err, FRAG_ETRACE, "%s: what it has as its snapshot is none",
			 frag_input_name(in->path));
}

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
	rc = find_reader(&reader, &in, err);
	rc = rc ? rc : find_inside(&reader, &in, err);
	if (rc < 0) {
		frag_input_close(&in);
		return rc;
	}
	*out = (struct frag_reading){ .form = reader->name,
				      .with_host = options->host, .sized = options->sized };
	return reader->open(out, &in, &options->log, err);
}
