/* records.h - records of a test as a source of a trace, and as text of either form. */
#pragma once

#include "fragsim/trace.h"

/* State of the source; the caller's. */
struct records {
	const struct frag_record *records;
	uint32_t count, at;
	uint32_t stretch;       /* records that a refill makes available; 0: all */
	uint32_t left;          /* of this stretch */
	uint32_t closed;        /* how often the trace was closed */
};

extern const struct frag_source_ops records_source;             /* with rewind */
extern const struct frag_source_ops records_stream_source;      /* and without */

/* The record as a JSON object, at p, ended by a NUL; the place of that. */
char *records_put_json(char *p, const struct frag_record *rec);

/* Room that one record with short names needs. */
#define RECORDS_ROOM 512

static inline struct frag_handle records_number(uint64_t n)
{
	return (struct frag_handle){ .number = n };
}

struct frag_handle records_name(const char *s);
struct frag_text records_text(const char *s);
