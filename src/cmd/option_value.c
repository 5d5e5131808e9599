/* option_value.c - what options take: sizes, numbers, one of a few words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/format.h"
#include "base/names.h"
#include "base/parse.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "device/known_cards.h"

#define BARE_MIN (UINT64_C(64) << 20)           /* from here on a capacity needs no unit, */
#define BARE_SHARE_MIN (UINT64_C(1) << 20)      /* and what others hold of it */

/* As of traces and policies; and here a B may say that bytes are meant. */
static bool parse_size(const char *value, uint64_t *out)
{
	size_t length = strlen(value);

	if (length > 1 && value[length - 1] == 'B' && frag_parse_count(value, length - 1, out))
		return true;
	return frag_parse_size(value, length, true, out);
}

int frag_option_size(uint64_t *out, const char *name, const char *value, uint64_t min,
		     struct frag_error *err)
{
	char advice[FRAG_ADVICE_ROOM];

	if (!parse_size(value, out)) {
		frag_size_advice(advice, value, strlen(value));
		return frag_fail(err, FRAG_EUSAGE, "--%s: invalid size '%.60s'; %s", name, value,
				 *advice ? advice : "use a size such as 4.5GiB, or bytes");
	}
	if (*out >= min)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--%s: '%.60s' is too small; use %" PRIu64
			 " byte%s or more", name, value, min, min == 1 ? "" : "s");
}

/* So few bytes without a unit are another unit, forgotten. min: from here on they are not. */
static int refuse_bare(const char *name, const char *value, uint64_t bytes, uint64_t min,
		       const char *unit, struct frag_error *err)
{
	if (!bytes || bytes >= min || strspn(value, "0123456789.") < strlen(value))
		return 0;
	if (bytes < 1024)
		return frag_fail(err, FRAG_EUSAGE,
				 "--%s: '%s' is %" PRIu64 " byte%s; write %" PRIu64
				 "%s, or %" PRIu64 "B if you mean bytes",
				 name, value, bytes, frag_s(bytes), bytes, unit, bytes);
	return frag_fail(err, FRAG_EUSAGE, "--%s: '%s' is %" PRIu64 " bytes, less than %" PRIu64
			 " MiB; write %" PRIu64 "B if you mean bytes", name, value, bytes,
			 min >> 20, bytes);
}

static int option_share(uint64_t *out, const char *name, const char *value, struct frag_error *err)
{
	int rc = frag_option_size(out, name, value, 0, err);

	return rc ? rc : refuse_bare(name, value, *out, BARE_SHARE_MIN, "MiB", err);
}

/* 80 is meant to be 80GiB more often than 80 bytes, so that must be said. */
int frag_option_capacity(uint64_t *out, const char *name, const char *value,
			 struct frag_error *err)
{
	int rc;

	if (*value == '-')
		return frag_fail(err, FRAG_EUSAGE, "--%s: invalid size '%.60s'; 0 is unlimited, and"
				 " nothing is less", name, value);
	rc = frag_option_size(out, name, value, 0, err);
	return rc ? rc : refuse_bare(name, value, *out, BARE_MIN, "GiB", err);
}

/* "24GB" as 24GiB, which such a card has. */
static bool read_as_binary(const char *value, uint64_t *out)
{
	const size_t length = strlen(value);
	char binary[64];

	if (length < 3 || length + 2 > sizeof(binary) || value[length - 1] != 'B'
	    || !strchr("KMGT", value[length - 2]))
		return false;
	snprintf(binary, sizeof(binary), "%.*siB", (int)length - 1, value);
	if (!parse_size(binary, out))
		return false;
	frag_option_note("--device %s is read as %s", value, binary);
	return true;
}

static int set_card(uint64_t *out, const char *value, struct frag_error *err)
{
	const struct frag_card *card;
	struct frag_error why;
	uint64_t bytes;

	if (parse_size(value, &bytes))
		return frag_option_capacity(out, "device", value, err);
	if (read_as_binary(value, out))
		return 0;
	card = frag_card_named(value, &why);
	if (!card)
		return frag_fail(err, FRAG_EUSAGE, "--device: %s", why.message);
	*out = card->bytes;
	return 0;
}

