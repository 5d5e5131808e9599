/* cards.c - fragsim cards: the GPUs that --device knows. */
#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "device/known_cards.h"
#include "documents/documents.h"
#include "answers/report.h"

enum { OPT_JSON = 1 };

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write them as JSON (- is standard output)", OPT_JSON },
	{ 0 },
};

static int cards_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	const char **json = ctx;

	(void)id;
	(void)err;
	*json = value;
	return 0;
}

static int cards_write_json(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	return frag_cards_write(ctx, out, err);
}

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

static uint32_t count_cards(void)
{
	uint32_t count = 0;

	while (frag_cards[count].key)
		count++;
	return count;
}

static int cards_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		      struct frag_error *err)
{
	const struct frag_card **found;
	const char *json = NULL;
	int rest, rc = frag_options(cmd, argc, argv, &json, cards_set_option, &rest, err);

	(void)status;
	if (rc || !rest)
		return rc;
	found = calloc(count_cards() + (size_t)(argc - rest) + 1, sizeof(*found));
	if (!found)
		return frag_fail_nomem(err);
	rc = cards_find(argv + rest, found, err);
	if (!rc && json)
		rc = frag_write_file(json, cards_write_json, found, err);
	else if (!rc)
		frag_report_cards(found, rest < argc, stdout);
	free(found);
	return rc;
}

const struct frag_cmd frag_cmd_cards = {
	.name = "cards",
	.job = FRAG_JOB_OTHER,
	.args = "[options] [CARD ...]",
	.summary = "list GPUs with the memory that their driver reports",
	.opts = opts,
	.exec = cards_exec,
};
