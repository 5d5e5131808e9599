/* trace_document.c - the schema of traces: by the tables that their reader has. */
#include "documents/documents.h"

#include "base/parse.h"
#include "documents/document_head.h"
#include "trace/header_scan.h"
#include "trace/record_scan.h"

/* The types of the kinds of members; all except the op are optional. */
#define TYPE_OP FRAG_TYPE_WORD, .words = frag_op_names
#define TYPE_TEXT FRAG_TYPE_TEXT, .optional = true
#define TYPE_HANDLE FRAG_TYPE_ID, .optional = true
#define TYPE_SIZE FRAG_TYPE_SIZE, .optional = true
#define TYPE_NUMBER FRAG_TYPE_NUMBER_JSON, .optional = true
#define TYPE_ORDINAL FRAG_TYPE_COUNT, .most = FRAG_SIZE_LIMIT - 1, .optional = true
#define TYPE_FLAG FRAG_TYPE_FLAG, .optional = true
#define TYPE_VALUE FRAG_TYPE_VALUE, .optional = true

#define MEMBER(key, kind, says) { .name = #key, .what = (says), .type = TYPE_##kind },
#define FIGURE(key, kind, from, says) { .name = #key, .what = (says), .least = (from), .type = TYPE_##kind },
static const struct frag_field event_fields[] = { FRAG_EVENT_MEMBERS(MEMBER) { 0 } };
static const struct frag_field figure_fields[] = { FRAG_DEVICE_MEMBERS(FIGURE) { 0 } };

#define COUNT(key, from, says) { .name = (key), .type = FRAG_TYPE_COUNT, .least = (from), .what = (says) }
static const struct frag_field segment_fields[] = {
	COUNT("device", 0, NULL),
	COUNT("bytes", 1, NULL),
	COUNT("address", 0, "where the recording had it"),
	{ .name = "large", .type = FRAG_TYPE_FLAG, .what = "for requests above 1 MiB" },
	{ .name = "stream", .type = FRAG_TYPE_ID, .what = "as of an alloc", .optional = true },
	{ .name = "pool", .type = FRAG_TYPE_ID, .what = "as of an alloc", .optional = true },
	{ .name = "mapped", .type = FRAG_TYPE_LIST, .what = "of an expandable one: parts that have memory",
	  .optional = true,
	  .members = "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0},"
		     "\"minItems\":2,\"maxItems\":2}" },
	{ 0 },
}, block_fields[] = {
	COUNT("event", 0, "the event of its alloc"),
	COUNT("segment", 0, "its number"),
	COUNT("offset", 0, NULL),
	COUNT("requested", 0, "the size of that alloc"),
	COUNT("bytes", 0, "of the block; 0: unknown"),
	COUNT("space", 1, "up to the next block"),
	{ .name = "least", .type = FRAG_TYPE_COUNT, .what = "of the request, where its own size is not known",
	  .optional = true },
	{ 0 },
}, beginning_fields[] = {
	{ .name = "segments", .type = FRAG_TYPE_LIST, .fields = segment_fields, .open = true, .optional = true },
	{ .name = "blocks", .type = FRAG_TYPE_LIST, .fields = block_fields, .open = true, .optional = true },
	{ .name = "order", .type = FRAG_TYPE_LIST, .what = "of each device the ranks by address",
	  .optional = true, .members = "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0}}" },
	{ 0 },
}, header_fields[] = {
	{ .name = "device", .type = FRAG_TYPE_OBJECT, .what = "the one of the trace", .fields = figure_fields,
	  .open = true, .optional = true },
	{ .name = "devices", .type = FRAG_TYPE_LIST, .what = "in its place: those of the ordinals from 0 on",
	  .fields = figure_fields, .open = true, .optional = true, .least = 1 },
	{ .name = "beginning", .type = FRAG_TYPE_OBJECT, .what = "the state at the first event",
	  .fields = beginning_fields, .open = true, .optional = true },
	{ .name = "meta", .type = FRAG_TYPE_MAP, .what = "anything; recorder, pytorch, alloc_conf, ends_at_oom"
	  " and scope are read", .members = "true", .optional = true },
	{ 0 },
}, trace_fields[] = {
	{ .name = "", .type = FRAG_TYPE_MEMBERS, .fields = header_fields },
	{ .name = "events", .type = FRAG_TYPE_LIST, .fields = event_fields,
	  .members = "{\"$ref\":\"#/$defs/event\"}" },
	{ 0 },
};

