/* known_lists.c - lists of what there is: policies with their keys, known GPUs, settings of PyTorch. */
#include "answers/known_lists.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "documents/document_head.h"
#include "policy/param.h"

/* 2097152 as 2MiB, where that is exact: as one would write it. */
static const char *short_size(uint64_t bytes, char buf[32])
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
	uint32_t unit = 0;

	while (unit < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, 32, "%" PRIu64 "%s", bytes, units[unit]);
	return buf;
}

static void print_param(const struct frag_param_spec *spec, FILE *f)
{
	char value[FRAG_PARAM_TEXT];

	if (spec->same_as)
		snprintf(value, sizeof(value), "%s", spec->same_as);
	else if (spec->type == FRAG_PARAM_SIZE)
		short_size(spec->fallback, value);
	else
		frag_param_text(spec, spec->fallback, value);
	fprintf(f, "    %s=%-*s  %s%s\n", spec->name, (int)(20 - strlen(spec->name)), value,
		SHOWN(spec->help), !spec->power_of_two ? ""
		: spec->min ? " (a power of two)" : " (a power of two, or 0)");
}

void frag_report_policies(const struct frag_policy_ops *const *policies, FILE *f)
{
	for (uint32_t i = 0; policies[i]; i++) {
		const struct frag_param_spec *spec = policies[i]->params;

		fprintf(f, "%s%s: %s\n", i ? "\n" : "", policies[i]->name,
			SHOWN(policies[i]->summary));
		for (uint32_t k = 0; spec && spec[k].name; k++)
			print_param(&spec[k], f);
	}
	fputs("\nWritten NAME or NAME:key=value,key=value. The values shown are the defaults.\n",
	      f);
}

/* Everything known about a card, with the sources of its size and its context. */
static void print_whole(const struct frag_card *card, FILE *f)
{
	const struct frag_context *context = frag_context_of(card);

	fprintf(f, "%s: %s\n    %" PRIu64 " bytes (%s); reported by %s as %s\n    %s\n", card->key,
		card->name, card->bytes, SIZE(card->bytes), card->by,
		card->reported, card->source);
	if (frag_is_slice(card))
		fprintf(f, "    at most %" PRIu32 " on a card\n", card->count);
	if (context->key)
		fprintf(f, "    context of %s %" PRIu32 " MiB: in use - allocated - unallocated ="
			" %s\n    %s\n", context->key, context->mib, context->message,
			context->source);
	else
		fprintf(f, "    context not known: %" PRIu32 " MiB are assumed\n", context->mib);
}

static void print_line(const struct frag_card *card, FILE *f)
{
	const struct frag_context *context = frag_context_of(card);
	char mib[FRAG_NUMBER_ROOM] = "-";

	if (context->key)
		snprintf(mib, sizeof(mib), "%" PRIu32 " MiB", context->mib);
	fprintf(f, "%-19s  %10s  %12" PRIu64 "  %7s  %s", card->key, SIZE(card->bytes),
		card->bytes, mib, card->name);
	if (frag_is_slice(card))
		fprintf(f, ", %" PRIu32 " per card", card->count);
	putc('\n', f);
}

void frag_report_cards(const struct frag_card *const *cards, bool whole, FILE *f)
{
	if (!whole)
		fprintf(f, "%-19s  %10s  %12s  %7s  %s\n", "card", "", "bytes", "context", "name");
	for (; *cards; cards++)
		(whole ? print_whole : print_line)(*cards, f);
	if (!whole)
		fputs("\nThe bytes are the lowest total that a driver on Linux reported. The context is"
		      " what CUDA and its\nlibraries took in a published message (-: not known, 400 MiB"
		      " are assumed). fragsim list cards CARD\nnames the sources. For --device CARD.\n", f);
}

static void print_settings(const void *what, const struct frag_text_style *to)
{
	const struct frag_settings *known = what;

	for (uint32_t i = 0; i < known->count; i++) {
		const struct frag_setting *one = &known->list[i];

		fprintf(to->f, "%s%s: since %s, default %s%s\n    %s\n    %s%s%s\n", i ? "\n" : "",
			one->key, one->since, *one->usual ? one->usual : "none",
			one->simulated ? "" : "; not simulated", one->help, one->values,
			one->unit ? ", in " : "", one->unit ? one->unit : "");
	}
	fputs("\nWritten KEY:VALUE,KEY:VALUE in PYTORCH_CUDA_ALLOC_CONF, and for --alloc-conf.\n"
	      "2.1 is the oldest version of PyTorch that is known here; a key may be older.\n",
	      to->f);
}

