/* fit_cards.c - the GPUs and slices that a fit names: those that are enough, and too small ones. */
#include "answers/answers.h"
#include "answers/fit_answer.h"
#include "device/known_cards.h"

#define NONE UINT64_MAX
#define CARDS_SHOWN 3           /* cards that fit, and half as many that do not */
#define LIST_ROOM 400

/* What a card has for programs; `own` of them have contexts that are not counted yet. */
static uint64_t room_on(const struct frag_card *card, uint32_t own)
{
	const uint64_t contexts = own * ((uint64_t)frag_context_of(card)->mib << 20);

	return card->bytes > contexts ? card->bytes - contexts : 0;
}

/* Do all devices from this card on that were examined fit? Capacities that are no whole number
 * of pages are as good as the next below that is one. */
static bool holds(const struct frag_card *card, const struct frag_fit_need *need, uint32_t own)
{
	return room_on(card, own) >= need->reliable && room_on(card, own) < need->examined_to;
}

/* The smallest cards that fit. */
static void list_holding(const struct frag_fit_need *need, uint32_t own, struct frag_words *w)
{
	uint32_t count = 0;

	for (const struct frag_card *c = frag_cards; c->key && count < CARDS_SHOWN; c++)
		if (!frag_is_slice(c) && holds(c, need, own) && ++count)
			frag_add_item(w, ", ", "%s (%s)", c->key, SIZE(c->bytes));
}

/* The largest that are known to be too small. */
static void list_failing(uint64_t least, uint32_t own, struct frag_words *w)
{
	const struct frag_card *c = frag_cards;
	uint32_t count = 0;

	while (c->key)
		c++;
	while (c-- > frag_cards && count < CARDS_SHOWN / 2 + 1)
		if (!frag_is_slice(c) && room_on(c, own) < least && ++count)
			frag_add_item(w, ", ", "%s (%s)", c->key, SIZE(c->bytes));
}

/*
 * How many copies of the program can run on it at once: of a slice, as many as the card has of it;
 * of a card, each with its context, where none of several is ever refused memory. 0: not known.
 */
static uint64_t copies_on(const struct frag_card *card, const struct frag_fit_need *need, uint32_t own)
{
	const uint64_t each = need->no_refusal - need->other + card->bytes - room_on(card, own);

	if (frag_is_slice(card))
		return card->count;
	return need->no_refusal == NONE || !each ? 0 : frag_max(1, (card->bytes - need->other) / each);
}

/* Of the slices of a card that fit, the one it has most of, and then the smallest; NULL: none. */
static const struct frag_card *best_slice(const struct frag_card *card, const struct frag_fit_need *need,
					  uint32_t own)
{
	const size_t length = strlen(card->key);
	const struct frag_card *best = NULL;

	for (const struct frag_card *c = frag_cards; c->key; c++)
		if (strncmp(c->key, card->key, length) == 0 && c->key[length] == ':'
		    && holds(c, need, own) && (!best || c->count > best->count))
			best = c;
	return best;
}

/* "a100-80gb:2g.20gb (19.50 GiB); copies per card: a100-40gb 2 (2 x 3g.20gb), h100-80gb 4 (...)" */
static void print_slices(const struct frag_fit_need *need, uint32_t own, const struct frag_text_style *to)
{
	const struct frag_card *smallest = frag_cards, *slice;
	char alone[32];
	struct frag_words w = WORDS(LIST_ROOM);

	while (smallest->key && !(frag_is_slice(smallest) && holds(smallest, need, own)))
		smallest++;
	if (!smallest->key)
		return;
	for (const struct frag_card *c = frag_cards; c->key; c++) {
		slice = frag_is_slice(c) ? NULL : best_slice(c, need, own);
		if (!slice)
			continue;
		snprintf(alone, sizeof(alone), "%" PRIu64 " ", copies_on(c, need, own));
		frag_add_item(&w, ", ", "%s %s(%" PRIu32 " x %s)", c->key,
			      need->no_refusal == NONE ? "" : alone, slice->count,
			      strchr(slice->key, ':') + 1);
	}
	frag_put_row(to, "slices", "%s (%s); copies per card (x slice): %s", smallest->key,
		     SIZE(smallest->bytes), w.text);
}

