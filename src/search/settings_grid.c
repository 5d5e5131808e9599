/* settings_grid.c - settings of PyTorch's allocator that are worth a try. */
#include "search/settings_grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "policy/choice.h"

const char *const frag_grid_words[] = { "short", "all", "none", NULL };

/* MiB; 0: the default. Segments are never larger than what may be split. */
static const uint32_t splits[] = { 0, 20, 32, 64, 128, 256, 512 };
static const uint32_t segments[] = { 0, 32, 64, 128, 256 };
static const uint32_t divisions[] = { 0, 8, 16 };
#define USUAL_SEGMENT 20

/* Collection works where a fraction limits the program, and then from a part of that on. */
static const char *const collecting[] = { "0.6", "0.8" };
static const uint32_t collecting_splits[] = { 0, 20, 64, 256 };

const char *const frag_grid_short[] = {
	"expandable_segments:True",
	"max_split_size_mb:64,large_segment_size_mb:32",
	"expandable_segments:True,large_segment_size_mb:32",
	"expandable_segments:True,roundup_power2_divisions:16",
	"max_split_size_mb:32,roundup_power2_divisions:8",
	"garbage_collection_threshold:0.6,max_split_size_mb:64,per_process_memory_fraction:0.99",
	"", NULL,
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

bool frag_grid_add(struct frag_grid *g, const char *line)
{
	if (strlen(line) >= FRAG_GRID_TEXT
	    || !FRAG_GROW(g->lines, g->capacity, g->count))
		return false;
	snprintf(g->lines[g->count++], sizeof(*g->lines), "%s", line);
	return true;
}

/* "key:value", after a comma where it is not the first; nothing for 0. */
static void settings_grid_put(char line[FRAG_GRID_TEXT], const char *key, uint32_t value)
{
	const size_t used = strlen(line);

	if (value)
		snprintf(line + used, FRAG_GRID_TEXT - used, "%s%s:%u", used ? "," : "", key,
			 value);
}

static bool settings_grid_add(struct frag_grid *g, bool expandable, uint32_t split,
			      uint32_t segment, uint32_t division)
{
	char line[FRAG_GRID_TEXT] = "";

	if (expandable)
		snprintf(line, sizeof(line), "expandable_segments:True");
	settings_grid_put(line, "max_split_size_mb", split);
	settings_grid_put(line, "large_segment_size_mb", segment);
	settings_grid_put(line, "roundup_power2_divisions", division);
	return frag_grid_add(g, line);
}

static bool add_native(struct frag_grid *g)
{
	bool good = true;

	for (size_t i = 0; i < LENGTH(splits); i++)
		for (size_t k = 0; k < LENGTH(segments); k++)
			for (size_t n = 0; n < LENGTH(divisions); n++)
				if (!splits[i] || splits[i] >= (segments[k] ? segments[k]
								: USUAL_SEGMENT))
					good &= settings_grid_add(g, false, splits[i], segments[k],
								  divisions[n]);
	return good;
}

/* With splits of 256 and 512 MiB, or rounded up, or neither. */
static bool add_expandable(struct frag_grid *g)
{
	bool good = true;

	for (size_t k = 0; k < LENGTH(segments); k++) {
		for (size_t n = 0; n < LENGTH(divisions); n++)
			good &= settings_grid_add(g, true, 0, segments[k], divisions[n]);
		good &= settings_grid_add(g, true, 256, segments[k], 0);
		good &= settings_grid_add(g, true, 512, segments[k], 0);
	}
	return good;
}

static bool add_collecting(struct frag_grid *g)
{
	bool good = true;

	for (size_t i = 0; i < LENGTH(collecting); i++)
		for (size_t k = 0; k < LENGTH(collecting_splits); k++) {
			char line[FRAG_GRID_TEXT];

			snprintf(line, sizeof(line), "garbage_collection_threshold:%s",
				 collecting[i]);
			settings_grid_put(line, "max_split_size_mb", collecting_splits[k]);
			snprintf(line + strlen(line), sizeof(line) - strlen(line),
				 ",per_process_memory_fraction:0.99");
			good &= frag_grid_add(g, line);
		}
	return good;
}

bool frag_grid_init(struct frag_grid *g, const char *name)
{
	bool good = true;

	*g = (struct frag_grid){ .count = 0 };
	/* settings that are likely to win come first, as the others then fail early */
	for (size_t i = 0; frag_grid_short[i]; i++)
		good &= frag_grid_add(g, frag_grid_short[i]);
	if (strcmp(name, "short") == 0)
		return good;
	return good && add_native(g) && add_expandable(g) && add_collecting(g);
}

void frag_grid_fini(struct frag_grid *g)
{
	free(g->lines);
	*g = (struct frag_grid){ .count = 0 };
}

static bool is_named(const char *name)
{
	return strcmp(name, frag_grid_words[0]) == 0 || strcmp(name, frag_grid_words[1]) == 0;
}

#define LINES_MAX 10000         /* of a grid's file */

/* A line of a file that the newest PyTorch takes; where: of it, for a message. */
static int add_checked(struct frag_grid *g, const char *line, const char *where,
		       struct frag_error *err)
{
	struct frag_choice choice;
	struct frag_error why;
	const int rc = frag_choice_parse(&choice, "pytorch", err);

	if (!rc && frag_choice_settings(&choice, line, &why))
		return frag_fail(err, FRAG_EUSAGE, "%s%.900s", where, why.message);
	if (!rc && strlen(line) >= FRAG_GRID_TEXT)
		return frag_fail(err, FRAG_EUSAGE, "%smore than %d characters", where,
				 FRAG_GRID_TEXT - 1);
	return rc || frag_grid_add(g, line) ? rc : frag_fail_nomem(err);
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
	return frag_fail(err, FRAG_EUSAGE, "--settings %.300s:%s %s", name, words, strerror(errno));
}

/* A setting a line. */
static int read_lines(struct frag_grid *g, const char *name, struct frag_error *err)
{
	FILE *f = fopen(name, "re");
	char *line = NULL, where[400];
	size_t room = 0;
	uint32_t number = 0;
	int rc = 0;

	if (!f)
		return no_grid(name, " neither \"short\" nor \"all\", and no file that can be read:",
			       err);
	while (!rc && getline(&line, &room, f) >= 0) {
		const char *text = trim(line);

		if (++number > LINES_MAX)
			rc = frag_fail(err, FRAG_EUSAGE, "--settings %.300s: more than %d lines",
				       name, LINES_MAX);
		snprintf(where, sizeof(where), "--settings %.300s, line %u: ", name, number);
		if (!rc && *text)
			rc = add_checked(g, text, where, err);
	}
	if (!rc && !feof(f))
		rc = no_grid(name, "", err);
	free(line);
	fclose(f);
	return rc;
}

int frag_grid_read(struct frag_grid *g, const char *name, bool *is_file, struct frag_error *err)
{
	*g = (struct frag_grid){ .count = 0 };
	*is_file = !is_named(name);
	if (*is_file)
		return read_lines(g, name, err);
	return frag_grid_init(g, name) ? 0 : frag_fail_nomem(err);
}

/* A choice of pytorch with these settings, unless there is the same. */
static int add_choice(struct frag_choice **choices, uint32_t *count, uint32_t *capacity,
		      const char *line, struct frag_error *err)
{
	struct frag_choice *choice;
	int rc;

	if (!FRAG_GROW(*choices, *capacity, *count))
		return frag_fail_nomem(err);
	choice = &(*choices)[*count];
	rc = frag_choice_parse(choice, "pytorch", err);
	rc = rc ? rc : frag_choice_settings(choice, line, err);
	rc = rc ? rc : frag_choice_expand_settings(choice, err);
	for (uint32_t i = 0; i < *count && !rc; i++)
		if (memcmp((*choices)[i].param, choice->param, sizeof(choice->param)) == 0)
			return 0;
	*count += !rc;
	return rc;
}

int frag_grid_choices(struct frag_choice **choices, uint32_t *count, uint32_t *capacity,
		      const char *name, bool *is_file, struct frag_error *err)
{
	struct frag_grid grid;
	int rc = frag_grid_read(&grid, name, is_file, err);

	rc = rc ? rc : add_choice(choices, count, capacity, "", err);
	for (uint32_t i = 0; i < grid.count && !rc; i++)
		rc = add_choice(choices, count, capacity, grid.lines[i], err);
	frag_grid_fini(&grid);
	return rc;
}