static struct frag_cell_value setting_usual(const void *setting)
{
	const struct frag_setting *one = setting;

	return FRAG_TEXT_OF(*one->usual ? one->usual : NULL);
}

static const struct frag_field setting_fields[] = {
	{ "key", FRAG_TYPE_TEXT, FRAG_AT(setting, key), "the name before the colon", "key", "key" },
	{ "values", FRAG_TYPE_TEXT, FRAG_AT(setting, values), "which PyTorch accepts", "values",
	  "values" },
	{ "unit", FRAG_TYPE_TEXT, FRAG_AT(setting, unit), "of the values: MiB, or null", "unit",
	  "unit", .nullable = true },
	{ "default", FRAG_TYPE_TEXT, FRAG_WHOLE, "a value, or the key whose value it is; null: not set",
	  "default", "default", .get = setting_usual, .nullable = true },
	{ "since", FRAG_TYPE_TEXT, FRAG_AT(setting, since), "the first version of PyTorch that has it;"
	  " 2.1: or an earlier one", "since", "since" },
	{ "simulated", FRAG_TYPE_FLAG, FRAG_AT(setting, simulated), "it has an effect in the simulation",
	  "simulated", "simulated" },
	{ "help", FRAG_TYPE_TEXT, FRAG_AT(setting, help), "its meaning, in one line", "help", "help" },
	{ 0 },
}, settings_fields[] = {
	{ "settings", FRAG_TYPE_LIST, FRAG_ARRAY(settings, list, count), "by key; or as they were named",
	  .fields = setting_fields },
	{ 0 },
};

const struct frag_document_type frag_settings_document = {
	.format = "fragsim-settings", .version = 1, .fields = settings_fields, .no_tool = true,
	.what = "What fragsim list settings writes, see fragsim-list(1).",
};

const struct frag_format *const frag_settings_formats[] = {
	FRAG_TEXT_FORM(print_settings),
	FRAG_ANSWER_FORMS(frag_settings_document, settings_fields),
};

/* Policies and cards as documents ---------------------------------------------- */

/* A key; its default as JSON. */
struct frag_key_view {
	const struct frag_param_spec *spec;
};

static bool key_at(const void *of, uint32_t i, void *element)
{
	const struct frag_param_spec *params = ((const struct frag_policy_ops *)of)->params;

	if (!params || !params[i].name)
		return false;
	((struct frag_key_view *)element)->spec = &params[i];
	return true;
}

static const char *key_default(const void *of, char *buf)
{
	const struct frag_param_spec *spec = of;
	const char *text = spec->same_as;
	char own[FRAG_PARAM_TEXT];

	if (!text && frag_param_is_json(spec, spec->fallback, own)) {
		snprintf(buf, FRAG_ELEMENT_MAX, "%s", own);
		return buf;
	}
	text = text ? text : own;
	*frag_put_json(buf, text, strlen(text)) = '\0';
	return buf;
}

static bool key_is_own(const void *spec, const struct frag_field *field)
{
	(void)field;
	return ((const struct frag_param_spec *)spec)->type == FRAG_PARAM_OWN;
}

static bool is_sized(const void *of, const struct frag_field *field)
{
	const struct frag_param_spec *spec = of;

	(void)field;
	return spec->type == FRAG_PARAM_SIZE || spec->type == FRAG_PARAM_COUNT;
}

static const char *const key_types[] = { "size", "count", "bool", "own", "file", "name", NULL };

#define SPEC(m) FRAG_VIA(key_view, spec, param_spec, m)
static const struct frag_field key_fields[] = {
	{ "name", FRAG_TYPE_TEXT, SPEC(name), "before the =" },
	{ "type", FRAG_TYPE_WORD, SPEC(type), "own: a value with a separate syntax; name: of a few that the"
	  " key accepts", .words = key_types },
	{ "default", FRAG_TYPE_JSON, FRAG_WHOLE_VIA(key_view, spec), "where the key is not given: a number,"
	  " true or false, or text; or the name of the key whose value it takes", .text = key_default,
	  .members = "[\"number\",\"boolean\",\"string\"]" },
	{ "expects", FRAG_TYPE_TEXT, SPEC(expects), "the syntax of an own value", .known = key_is_own,
	  .optional = true },
	{ "least", FRAG_TYPE_COUNT, SPEC(min), "the lowest value of a size or a count", .known = is_sized,
	  .optional = true },
	{ "power_of_two", FRAG_TYPE_FLAG, SPEC(power_of_two), "true: the value is one, or 0 where least is 0",
	  .known = is_sized, .optional = true },
	{ "help", FRAG_TYPE_TEXT, SPEC(help), "its meaning" },
	{ 0 },
};

