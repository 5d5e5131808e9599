/* kineto_scan.h - one event of a Chrome trace, decoded. */
#ifndef TRACE_KINETO_SCAN_H
#define TRACE_KINETO_SCAN_H

#include "input/document.h"

enum frag_kineto_kind {
	FRAG_KINETO_OTHER,
	FRAG_KINETO_MEMORY,             /* "[memory]" */
	FRAG_KINETO_OOM,                /* "[OutOfMemory]" */
	FRAG_KINETO_OP,                 /* an operator, from t to t + duration */
	FRAG_KINETO_ANNOTATION,         /* a named stretch of the program: a step of training */
};

struct frag_kineto_event {
	enum frag_kineto_kind kind;
	struct frag_text name;
	double   t, duration;   /* microseconds */
	uint64_t thread;        /* a number, or a hash of its name */
	/* of memory: */
	uint64_t bytes;
	bool     is_free;
	uint64_t address;
	uint64_t allocated;     /* on the device after the event */
	bool     has_allocated;
	uint64_t type;          /* c10::DeviceType; 0 is the CPU */
	uint64_t device;        /* ordinal; 0 for the CPU */
};

#define FRAG_KINETO_DEVICES_MAX 1024

/* NULL as the scanner, or with d->wrong_at set. */
const char *frag_kineto_scan(struct frag_document *d, struct frag_scan *s, const char *p,
			     uint32_t depth, struct frag_kineto_event *ev);

#endif
