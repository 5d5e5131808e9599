/* header.h - the header of a trace: members of the trace and of its devices. */
#ifndef TRACE_HEADER_H
#define TRACE_HEADER_H

#include "fragsim/trace.h"
#include "input/json_scan.h"

#define FRAG_DEVICES_MAX 1024

enum frag_header_member {
	FRAG_HEADER_FORMAT = 1 << 0,
	FRAG_HEADER_VERSION = 1 << 1,
	FRAG_HEADER_DEVICE = 1 << 2,
	FRAG_HEADER_DEVICES = 1 << 3,
	FRAG_HEADER_META = 1 << 4,
	FRAG_HEADER_EVENTS = 1 << 5,
	FRAG_HEADER_OP = 1 << 6,        /* it is an event */
};

struct frag_header {
	uint32_t members;       /* enum frag_header_member */
	struct frag_device_figures *devices;
	uint32_t device_count, device_capacity;
	char *meta;             /* the text in the file; NULL: none */
	uint32_t meta_length;
};

void frag_header_fini(struct frag_header *h);

/*
 * Which members the object has whose first member is at p: values are not
 * looked at. Stops at the bracket of `events`. NULL as the scanner.
 */
const char *frag_header_look(struct frag_scan *s, const char *p, uint32_t *members);

/*
 * Members of an object from p on, up to its closing brace, or up to the bracket
 * that opens `events`, where FRAG_HEADER_EVENTS is then set: returns the place
 * after brace or bracket. NULL as a part of a document.
 */
const char *frag_header_scan(struct frag_header *h, struct frag_document *d, const char *p);

/* One device with all defaults, where none was given. False: out of memory. */
bool frag_header_complete(struct frag_header *h);

#endif
