/* list_cards.c - fragsim list cards: the GPUs that --device knows. */
#include <stdlib.h>

#include "answers/known_lists.h"
#include "cmd/command.h"
#include "cmd/progress.h"

struct cards {
	const char *json;
};

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write them as JSON (- is standard output)",
	  FRAG_TEXT(struct cards, json) },
	{ 0 },
};

/* Those that are named, or all; found ends in NULL. */
static int cards_find(char *const *names, const struct frag_card **found, struct frag_error *err)
{
	if (!*names) {
		for (const struct frag_card *card = frag_cards; card->key; card++)
			*found++ = card;
		return 0;
	}
	for (; *names; names++) {
		*found = frag_card_named(*names, err);
		if (!*found++)
			return -FRAG_EUSAGE;
	}
	return 0;
}

static int cards_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	const struct cards *cards = own;
	const struct frag_card **found;
	size_t count = (size_t)args->count + 1;
	int rc;

	for (const struct frag_card *card = frag_cards; card->key; card++)
		count++;
	found = calloc(count, sizeof(*found));
	if (!found)
		return frag_fail_nomem(err);
	rc = cards_find(args->words, found, err);
	if (!rc && cards->json)
		rc = frag_write_file(cards->json, false, frag_cards_write,
				     &(struct frag_card_list){ found, args->count > 0 }, err);
	else if (!rc)
		frag_report_cards(found, args->count > 0, stdout);
	free(found);
	return rc;
}

const struct frag_cmd frag_cmd_list_cards = {
	.name = "list cards",
	.group = FRAG_GROUP_LIST,
	.args = "[options] [CARD ...]",
	.summary = "list GPUs and MIG slices with the memory that their driver reports",
	.opts = opts,
	.size = sizeof(struct cards),
	.exec = cards_exec,
};