/* Is a context counted already: an option's, or what the trace has of its devices? */
static bool counts_contexts(const struct frag_fits *fits)
{
	const struct frag_fit_source *source = fits->sources;

	for (uint32_t i = 0; i < fits->count; i++)
		if (!source[fits->fitted[i].source].devices[fits->fitted[i].device].context)
			return false;
	return true;
}

/* How many contexts of a card are not in the sizes: one a program. */
static uint32_t own_contexts(const struct frag_fit_answer *a)
{
	if (a->context_given || counts_contexts(a->fits))
		return 0;
	return a->fits->together ? a->fits->source_count : 1;
}

/* Cards that fit with the best setting, and those too small for what the program has. */
void frag_fit_put_cards(const struct frag_fit_answer *a, uint32_t best,
			const struct frag_text_style *to)
{
	const struct frag_fit_need need = frag_fit_need_of(a->fits, best), usual = frag_fit_need_of(a->fits, 0);
	const uint32_t own = own_contexts(a);
	struct frag_words any = WORDS(LIST_ROOM), none = WORDS(LIST_ROOM);

	list_holding(&need, own, &any);
	list_failing(frag_min(usual.smallest, usual.examined_to), own, &none);
	if (any.used || none.used)
		frag_put_row(to, "cards", "%s%s%s%s%s%s%s%s%s", any.used ? "fits: " : "", any.text,
			     any.used && need.examined_to == NONE ? " and larger" : "",
			     any.used && none.used ? "; " : "", none.used ? "too small for " : "",
			     none.used ? frag_choice_label(&a->fits->sources[0].choices[0]) : "",
			     none.used ? ": " : "", none.text,
			     own ? "; counting typical CUDA contexts, which the sizes above do not"
			     " have" : "");
	else if (!counts_contexts(a->fits))
		frag_put_row(to, "context", "not counted; --context-bytes SIZE adds that of CUDA");
	print_slices(&need, own, to);
}

/* Of parts: cards that are too small for the program, and those that the recorded part fits. */
void frag_fit_put_cards_of_part(const struct frag_fit_answer *a, const struct frag_claim *claim,
				uint32_t best, const struct frag_text_style *to)
{
	const uint32_t own = own_contexts(a);
	const char *contexts = own ? "; counting typical CUDA contexts, which the sizes above do not"
				     " have" : "";
	struct frag_words any = WORDS(LIST_ROOM), none = WORDS(LIST_ROOM);
	struct frag_fit_need need;

	list_failing(claim->at_least, own, &none);
	if (none.used)
		frag_put_row(to, "cards", "too small: %s%s", none.text, contexts);
	if (claim->part != FRAG_PART_LATE || best == UINT32_MAX)
		return;
	need = frag_fit_need_of(a->fits, best);
	list_holding(&need, own, &any);
	if (any.used)
		frag_put_row(to, "part", "the recorded part fits: %s%s", any.text,
			     need.examined_to == NONE ? " and larger" : "");
}

/* A card or slice that fits with the best setting. */
struct frag_card_view {
	const char *card;
	uint64_t context, copies;
};

bool frag_fit_card_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;
	const struct frag_claim claim = frag_fit_claim(a);
	const uint32_t best = frag_claim_is_exact(&claim) ? frag_fit_best(a) : UINT32_MAX;
	const struct frag_fit_need need = frag_fit_need_of(a->fits, best);
	const uint32_t own = own_contexts(a);
	const struct frag_card *c = frag_cards;
	struct frag_card_view *to = element;

	if (best == UINT32_MAX)
		return false;
	for (uint32_t found = 0; c->key && !(holds(c, &need, own) && found++ == i); c++)
		continue;
	if (!c->key)
		return false;
	*to = (struct frag_card_view){ c->key, c->bytes - room_on(c, own), copies_on(c, &need, own) };
	return true;
}

const struct frag_field frag_card_fields[] = {
	{ "card", FRAG_TYPE_TEXT, FRAG_AT(card_view, card) },
	{ "context_bytes", FRAG_TYPE_BYTES, FRAG_AT(card_view, context), "that the sizes do not have" },
	{ "copies", FRAG_TYPE_COUNT, FRAG_AT(card_view, copies),
	  "that a card can run at once; null: not known", .absence = FRAG_UNLESS_ZERO },
	{ 0 },
};
