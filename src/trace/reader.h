/*
 * reader.h - a format of traces, and functions that all readers share.
 *
 * A form is one const entry of the table in events/trace.c: a sniff that knows
 * it by its first bytes, and an open that makes a source of it. Names of files
 * are never looked at, and bytes come decompressed.
 */
#pragma once

#include "fragsim/trace.h"
#include "input/input.h"
#include "trace/name_tables.h"
#include "trace/trace_formats.h"

/* Sniffs see no more bytes than this, and then have to decide. */
#define FRAG_SNIFF_MAX ((size_t)64 << 10)

enum frag_sniff {
	FRAG_SNIFF_NO,
	FRAG_SNIFF_YES,
	FRAG_SNIFF_MORE,        /* so few bytes are not enough */
};

/* The place of a buffer as the file specifies it, which only a plan uses. */
struct frag_constraint {
	uint64_t step;          /* of the alloc */
	uint64_t align, hint;   /* align 0: any; the offset to try first */
	uint64_t offset;        /* fixed: where it must be */
	bool hinted, fixed;
};

/* The buffer of an alloc is not in use. */
struct frag_pause {
	uint64_t step;          /* of the alloc */
	uint64_t from, to;      /* in parts of steps, `scale` to a step */
};

struct frag_constraints {
	struct frag_constraint *of;
	uint32_t count, capacity;
	struct frag_pause *gaps;
	uint32_t gap_count, gap_capacity;
	uint64_t scale;
	const char *by;         /* who placed the buffers at the hints; NULL: unknown */
	uint64_t *heights;      /* by device: of these, in the default pool; NULL: unknown */
};

/* An open trace. */
struct frag_reading {
	const struct frag_source_ops *ops;
	void *state;            /* the reader's own, until ops->close */
	const char *form;       /* what info.form becomes: the reader's name, mostly */
	const struct frag_device_figures *devices;      /* borrowed from state */
	uint32_t device_count;  /* at least 1 */
	struct frag_text meta;  /* a JSON object, borrowed likewise; NULL: none */
	bool sized;             /* likewise: a capacity is given, and nothing said of its origin */
	bool with_host;         /* likewise: pinned host memory is to be a device */
	struct frag_host_memory host;   /* the members found */
	struct frag_scope scope;        /* as in frag_trace_info; likewise the step and its bytes */
	uint64_t oom_step, oom_bytes;
	struct frag_input *input;       /* of the records; borrowed from state. NULL: at its end */
	bool pytorch;           /* PyTorch's own recording: its allocator served the requests */
	const struct frag_constraints *constraints;     /* borrowed from state; NULL: none */
};

