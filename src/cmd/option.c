/* option.c - options and help from a table, through getopt_long; the values of options. */
#include <inttypes.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "cmd/command.h"
#include "base/format.h"
#include "base/parse.h"
#include "cmd/progress.h"
#include "device/known_cards.h"

#define OPTIONS_MAX 56
#define LONG 256        /* what getopt_long answers for the first long option */
#define LONG_HELP (LONG + OPTIONS_MAX)
#define TRY "; fragsim %s -h lists the options"

#define NOTES_MAX 4     /* a fifth warning about spelling would not help */

static struct {
	char lines[NOTES_MAX][200];
	uint32_t count;
} notes;

void frag_option_note(const char *format, ...)
{
	va_list args;

	if (notes.count == NOTES_MAX)
		return;
	va_start(args, format);
	frag_vsnprintf(notes.lines[notes.count++], sizeof(notes.lines[0]), format, args);
	va_end(args);
}

static void print_help(const struct frag_cmd *cmd)
{
	printf("usage: fragsim %s %s\n%s\n\n", cmd->name, cmd->args, cmd->summary);
	if (cmd->verbs) {
		frag_commands_print(cmd->verbs, stdout);
		printf("\n'fragsim %s VERB -h' lists options, 'fragsim help %s' opens the manual.\n",
		       cmd->name, cmd->name);
		return;
	}
	for (const struct frag_opt *o = cmd->opts; o->name; o++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		if (o->short_name)
			printf("  -%c, --%-24s  %s\n", o->short_name, left, o->help);
		else
			printf("      --%-24s  %s\n", left, o->help);
	}
	printf("  -h, --%-24s  %s\n", "help", "print this and exit");
}

int frag_usage(const struct frag_cmd *cmd, const char *what, struct frag_error *err)
{
	return frag_fail(err, FRAG_EUSAGE, "%s (usage: fragsim %s %s)", what, cmd->name, cmd->args);
}

/* Which of the options begin with the word; they are named, separated by blanks. */
static uint32_t begin_alike(const struct frag_cmd *cmd, const char *word, size_t length,
			    char *names, size_t room)
{
	uint32_t count = 0;
	size_t used = 0;

	names[0] = '\0';
	for (const struct frag_opt *o = cmd->opts; o->name; o++) {
		if (strncmp(o->name, word, length) != 0)
			continue;
		count++;
		used += (size_t)snprintf(names + used, room - used, " --%s", o->name);
		if (used >= room)
			return count;
	}
	return count;
}

/* The option may be a slip of the pen. */
static int unknown_option(const struct frag_cmd *cmd, const char *word, size_t length,
			  struct frag_error *err)
{
	struct frag_suggestion near = frag_near_to(word + 2, length > 2 ? length - 2 : 0);
	char hint[FRAG_HINT_ROOM];

	for (const struct frag_opt *o = cmd->opts; o->name; o++)
		frag_near_offer(&near, o->name);
	frag_near_offer(&near, "help");
	return frag_fail(err, FRAG_EUSAGE,
			 "unknown option %.60s;%s fragsim %s -h lists the options",
			 word, frag_near_hint(&near, "--", hint), cmd->name);
}

/* Options that commands had before they were published, and what to write now. */
static const struct frag_misplaced_option old_options[] = {
	{ "html", "use -o FILE.html, or --format html" },
	{ "message", "explain knows a text by its content" },
	{ "grid", "use --settings" },
	{ "static-room", "use --headroom" },
};

/* What getopt found wrong, in one line. */
static int bad_option(const struct frag_cmd *cmd, int found, char **argv, int at,
		      struct frag_error *err)
{
	const char *word = argv[at < 1 ? 1 : at];
	size_t length = strcspn(word, "=");
	char names[256];
	uint32_t alike;