/* A header has one of both at most. */
static const char one_of_both[] = "{\"required\":[\"device\",\"devices\"]}";

/* What an op adds: its value is a number or a text, and its own pool is none but 0. */
static void put_op_member(struct frag_node_ref properties, enum frag_op op, uint32_t member)
{
	struct frag_field field = event_fields[member];
	const bool of_pool = frag_event_needs[op] == FRAG_HAS_POOL;

	if (field.type == FRAG_TYPE_VALUE)
		field.type = op == FRAG_OP_SET_FRACTION ? FRAG_TYPE_NUMBER : FRAG_TYPE_TEXT;
	field.most = field.type == FRAG_TYPE_NUMBER ? 1 : field.most;
	field.least = of_pool && 1U << member == FRAG_HAS_POOL ? 1 : field.least;
	frag_schema_member(properties, &field);
}

/* What every op knows. */
#define COMMON frag_event_knows[FRAG_OP_SYNC]

/* Members that not every op knows, or that not every one requires. */
static uint32_t op_members(enum frag_op op)
{
	return (frag_event_knows[op] & ~COMMON) | frag_event_needs[op];
}

/* What holds of this op alone. */
static void put_op(struct frag_node_ref list, enum frag_op op)
{
	const struct frag_node_ref in = frag_json_object(list, NULL);
	struct frag_node_ref at = frag_json_object(frag_json_object(in, "if"), "properties");

	frag_json_text(frag_json_object(at, "op"), "const", frag_op_names[op]);
	at = frag_json_object(in, "then");
	list = frag_json_array(at, "required");
	for (uint32_t i = 0; frag_event_member_names[i]; i++)
		if (frag_event_needs[op] >> i & 1)
			frag_json_text(list, NULL, frag_event_member_names[i]);
	at = frag_json_object(at, "properties");
	for (uint32_t i = 0; frag_event_member_names[i]; i++)
		if ((op_members(op) & ~COMMON) >> i & 1)
			put_op_member(at, op, i);
}

/* The first line of NDJSON, and an event. */
static void trace_rules(struct frag_node_ref schema)
{
	const struct frag_node_ref defs = frag_json_object(schema, "$defs");
	struct frag_node_ref in = frag_json_object(defs, "header"), list;
	struct frag_document_type head = frag_trace_document;

	frag_json_raw(schema, "not", one_of_both);
	head.fields = header_fields;
	frag_json_text(in, "type", "object");
	frag_json_raw(in, "required", "[\"format\",\"version\"]");
	list = frag_schema_properties(in, &head);
	frag_json_bool(list, "events", false);
	frag_json_raw(in, "not", one_of_both);
	in = frag_json_object(defs, "event");
	frag_json_text(in, "type", "object");
	frag_json_raw(in, "required", "[\"op\"]");
	list = frag_json_object(in, "properties");
	for (uint32_t i = 0; frag_event_member_names[i]; i++)
		if (COMMON >> i & 1)
			frag_schema_member(list, &event_fields[i]);
	list = frag_json_array(in, "allOf");
	for (uint32_t op = 0; op < FRAG_OPS; op++)
		if (op_members((enum frag_op)op))
			put_op(list, (enum frag_op)op);
}

const struct frag_document_type frag_trace_document = {
	.format = "fragsim-trace", .version = 1, .fields = trace_fields, .no_tool = true, .open = true,
	.rules = trace_rules,
	.what = "A trace as one object, see fragsim-lines(5); of NDJSON the first line is a"
		" #/$defs/header and each other line a #/$defs/event; not in this schema: which ids are live,"
		" that integers are written as integers (5, not 5.0 nor 5e2), that no member is repeated, and"
		" that nothing is nested deeper than 64",
};