struct frag_reader {
	const char *name;       /* as `fragsim trace info` says it */

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

/*
 * Is what no other reader knows a text? All that is not JSON; and of JSON the lines of a logger, whose
 * first object has "log", "message" or "msg", notebooks, and PyTorch's statistics.
 */
enum frag_sniff frag_sniff_text(const char *bytes, size_t length);

/* For sniffs of what begins with fixed bytes. */
enum frag_sniff frag_sniff_prefix(const char *bytes, size_t length, const char *prefix,
				  size_t prefix_length);

/* Traces as other programs' CSV: RMM's log, minimalloc's buffers. */
extern const struct frag_sink_ops frag_sink_rmm, frag_sink_minimalloc;

/* The Chrome trace that torch.profiler (Kineto) writes, as a source. */
extern const struct frag_reader frag_reader_kineto;

/* XLA's HloProto, a module and the places of its buffers, as a source. */
extern const struct frag_reader frag_reader_hlo;

/* The CSV of google/minimalloc: buffers with their lifetimes, as a source. */
extern const struct frag_reader frag_reader_minimalloc;

/* Reads fragsim's own formats, NDJSON and a JSON object, as a source. */
extern const struct frag_reader frag_reader_object, frag_reader_lines;

/* The database that `nsys export --type sqlite` writes, as a source. */
extern const struct frag_reader frag_reader_nsys;
/* The version of libsqlite3; NULL: built without it. */
const char *frag_nsys_library(void);

/* The CSV log of RMM's logging_resource_adaptor, as a source. */
#define FRAG_RMM_HEADER "Thread,Time,Action,Pointer,Size,Stream"

extern const struct frag_reader frag_reader_rmm;

/* The raw memory timeline of torch.profiler, as a source. */
extern const struct frag_reader frag_reader_timeline;

/*
 * Stores the events of a file in memory, compactly, for formats whose first
 * event is known only after the whole file was read; gives ids to allocations that a log names
 * by address.
 */

/* Members that a row has besides those of its op. */
enum {
	FRAG_ROW_T = 1 << 0,
	FRAG_ROW_STREAM = 1 << 1,
	FRAG_ROW_DEVICE = 1 << 2,
	FRAG_ROW_TEXT_ID = 1 << 3,      /* id is the number of a text */
};

struct frag_row {
	uint64_t id;
	uint64_t size;          /* alloc: bytes */
	uint64_t stream;        /* as a number */
	uint64_t place;         /* line, or byte, in the file */
	double   t;             /* microseconds */
	uint32_t text;          /* tag of an alloc, name of a mark; see frag_buffered_text() and
				 * frag_buffered_site() */
	uint32_t pool;          /* of an alloc: a text; 0: the default pool */
	uint16_t device;
	uint8_t  op;            /* enum frag_op */
	uint8_t  members;       /* FRAG_ROW_... */
	uint8_t  maker;         /* enum frag_maker: who requests, or frees */
};

/* Where an alloc comes from: a text, which is its tag, and a stack. */
struct frag_site {
	uint32_t text, stack;
};

struct frag_buffered {
	char *path;
	const char *unit;       /* of places: "line", "byte" */
	struct frag_row *rows;
	uint32_t count, capacity;
	uint32_t at;            /* the next row to give */
	bool reading;
	struct frag_handles texts;      /* index 0: none */
	uint64_t text_bytes;            /* of these */
	struct frag_site *sites;        /* NULL: rows name texts; else rows of allocs name sites */
	uint32_t site_count, site_capacity;
	struct frag_map site_map;
	struct frag_stack_table stacks; /* of sites; made and filled by the reader */
	bool whole_stacks;              /* requested of this source */
	struct frag_constraints constraints;    /* arrays owned */
	struct frag_device_figures *devices;    /* with their names */
	uint32_t device_count;
	uint64_t bytes;         /* of the file */
	struct frag_scope scope;        /* as the rows show it */
	uint32_t failed;        /* the row of the last request that failed, plus 1; 0: none did */
};

/* NULL where the host is out of memory. */
struct frag_buffered *frag_buffered_new(const char *path, const char *unit);
void frag_buffered_del(struct frag_buffered *h);

/* A new row, zeroed, at the end; NULL where the host is out of memory. It may move at the next. */
struct frag_row *frag_buffered_add(struct frag_buffered *h);

/*
 * A mark for a request of row->size bytes that failed; where none follows it,
 * frag_address_map_end() makes it an alloc. False: out of memory.
 */
bool frag_buffered_add_oom(struct frag_buffered *h, const struct frag_row *row);

/* The same text has the same number, which is not 0. */
FRAG_OR_NOMEM frag_buffered_text(struct frag_buffered *h, struct frag_text text, uint32_t *number);

/* *site: the number of the text with the stack, either 0 for none. */
FRAG_OR_NOMEM frag_buffered_site(struct frag_buffered *h, uint32_t text, uint32_t stack, uint32_t *site);

/* 0 where the rows, the texts and `more` bytes may be kept of the input. -FRAG_ETRACE */
int frag_buffered_afford(const struct frag_buffered *h, const struct frag_input *in, uint64_t more,
			 struct frag_error *err);

/*
 * Adds `count` devices with all defaults, then returns the rows as a source that owns h, also
 * on failure. `in` only supplies the number of bytes read; the caller keeps it. NULL: h has it.
 */
int frag_buffered_open(struct frag_reading *out, struct frag_buffered *h, uint32_t device_count,
		       const struct frag_input *in, struct frag_error *err);

/*
 * Reads that database for its addresses: they are in `stream` of the rows, with the number of the
 * process from bit 52 on, except of allocations from before the first row. Release them with
 * frag_buffered_del(). -FRAG_ETRACE, also for a file that is no such database
 */
int frag_nsys_allocations(struct frag_buffered **out, const char *path, const struct frag_log *log,
			  struct frag_error *err);

/* An allocation, by its id. */
struct frag_address_map_entry {
	uint64_t address;       /* of one from before the log: its bytes */
	uint32_t device;
	uint32_t next;          /* of live ones of no address */
	uint32_t text;          /* of one from before the log: its tag */
	bool before;
};

struct frag_address_map {
	struct frag_buffered *buffered; /* where the rows go; borrowed */
	struct frag_map live;           /* address -> entry */
	struct frag_address_map_entry *entries;
	uint32_t count, capacity;
	uint32_t nowhere;               /* live blocks of address 0, a list */
	uint32_t before;                /* allocations from before the log */
	uint64_t early;         /* frees of what was allocated before the log */
	uint64_t early_bytes;
	uint64_t missing;       /* frees that the log does not have */
	uint64_t ignored;       /* frees of the address 0 that are of nothing */
};

bool frag_address_map_init(struct frag_address_map *l, struct frag_buffered *buffered);
void frag_address_map_fini(struct frag_address_map *l);

/* Add rows like the one given, whose id they set. False where the host is out of memory. */
bool frag_address_map_alloc(struct frag_address_map *l, uint64_t address,
			    const struct frag_row *row);
bool frag_address_map_free(struct frag_address_map *l, uint64_t address,
			   const struct frag_row *row);

/* Bytes that were live before the log and that it does not mention. */
static inline bool frag_address_map_before(struct frag_address_map *l, uint32_t device,
					   uint64_t bytes)
{
	if (!FRAG_GROW(l->entries, l->capacity, l->count))
		return false;
	l->entries[l->count++] = (struct frag_address_map_entry){
		.address = bytes, .device = device, .before = true,
	};
	l->before++;
	return true;
}

/*
 * Inserts the events that precede the log, finds the scope, and adds the notes. False: out of
 * memory.
 */
bool frag_address_map_end(struct frag_address_map *l, uint8_t members, const struct frag_log *log);
