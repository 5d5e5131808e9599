/* record_scan.h - one event object of a trace, decoded. */
#pragma once

#include "fragsim/trace.h"
#include "input/json_scan.h"

/*
 * The members of an event, each MEMBER(name, kind, sentence), in the order of enum frag_member. Kinds: OP,
 * TEXT, HANDLE (an integer or a text), SIZE, NUMBER, ORDINAL, FLAG, and VALUE: what the op wants.
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
 * Bytes as a size: a JSON integer, or a string such as "512MiB". p is at the
 * value. NULL without a fail where it is neither.
 */
const char *frag_scan_size(struct frag_scan *s, const char *p, uint64_t *out);

#define FRAG_SCAN_ADVICE_ROOM 160
/*
 * The correct spelling of the size at p that frag_scan_size() refused: "; use 3MiB, or bytes" for
 * "3MB". "" where none can be derived.
 */
const char *frag_scan_size_advice(const struct frag_scan *s, const char *p,
				  char buf[FRAG_SCAN_ADVICE_ROOM]);
