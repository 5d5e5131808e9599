/* columns.c - the columns that a row of metrics may have: what --columns takes. */
#include "answers/columns.h"

#include <string.h>

#include "base/suggest.h"

static const struct {
	const char *name, *text;
} of_step[FRAG_COLUMN_METRICS] = {
	[FRAG_COLUMN_STEP] = { "step", "number of the event" },
	[FRAG_COLUMN_T] = { "t", "time of the event" },
	[FRAG_COLUMN_DEVICE] = { "device", "ordinal of the device" },
	[FRAG_COLUMN_OP] = { "op", "what the event does" },
	[FRAG_COLUMN_ID] = { "id", "block of the event" },
	[FRAG_COLUMN_SIZE] = { "size", "bytes requested" },
	[FRAG_COLUMN_STATUS] = { "status", "ok, oom or skipped" },
};

const struct frag_metric *frag_column_metric(uint32_t i)
{
	return i < FRAG_COLUMN_METRICS ? NULL : &frag_metric_table()[i - FRAG_COLUMN_METRICS];
}

const char *frag_column_name(uint32_t i)
{
	return i < FRAG_COLUMN_METRICS ? of_step[i].name : frag_column_metric(i)->name;
}

const char *frag_column_text(uint32_t i)
{
	return i < FRAG_COLUMN_METRICS ? of_step[i].text : frag_column_metric(i)->text;
}

/* The columns in the order of their numbers, those that are asked for among them or not. */
static struct frag_columns columns_in_order(bool requested)
{
	struct frag_columns columns = { .count = 0 };

	for (uint32_t i = 0; i < FRAG_COLUMN_ALL; i++)
		if (requested || i < FRAG_COLUMN_METRICS || !frag_column_metric(i)->requested)
			columns.at[columns.count++] = (uint8_t)i;
	return columns;
}

struct frag_columns frag_columns_usual(void)
{
	return columns_in_order(false);
}

static int columns_add(struct frag_columns *columns, const char *word, size_t length,
		       struct frag_error *err)
{
	const int shown = length < 64 ? (int)length : 64;
	struct frag_suggestion near = frag_near_to(word, length);
	char hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; i < FRAG_COLUMN_ALL; i++) {
		const char *name = frag_column_name(i);

		frag_near_offer(&near, name);
		if (strlen(name) != length || memcmp(name, word, length) != 0)
			continue;
		if (memchr(columns->at, (int)i, columns->count))
			return frag_fail(err, FRAG_EUSAGE, "--columns: %s is named twice", name);
		columns->at[columns->count++] = (uint8_t)i;
		return 0;
	}
	return frag_fail(err, FRAG_EUSAGE,
			 "--columns: no such column \"%.*s\";%s"
			 " fragsim-result(5) lists them, and \"all\" selects every one",
			 shown, word, frag_near_hint(&near, "", hint));
}

int frag_columns_parse(struct frag_columns *columns, const char *text, struct frag_error *err)
{
	int rc = 0;

	if (strcmp(text, "all") == 0) {
		*columns = columns_in_order(true);
		return 0;
	}
	columns->count = 0;
	for (size_t length; !rc; text += length + 1) {
		length = strcspn(text, ",");
		rc = columns_add(columns, text, length, err);
		if (!text[length])
			break;
	}
	return rc;
}
