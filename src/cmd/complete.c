/*
 * complete.c - fragsim complete: what may be in the place of an unfinished word.
 *
 * The shells' scripts (scripts/completion) ask it. A candidate is a line, with a
 * tab and a few words of what it is. Lines for the shell begin with a colon:
 * `:files TAB START` for names of files after START, which the word begins with,
 * and `:open` where more may follow at once, so that no blank is to be added.
 *
 * All of it comes from the tables that are also parsed and printed: commands,
 * options and the words that some of them take, policies and their keys, cards,
 * scenarios, forms, formats.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "cmd/command.h"
#include "device/known_cards.h"
#include "fragsim/policy.h"
#include "gen/gen.h"
#include "answers/row_writer.h"
#include "answers/export.h"
#include "answers/answers.h"
#include "trace/trace_formats.h"

/* Where the candidates go: those that begin with `typed`, each after `before`. */
struct place {
	const char *before;
	int before_length;
	const char *typed;
};

static bool complete_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Prints one candidate; `end` is appended to its name. */
static void offer(const struct place *at, const char *name, const char *end, const char *about)
{
	if (complete_begins(name, at->typed))
		printf("%.*s%s%s\t%s\n", at->before_length, at->before, name, end, about);
}

static void offer_files(const struct place *at)
{
	printf(":files\t%.*s\n", at->before_length, at->before);
}

/* words NULL: there are none. */
static void offer_words(const struct place *at, const char *const *words)
{
	for (uint32_t k = 0; words && words[k]; k++)
		offer(at, words[k], "", "");
}

/* The place after the first n characters of the typed argument. */
static struct place behind(const struct place *at, size_t n)
{
	return (struct place){
		.before = at->before, .before_length = (int)(at->typed - at->before) + (int)n,
		.typed = at->typed + n,
	};
}

/* Is the key among KEY=VALUE,KEY=VALUE of this length? */
static bool given(const char *settings, size_t length, const char *key, char equals)
{
	size_t name = strlen(key);

	for (size_t i = 0; i + name < length; i++)
		if ((i == 0 || settings[i - 1] == ',') && settings[i + name] == equals
		    && memcmp(settings + i, key, name) == 0)
			return true;
	return false;
}

/* The last of some settings: a key, or the value of one. */
static void offer_settings(const struct place *at, const struct frag_policy_ops *ops, char equals)
{
	const char *comma = strrchr(at->typed, ','), *value;
	struct place last = behind(at, comma ? (size_t)(comma - at->typed) + 1 : 0);
	const char end[] = { equals, '\0' };

	value = strchr(last.typed, equals);
	for (const struct frag_param_spec *s = ops->params; s && s->name; s++) {
		struct place in_value;

		if (!value && !given(at->typed, (size_t)(last.typed - at->typed), s->name, equals))
			offer(&last, s->name, end, s->help);
		if (!value || s->type != FRAG_PARAM_BOOL
		    || !frag_is_word(last.typed, (size_t)(value - last.typed), s->name))
			continue;
		in_value = behind(&last, strlen(s->name) + 1);
		offer(&in_value, equals == ':' ? "True" : "true", "", "");
		offer(&in_value, equals == ':' ? "False" : "false", "", "");
	}
	if (ops->params)
		puts(":open");
}

/* Names of policies; where keys may follow, those too. */
static void offer_policies(const struct place *at, bool keys_follow)
{
	const struct frag_policy_ops *const *all = frag_policies();
	const char *colon = strchr(at->typed, ':');
	struct place keys;

	if (!colon && strchr(at->typed, '/')) {
		offer_files(at);
		if (keys_follow)
			puts(":open");
		return;
	}
	for (uint32_t i = 0; all[i]; i++) {
		if (!colon) {
			offer(at, all[i]->name, "", all[i]->summary);
		} else if (keys_follow
			   && frag_is_word(at->typed, (size_t)(colon - at->typed), all[i]->name)) {
			keys = behind(at, (size_t)(colon - at->typed) + 1);
			offer_settings(&keys, all[i], '=');
		}
	}
	if (!colon && keys_follow)
		puts(":open");
}

/* Settings as PyTorch's own: of each policy that reads such. */
static void offer_alloc_conf(const struct place *at)
{
	const struct frag_policy_ops *const *all = frag_policies();

	for (uint32_t i = 0; all[i]; i++)
		if (all[i]->settings)
			offer_settings(at, all[i], ':');
}

/* The last of some columns, none that is there already. */
static void offer_columns(const struct place *at)
{
	const char *comma = strrchr(at->typed, ',');
	struct place last = behind(at, comma ? (size_t)(comma - at->typed) + 1 : 0);

	if (!comma)
		offer(&last, "all", "", "every column there is");
	for (uint32_t i = 0; i < FRAG_COLUMN_ALL; i++) {
		const struct frag_row_column column = frag_row_column(i);

		if (!given(at->typed, (size_t)(last.typed - at->typed), column.name, ','))
			offer(&last, column.name, "", column.text);
	}
	puts(":open");
}

