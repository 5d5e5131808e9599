/* ranks_text.c - what fragsim ranks found, for people. */
#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/path.h"
#include "base/escape.h"
#include "report/color.h"
#include "report/ranks_formats.h"
#include "report/wrap_lines.h"

#define ROWS_MAX 64             /* of more only those that say something are shown */
#define APART_MAX 8             /* ranks whose tags are listed; unless all are wanted */
#define POLICIES_MAX 4          /* that are named */
#define TINY 100                /* so many times less than the largest difference is none */
#define NAME_ROOM 200

static bool stands_out(const struct frag_ranked *row)
{
	return row->apart || row->apart_oom;
}

/* Has a rank more than one row? Each has one. */
static bool many_devices(const struct frag_ranks_answer *a)
{
	return a->ranking->count > a->source_count;
}

/* "rank 3", "rank 3, device 1" */
static const char *row_name(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			    char buf[NAME_ROOM])
{
	if (many_devices(a))
		snprintf(buf, NAME_ROOM, "rank %" PRIu64 ", device %" PRIu32, row->number,
			 row->device);
	else
		snprintf(buf, NAME_ROOM, "rank %" PRIu64, row->number);
	return buf;
}

/* Are all policies as the first one's text? */
static bool one_policy(const struct frag_ranks_answer *a)
{
	for (uint32_t i = 1; i < a->source_count; i++)
		if (strcmp(a->choices[i].text, a->choices[0].text) != 0)
			return false;
	return true;
}

static void print_head(const struct frag_ranks_answer *a, const struct frag_text_style *paper, FILE *f)
{
	char policy[FRAG_PRINTABLE_ROOM];

	fprintf(f, "%s%" PRIu32 " rank%s%s", frag_color_code(paper->colour, INK_BOLD), a->source_count,
		frag_s(a->source_count), frag_color_code(paper->colour, INK_PLAIN));
	if (many_devices(a))
		fprintf(f, " on %" PRIu32 " devices", a->ranking->count);
	fprintf(f, " under %s\n\n",
		one_policy(a) ? frag_printable(policy, a->choices[0].text)
			      : "different policies or settings");
}

static void print_table_row(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			    bool devices, const struct frag_text_style *paper, FILE *f)
{
	char size[FRAG_NUMBER_ROOM], path[FRAG_PRINTABLE_ROOM];
	const bool red = stands_out(row) || row->ooms;

	fprintf(f, "%s%6" PRIu64 "%s", red ? frag_color_code(paper->colour, INK_RED) : "",
		row->number, stands_out(row) ? " *" : "  ");
	if (devices)
		fprintf(f, "%6" PRIu32 "  ", row->device);
	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		fprintf(f, "%12s", frag_size_text(size, row->figure[k]));
	fprintf(f, "  %-6s  %s%s\n", row->ooms ? "OOM" : "ok",
		frag_printable(path, frag_file_name(frag_input_name(a->traces[row->source].path))),
		red ? frag_color_code(paper->colour, INK_PLAIN) : "");
}

/* Those that few look for among a thousand are left out. */
static bool is_shown(const struct frag_ranks_answer *a, uint32_t i)
{
	const struct frag_ranking *r = a->ranking;

	return a->all || r->count <= ROWS_MAX || stands_out(&r->rows[i]) || r->rows[i].ooms
	       || i == r->worst;
}

static void print_table(const struct frag_ranks_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	const bool devices = many_devices(a);
	uint32_t left_out = 0;

	fprintf(f, "%6s  %s%12s%12s%12s  %-6s  %s\n", "rank", devices ? "device  " : "", "reserved",
		"requested", "lost", "memory", "trace");
	for (uint32_t i = 0; i < r->count; i++)
		if (is_shown(a, i))
			print_table_row(a, &r->rows[i], devices, paper, f);
		else
			left_out++;
	if (left_out)
		fprintf(f, "%6s  %" PRIu32 " more that do not stand out: --all shows them\n", "",
			left_out);
	putc('\n', f);
}

