/* header_scan.h - the header of a trace, decoded: members of the trace and of its devices. */
#pragma once

#include "fragsim/trace.h"
#include "input/json_scan.h"

/* The members of a device, each MEMBER(name, kind, minimum, sentence), with the kinds of record_scan.h. */
#define FRAG_DEVICE_MEMBERS(MEMBER)                                                             \
	MEMBER(name, TEXT, 0, NULL)                                                             \
	MEMBER(total_bytes, SIZE, 0, "0, the default: no limit")                                \
	MEMBER(context_bytes, SIZE, 0, "of the CUDA context; 0 by default")                     \
	MEMBER(other_bytes, SIZE, 0, "of other processes; 0 by default")                        \
	MEMBER(granularity_bytes, SIZE, 1, "of a segment; 2097152 by default")

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