static void offer_cards(const struct place *at)
{
	for (const struct frag_card *card = frag_cards; card->key; card++)
		offer(at, card->key, "", card->name);
}

static void offer_setting_keys(const struct place *at)
{
	struct frag_setting one;

	for (uint32_t i = 0; frag_pytorch_setting(i, &one); i++)
		offer(at, one.key, "", one.help);
}

/* The value of an option. The words of a condition are parts of its value. */
static void offer_values(const struct place *at, const struct frag_cmd *cmd,
			 const struct frag_opt *o)
{
	const struct frag_sink_ops *const *forms = frag_sinks();
	const struct frag_export_ops *const *runs = frag_exports;
	const char *arg = o->arg;

	if (strcmp(arg, "CONDITION") != 0)
		offer_words(at, o->words);
	for (uint32_t i = 0; strcmp(arg, "FORM") == 0 && forms[i]; i++)
		offer(at, forms[i]->name, "", "");
	for (uint32_t i = 0; strcmp(arg, "FORM") == 0 && cmd == &frag_cmd_trace_convert && runs[i]; i++)
		offer(at, runs[i]->name, "", runs[i]->summary);
	for (uint32_t i = 0; strcmp(arg, "FORMAT") == 0 && !o->words && cmd->formats
			     && cmd->formats[i]; i++)
		offer(at, cmd->formats[i]->name, "", "");
	if (strcmp(arg, "FORMAT") == 0 && !o->words && cmd->formats)
		offer(at, "html", "", "");
	if (strcmp(arg, "FILE") == 0 || strcmp(arg, "TRACE") == 0 || strcmp(arg, "WHICH") == 0
	    || strcmp(arg, "DIR") == 0)
		offer_files(at);
	else if (strcmp(arg, "CARD") == 0)
		offer_cards(at);
	else if (strcmp(o->name, "columns") == 0)
		offer_columns(at);
	else if (strcmp(o->name, "policy") == 0)
		offer_policies(at, true);
	else if (strcmp(o->name, "alloc-conf") == 0)
		offer_alloc_conf(at);
}

/* A long option as it was typed, cut short or not; NULL: none, or one of several. */
static const struct frag_opt *long_option(const struct frag_cmd *cmd, const char *name,
					  size_t length)
{
	const struct frag_opt *found = NULL;
	uint32_t count = 0;

	for (const struct frag_opt *o = cmd->opts; o->name; o++) {
		if (strncmp(o->name, name, length) != 0)
			continue;
		if (o->name[length] == '\0')
			return o;
		found = o;
		count++;
	}
	return count == 1 ? found : NULL;
}

/* The option whose value the next word is; NULL: of none. */
static const struct frag_opt *wants_next(const struct frag_cmd *cmd, const char *word)
{
	const struct frag_opt *o = NULL;

	if (complete_begins(word, "--"))
		o = word[2] && !strchr(word, '=')
			? long_option(cmd, word + 2, strlen(word + 2)) : NULL;
	else if (*word == '-')
		for (const char *p = word + 1; *p; p++) {
			for (o = cmd->opts; o->name && o->short_name != *p; o++)
				;
			/* the remainder of the word is its value, or there is no such option */
			if (!o->name || (o->arg && p[1]))
				return NULL;
		}
	return o && o->arg ? o : NULL;
}

/* What the words before the last one have decided. */
struct context {
	const struct frag_opt *wanting;         /* the last word is its value */
	const struct frag_scenario *scenario;
	uint32_t operands;
	bool only_operands;                     /* after -- */
};

static struct context find_context(const struct frag_cmd *cmd, char *const *words, int count)
{
	struct context s = { .wanting = NULL };

	for (int i = 1; i < count - 1; i++) {
		const bool is_value = s.wanting != NULL;

		s.wanting = NULL;
		if (is_value)
			continue;
		if (!s.only_operands && strcmp(words[i], "--") == 0)
			s.only_operands = true;
		else if (!s.only_operands && words[i][0] == '-' && words[i][1])
			s.wanting = wants_next(cmd, words[i]);
		else if (s.operands++ == 0 && cmd == &frag_cmd_trace_gen)
			s.scenario = frag_scenario_find(words[i]);
	}
	return s;
}

static const struct frag_gen_option *scenario_option(const struct frag_scenario *s,
						     const char *name, size_t length)
{
	for (const struct frag_gen_option *o = s ? s->options : NULL; o && o->name; o++)
		if (frag_is_word(name, length, o->name))
			return o;
	return NULL;
}

static void offer_options(const struct place *at, const struct frag_cmd *cmd,
			  const struct frag_scenario *scenario)
{
	struct place name = behind(at, 2);

	for (const struct frag_opt *o = cmd->opts; o->name; o++)
		offer(&name, o->name, "", o->help);
	for (const struct frag_gen_option *o = scenario ? scenario->options : NULL; o && o->name;
	     o++)
		offer(&name, o->name, "", o->help);
	offer(&name, "help", "", "print this and exit");
}

