/*
 * reader.h - a format of traces, and functions that all readers share.
 *
 * A form is one const entry of the table in events/trace.c: a sniff that knows
 * it by its first bytes, and an open that makes a source of it. Names of files
 * are never looked at, and bytes come decompressed.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "fragsim/trace.h"
#include "input/input.h"
#include "trace/trace_formats.h"

/* Sniffs see no more bytes than this, and then have to decide. */
#define FRAG_SNIFF_MAX ((size_t)64 << 10)

enum frag_sniff {
	FRAG_SNIFF_NO,
	FRAG_SNIFF_YES,
	FRAG_SNIFF_MORE,        /* so few bytes are not enough */
};

/* An open trace. */
struct frag_reading {
	const struct frag_source_ops *ops;
	void *state;            /* the reader's own, until ops->close */
	const char *form;       /* what info.form becomes: the reader's name, mostly */
	const struct frag_device_figures *devices;      /* borrowed from state */
	uint32_t device_count;  /* at least 1 */
	struct frag_text meta;  /* a JSON object, borrowed likewise; NULL: none */
	bool any_meta;          /* before it is opened: meta is read wherever it is */
	bool sized;             /* likewise: a capacity is given, and nothing said of its origin */
	bool with_host;         /* likewise: pinned host memory is to be a device */
	struct frag_host_memory host;   /* the members found */
	bool ends_at_oom;       /* as in frag_trace_info; likewise the step and its bytes */
	uint64_t oom_step, oom_bytes;
	struct frag_input *input;       /* of the records; borrowed from state. NULL: at its end */
	bool pytorch;           /* PyTorch's own recording: its allocator served the requests */
};

struct frag_reader {
	const char *name;       /* as `fragsim info` says it */
	const char *summary;    /* one line, no full stop */

	/* bytes[length] and some bytes after it are 0 */
	enum frag_sniff (*sniff)(const char *bytes, size_t length);
	/*
	 * Takes the input over, also where it fails: in's window, which holds the
	 * first bytes, is the reader's from now on. Notes go to the log.
	 */
	int (*open)(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		    struct frag_error *err);
};

/* A note for users, where there is a log. */
void frag_note(const struct frag_log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * For sniffs of JSON: reads the member names of the first object, which is the document itself
 * or the first element of an array. YES at the first name in `ours`, NO at the first in
 * `theirs`, at the object's end, and without such an object. NULL ends both lists.
 */
enum frag_sniff frag_sniff_json(const char *bytes, size_t length, bool in_array,
				const char *const *ours, const char *const *theirs);

/* For sniffs of what begins with fixed bytes. */
enum frag_sniff frag_sniff_prefix(const char *bytes, size_t length, const char *prefix,
				  size_t prefix_length);

/* Traces as other programs' CSV: RMM's log, minimalloc's buffers. */
extern const struct frag_sink_ops frag_sink_rmm, frag_sink_minimalloc;

/* The Chrome trace that torch.profiler (Kineto) writes, as a source. */
extern const struct frag_reader frag_reader_kineto;

/* The CSV of google/minimalloc: buffers with their lifetimes, as a source. */
extern const struct frag_reader frag_reader_minimalloc;

/* Reads fragsim's own formats, NDJSON and a JSON object, as a source. */
extern const struct frag_reader frag_reader_object, frag_reader_lines;

/* The CSV log of RMM's logging_resource_adaptor, as a source. */
#define FRAG_RMM_HEADER "Thread,Time,Action,Pointer,Size,Stream"

extern const struct frag_reader frag_reader_rmm;

#endif