	/* the word of a single letter may be another one: getopt has not left it yet */
	if (optopt > ' ' && optopt < 127)
		return frag_fail(err, FRAG_EUSAGE, found == ':' ? "option -%c requires a value" TRY
				 : "unknown option -%c" TRY, optopt, cmd->name);
	if (found == ':')
		return frag_fail(err, FRAG_EUSAGE, "option %.60s requires a value" TRY, word,
				 cmd->name);
	alike = length > 2 ? begin_alike(cmd, word + 2, length - 2, names, sizeof(names)) : 0;
	if (alike > 1 && optopt == 0)
		return frag_fail(err, FRAG_EUSAGE, "option %.60s may be%s" TRY, word, names,
				 cmd->name);
	if (optopt >= LONG)
		return frag_fail(err, FRAG_EUSAGE, "option %.*s takes no value" TRY,
				 (int)(length < 60 ? length : 60), word, cmd->name);
	for (size_t i = 0; i < sizeof(old_options) / sizeof(old_options[0]); i++)
		if (strlen(old_options[i].name) == length - 2
		    && strncmp(word + 2, old_options[i].name, length - 2) == 0)
			return frag_fail(err, FRAG_EUSAGE, "--%s is an old option: %s",
					 old_options[i].name, old_options[i].words);
	for (const struct frag_misplaced_option *f = cmd->foreign; f && f->name && length > 2; f++)
		if (strlen(f->name) == length - 2 && strncmp(word + 2, f->name, length - 2) == 0)
			return frag_fail(err, FRAG_EUSAGE, "unknown option %.60s: %s", word,
					 f->words);
	return unknown_option(cmd, word, length, err);
}

/*
 * getopt_long() gets both its tables from ours. A colon in front makes it report a
 * missing argument apart from an unknown option.
 */
static uint32_t build(const struct frag_cmd *cmd, struct option *longs, char *shorts)
{
	uint32_t n = 0;

	if (cmd->needs & FRAG_NEEDS_PROGRAM)
		*shorts++ = '+';
	*shorts++ = ':';
	for (; n < OPTIONS_MAX - 2 && cmd->opts[n].name; n++) {
		const struct frag_opt *o = &cmd->opts[n];

		longs[n] = (struct option){
			.name = o->name, .val = LONG + (int)n,
			.has_arg = o->arg ? required_argument : no_argument,
		};
		if (!o->short_name)
			continue;
		*shorts++ = o->short_name;
		if (o->arg)
			*shorts++ = ':';
	}
	*shorts++ = 'h';
	*shorts = '\0';
	longs[n] = (struct option){ .name = "help", .val = LONG_HELP };
	longs[n + 1] = (struct option){ .name = NULL };
	return n;
}

static const struct frag_opt *option_find(const struct frag_cmd *cmd, uint32_t count, int found)
{
	if (found >= LONG)
		return &cmd->opts[found - LONG];
	for (uint32_t i = 0; i < count; i++)
		if (cmd->opts[i].short_name == found)
			return &cmd->opts[i];
	return NULL;
}

/* A device has one capacity: the options that set it exclude each other. */
static int note_given(struct frag_args *args, const struct frag_opt *o, struct frag_error *err)
{
	for (uint32_t i = 0; o->kind == FRAG_OPT_TOTAL && i < args->given_count; i++)
		if (args->given[i]->kind == FRAG_OPT_TOTAL && args->given[i] != o)
			return frag_fail(err, FRAG_EUSAGE,
					 "--device and --device-bytes at once: each of them"
					 " is the capacity");
	if (args->given_count < FRAG_GIVEN_MAX)
		args->given[args->given_count++] = o;
	return 0;
}

/* Was the option given? */
static bool given(const struct frag_args *args, const char *name)
{
	for (uint32_t i = 0; i < args->given_count; i++) {
		const struct frag_opt *o = args->given[i];

		if (strcmp(name, o->kind == FRAG_OPT_TOTAL ? "device" : o->name) == 0)
			return true;
	}
	return false;
}

/* Has the option this value? */
static bool has_value(const struct frag_args *args, const char *name, const char *value)
{
	for (const struct frag_opt *o = args->cmd->opts; o->name; o++) {
		const void *at = (const char *)args->own + o->at;
		const char *text;

		if (strcmp(name, o->name) != 0)
			continue;
		if (o->kind == FRAG_OPT_TOTAL)
			return *(const uint64_t *)at == 0;
		text = *(const char *const *)at;
		return text && strcmp(text, value) == 0;
	}
	return false;
}

static bool alternative_holds(const struct frag_args *args, char *word)
{
	char *value = strchr(word, '=');
	bool standard = false;

	if (value) {
		*value = '\0';
		return has_value(args, word, value + 1);
	}
	if (strncmp(word, "TRACE", strlen("TRACE")) == 0)
		return args->count >= (word[5] ? (uint32_t)(word[5] - '0') : 1);
	for (uint32_t i = 0; i < args->count; i++)
		standard = standard || strcmp(args->words[i], "-") == 0;
	return strcmp(word, "-") == 0 ? standard : given(args, word);
}

/* *name becomes the alternative that holds, where it is one that was given. */
static bool term_holds(const struct frag_args *args, char *term, const char **name)
{
	for (char *word; (word = strsep(&term, "|")) != NULL;) {
		const bool negated = *word == '!';

		if (alternative_holds(args, word + negated) == negated)
			continue;
		*name = negated ? *name : word;
		return true;
	}
	return false;
}

