/* known_lists.c - the policies with their keys, and the GPUs that are known, for people. */
#include "answers/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/format.h"
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
	char value[FRAG_PARAM_TEXT], help[FRAG_PRINTABLE_ROOM];

	if (spec->same_as)
		snprintf(value, sizeof(value), "%s", spec->same_as);
	else if (spec->type == FRAG_PARAM_SIZE)
		short_size(spec->fallback, value);
	else
		frag_param_text(spec, spec->fallback, value);
	fprintf(f, "    %s=%-*s  %s%s\n", spec->name, (int)(20 - strlen(spec->name)), value,
		frag_printable(help, spec->help),
		!spec->power_of_two ? ""
		: spec->min	    ? " (a power of two)"
				    : " (a power of two, or 0)");
}

void frag_report_policies(const struct frag_policy_ops *const *policies, FILE *f)
{
	char summary[FRAG_PRINTABLE_ROOM];

	for (uint32_t i = 0; policies[i]; i++) {
		const struct frag_param_spec *spec = policies[i]->params;

		fprintf(f, "%s%s: %s\n", i ? "\n" : "", policies[i]->name,
			frag_printable(summary, policies[i]->summary));
		for (uint32_t k = 0; spec && spec[k].name; k++)
			print_param(&spec[k], f);
	}
	fputs("\nWritten NAME or NAME:key=value,key=value. The values shown are the defaults.\n",
	      f);
}

/* Everything known about a card, with the source of its size. */
static void print_whole(const struct frag_card *card, FILE *f)
{
	fprintf(f, "%s: %s\n    %" PRIu64 " bytes (%s); reported by %s as %s\n    %s\n", card->key,
		card->name, card->bytes, SIZE(card->bytes), card->by,
		card->reported, card->source);
}

void frag_report_cards(const struct frag_card *const *cards, bool whole, FILE *f)
{
	for (uint32_t i = 0; whole && cards[i]; i++)
		print_whole(cards[i], f);
	if (whole)
		return;
	fprintf(f, "%-16s  %10s  %12s  %s\n", "card", "", "bytes", "name");
	for (; *cards; cards++)
		fprintf(f, "%-16s  %10s  %12" PRIu64 "  %s\n", (*cards)->key,
			SIZE((*cards)->bytes), (*cards)->bytes, (*cards)->name);
	fputs("\nThe bytes are the lowest total that a driver on Linux reported; fragsim cards CARD"
	      "\nnames the source. For --device CARD.\n",
	      f);
}
