/* record_scan.h - one event object of a trace, decoded, and its header. */
#pragma once

#include "fragsim/trace.h"
#include "input/json_scan.h"

/*
 * The members of an event, each MEMBER(name, kind, sentence), in the order of enum frag_member; and those of a
 * device, with its minimum too. Kinds: OP, TEXT, HANDLE (an integer or a text), SIZE, NUMBER, ORDINAL, FLAG, and
 * VALUE: what the op wants.
 */
#define FRAG_EVENT_MEMBERS(MEMBER)                                                              \
	MEMBER(op, OP, "what happens")                                                          \
	MEMBER(id, HANDLE, "of the block; 1 and \"1\" are different")                           \
	MEMBER(size, SIZE, "of the request")                                                    \
	MEMBER(stream, HANDLE, "0 by default")                                                  \
	MEMBER(t, NUMBER, "the time, in microseconds")                                          \
	MEMBER(tag, TEXT, "names the block")                                                    \
	MEMBER(device, ORDINAL, "its ordinal")                                                  \
	MEMBER(pool, HANDLE, "a pool of the program's own; of an alloc 0 by default: none")     \
	MEMBER(pending, FLAG, "of a free: the block can be reused from its complete on")        \
	MEMBER(value, VALUE, "of set_fraction from 0 to 1, of configure the settings")          \
	MEMBER(name, TEXT, "of a mark")
#define FRAG_DEVICE_MEMBERS(MEMBER)                                                             \
	MEMBER(name, TEXT, 0, NULL)                                                             \
	MEMBER(total_bytes, SIZE, 0, "0, the default: no limit")                                \
	MEMBER(context_bytes, SIZE, 0, "of the CUDA context; 0 by default")                     \
	MEMBER(other_bytes, SIZE, 0, "of other processes; 0 by default")                        \
	MEMBER(granularity_bytes, SIZE, 1, "of a segment; 2097152 by default")

/* Of each op the members that it knows, and those that it requires: bits of enum frag_member. */
extern const uint32_t frag_event_knows[FRAG_OPS], frag_event_needs[FRAG_OPS];
extern const char *const frag_op_names[], *const frag_event_member_names[];     /* ended by NULL */

/* What makes an event bad in itself, though it is good JSON. */
struct frag_record_error {
	const char *kind;       /* NULL: none; a constant: "a repeated member" */
	const char *at;         /* in the window */
	char text[256];         /* the message, with the values */
};

/*
 * p is at the object's brace, itself at this depth. Returns the place after
 * the object, or NULL as the scanner does. With flaw->kind set the record is of
 * no use.
 */
const char *frag_record_scan(struct frag_scan *s, const char *p, uint32_t depth,
			     struct frag_record *rec, struct frag_record_error *flaw);

/* "alloc" and so on; false where there is none. */
bool frag_op_parse(struct frag_text name, enum frag_op *op);

/*
 * The events that are nearly all of a trace, known by their spelling.
 *
 * Recognises an alloc or a free as fragsim's own writers spell it: no white space, op, id and
 * size first, in this order. It reports no errors: any other spelling, valid or not, is read by
 * frag_record_scan(), the reference, from the brace on. So it may accept as little as it likes,
 * but what it accepts must give the same record as that function.
 */
/*
 * The event at p, in a window that ends as scan.h has it. The place after its brace, or
 * NULL: not a usual one, or not all of it is there. The scratch of a scan is not needed.
 */
const char *frag_fast_scan_event(const char *p, const char *end, struct frag_record *rec);

/*
 * The same for lines, each an event and a line end, from window[*at] on: how many of
 * them, at most max. *at moves after the last; each record's `at` is where it begins.
 */
uint32_t frag_usual_lines(const char *window, size_t *at, const char *end,
			  struct frag_record *recs, uint32_t max);

/* The header of a trace: members of the trace and of its devices. */

#define FRAG_DEVICES_MAX 1024

enum frag_header_member {
	FRAG_HEADER_FORMAT = 1 << 0,
	FRAG_HEADER_VERSION = 1 << 1,
	FRAG_HEADER_DEVICE = 1 << 2,
	FRAG_HEADER_DEVICES = 1 << 3,
	FRAG_HEADER_META = 1 << 4,
	FRAG_HEADER_EVENTS = 1 << 5,
	FRAG_HEADER_OP = 1 << 6,        /* it is an event */
	FRAG_HEADER_BEGINNING = 1 << 7,
};

struct frag_header {
	uint32_t members;       /* enum frag_header_member */
	bool names_only;        /* set before a scan: see frag_header_scan() */
	struct frag_device_figures *devices;
	uint32_t device_count, device_capacity;
	char *meta;             /* the text in the file; NULL: none */
	char *beginning;        /* likewise */
	uint32_t meta_length, beginning_length;
};

void frag_header_fini(struct frag_header *h);

/*
 * Members of an object from p on, up to its closing brace, or up to the bracket
 * that opens `events`, where FRAG_HEADER_EVENTS is then set: returns the place
 * after brace or bracket. NULL as a part of a document. With names_only only the members are noted,
 * repeated ones too, and no value is examined.
 */
const char *frag_header_scan(struct frag_header *h, struct frag_document *d, const char *p);