/* --option=value */
static void offer_joined(const struct place *at, const struct frag_cmd *cmd,
			 const struct frag_scenario *scenario)
{
	size_t length = strcspn(at->typed, "=");
	const struct frag_opt *o = long_option(cmd, at->typed + 2, length - 2);
	const struct frag_gen_option *own = scenario_option(scenario, at->typed + 2, length - 2);
	struct place value = behind(at, length + 1);

	if (own)
		offer_words(&value, own->words);
	else if (o && o->arg)
		offer_values(&value, cmd, o);
}

static void offer_group(const struct place *at, int group)
{
	for (uint32_t i = 0; frag_commands[i]; i++)
		if ((int)frag_commands[i]->group == group)
			offer(at, frag_command_verb(frag_commands[i]), "", frag_commands[i]->summary);
}

static void offer_commands(const struct place *at)
{
	for (int group = 0; group < FRAG_GROUPS; group++)
		offer_group(at, group);
}

static void offer_operands(const struct place *at, const struct frag_cmd *cmd, uint32_t before)
{
	const struct frag_scenario *const *scenarios = frag_scenarios();

	if (strstr(cmd->args, "TRACE") || strstr(cmd->args, "OUT") || strstr(cmd->args, "SNAPSHOT")
	    || strstr(cmd->args, "FILE"))
		offer_files(at);
	for (uint32_t i = 0; cmd == &frag_cmd_trace_gen && before == 0 && scenarios[i]; i++)
		offer(at, scenarios[i]->name, "", scenarios[i]->summary);
	if (cmd->verbs && before == 0)
		offer_group(at, (int)cmd->verbs);
	if (cmd == &frag_cmd_help && before == 0)
		offer_commands(at);
	if (cmd == &frag_cmd_list_policies)
		offer_policies(at, false);
	if (cmd == &frag_cmd_list_cards)
		offer_cards(at);
	if (cmd == &frag_cmd_list_settings)
		offer_setting_keys(at);
}

static void complete_word(const struct place *at, const struct frag_cmd *cmd,
			  const struct context *s, const char *last)
{
	const struct frag_gen_option *own =
		!complete_begins(last, "--")
			? NULL
			: scenario_option(s->scenario, last + 2, strlen(last + 2));

	if (s->wanting)
		offer_values(at, cmd, s->wanting);
	else if (own && own->type != FRAG_GEN_FLAG)
		offer_words(at, own->words);
	else if (!s->only_operands && complete_begins(at->typed, "--") && strchr(at->typed, '='))
		offer_joined(at, cmd, s->scenario);
	else if (!s->only_operands
		 && (complete_begins(at->typed, "--") || strcmp(at->typed, "-") == 0))
		offer_options(at, cmd, s->scenario);
	else
		offer_operands(at, cmd, s->operands);
}

/*
 * The first argument is a command or an option of the program. After a command, the table of
 * the command lists the candidates.
 */
static void complete_last(char *const *words, int count)
{
	const char *word = count ? words[count - 1] : "";
	/* a single dash is the beginning of two */
	const char *typed = strcmp(word, "-") == 0 ? "--" : word;
	const struct place at = { .before = typed, .typed = typed };
	const struct frag_cmd *cmd;
	char shown[FRAG_PRINTABLE_ROOM];
	struct place joined;
	struct context s;
	int named;

	/* a candidate begins with the word, and is a line */
	if (frag_printable(shown, word) != word)
		return;
	/* an option of the program, and its value if that is a separate argument */
	while (count > 1
	       && (strcmp(words[0], "--color") == 0 || complete_begins(words[0], "--color="))) {
		const int taken = strcmp(words[0], "--color") == 0 ? 2 : 1;

		if (count == taken) {
			offer_words(&at, frag_color_words);
			return;
		}
		words += taken;
		count -= taken;
	}
	if (count == 1 && complete_begins(typed, "--color=")) {
		joined = behind(&at, strlen("--color="));
		offer_words(&joined, frag_color_words);
	} else if (count > 1) {
		cmd = frag_command_find(words, count - 1, &named, NULL);
		if (!cmd)
			return;
		words += named - 1;
		count -= named - 1;
		s = find_context(cmd, words, count);
		complete_word(&at, cmd, &s, words[count - 2]);
	} else if (*typed == '-') {
		offer(&at, "--color", "", "auto, always or never");
		offer(&at, "--help", "", "list the commands");
		offer(&at, "--version", "", "print the version");
	} else {
		offer_commands(&at);
	}
}

static int complete_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	(void)own;
	(void)err;
	complete_last(args->words, (int)args->count);
	return 0;
}

static const struct frag_opt opts[] = { { 0 } };

const struct frag_cmd frag_cmd_complete = {
	.name = "complete",
	.group = FRAG_GROUP_HIDDEN,
	.args = "-- [WORD...]",
	.summary = "list completions of the last word, for a shell",
	.opts = opts,
	.exec = complete_exec,
};
