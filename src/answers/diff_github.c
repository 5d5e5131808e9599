/* diff_github.c - a comparison as annotation lines of GitHub Actions. */
#include <string.h>

#include "base/escape.h"
#include "answers/diff_formats.h"

/* In a message '%' has a meaning of its own, in a property ':' and ',' as well. */
static void put_escaped(FILE *f, const char *text, bool property)
{
	char shown[FRAG_PRINTABLE_ROOM];

	for (text = frag_printable(shown, text); *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '%' || (property && (c == ':' || c == ',')))
			fprintf(f, "%%%02X", c);
		else
			putc(c, f);
	}
}

static void put_line(FILE *f, const char *level, const char *file, const char *title,
		     const char *message)
{
	fprintf(f, "::%s ", level);
	if (file && strcmp(file, "-") != 0) {
		fputs("file=", f);
		put_escaped(f, file, true);
		putc(',', f);
	}
	fputs("title=", f);
	put_escaped(f, title, true);
	fputs("::", f);
	put_escaped(f, message, false);
	putc('\n', f);
}

static void put_broken(FILE *f, const struct frag_broken *broken)
{
	char name[1024], message[2048];

	frag_pair_name(name, sizeof(name), broken->group, broken->pair);
	snprintf(message, sizeof(message), "%s: %s", name, frag_broken_text(broken));
	put_line(f, "error", frag_group_path(broken->group), "fragsim: GPU memory", message);
}

/* A file of which conditions differ: what follows compares different things. */
static void put_conditions(FILE *f, const char *file, const char *name, const char *lines)
{
	char line[FRAG_LINE_ROOM], message[FRAG_LINE_ROOM + 512];

	while (frag_next_line(&lines, line)) {
		snprintf(message, sizeof(message), "%.400s%s%s", name, *name ? ": " : "", line);
		put_line(f, "warning", file, "fragsim: conditions differ", message);
	}
}

static void put_pair(FILE *f, const struct frag_group *g, const struct frag_pair *pair)
{
	char name[1024];

	if (!pair->conditions)
		return;
	frag_pair_name(name, sizeof(name), g, pair);
	put_conditions(f, frag_group_path(g), name, pair->conditions);
}

/* Traces that are others now come before everything that compares what they gave. */
static void put_changed(const struct frag_diff *diff, FILE *f)
{
	const struct frag_comparison *c = diff->comparison;
	char text[FRAG_LINE_ROOM];

	for (uint32_t i = 0; i < c->count; i++) {
		if (!c->group[i].changed)
			continue;
		frag_changed_text(text, sizeof(text), &c->group[i]);
		put_line(f, diff->gate->traces ? "error" : "warning", frag_group_path(&c->group[i]),
			 "fragsim: another trace than before", text);
	}
}

/*
 * Conditions that differ come first, as they may explain the rest; then what broke, then the
 * outcome.
 */
static int print(const struct frag_diff *diff, FILE *f, struct frag_error *err)
{
	const struct frag_comparison *c = diff->comparison;
	char text[512];

	(void)err;
	put_changed(diff, f);
	put_conditions(f, NULL, "", c->conditions);
	for (uint32_t i = 0; i < c->count; i++) {
		put_conditions(f, frag_group_path(&c->group[i]), frag_group_path(&c->group[i]),
			       c->group[i].conditions);
		for (uint32_t k = 0; k < c->group[i].count; k++)
			put_pair(f, &c->group[i], &c->group[i].pair[k]);
	}
	for (uint32_t i = diff->gate->traces; i < diff->gate->count; i++)
		put_broken(f, &diff->gate->broken[i]);
	frag_outcome_text(text, sizeof(text), diff);
	put_line(f, "notice", NULL, "fragsim", text);
	if (frag_any_better(diff) && !c->now.path && !diff->updated && !diff->gate->count)
		put_line(f, "notice", NULL, "fragsim: better than the baseline",
			 "--update-baseline makes this the new measure");
	return 0;
}

const struct frag_diff_format frag_diff_github = { .name = "github", .print = print };
