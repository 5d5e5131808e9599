/*
 * writer.h - writes fragsim's own trace formats: NDJSON or a JSON object.
 *
 * Records go out as they come; nothing of them is kept. A failed write sticks
 * in the file, as outfile.h says: frag_outfile_status() returns it.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include "base/atomic_file.h"
#include "fragsim/trace.h"

struct frag_writer {
	struct frag_outfile *out;       /* borrowed */
	bool object;
	uint64_t events;        /* written so far */
};

/*
 * Writes the header. meta, a JSON object, is copied unchanged; without one, `source` names the
 * origin of the events, unless it is NULL. A single device with only defaults is omitted too.
 */
void frag_writer_begin(struct frag_writer *w, struct frag_outfile *out, bool object,
		       const struct frag_device_figures *devices, uint32_t device_count,
		       struct frag_text meta, const char *source);

/* One event. A t without its text is written with all its digits. */
void frag_writer_event(struct frag_writer *w, const struct frag_record *rec);

/* Without an event NDJSON ends as a JSON object, because only that can have no events. */
void frag_writer_end(struct frag_writer *w);

#endif