int frag_option_count(uint64_t *out, const char *name, const char *value, uint64_t min,
		      uint64_t max, struct frag_error *err)
{
	char last[FRAG_NUMBER_ROOM] = "2^53-1";

	if (frag_parse_count(value, strlen(value), out) && *out >= min && *out <= max)
		return 0;
	if (max < FRAG_COUNT_MAX)
		snprintf(last, sizeof(last), "%" PRIu64, max);
	return frag_fail(err, FRAG_EUSAGE,
			 "--%s %.60s: a number from %" PRIu64 " to %s is required", name, value,
			 min, last);
}

const char *const frag_color_words[] = {
	[FRAG_COLOR_AUTO] = "auto", [FRAG_COLOR_ALWAYS] = "always", [FRAG_COLOR_NEVER] = "never",
	NULL,
};

int frag_set_color(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	int i = FRAG_COLOR_AUTO, rc = frag_option_word(&i, "color", value, frag_color_words, err);

	(void)at;
	(void)o;
	frag_terminal_set_color((enum frag_color)i);
	return rc;
}

int frag_option_word(int *out, const char *name, const char *value, const char *const *words,
		     struct frag_error *err)
{
	struct frag_name_list all = { .used = 0 };

	for (int i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) == 0) {
			*out = i;
			return 0;
		}
		frag_listed_add(&all, words[i]);
	}
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: use %s", name, value,
			 frag_listed_text(&all, " or "));
}

/* Seconds, with s, ms, m or min behind them. */
static int option_seconds(double *seconds, const char *name, const char *value,
			  struct frag_error *err)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 } };
	char *end = NULL;
	const double number = *value >= '0' && *value <= '9' ? frag_strtod(value, &end) : -1;

	for (uint32_t i = 0; number >= 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0) {
			*seconds = number * units[i].seconds;
			return 0;
		}
	return frag_fail(err, FRAG_EUSAGE,
			 "--%s %.60s: a time such as 30s, 500ms or 5m is required", name, value);
}

void frag_options_usual(void *own, const struct frag_opt *opts)
{
	for (const struct frag_opt *o = opts; o->name; o++) {
		void *at = (char *)own + o->at;

		if (!o->usual)
			continue;
		if (o->kind == FRAG_OPT_SECONDS)
			*(double *)at = (double)o->usual;
		else if (o->kind == FRAG_OPT_WORD)
			*(int *)at = (int)o->usual;
		else
			*(uint64_t *)at = o->usual;
	}
}

/* One branch a kind: this is the only reading of typed options. */
int frag_option_set(void *own, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	void *at = (char *)own + o->at;
	uint64_t n = 0;
	int rc;

	switch (o->kind) {
	case FRAG_OPT_CALL:
		return o->set(at, o, value, err);
	case FRAG_OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case FRAG_OPT_TEXT:
		*(const char **)at = value;
		return 0;
	case FRAG_OPT_SIZE:
		return frag_option_size(at, o->name, value, o->min, err);
	case FRAG_OPT_CAPACITY:
		return frag_option_capacity(at, o->name, value, err);
	case FRAG_OPT_TOTAL:
		return strcmp(o->name, "device") == 0
			       ? set_card(at, value, err)
			       : frag_option_capacity(at, o->name, value, err);
	case FRAG_OPT_SHARE:
		return option_share(at, o->name, value, err);
	case FRAG_OPT_COUNT:
		return frag_option_count(at, o->name, value, o->min, o->max, err);
	case FRAG_OPT_COUNT32:
		rc = frag_option_count(&n, o->name, value, o->min, o->max, err);
		*(uint32_t *)at = (uint32_t)n;
		return rc;
	case FRAG_OPT_WORD:
		return frag_option_word(at, o->name, value, o->words, err);
	case FRAG_OPT_SECONDS:
		return option_seconds(at, o->name, value, err);
	}
	return 0;
}
