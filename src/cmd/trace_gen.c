/*
 * trace_gen.c - fragsim trace gen: writes the trace of a scenario.
 *
 * The options are the command's own and the scenario's, in one table, so the
 * scenario's name is searched for first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "gen/gen.h"

#define OWN_OPTIONS 3
#define HELP_ROOM 160

struct gen {
	const struct frag_scenario *scenario;   /* NULL: none was named */
	uint64_t option[FRAG_GEN_OPTIONS_MAX];
	struct frag_opt opts[OWN_OPTIONS + FRAG_GEN_OPTIONS_MAX + 1];
	char help[FRAG_GEN_OPTIONS_MAX][HELP_ROOM];
	const char *output;
	bool object, list;
};

static const struct frag_opt own_opts[OWN_OPTIONS + 1] = {
	{ 0, "object", NULL, "write one JSON object, not lines", FRAG_FLAG(struct gen, object) },
	{ 'o', "output", "FILE", "write to FILE (- is standard output)",
	  FRAG_TEXT(struct gen, output) },
	{ 'l', "list", NULL, "list the scenarios", FRAG_FLAG(struct gen, list) },
	{ 0 },
};

/* The first word that is neither an option nor the value of -o; 0: there is none. */
static int scenario_at(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0)
			i++;
		else if (argv[i][0] != '-')
			return i;
	}
	return 0;
}

/* The help of a scenario's option: what it is, its default, its range. */
static void gen_describe(char *buf, const struct frag_gen_option *o)
{
	size_t used = (size_t)snprintf(buf, HELP_ROOM, "%s", o->help);

	if (o->type == FRAG_GEN_FLAG || used >= HELP_ROOM)
		return;
	if (o->type != FRAG_GEN_WORD) {
		snprintf(buf + used, HELP_ROOM - used, " (%llu)", (unsigned long long)o->fallback);
		return;
	}
	for (uint32_t i = 0; o->words[i] && used < HELP_ROOM; i++)
		used += (size_t)snprintf(buf + used, HELP_ROOM - used, "%s%s",
					 i ? ", " : ": ", o->words[i]);
	if (used < HELP_ROOM)
		snprintf(buf + used, HELP_ROOM - used, " (%s)", o->words[o->fallback]);
}

static int gen_set_word(const struct frag_gen_option *o, uint64_t *value, const char *text,
			struct frag_error *err)
{
	struct frag_name_list all = { .used = 0 };

	for (uint32_t i = 0; o->words[i]; i++) {
		if (strcmp(o->words[i], text) == 0) {
			*value = i;
			return 0;
		}
		frag_listed_add(&all, o->words[i]);
	}
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: %s is required", o->name, text,
			 frag_listed_text(&all, " or "));
}

/* An option of the scenario, which its place names; text is NULL for a flag. */
static int set_scenario_option(void *at, const struct frag_opt *of, const char *text,
			       struct frag_error *err)
{
	struct gen *gen = at;
	const size_t index = (size_t)(of - gen->opts) - OWN_OPTIONS;
	const struct frag_gen_option *o = &gen->scenario->options[index];
	char max[32] = "to 2^53-1", advice[FRAG_ADVICE_ROOM] = "";
	uint64_t value = 1;
	bool good;

	if (o->type == FRAG_GEN_WORD)
		return gen_set_word(o, &gen->option[index], text, err);
	if (o->type == FRAG_GEN_SIZE)
		good = frag_parse_size(text, strlen(text), true, &value);
	else
		good = o->type == FRAG_GEN_FLAG || frag_parse_count(text, strlen(text), &value);
	if (o->type == FRAG_GEN_SIZE && !good)
		frag_size_advice(advice, text, strlen(text));
	if (o->max < FRAG_GEN_MAX)
		snprintf(max, sizeof(max), "to %llu", (unsigned long long)o->max);
	if (o->type != FRAG_GEN_FLAG && (!good || value < o->min || value > o->max))
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: %s from %llu %s is required%s%s",
				 o->name, text, o->type == FRAG_GEN_SIZE ? "a size" : "a number",
				 (unsigned long long)o->min, max, *advice ? "; " : "", advice);
	gen->option[index] = value;
	return 0;
}

static void build_options(struct gen *gen)
{
	static const char *const takes[] = { "N", "SIZE", NULL, "WORD" };
	const struct frag_scenario *s = gen->scenario;

	memcpy(gen->opts, own_opts, sizeof(own_opts));
	if (!s)
		return;
	for (uint32_t i = 0; s->options[i].name; i++) {
		gen->option[i] = s->options[i].fallback;
		gen_describe(gen->help[i], &s->options[i]);
		gen->opts[OWN_OPTIONS + i] = (struct frag_opt){
			.name = s->options[i].name, .arg = takes[s->options[i].type],
			.help = gen->help[i], .set = set_scenario_option,
		};
	}
}

static void list(void)
{
	const struct frag_scenario *const *all = frag_scenarios();

	for (uint32_t i = 0; all[i]; i++)
		printf("%-17s  %s\n", all[i]->name, all[i]->summary);
}

static int no_scenario(const char *name, struct frag_error *err)
{
	const struct frag_scenario *const *all = frag_scenarios();
	struct frag_suggestion near = frag_near_to(name, strlen(name));
	char hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; all[i]; i++)
		frag_near_offer(&near, all[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "no scenario \"%.60s\";%s fragsim trace gen --list lists them",
			 name, frag_near_hint(&near, "", hint));
}

static int gen_write_trace(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	const struct gen *gen = ctx;

	return frag_scenario_write(gen->scenario, gen->option, gen->object, out, frag_interrupted,
				   err);
}

/* The scenario is found before options are parsed, as its own are part of the table. */
static int gen_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		    struct frag_error *err)
{
	struct gen gen = { .output = "-" };
	struct frag_args args = { .given_count = 0 };
	struct frag_cmd own = *cmd;
	int at = scenario_at(argc, argv), rest, rc;
	char name[64];

	(void)status;
	if (at) {
		gen.scenario = frag_scenario_find(argv[at]);
		if (!gen.scenario)
			return no_scenario(argv[at], err);
		snprintf(name, sizeof(name), "trace gen %s", gen.scenario->name);
		own.name = name;
		own.args = "[options]";
		own.summary = gen.scenario->summary;
	}
	build_options(&gen);
	own.opts = gen.opts;
	rc = frag_options(&own, argc, argv, &gen, &args, &rest, err);
	if (rc || !rest)
		return rc;
	if (argc - rest > (gen.list ? 0 : 1))
		return frag_usage(&own, "too many arguments", err);
	if (gen.list) {
		list();
		return 0;
	}
	if (!gen.scenario)
		return frag_usage(&own, "missing argument: SCENARIO; --list lists them", err);
	rc = frag_write_file(gen.output, false, gen_write_trace, &gen, err);
	/* whoever read it has seen enough: run does after an out-of-memory */
	return rc == -FRAG_EPIPE ? 0 : rc;
}

const struct frag_cmd frag_cmd_trace_gen = {
	.name = "trace gen",
	.group = FRAG_GROUP_TRACE,
	.args = "SCENARIO [options]",
	.summary = "write the trace of a scenario",
	.opts = own_opts,
	.raw = gen_exec,
};
