/* message_document.c - out-of-memory messages of a text as a document, one after the other. */
#include "answers/message_answer.h"

#include "documents/document_head.h"
#include "messages/advice.h"
#include "messages/speakers.h"

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
	return FRAG_TEXT_OF(frag_oom_verdict_name(frag_message_verdict(m)));
}

static struct frag_cell_value nearly_full_of(const void *m)
{
	return FRAG_FLAG_OF(((const struct frag_message *)m)->shortage == FRAG_SHORT_TIGHT);
}

/* The word of the i-th possible verdict, except that of the verdict itself, each once. */
static bool possible_at(const void *of, uint32_t i, void *element)
{
	const struct frag_message *m = of;
	uint32_t named = 1U << frag_message_verdict(m);

	for (int k = 0; k < FRAG_SHORTAGES; k++) {
		const enum frag_oom_verdict verdict = frag_shortage_verdicts[k];

		if (!(m->possible >> k & 1) || (int)m->shortage == k || named >> verdict & 1)
			continue;
		named |= 1U << verdict;
		*(const char **)element = frag_oom_verdict_name(verdict);
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

static struct frag_cell_value short_of(const void *of)
{
	const struct frag_message *m = of;
	const uint64_t need = m->said[FRAG_SAID_ASKED].bytes;
	const struct frag_message_value *left = &m->said[FRAG_SAID_KV_FREE];
	const uint64_t room = left->there && !left->negative ? left->bytes
							     : m->free.bytes + m->unallocated.bytes;
	const bool there = need > room && (left->there || (m->free.there && m->unallocated.there));

	return (struct frag_cell_value){ .there = there, .u = there ? need - room : 0 };
}

static struct frag_cell_value speaker_of_message(const void *m)
{
	return FRAG_TEXT_OF(frag_speakers[((const struct frag_message *)m)->wording].name);
}

static struct frag_cell_value accelerator_of_message(const void *m)
{
	return FRAG_TEXT_OF(frag_accelerator_names[frag_message_on(m)]);
}

static struct frag_cell_value system_of_text(const void *of)
{
	const struct frag_message_group *g = of;

	return FRAG_TEXT_OF(g->around->system ? frag_system_names[g->around->system - 1] : NULL);
}

static struct frag_cell_value phase_of_message(const void *of)
{
	const struct frag_message *m = of;

	return FRAG_TEXT_OF(m->phase ? frag_phase_names[m->phase - 1] : NULL);
}

static struct frag_cell_value survived_of(const void *of)
{
	const struct frag_message_group *g = of;

	return FRAG_FLAG_OF(g->around->went_on > g->first.line);
}

static void settings_put(struct frag_node_ref in, const void *of)
{
	const struct frag_surroundings *s = ((const struct frag_message_group *)of)->around;

	for (uint32_t i = 0; i < s->setting_count; i++)
		frag_json_text(in, s->settings[i].key, s->settings[i].value);
}

struct frag_framework_named {
	const char *name, *version;
};

static const struct frag_field framework_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(framework_named, name) },
	{ "version", FRAG_TYPE_TEXT, FRAG_AT(framework_named, version), .nullable = true },
	{ 0 },
};

static bool framework_at(const void *of, uint32_t i, void *element)
{
	const struct frag_surroundings *s = ((const struct frag_message_group *)of)->around;

	if (i || s->framework == FRAG_FRAMEWORK_UNKNOWN)
		return false;
	*(struct frag_framework_named *)element = (struct frag_framework_named){
		frag_framework_names[s->framework - 1], *s->version ? s->version : NULL,
	};
	return true;
}

static bool rank_at(const void *of, uint32_t i, void *element)
{
	const struct frag_message_group *g = of;
	const uint64_t ranks = g->ranks ? g->ranks : g->gpus;

	for (uint64_t k = 0; k < 64; k++)
		if (ranks >> k & 1 && !i--) {
			*(uint64_t *)element = k;
			return true;
		}
	return false;
}

static bool unread_at(const void *of, uint32_t i, void *element)
{
	const struct frag_message *m = of;

	if (i >= m->unread_count)
		return false;
	*(const char **)element = m->unread_text[i];
	return true;
}

struct frag_advice_cell {
	struct frag_advice advice;
	const char *text, *set;
};

static const struct frag_field advice_fields[] = {
	{ "text", FRAG_TYPE_TEXT, FRAG_AT(advice_cell, text) },
	{ "set", FRAG_TYPE_TEXT, FRAG_AT(advice_cell, set), "a line to copy", .nullable = true },
	{ 0 },
};

static bool advice_at(const void *of, uint32_t i, void *element)
{
	struct frag_advice_cell *cell = element;

	if (!frag_advice_at(of, i, &cell->advice))
		return false;
	cell->text = cell->advice.text;
	cell->set = *cell->advice.set ? cell->advice.set : NULL;
	return true;
}