static void print_median(const struct frag_ranks_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	char median[FRAG_NUMBER_ROOM], least[FRAG_NUMBER_ROOM], most[FRAG_NUMBER_ROOM];

	if (r->compared < r->count)
		frag_put_row(paper->columns, "beside", f, "%" PRIu32 " row%s of a device on which the"
			     " rank has less than a tenth of what it has on another: not compared",
			     r->count - r->compared, frag_s(r->count - r->compared));
	if (r->compared < 2)
		return;
	if (r->alike) {
		frag_put_row(paper->columns, "alike", f, "all %" PRIu32 ", to the byte", r->compared);
		return;
	}
	frag_put_row(paper->columns, "median", f, "%s reserved, from %s to %s",
		     frag_size_text(median, r->median[FRAG_RANK_RESERVED]),
		     frag_size_text(least, r->least[FRAG_RANK_RESERVED]),
		     frag_size_text(most, r->most[FRAG_RANK_RESERVED]));
	if (r->compared >= FRAG_RANK_COMPARED_MIN && !r->apart)
		frag_put_row(paper->columns, "apart", f, "none stands out: none is more than %s from"
			     " the median reserved, %s requested, %s lost",
			     frag_size_text(median, r->limit[FRAG_RANK_RESERVED]),
			     frag_size_text(least, r->limit[FRAG_RANK_REQUESTED]),
			     frag_size_text(most, r->limit[FRAG_RANK_LOST]));
}

/* "512.00 MiB more", "1.00 GiB less" */
static const char *by_how_much(uint64_t value, uint64_t median, char buf[NAME_ROOM])
{
	char size[FRAG_NUMBER_ROOM];

	snprintf(buf, NAME_ROOM, "%s %s",
		 frag_size_text(size, value > median ? value - median : median - value),
		 value > median ? "more" : "less");
	return buf;
}

/* A tag is JSON text: its quotes go. */
static const char *owner_name(const struct frag_owner *owner, char buf[NAME_ROOM])
{
	char size[FRAG_NUMBER_ROOM];
	const size_t length = owner->tag ? strlen(owner->tag) - 2 : 0;

	if (!owner->tag)
		snprintf(buf, NAME_ROOM, "blocks of %s without a tag",
			 frag_size_text(size, owner->size));
	else if (length < NAME_ROOM)
		snprintf(buf, NAME_ROOM, "%.*s", (int)length, owner->tag + 1);
	else
		snprintf(buf, NAME_ROOM, "%.*s...", NAME_ROOM - 4, owner->tag + 1);
	return buf;
}

static uint64_t size_of(const struct frag_rank_difference *d)
{
	return d->bytes > d->other ? d->bytes - d->other : d->other - d->bytes;
}

static void print_differences(const struct frag_ranks_answer *a,
			      const struct frag_rank_differences *found,
			      const struct frag_text_style *paper, FILE *f)
{
	char by[NAME_ROOM], name[NAME_ROOM], bytes[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM];

	if (!found->count)
		frag_put_row(paper->columns, "", f, "at its peak no tag has more or less");
	for (uint32_t i = 0; i < found->count && i < a->top; i++) {
		const struct frag_rank_difference *d = &found->list[i];

		if (size_of(d) < size_of(&found->list[0]) / TINY)
			return;
		frag_put_row(paper->columns, "", f, "%s: %s, %s instead of %s",
			     by_how_much(d->bytes, d->other, by), owner_name(d->owner, name),
			     frag_size_text(bytes, d->bytes), frag_size_text(other, d->other));
	}
}

/* The two that are furthest from each other. */
static void print_between(const struct frag_ranks_answer *a, const struct frag_text_style *paper,
			  FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	char most[NAME_ROOM], least[NAME_ROOM];

	if (!r->between.list)
		return;
	frag_put_row(paper->columns, "differ", f, "%s, with most reserved, from %s, with least, at"
		     " the peak:", row_name(a, &r->rows[r->highest], most),
		     row_name(a, &r->rows[r->lowest], least));
	print_differences(a, &r->between, paper, f);
}

static void print_oom(const struct frag_ranked *row, const struct frag_text_style *paper, FILE *f)
{
	const struct frag_owner owner = { .tag = row->oom_tag, .size = row->oom_size };
	char name[NAME_ROOM], size[FRAG_NUMBER_ROOM];

	frag_put_row(paper->columns, "", f, "step %" PRIu64 " finds no %s%s%s", row->oom_step,
		     frag_size_text(size, row->oom_size), row->oom_tag ? ": " : "",
		     row->oom_tag ? owner_name(&owner, name) : "");
}

