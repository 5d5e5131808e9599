/* leaks_text.c - what fragsim leaks found, for people. */
#include <inttypes.h>
#include <math.h>

#include "base/format.h"
#include "base/path.h"
#include "base/escape.h"
#include "report/color.h"
#include "report/leaks_formats.h"
#include "report/wrap_lines.h"

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void print_iterations(const struct frag_leaks_answer *a, const struct frag_text_style *paper,
			     FILE *f)
{
	const struct frag_iterations *it = &a->leaks->iterations;
	char path[FRAG_PRINTABLE_ROOM], mark[FRAG_PRINTABLE_ROOM];

	fprintf(f, "%s%s%s: %" PRIu32 " iterations, some %" PRIu64 " step%s each\n",
		frag_color_code(paper->colour, INK_BOLD),
		frag_printable(path, frag_input_name(a->trace->path)),
		frag_color_code(paper->colour, INK_PLAIN), it->count, a->leaks->steps,
		plural(a->leaks->steps));
	if (it->mark)
		frag_put_row(paper->columns, "begin", f, "at marks %s",
			     frag_printable(mark, it->mark));
	else
		frag_put_row(paper->columns, "begin", f, "where the same sizes come again; --mark"
			     " NAME says it better");
	frag_put_row(paper->columns, "left", f, "by iterations 1 to %" PRIu32 ", counted from 0, when"
		     " %" PRIu32 " begins:", it->count - 3, it->count - 1);
}

/* "12.0 MiB more", "as much", "1.00 MiB less" */
static void print_growth(const struct frag_leaking *d, const struct frag_text_style *paper, FILE *f)
{
	char first[FRAG_NUMBER_ROOM], last[FRAG_NUMBER_ROOM], by[FRAG_NUMBER_ROOM];
	const uint64_t pace = (uint64_t)llround(fabs(d->growth));

	if (!pace)
		frag_put_row(paper->columns, "live", f, "%s at first, %s at last; as much from one"
			     " start to the next", frag_size_text(first, d->first),
			     frag_size_text(last, d->last));
	else
		frag_put_row(paper->columns, "live", f, "%s at first, %s at last; %s %s from one"
			     " start to the next", frag_size_text(first, d->first),
			     frag_size_text(last, d->last), frag_size_text(by, pace),
			     d->growth > 0 ? "more" : "less");
}

static void print_leak(const struct frag_leak *leak, const struct frag_text_style *paper, FILE *f)
{
	char name[FRAG_LEAK_NAME_ROOM], size[FRAG_NUMBER_ROOM];

	frag_put_row(paper->columns, "", f, "%s an iteration: %s, %" PRIu64 " block%s since step %"
		     PRIu64, frag_size_text(size, leak->an_iteration), frag_leak_name(leak, name),
		     leak->blocks, plural(leak->blocks), leak->first_step);
}

static void print_leaks(const struct frag_leaks_answer *a, uint32_t device,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_leaks *leaks = a->leaks;
	uint32_t shown = 0, more = 0;

	for (uint32_t i = 0; i < leaks->leak_count; i++)
		if (leaks->leaks[i].device != device)
			continue;
		else if (shown++ < a->top)
			print_leak(&leaks->leaks[i], paper, f);
		else
			more++;
	if (more)
		frag_put_row(paper->columns, "", f, "and %" PRIu32 " more; --top N says how many"
			     " are shown", more);
}

static void print_end(const struct frag_leaks_answer *a, uint32_t device,
		      const struct frag_text_style *paper, FILE *f)
{
	const struct frag_leaking *d = &a->leaks->devices[device];
	char total[FRAG_NUMBER_ROOM];

	if (d->full_in == UINT64_MAX)
		frag_put_row(paper->columns, "full", f, "nobody knows: --device-bytes SIZE or --device"
			     " CARD says how much the device has");
	else
		frag_put_row(paper->columns, "full", f, "%s in %" PRIu64 " iteration%s, some %" PRIu64
			     " steps, were nothing lost to fragmentation",
			     frag_size_text(total, a->devices[device].total), d->full_in,
			     plural(d->full_in), frag_steps_until_full(a->leaks, device));
}

static int print(const void *what, const struct frag_text_style *paper, FILE *f, struct frag_error *err)
{
	const struct frag_leaks_answer *a = what;
	char size[FRAG_NUMBER_ROOM];

	(void)err;
	print_iterations(a, paper, f);
	for (uint32_t i = 0; i < a->trace->device_count; i++) {
		const struct frag_leaking *d = &a->leaks->devices[i];

		if (a->trace->device_count > 1)
			fprintf(f, "device %" PRIu32 "\n", i);
		print_growth(d, paper, f);
		if (!d->leak) {
			frag_put_row(paper->columns, "leak", f, "none: no tag has left something from"
				     " every iteration");
			continue;
		}
		fprintf(f, "%s", frag_color_code(paper->colour, INK_RED));
		frag_put_row(paper->columns, "LEAK", f, "%s an iteration stay, from every one",
			     frag_size_text(size, d->leak));
		fprintf(f, "%s", frag_color_code(paper->colour, INK_PLAIN));
		print_leaks(a, i, paper, f);
		print_end(a, i, paper, f);
	}
	return 0;
}

const struct frag_format frag_leaks_text = { .name = "text", .print = print };
