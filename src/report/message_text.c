/* message_text.c - what out-of-memory messages come to, for people. */
#include "report/message_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "report/color.h"
#include "report/message_advice.h"
#include "report/wrap_lines.h"

#define WHOLE_MAX 3             /* groups that are all shown whole */
#define ROWS_MAX 20             /* of the table of more of them */
#define GPUS_ROOM 256
#define SENTENCE_ROOM 1024

static const char *const verdict_words[] = {
	[FRAG_SHORT_OVER_DEVICE] = "asks more than the device has",
	[FRAG_SHORT_REFUSED] = "room was there, and it was refused",
	[FRAG_SHORT_OUTSIDE] = "held outside the allocator",
	[FRAG_SHORT_CAPACITY] = "capacity",
	[FRAG_SHORT_TIGHT] = "tight",
	[FRAG_SHORT_FRAGMENTATION] = "fragmentation",
	[FRAG_SHORT_UNKNOWN] = "the message does not tell",
};

/* "0-3, 5" */
static const char *gpus_text(uint64_t gpus, char buf[GPUS_ROOM])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < FRAG_MESSAGE_GPUS; i++) {
		int last = i;

		if (!(gpus >> i & 1))
			continue;
		while (last + 1 < FRAG_MESSAGE_GPUS && gpus >> (last + 1) & 1)
			last++;
		used += (size_t)snprintf(buf + used, GPUS_ROOM - used, "%s%d", used ? ", " : "", i);
		if (last > i)
			used += (size_t)snprintf(buf + used, GPUS_ROOM - used, "-%d", last);
		i = last;
	}
	return buf;
}

static void print_figure(const char *label, const struct frag_figure *figure, const char *note,
			 FILE *f)
{
	if (figure->there)
		fprintf(f, "  %-12s %11s%s%s\n", label, SIZE(figure->bytes),
			*note ? "  " : "", note);
}

static const char *total_note(const struct frag_message *m)
{
	switch (m->wording) {
	case FRAG_WORDING_BFC:
		return "that the allocator may have of the device";
	case FRAG_WORDING_RMM_POOL:
	case FRAG_WORDING_CUPY:
		return "that the pool may have";
	case FRAG_WORDING_MPS:
		return "that PyTorch lets itself have";
	case FRAG_WORDING_CACHED:
	case FRAG_WORDING_RESERVED:
	case FRAG_WORDING_SENTENCES:
	case FRAG_WORDING_ASYNC:
	case FRAG_WORDING_XLA:
	case FRAG_WORDING_RMM:
	case FRAG_WORDINGS:
		break;
	}
	return "of the device";
}

/* Those that are printed and those that follow from them, in one order whatever the wording. */
static void print_figures(const struct frag_message *m, FILE *f)
{
	char pools[FRAG_NUMBER_ROOM + 32] = "in live blocks";

	if (m->said[FRAG_SAID_POOLS].there)
		snprintf(pools, sizeof(pools), "in live blocks, %s of it in private pools",
			 SIZE(m->said[FRAG_SAID_POOLS].bytes));
	print_figure("asked", &m->said[FRAG_SAID_ASKED], "", f);
	print_figure("total", &m->total, total_note(m), f);
	print_figure("free", &m->free, m->said[FRAG_SAID_FREE].there ? "on the device"
							       : "follows from the others", f);
	print_figure("allocated", &m->allocated, pools, f);
	if (m->wording != FRAG_WORDING_ASYNC && m->wording != FRAG_WORDING_MPS)
		print_figure("unallocated", &m->unallocated,
			     "held by the allocator, in no live block", f);
	print_figure("outside", &m->outside, "CUDA context, libraries, other processes", f);
	print_figure("limit", &m->said[FRAG_SAID_ALLOWED],
		     "that the program set itself (set_per_process_memory_fraction)", f);
	print_figure("processes", &m->said[FRAG_SAID_OTHERS],
		     "in use by processes that the message names", f);
	if (m->chunks.count)
		frag_fprintf(f, "  %-12s %11s  of %" PRIu64 " free chunks; fragmentation index %.1f%%\n",
			     "largest", SIZE(m->chunks.largest), m->chunks.count,
			     100 * (1 - (double)m->chunks.largest / (double)m->chunks.bytes));
}

/* The arithmetic in a sentence. */
static void sentence(const struct frag_message *m, char *buf, size_t size)
{
	const uint64_t asked = m->said[FRAG_SAID_ASKED].bytes;
	const uint64_t room = m->free.bytes + m->unallocated.bytes;
	const uint64_t apart = asked > room ? asked - room : room - asked;
	char a[FRAG_NUMBER_ROOM];

	frag_size_text(a, asked);
	switch (m->verdict) {
	case FRAG_SHORT_OVER_DEVICE:
		frag_snprintf(buf, size, "%s asked for at once are more than the %s that there are",
			      a, SIZE(m->total.bytes));
		break;
	case FRAG_SHORT_REFUSED:
		frag_snprintf(buf, size, "%s were free, %s more than was asked for",
			      SIZE(m->free.bytes),
			      SIZE(m->free.bytes - asked));
		break;
	case FRAG_SHORT_OUTSIDE:
		frag_snprintf(buf, size, "free and unallocated are %s, %s too few; %s are held"
			      " outside the allocator, and without them it would fit",
			      frag_size_text(a, room), SIZE(apart),
			      SIZE(m->outside.bytes));
		break;
	case FRAG_SHORT_CAPACITY:
		if (!m->free.there || !m->unallocated.there)
			snprintf(buf, size, "whatever was free, beside what is allocated there is"
				 " no room for %s", a);
		else
			frag_snprintf(buf, size, "free and unallocated are %s, %s too few for %s",
				      SIZE(room), SIZE(apart), a);
		break;
	case FRAG_SHORT_TIGHT:
	case FRAG_SHORT_FRAGMENTATION:
		frag_snprintf(buf, size, "free and unallocated are %s, enough for %s: %s, %.1f%% of"
			      " all, would be left%s", SIZE(room), a,
			      SIZE(apart),
			      100 * (double)apart / (double)m->total.bytes,
			      m->verdict == FRAG_SHORT_TIGHT ? ", less than any placement can count on"
			      : "; but nowhere in one piece");
		break;
	case FRAG_SHORT_UNKNOWN:
		snprintf(buf, size, "%s were asked for; how much was free is not said, or not of"
			 " what", a);
		break;
	}
}

