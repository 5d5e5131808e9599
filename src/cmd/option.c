/* option.c - options from a table, through getopt_long; help from the same table. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/c_locale.h"
#include "base/names.h"
#include "cmd/command.h"

#define OPTIONS_MAX 40
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

static void print_notes(void)
{
	for (uint32_t i = 0; i < notes.count; i++)
		frag_print_message("warning: %s", notes.lines[i]);
}

static void print_help(const struct frag_cmd *cmd)
{
	printf("usage: fragsim %s %s\n%s\n\n", cmd->name, cmd->args, cmd->summary);
	for (const struct frag_opt *o = cmd->opts; o->name; o++) {
		char left[64];

		if (*o->help == '=')
			continue;
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
		if (*o->help == '=' || strncmp(o->name, word, length) != 0)
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
		if (*o->help != '=')
			frag_near_offer(&near, o->name);
	frag_near_offer(&near, "help");
	return frag_fail(err, FRAG_EUSAGE,
			 "unknown option %.60s;%s fragsim %s -h lists the options",
			 word, frag_near_hint(&near, "--", hint), cmd->name);
}

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

/* An option and its values; getopt knows of one value: the words after it are the others. */
static int take_option(const struct frag_cmd *cmd, const struct frag_opt *o, int argc, char **argv,
		       void *own, struct frag_args *args, struct frag_error *err)
{
	int rc;

	if (o->arg && strcmp(o->arg, "FILE") == 0 && !*optarg)
		return frag_fail(err, FRAG_EUSAGE, "option --%s requires the name of a file" TRY,
				 o->name, cmd->name);
	if (*o->help == '=')
		frag_option_note("--%s is an old name: use %s", o->name, o->help + 1);
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

/*
 * Help ends everything: it is printed as soon as it is met, and *rest is 0.
 * Options are checked one by one as they come, so the message is about the first
 * bad one.
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
	if (!quiet)
		print_notes();
	*rest = optind;
	return 0;
}