static bool policy_at(const void *of, uint32_t i, void *element)
{
	const struct frag_policy_ops *ops = ((const struct frag_policy_ops *const *)of)[i];

	if (ops)
		memcpy(element, ops, sizeof(*ops));
	return ops != NULL;
}

static const struct frag_field listed_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(policy_ops, name) },
	{ "summary", FRAG_TYPE_TEXT, FRAG_AT(policy_ops, summary) },
	{ "params", FRAG_TYPE_LIST, FRAG_WHOLE, "its keys, in their order", .each = key_at,
	  .fields = key_fields },
	{ 0 },
}, policies_fields[] = {
	{ "policies", FRAG_TYPE_LIST, FRAG_WHOLE, "by name; or as they were named", .each = policy_at,
	  .fields = listed_fields },
	{ 0 },
};

const struct frag_document_type frag_policies_document = {
	.format = "fragsim-policies", .version = 1, .fields = policies_fields, .no_tool = true,
	.what = "What fragsim list policies writes, see fragsim-list(1).",
};

int frag_policies_write(const struct frag_policy_ops *const *policies, struct frag_outfile *out,
			struct frag_error *err)
{
	struct frag_json doc = frag_document_of(&frag_policies_document, policies);

	return frag_json_write_dense(&doc, out, err);
}

/* A list of all has no evidence, which is two thirds of it: no `source` then. */
static bool card_at(const void *of, uint32_t i, void *element)
{
	const struct frag_card_list *list = of;
	struct frag_card *card = element;

	if (!list->cards[i])
		return false;
	*card = *list->cards[i];
	if (!list->whole)
		card->reported = card->by = card->source = NULL;
	return true;
}

static struct frag_cell_value context_bytes_of(const void *card)
{
	return FRAG_NUMBER_OF((uint64_t)frag_context_of(card)->mib << 20);
}

static struct frag_cell_value context_message_of(const void *card)
{
	const bool whole = ((const struct frag_card *)card)->source != NULL;

	return FRAG_TEXT_OF(whole ? frag_context_of(card)->message : NULL);
}

static struct frag_cell_value context_source_of(const void *card)
{
	const bool whole = ((const struct frag_card *)card)->source != NULL;

	return FRAG_TEXT_OF(whole ? frag_context_of(card)->source : NULL);
}

static const struct frag_field card_fields[] = {
	{ "key", FRAG_TYPE_TEXT, FRAG_AT(card, key), "as --device takes it" },
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(card, name), "as its maker calls it" },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(card, bytes), "its capacity: the smallest one that is printed as reported" },
	{ "reported", FRAG_TYPE_TEXT, FRAG_AT(card, reported), "in the source's own unit; its MB are MiB; of a"
	  " named card, as are by, source, context_message and context_source", .optional = true },
	{ "by", FRAG_TYPE_TEXT, FRAG_AT(card, by), "CUDA, HIP, OpenCL or nvidia-smi",
	  .optional = true },
	{ "source", FRAG_TYPE_TEXT, FRAG_AT(card, source), "the page", .optional = true },
	{ "per_card", FRAG_TYPE_COUNT, FRAG_AT(card, count), "how many of the slice a card has; 1 of a card",
	  .least = 1 },
	{ "context_bytes", FRAG_TYPE_BYTES, FRAG_WHOLE, "of CUDA and the libraries of a PyTorch program, as"
	  " --device counts", .get = context_bytes_of },
	{ "context_message", FRAG_TYPE_TEXT, FRAG_WHOLE, "the sizes of the message that shows it; without one"
	  " they are assumed", .get = context_message_of, .optional = true },
	{ "context_source", FRAG_TYPE_TEXT, FRAG_WHOLE, "the page with the message", .get = context_source_of,
	  .optional = true },
	{ 0 },
}, cards_fields[] = {
	{ "cards", FRAG_TYPE_LIST, FRAG_WHOLE, "by bytes, then key; or as they were named", .each = card_at, .fields = card_fields },
	{ 0 },
};

const struct frag_document_type frag_cards_document = {
	.format = "fragsim-cards", .version = 1, .fields = cards_fields, .no_tool = true,
	.what = "What fragsim list cards writes, see fragsim-list(1).",
};

int frag_cards_write(void *cards, struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc = frag_document_of(&frag_cards_document, cards);

	return frag_json_write_dense(&doc, out, err);
}