int frag_refuse_options(const struct frag_args *args, const struct frag_refusal *r,
			struct frag_error *err)
{
	for (; r && r->when; r++) {
		char when[FRAG_WHEN_ROOM], words[300], *terms = when, *term;
		const char *name = "", *message = r->words + (*r->words == '=');
		const char *at = strstr(message, "%s");
		bool holds = true;

		snprintf(when, sizeof(when), "%s", r->when);
		while (holds && (term = strsep(&terms, " ")) != NULL)
			holds = term_holds(args, term, &name);
		if (!holds)
			continue;
		snprintf(words, sizeof(words), "%.*s%s%s", at ? (int)(at - message) : 0, message,
			 at ? name : "", at ? at + strlen("%s") : message);
		return message > r->words ? frag_fail(err, FRAG_EUSAGE, "%s", words)
					  : frag_usage(args->cmd, words, err);
	}
	return 0;
}

const char *frag_last_given(const struct frag_args *args, const char *const *except)
{
	for (uint32_t i = args->given_count; i-- > 0;) {
		const char *const *name = except;

		while (*name && strcmp(*name, args->given[i]->name) != 0)
			name++;
		if (!*name)
			return args->given[i]->name;
	}
	return NULL;
}

/* Reads an option and its values: getopt returns one value, the next arguments are the others. */
static int take_option(const struct frag_cmd *cmd, const struct frag_opt *o, int argc, char **argv,
		       void *own, struct frag_args *args, struct frag_error *err)
{
	int rc;

	if (o->arg && strcmp(o->arg, "FILE") == 0 && !*optarg)
		return frag_fail(err, FRAG_EUSAGE, "option --%s requires the name of a file" TRY,
				 o->name, cmd->name);
	rc = note_given(args, o, err);
	rc = rc ? rc : frag_option_set(own, o, o->arg ? optarg : NULL, err);
	for (const char *next = o->arg ? strchr(o->arg, ' ') : NULL; next && !rc;
	     next = strchr(next + 1, ' ')) {
		if (optind >= argc)
			return frag_fail(err, FRAG_EUSAGE, "option --%s requires %s values: %s" TRY,
					 o->name, strchr(o->arg, ' ') == strrchr(o->arg, ' ')
					 ? "two" : "three", o->arg, cmd->name);
		rc = frag_option_set(own, o, argv[optind++], err);
	}
	return rc;
}

/* Gives the members the values that they have without their options. */
static void set_usual(void *own, const struct frag_opt *opts)
{
	for (const struct frag_opt *o = opts; o->name; o++) {
		void *at = (char *)own + o->at;

		if (!o->usual)
			continue;
		if (o->kind == FRAG_OPT_SECONDS || o->kind == FRAG_OPT_NUMBER)
			*(double *)at = (double)o->usual;
		else if (o->kind == FRAG_OPT_WORD)
			*(int *)at = (int)o->usual;
		else
			*(uint64_t *)at = o->usual;
	}
}

/*
 * Prints help at the first -h and stops there. Checks the options in their order, so that the
 * message is about the first invalid one.
 */
int frag_options(const struct frag_cmd *cmd, int argc, char **argv, void *own,
		 struct frag_args *args, int *rest, struct frag_error *err)
{
	struct option longs[OPTIONS_MAX];
	char shorts[2 * OPTIONS_MAX + 4];
	uint32_t count = build(cmd, longs, shorts);
	bool quiet = false;
	int found, rc;

	FRAG_ASSERT(cmd->opts && rest);
	set_usual(own, cmd->opts);
	notes.count = 0;
	opterr = 0;
	optind = 1;
	while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct frag_opt *o;

		if (found == 'h' || found == LONG_HELP) {
			print_help(cmd);
			*rest = 0;
			return 0;
		}
		o = found == '?' || found == ':' ? NULL : option_find(cmd, count, found);
		if (!o)
			return bad_option(cmd, found, argv, optind - 1, err);
		quiet = quiet || o->short_name == 'q';
		rc = take_option(cmd, o, argc, argv, own, args, err);
		if (rc)
			return rc;
	}
	for (uint32_t i = 0; i < notes.count && !quiet; i++)
		frag_print_message("warning: %s", notes.lines[i]);
	*rest = optind;
	return 0;
}

#define BARE_MIN (UINT64_C(64) << 20)           /* from here on a capacity needs no unit, */
#define BARE_SHARE_MIN (UINT64_C(1) << 20)      /* and what others hold of it */