static void print_apart(const struct frag_ranks_answer *a, const struct frag_ranked *row,
			const struct frag_text_style *paper, FILE *f)
{
	char text[600], name[NAME_ROOM], by[NAME_ROOM];
	size_t used = 0;

	for (int k = 0; k < FRAG_RANK_FIGURES; k++)
		if (row->apart & 1U << k)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
						 used ? ", " : "",
						 by_how_much(row->figure[k], a->ranking->median[k],
							     by), frag_rank_figure_names[k]);
	if (row->apart_oom)
		snprintf(text + used, sizeof(text) - used, "%sout of memory, as most are not",
			 used ? ", " : "");
	fputs(frag_color_code(paper->colour, INK_RED), f);
	frag_put_row(paper->columns, "APART", f, "%s: %s", row_name(a, row, name), text);
	fputs(frag_color_code(paper->colour, INK_PLAIN), f);
	if (row->ooms)
		print_oom(row, paper, f);
	print_differences(a, &row->from_median, paper, f);
}

/* Is it the first source that has this policy? */
static bool is_new_policy(const struct frag_ranks_answer *a, uint32_t source)
{
	for (uint32_t i = 0; i < source; i++)
		if (strcmp(a->choices[i].text, a->choices[source].text) == 0)
			return false;
	return true;
}

static void print_policy(const struct frag_ranks_answer *a, uint32_t source,
			 const struct frag_text_style *paper, FILE *f)
{
	uint64_t first = a->numbers[source];
	char text[FRAG_PRINTABLE_ROOM];
	uint32_t ranks = 0;

	for (uint32_t i = source; i < a->source_count; i++) {
		if (strcmp(a->choices[i].text, a->choices[source].text) != 0)
			continue;
		ranks++;
		first = a->numbers[i] < first ? a->numbers[i] : first;
	}
	frag_put_row(paper->columns, "under", f, "%s: %" PRIu32 " rank%s, the first is %" PRIu64,
		     frag_printable(text, a->choices[source].text), ranks, frag_s(ranks), first);
}

/* Settings that only some ranks have are a difference too. */
static void print_policies(const struct frag_ranks_answer *a, const struct frag_text_style *paper,
			   FILE *f)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < a->source_count && shown <= POLICIES_MAX; i++)
		if (is_new_policy(a, i) && shown++ < POLICIES_MAX)
			print_policy(a, i, paper, f);
	if (shown > POLICIES_MAX)
		frag_put_row(paper->columns, "", f, "and more; --format json has that of each rank");
}

/* A job is as good as its worst rank. */
static void print_joint(const struct frag_ranks_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const struct frag_ranking *r = a->ranking;
	const struct frag_ranked *worst = &r->rows[r->worst];
	char name[NAME_ROOM], size[FRAG_NUMBER_ROOM], wanted[FRAG_NUMBER_ROOM];

	if (!worst->ooms) {
		frag_put_row(paper->columns, "joint", f, "%s reserved, by %s; no rank runs out of"
			     " memory", frag_size_text(size, worst->figure[FRAG_RANK_RESERVED]),
			     row_name(a, worst, name));
		return;
	}
	frag_put_row(paper->columns, "joint", f, "%" PRIu32 " of %" PRIu32 " out of memory, with most"
		     " reserved %s: %s, when it asks for %s at step %" PRIu64, r->ooms, r->count,
		     row_name(a, worst, name),
		     frag_size_text(size, worst->figure[FRAG_RANK_RESERVED]),
		     frag_size_text(wanted, worst->oom_size), worst->oom_step);
}

static int print(const void *what, const struct frag_text_style *paper, FILE *f, struct frag_error *err)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	uint32_t shown = 0;

	(void)err;
	print_head(a, paper, f);
	print_table(a, paper, f);
	if (!one_policy(a))
		print_policies(a, paper, f);
	print_median(a, paper, f);
	for (uint32_t i = 0; i < r->count; i++)
		if (stands_out(&r->rows[i]) && (shown++ < APART_MAX || a->all))
			print_apart(a, &r->rows[i], paper, f);
	if (shown > APART_MAX && !a->all)
		frag_put_row(paper->columns, "", f, "and %" PRIu32 " more; --all shows what they"
			     " differ in", shown - APART_MAX);
	print_between(a, paper, f);
	print_joint(a, paper, f);
	return 0;
}

const struct frag_format frag_ranks_text = { .name = "text", .print = print };