#define SAID(which) said[FRAG_SAID_##which]
#define PART(which, name) FIGURE(name, SAID(which), NULL, .optional = true),
static const struct frag_field part_fields[] = { FRAG_MESSAGE_PARTS(PART) { 0 } };

/* What a trace alone shows. */
#define NEVER (FRAG_VERDICT_BIT(FAILED_ATTEMPT) | FRAG_VERDICT_BIT(ACCUMULATION) | FRAG_VERDICT_BIT(LEAK) \
	       | FRAG_VERDICT_BIT(PENDING) | FRAG_VERDICT_BIT(TRANSIENT))
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
	  .words = frag_oom_verdict_names + 1, .except = NEVER },
	{ "nearly_full", FRAG_TYPE_FLAG, FRAG_WHOLE, .get = nearly_full_of },
	{ "also_possible", FRAG_TYPE_LIST, FRAG_WHOLE, "verdicts that the rounding, or what is missing,"
	  " allows too", .each = possible_at, .items = FRAG_TYPE_WORD,
	  .words = frag_oom_verdict_names + 1, .except = NEVER | FRAG_VERDICT_BIT(UNKNOWN) },
	{ "missing", FRAG_TYPE_LIST, FRAG_WHOLE, "the values that an unknown verdict lacks",
	  .each = missing_at, .items = FRAG_TYPE_WORD, .words = frag_missing_names },
	{ "short", FRAG_TYPE_BYTES, FRAG_WHOLE, "by how much the request exceeds what there is",
	  .get = short_of, .nullable = true },
	{ "speaker", FRAG_TYPE_WORD, FRAG_WHOLE, "whose message it is", .get = speaker_of_message,
	  .words = frag_speaker_names },
	{ "accelerator", FRAG_TYPE_WORD, FRAG_WHOLE, .get = accelerator_of_message,
	  .words = frag_accelerator_names, .nullable = true },
	{ "system", FRAG_TYPE_WORD, FRAG_WHOLE, .get = system_of_text, .words = frag_system_names,
	  .nullable = true },
	{ "framework", FRAG_TYPE_OBJECT, FRAG_WHOLE, "null: unknown", .each = framework_at,
	  .fields = framework_fields, .nullable = true },
	{ "phase", FRAG_TYPE_WORD, FRAG_WHOLE, "what the program did", .get = phase_of_message,
	  .words = frag_phase_names, .nullable = true },
	{ "settings", FRAG_TYPE_MAP, FRAG_WHOLE, "what the text says is set", .put = settings_put,
	  .members = "{\"type\":\"string\"}" },
	{ "count", FRAG_TYPE_COUNT, FRAG_AT(message_group, count), "messages of this program and verdict;"
	  " the values are the first one's" },
	{ "first_line", FRAG_TYPE_COUNT, FRAG_AT(message, line), NULL },
	{ "ranks", FRAG_TYPE_LIST, FRAG_WHOLE, "the ranks that the lines name, or else the GPUs",
	  .each = rank_at, .items = FRAG_TYPE_COUNT },
	{ "survived", FRAG_TYPE_FLAG, FRAG_WHOLE, "the program went on afterwards", .get = survived_of },
	{ "unread", FRAG_TYPE_LIST, FRAG_WHOLE, "sentences of the message that were not read", .each = unread_at,
	  .items = FRAG_TYPE_TEXT },
	{ "advice", FRAG_TYPE_LIST, FRAG_WHOLE, "the most important first", .each = advice_at,
	  .fields = advice_fields },
	{ 0 },
};

struct frag_messages_view {
	const struct frag_message_group *messages;
	uint32_t count;
	const struct frag_account *accounts;
	uint32_t account_count;
};

static const struct frag_field account_fields[] = {
	{ "who", FRAG_TYPE_TEXT, FRAG_AT(account, who), "what the text says has the bytes" },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(account, bytes) },
	{ 0 },
};

static const struct frag_field messages_fields[] = {
	{ "messages", FRAG_TYPE_LIST, FRAG_ARRAY(messages_view, messages, count), "one for each program and verdict, in the"
	  " order of the text", .fields = message_fields, .cut = true },
	{ "accounts", FRAG_TYPE_LIST, FRAG_ARRAY(messages_view, accounts, account_count),
	  "of texts without a failure", .fields = account_fields },
	{ 0 },
};

const struct frag_document_type frag_message_document = {
	.format = "fragsim-message", .version = 4, .fields = messages_fields, .no_tool = true,
	.what = "What fragsim explain writes of out-of-memory messages, see fragsim-explain(1).",
};

int frag_messages_write(const struct frag_message_groups *groups, uint32_t top,
			struct frag_outfile *out, struct frag_error *err)
{
	const struct frag_messages_view view = {
		groups->groups, groups->count, groups->accounts.of, groups->count ? 0 : groups->accounts.count,
	};
	struct frag_json doc = frag_document_cut(&frag_message_document, &view, top);

	return frag_json_write(&doc, out, err);
}