/* The sizes of traces and policies, and in addition a B for bytes. */
static bool parse_size(const char *value, uint64_t *out)
{
	size_t length = strlen(value);

	if (length > 1 && value[length - 1] == 'B' && frag_parse_count(value, length - 1, out))
		return true;
	return frag_parse_size(value, length, true, out);
}

static int option_size(uint64_t *out, const char *name, const char *value, uint64_t min,
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
			 " byte%s or more", name, value, min, frag_s(min));
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

/* 80 is meant to be 80GiB more often than 80 bytes, so that must be said. */
static int option_capacity(uint64_t *out, const char *name, const char *value,
			   struct frag_error *err)
{
	int rc;

	if (*value == '-')
		return frag_fail(err, FRAG_EUSAGE, "--%s: invalid size '%.60s'; 0 is unlimited, and"
				 " nothing is less", name, value);
	rc = option_size(out, name, value, 0, err);
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

/* Digits, and perhaps a suffix: a size, also one that is out of range. No card is called so. */
static bool looks_like_size(const char *value)
{
	const size_t digits = strspn(value, "0123456789.");

	return digits && digits + strspn(value + digits, "KMGTPEiB") == strlen(value);
}

static int set_card(struct frag_capacity *out, const char *value, struct frag_error *err)
{
	const struct frag_card *card;
	struct frag_error why;
	uint64_t bytes;

	if (parse_size(value, &bytes))
		return option_capacity(&out->total, "device", value, err);
	if (read_as_binary(value, &out->total))
		return 0;
	if (looks_like_size(value))
		return option_capacity(&out->total, "device", value, err);
	card = frag_card_named(value, &why);
	if (!card)
		return frag_fail(err, FRAG_EUSAGE, "--device: %s", why.message);
	out->total = card->bytes;
	out->context = (uint64_t)frag_context_of(card)->mib << 20;
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
	(void)at;
	(void)o;
	return frag_option_word(&frag_color, "color", value, frag_color_words, err);
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

/* A number without its unit, which the row says. */
static int option_number(double *out, const struct frag_opt *o, const char *value,
			 struct frag_error *err)
{
	char *end;

	*out = frag_strtod(value, &end);
	if (end != value && strcmp(end, o->unit ? o->unit : "") == 0 && *out >= o->low
	    && *out <= o->high)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: %s", o->name, value, o->what);
}

static int add_text(struct frag_texts *texts, const char *value, struct frag_error *err)
{
	if (!FRAG_GROW(texts->at, texts->capacity, texts->count))
		return frag_fail_nomem(err);
	texts->at[texts->count++] = value;
	return 0;
}

/* One branch a kind: this is the only reading of typed options. */
int frag_option_set(void *own, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	void *at = (char *)own + o->at;
	uint64_t n = 0;
	int i = 0, rc;

	switch (o->kind) {
	case FRAG_OPT_CALL:
		return o->set(at, o, value, err);
	case FRAG_OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case FRAG_OPT_TEXT:
	case FRAG_OPT_INPUT:
	case FRAG_OPT_OUTPUT:
		*(const char **)at = value;
		return 0;
	case FRAG_OPT_SIZE:
		return option_size(at, o->name, value, o->min, err);
	case FRAG_OPT_CAPACITY:
		return option_capacity(at, o->name, value, err);
	case FRAG_OPT_TOTAL:
		((struct frag_capacity *)at)->context = 0;
		return strcmp(o->name, "device") == 0
			       ? set_card(at, value, err)
			       : option_capacity(at, o->name, value, err);
	case FRAG_OPT_SHARE:
		rc = option_size(at, o->name, value, 0, err);
		return rc ? rc : refuse_bare(o->name, value, *(const uint64_t *)at,
					     BARE_SHARE_MIN, "MiB", err);
	case FRAG_OPT_COUNT:
		return frag_option_count(at, o->name, value, o->min, o->max, err);
	case FRAG_OPT_COUNT32:
		rc = frag_option_count(&n, o->name, value, o->min, o->max, err);
		*(uint32_t *)at = (uint32_t)n;
		return rc;
	case FRAG_OPT_WORD:
		return frag_option_word(at, o->name, value, o->words, err);
	case FRAG_OPT_TRUTH:
		rc = frag_option_word(&i, o->name, value, o->words, err);
		*(bool *)at = (uint64_t)i >= o->min;
		return rc;
	case FRAG_OPT_LIST:
		return add_text(at, value, err);
	case FRAG_OPT_SECONDS:
		return option_seconds(at, o->name, value, err);
	case FRAG_OPT_NUMBER:
		return option_number(at, o, value, err);
	}
	return 0;
}
