/* known_lists.c - lists of what there is: policies with their keys, known GPUs, documents. */
#include "answers/answers.h"
#include "answers/report.h"

#include <inttypes.h>
#include <string.h>

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