/* What else it may be, where the figures leave it open. */
static void print_possible(const struct frag_message *m, const struct frag_text_style *paper, FILE *f)
{
	char text[SENTENCE_ROOM];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < FRAG_SHORTAGES; i++)
		if (m->possible >> i & 1 && (int)m->verdict != i)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used ? "; or: " : "", verdict_words[i]);
	if (m->precision && used)
		fprintf(f, "  %-12s each figure is off by %s at most; that leaves possible, too:\n",
			"rounding", SIZE(m->precision));
	else if (m->precision)
		fprintf(f, "  %-12s each figure is off by %s at most: the verdict stays\n",
			"rounding", SIZE(m->precision));
	if (used)
		frag_put_wrapped(paper->columns, m->precision ? "               "
				 : "  possible     ", text, f);
}

static enum frag_color_code verdict_ink(enum frag_oom_verdict verdict)
{
	return verdict == FRAG_SHORT_FRAGMENTATION || verdict == FRAG_SHORT_REFUSED ? INK_YELLOW
									    : INK_RED;
}

/* above: the line of the message whose advice is this one's, too; 0: there is none. */
static void print_group(const struct frag_message_group *group, const struct frag_text_style *paper,
			uint64_t above, FILE *f)
{
	const struct frag_message *m = &group->first;
	char gpus[GPUS_ROOM], text[SENTENCE_ROOM + 128], buf[SENTENCE_ROOM];

	fprintf(f, "line %" PRIu64 ": %s", m->line, frag_wording_text(m->wording));
	if (group->gpus)
		fprintf(f, ", GPU %s", gpus_text(group->gpus, gpus));
	if (group->count > 1)
		fprintf(f, ", said %" PRIu64 " times", group->count);
	putc('\n', f);
	print_figures(m, f);
	print_possible(m, paper, f);
	sentence(m, buf, sizeof(buf));
	snprintf(text, sizeof(text), "%s%s%s: %s.", frag_color_code(paper->colour, verdict_ink(m->verdict)),
		 verdict_words[m->verdict], frag_color_code(paper->colour, INK_PLAIN), buf);
	putc('\n', f);
	frag_put_wrapped(paper->columns, "", text, f);
	if (above)
		fprintf(f, "  - what to do: as of line %" PRIu64 "\n", above);
	else
		frag_print_message_advice(m, paper, f);
}

static void print_row(const struct frag_message_group *group, FILE *f)
{
	const struct frag_message *m = &group->first;
	char free[FRAG_NUMBER_ROOM], gpus[GPUS_ROOM];

	fprintf(f, "%7" PRIu64 " %9" PRIu64 " %11s %11s  %-14s %s\n", group->count, m->line,
		SIZE(m->said[FRAG_SAID_ASKED].bytes),
		m->free.there ? frag_size_text(free, m->free.bytes) : "-",
		frag_shortage_name(m->verdict),
		group->gpus ? gpus_text(group->gpus, gpus) : "-");
}

static void print_table(const struct frag_message_groups *groups, FILE *f)
{
	const uint32_t rows = groups->count < ROWS_MAX ? groups->count : ROWS_MAX;

	fprintf(f, "%7s %9s %11s %11s  %-14s %s\n", "times", "line", "asked", "free", "verdict",
		"GPU");
	for (uint32_t i = 0; i < rows; i++)
		print_row(&groups->groups[i], f);
	if (groups->count > rows)
		fprintf(f, "  and %" PRIu32 " others\n", groups->count - rows);
	if (groups->others)
		fprintf(f, "  and %" PRIu64 " messages more, each with other figures\n",
			groups->others);
}

/* All of a few; of more a table, and the first of each verdict. */
void frag_report_messages(const struct frag_message_groups *groups, const struct frag_text_style *paper,
			  FILE *f)
{
	const bool all = groups->count <= WHOLE_MAX;
	uint64_t shown[FRAG_SHORTAGES + 1] = { 0 };     /* lines; 0: none yet */

	if (groups->messages > 1)
		fprintf(f, "%" PRIu64 " messages, %s%" PRIu32 " different\n", groups->messages,
			groups->others ? "more than " : "", groups->count);
	if (groups->count > 1)
		print_table(groups, f);
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct frag_message *m = &groups->groups[i].first;

		if (!all && shown[m->verdict])
			continue;
		if (groups->messages > 1)
			putc('\n', f);
		print_group(&groups->groups[i], paper, shown[m->verdict], f);
		if (!shown[m->verdict])
			shown[m->verdict] = m->line;
	}
}
