/* grid_choices.c - the settings of a grid, as policies to simulate. */
#include "cmd/grid_choices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "cmd/default_policy.h"
#include "search/settings_grid.h"

const char *const frag_grid_words[] = { "pytorch", "short", NULL };

#define LINES_MAX 10000         /* of a grid's file */

/* A candidate: pytorch with these settings. where: of a line of a file, for a message. */
static int add_setting(struct frag_run_options *run, const char *line, const char *where,
		       struct frag_error *err)
{
	struct frag_choice *choice;
	struct frag_error why;
	int rc;

	if (!FRAG_GROW(run->choices, run->choice_capacity, run->choice_count))
		return frag_fail_nomem(err);
	choice = &run->choices[run->choice_count];
	rc = frag_choice_parse(choice, "pytorch", err);
	if (!rc && frag_choice_settings(choice, line, &why))
		return frag_fail(err, FRAG_EUSAGE, "%s%.900s", where, why.message);
	rc = rc ? rc : frag_choice_expand_settings(choice, err);
	for (uint32_t i = 0; i < run->choice_count && !rc; i++)
		if (run->choices[i].ops == choice->ops
		    && memcmp(run->choices[i].param, choice->param, sizeof(choice->param)) == 0)
			return 0;       /* that one has been there */
	run->choice_count += !rc;
	return rc;
}

/* A line without its end, blanks around it and what a # begins. */
static char *trim(char *line)
{
	char *end = line + strcspn(line, "#\n");

	while (end > line && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	return line + strspn(line, " \t");
}

/* By errno. */
static int no_grid(const char *name, const char *words, struct frag_error *err)
{
	if (errno == ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, FRAG_EUSAGE, "--grid %.300s:%s %s", name, words,
			 strerror(errno));
}

static int read_grid(struct frag_run_options *run, const char *name, FILE *f,
		     struct frag_error *err)
{
	char *line = NULL, where[400];
	size_t room = 0;
	uint32_t number = 0;
	int rc = 0;

	while (!rc && getline(&line, &room, f) >= 0) {
		const char *text = trim(line);

		if (++number > LINES_MAX)
			rc = frag_fail(err, FRAG_EUSAGE, "--grid %.300s: more than %d lines",
				       name, LINES_MAX);
		snprintf(where, sizeof(where), "--grid %.300s, line %u: ", name, number);
		if (!rc && *text)
			rc = add_setting(run, text, where, err);
	}
	if (!rc && !feof(f))
		rc = no_grid(name, "", err);
	free(line);
	return rc;
}

static int read_grid_file(struct frag_run_options *run, const char *name, struct frag_error *err)
{
	FILE *f = fopen(name, "re");
	int rc;

	if (!f)
		return no_grid(
			name,
			" neither \"short\" nor \"default\", and no file that can be read:", err);
	rc = read_grid(run, name, f, err);
	fclose(f);
	return rc;
}

bool frag_grid_is_named(const char *name)
{
	for (uint32_t i = 0; frag_grid_names[i]; i++)
		if (strcmp(name, frag_grid_names[i]) == 0)
			return true;
	return false;
}

/*
 * The defaults come first, whatever the grid: they win where nothing is better. Policies that
 * were given go behind the grid.
 */
int frag_grid_choices(struct frag_run_options *run, const char *name, struct frag_error *err)
{
	struct frag_grid grid = { .count = 0 };
	struct frag_choice *given = run->choices;
	const uint32_t count = run->choice_count;
	int rc;

	run->choices = NULL;
	run->choice_count = run->choice_capacity = 0;
	rc = add_setting(run, "", "", err);
	if (!rc && !frag_grid_is_named(name))
		rc = read_grid_file(run, name, err);
	else if (!rc && !frag_grid_init(&grid, name))
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < grid.count && !rc; i++)
		rc = add_setting(run, grid.lines[i], "", err);
	if (!rc && !frag_grow(&run->choices, &run->choice_capacity,
			      (uint64_t)run->choice_count + count, sizeof(*run->choices)))
		rc = frag_fail_nomem(err);
	run->grid_count = run->choice_count;
	for (uint32_t i = 0; i < count; i++) {
		if (rc)
			frag_choice_fini(&given[i]);
		else
			run->choices[run->choice_count++] = given[i];
	}
	free(given);
	frag_grid_fini(&grid);
	return rc;
}
