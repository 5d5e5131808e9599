/*
 * writer.h - fragsim's own trace format, written: the lines form or the object form.
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
 * The header. meta is a JSON object, and written as it is; without one, source
 * says where the events come from; NULL leaves it out. A single device with
 * nothing but defaults is left out too.
 */
void frag_writer_begin(struct frag_writer *w, struct frag_outfile *out, bool object,
		       const struct frag_device_figures *devices, uint32_t device_count,
		       struct frag_text meta, const char *source);

/* One event. A t without its text is written with all its digits. */
void frag_writer_event(struct frag_writer *w, const struct frag_record *rec);

/* Without an event the lines form ends as an object, which alone can have none. */
void frag_writer_end(struct frag_writer *w);

#endif
