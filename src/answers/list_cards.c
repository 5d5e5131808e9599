/* list_cards.c - the GPUs that are known, for people. */
#include <inttypes.h>

#include "base/format.h"
#include "answers/report.h"

/* All that is known of one: whoever doubts the figure can look it up. */
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
