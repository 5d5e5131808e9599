/* fit_cards.c - which of the cards that are known would do. */
#include "report/fit_cards.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "device/known_cards.h"
#include "policy/configure_events.h"
#include "report/wrap_lines.h"

#define NONE UINT64_MAX
#define SHOWN 3                 /* cards that do, and half as many that do not */
#define LIST_ROOM 400

/* What a setting needs of a card, where one of the kind stands for each device of the trace. */
struct need {
	uint64_t smallest, safe;        /* NONE: it survives on none */
	uint64_t examined_to;           /* NONE: on all there are */
	bool known;
};

static const struct frag_fitted *rows_of(const struct frag_fits *fits, uint32_t *count)
{
	*count = fits->joint_count ? fits->joint_count : fits->source_count == 1 ? fits->count : 0;
	return fits->joint_count ? fits->joint : fits->fitted;
}

static struct need need_of(const struct frag_fits *fits, uint32_t choice)
{
	struct need need = { .examined_to = NONE };
	uint32_t count;
	const struct frag_fitted *rows = rows_of(fits, &count);

	for (const struct frag_fitted *one = rows; one < rows + count; one++) {
		if (one->choice != choice)
			continue;
		need.known = true;
		need.smallest = one->fit.smallest > need.smallest ? one->fit.smallest : need.smallest;
		need.safe = one->fit.safe > need.safe ? one->fit.safe : need.safe;
		if (one->fit.examined_to < need.examined_to)
			need.examined_to = one->fit.examined_to;
	}
	return need;
}

/* The smallest from which on all that were examined survive. Capacities that are no whole number
 * of pages are as good as the next below that is one. */
static uint32_t list_holding(const struct need *need, char out[LIST_ROOM])
{
	char size[FRAG_NUMBER_ROOM];
	uint32_t count = 0;
	size_t used = 0;

	for (const struct frag_card *c = frag_cards; c->key && count < SHOWN; c++)
		if (c->bytes >= need->safe && c->bytes < need->examined_to)
			used += (size_t)snprintf(out + used, LIST_ROOM - used, "%s%s (%s)",
						 count++ ? ", " : "", c->key,
						 frag_size_text(size, c->bytes));
	return count;
}

/* The largest that are known to be too small. */
static uint32_t list_failing(const struct need *need, char out[LIST_ROOM])
{
	const struct frag_card *end = frag_cards, *c;
	char size[FRAG_NUMBER_ROOM];
	uint32_t count = 0;
	size_t used = 0;

	while (end->key && end->bytes < need->smallest && end->bytes < need->examined_to)
		end++;
	for (c = end; c > frag_cards && count < SHOWN / 2 + 1; count++) {
		c--;
		used += (size_t)snprintf(out + used, LIST_ROOM - used, "%s%s (%s)",
					 count ? ", " : "", c->key, frag_size_text(size, c->bytes));
	}
	return count;
}

static uint32_t find_best(const struct frag_fits *fits)
{
	uint32_t best = UINT32_MAX;
	uint64_t safe = NONE;

	for (uint32_t i = 0; i < fits->choice_count; i++) {
		const struct need need = need_of(fits, i);

		if (need.known && need.safe < safe) {
			safe = need.safe;
			best = i;
		}
	}
	return best;
}

static bool counts_contexts(const struct frag_fits *fits)
{
	const struct frag_fit_source *source = fits->sources;

	for (uint32_t i = 0; i < fits->count; i++)
		if (!source[fits->fitted[i].source].devices[fits->fitted[i].device].context)
			return false;
	return true;
}

/* Those that hold it with the best setting, and those that do not with what one has. */
static void print_cards(const struct frag_fits *fits, uint32_t best,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_choice *choices = fits->sources[0].choices;
	const struct need need = need_of(fits, best), usual = need_of(fits, 0);
	char cards[LIST_ROOM];
	const bool any = list_holding(&need, cards) > 0;

	putc('\n', f);
	if (any)
		frag_put_row(paper->columns, "cards", f, "large enough for %s: %s%s",
			      frag_choice_label(&choices[best]), cards,
			      need.examined_to == NONE ? " and all larger ones" : "");
	if (list_failing(&usual, cards))
		frag_put_row(paper->columns, any ? "" : "cards", f, "too small for %s: %s",
			      frag_choice_label(&choices[0]), cards);
	if (!counts_contexts(fits))
		frag_put_row(paper->columns, "context", f, "a CUDA context takes memory of the card"
			      " too, and none is counted here: --context-bytes SIZE counts it");
}

void frag_fit_print_cards(const struct frag_fit_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const uint32_t best = find_best(a->fits);

	if (best != UINT32_MAX)
		print_cards(a->fits, best, paper, f);
}
