/* message_document.c - out-of-memory messages of a text as a document, one after the other. */
#include "documents/document_head.h"
#include "documents/documents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"

/* A value that a message may lack. */
#define VALUE(name, type, m, ...)                                                               \
	{ name, type, FRAG_AT(message, m.bytes), FRAG_THERE_IF(message, m.there), .what = __VA_ARGS__ }
#define FIGURE(name, m, ...) VALUE(name, FRAG_TYPE_BYTES, m, __VA_ARGS__)

static struct frag_cell_value wording_of(const void *m)
{
	return FRAG_TEXT_OF(frag_wording_names[((const struct frag_message *)m)->wording]);
}

static struct frag_cell_value kv_free_of(const void *m)
{
	const struct frag_message_value *value = &((const struct frag_message *)m)->said[FRAG_SAID_KV_FREE];
	const int64_t bytes = (int64_t)value->bytes;

	return (struct frag_cell_value){ .there = value->there, .i = value->negative ? -bytes : bytes };
}

static struct frag_cell_value message_verdict_of(const void *m)
{
	return FRAG_TEXT_OF(frag_oom_cause_name(frag_message_cause(m)));
}

static struct frag_cell_value nearly_full_of(const void *m)
{
	return FRAG_FLAG_OF(((const struct frag_message *)m)->verdict == FRAG_SHORT_TIGHT);
}

/* The word of the i-th possible verdict, except that of the verdict itself, each once. */
static bool possible_at(const void *of, uint32_t i, void *element)
{
	const struct frag_message *m = of;
	uint32_t named = 1U << frag_message_cause(m);

	for (int k = 0; k < FRAG_SHORTAGES; k++) {
		const enum frag_oom_cause cause = frag_message_cause_of(m, (enum frag_oom_verdict)k);

		if (!(m->possible >> k & 1) || (int)m->verdict == k || named >> cause & 1)
			continue;
		named |= 1U << cause;
		*(const char **)element = frag_oom_cause_name(cause);
		if (!i--)
			return true;
	}
	return false;
}

static bool missing_at(const void *m, uint32_t i, void *element)
{
	const char *names[FRAG_MISSING_MAX + 1];

	frag_message_missing(m, names);
	*(const char **)element = names[i];
	return names[i] != NULL;
}

#define SAID(which) said[FRAG_SAID_##which]
#define PART(which, name) FIGURE(name, SAID(which), NULL, .optional = true),
static const struct frag_field part_fields[] = { FRAG_MESSAGE_PARTS(PART) { 0 } };

/* What a trace alone shows. */
#define NEVER (FRAG_CAUSE_BIT(FAILED_ATTEMPT) | FRAG_CAUSE_BIT(ACCUMULATION) | FRAG_CAUSE_BIT(LEAK) \
	       | FRAG_CAUSE_BIT(PENDING))
static const struct frag_field message_fields[] = {
	{ "wording", FRAG_TYPE_WORD, FRAG_WHOLE, .get = wording_of, .words = frag_wording_names },
	FIGURE("asked", SAID(ASKED), "null where the message names no request, as a table of PyTorch's"),
	FIGURE("total", total, NULL),
	FIGURE("free", free, NULL),
	FIGURE("allocated", allocated, NULL),
	FIGURE("reserved", reserved, NULL),
	FIGURE("outside", outside, "total minus free, allocated and unallocated bytes; at least 0"),
	FIGURE("limit", SAID(ALLOWED), "that the program set itself; of a server, its part of the device"),
	FIGURE("nonreleasable", SAID(NONRELEASABLE), NULL),
	{ "kv_free", FRAG_TYPE_INTEGER, FRAG_WHOLE, "what vLLM has left for its KV cache; negative if"
	  " nothing", .get = kv_free_of, .nullable = true },
	VALUE("max_model_len", FRAG_TYPE_COUNT, SAID(TOKENS), "the longest sequence that vLLM says would"
	      " fit, in tokens"),
	{ "precision", FRAG_TYPE_BYTES, FRAG_AT(message, precision), "the largest error of a number as it"
	  " is printed" },
	{ "parts", FRAG_TYPE_OBJECT, FRAG_WHOLE, "by purpose, as the log names it; program: all that"
	  " XLA has assigned to it", .fields = part_fields },
	{ "pool", FRAG_TYPE_TEXT, FRAG_AT(message, pool), "RMM's memory resource, where the message names"
	  " its file", .nullable = true },
	{ "verdict", FRAG_TYPE_WORD, FRAG_WHOLE, .get = message_verdict_of,
	  .words = frag_oom_cause_names + 1, .except = NEVER },
	{ "nearly_full", FRAG_TYPE_FLAG, FRAG_WHOLE, .get = nearly_full_of },
	{ "also_possible", FRAG_TYPE_LIST, FRAG_WHOLE, "verdicts that the rounding, or what is missing,"
	  " allows too", .each = possible_at, .items = FRAG_TYPE_WORD,
	  .words = frag_oom_cause_names + 1, .except = NEVER | FRAG_CAUSE_BIT(UNKNOWN) },
	{ "missing", FRAG_TYPE_LIST, FRAG_WHOLE, "the values that an unknown verdict lacks",
	  .each = missing_at, .items = FRAG_TYPE_WORD, .words = frag_missing_names },
	{ 0 },
};

/* All messages of a document that are in memory: one. */
struct frag_messages_view {
	const struct frag_message *messages;
	uint32_t count;
};

static const struct frag_field messages_fields[] = {
	{ "messages", FRAG_TYPE_LIST, FRAG_ARRAY(messages_view, messages, count), "in the order of the text",
	  .fields = message_fields, .cut = true },
	{ 0 },
};

const struct frag_document_type frag_message_document = {
	.format = "fragsim-message", .version = 3, .fields = messages_fields, .no_tool = true,
	.what = "What fragsim explain writes of out-of-memory messages, see fragsim-explain(1).",
};

int frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out,
		       struct frag_error *err)
{
	const struct frag_messages_view view = { m, 1 };
	struct frag_json doc = frag_document_of(&frag_message_document, &view);
	struct frag_memory memory;
	const char *begin, *end;
	int rc = 0;

	if (!frag_memory_open(&memory)) {
		frag_json_end(&doc);
		return frag_fail_nomem(err);
	}
	rc = frag_json_print(&doc, memory.f, err);
	frag_json_end(&doc);
	if (!frag_memory_close(&memory) && !rc)
		rc = frag_fail_nomem(err);
	if (!rc) {
		/* the document of it alone, up to its list's end; or what its list has */
		begin = count ? strchr(memory.text, '[') + 1 : memory.text;
		end = strrchr(memory.text, ']');
		if (count)
			frag_outfile_write(out, ", ", 2);
		frag_outfile_write(out, begin, (size_t)(end - begin));
		rc = frag_outfile_status(out, err);
	}
	free(memory.text);
	return rc;
}

void frag_message_write_end(struct frag_outfile *out, uint64_t more)
{
	char text[FRAG_NUMBER_ROOM + 40];

	snprintf(text, sizeof(text), ",\n\t\"more\":\t{\"messages\": %" PRIu64 "}", more);
	frag_outfile_write(out, "]", 1);
	if (more)
		frag_outfile_write(out, text, strlen(text));
	frag_outfile_write(out, "\n}\n", 3);
}
