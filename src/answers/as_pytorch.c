/* as_pytorch.c - the table that torch.cuda.memory_summary() prints. */
#include <inttypes.h>

#include "answers/report.h"

#define RULE_WIDTH 75

static void print_rule(char c, FILE *f)
{
	putc('|', f);
	for (int i = 0; i < RULE_WIDTH; i++)
		putc(c, f);
	fputs("|\n", f);
}

/*
 * Divides n by step as often as brings `scale`, the value of all pools, below three
 * quarters of step squared, so that a column has one unit. How often: the unit.
 */
static int divide(int64_t *n, int64_t scale, int64_t step, int max)
{
	const double bound = 0.75 * (double)(step * step);
	double rest = (double)scale;
	int unit = 0;

	for (; unit < max && rest >= bound; unit++) {
		*n /= step;
		rest /= (double)step;
	}
	return unit;
}

static void print_bytes(int64_t n, int64_t scale, FILE *f)
{
	static const char *const units[] = { "B  ", "KiB", "MiB", "GiB", "TiB", "PiB" };
	const int unit = divide(&n, scale, 1024, 5);

	fprintf(f, " | %6" PRId64 " %s", n, units[unit]);
}

static void print_count(int64_t n, int64_t scale, FILE *f)
{
	static const char units[] = " KM";
	const int unit = divide(&n, scale, 1000, 2);

	fprintf(f, " | %7" PRId64 " %c ", n, units[unit]);
}

typedef void print_fn(int64_t n, int64_t scale, FILE *f);

static void as_pytorch_print_row(const char *name, const struct frag_stat *s,
				 const struct frag_stat *scale, print_fn *print, FILE *f)
{
	fprintf(f, "| %-21s", name);
	print(s->current, scale->current, f);
	print((int64_t)s->peak, (int64_t)scale->peak, f);
	print((int64_t)s->allocated, (int64_t)scale->allocated, f);
	print((int64_t)s->freed, (int64_t)scale->freed, f);
	fputs(" |\n", f);
}

static void print_pools(const char *name, const struct frag_pool_stat *s, print_fn *print, FILE *f)
{
	print_rule('-', f);
	as_pytorch_print_row(name, &s->all, &s->all, print, f);
	as_pytorch_print_row("      from large pool", &s->large, &s->all, print, f);
	as_pytorch_print_row("      from small pool", &s->small, &s->all, print, f);
}

/*
 * Line for line what torch.cuda.memory_summary() prints, so that the two can be
 * put side by side.
 */
void frag_report_pytorch(const struct frag_result *run, FILE *f)
{
	const struct frag_memory_stats *s = &run->stats;

	putc('\n', f);
	print_rule('=', f);
	fprintf(f, "| %16s PyTorch CUDA memory summary, device ID %-17" PRIu32 " |\n", "",
		run->device);
	print_rule('-', f);
	fprintf(f, "|  %9s CUDA OOMs: %-12" PRIu64 " | %6s cudaMalloc retries: %-8" PRIu64 "  |\n",
		"", s->num_ooms, "", s->num_alloc_retries);
	print_rule('=', f);
	fputs("|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n", f);
	print_pools("Allocated memory", &s->allocated_bytes, print_bytes, f);
	print_pools("Active memory", &s->active_bytes, print_bytes, f);
	print_pools("Requested memory", &s->requested_bytes, print_bytes, f);
	print_pools("GPU reserved memory", &s->reserved_bytes, print_bytes, f);
	print_pools("Non-releasable memory", &s->inactive_split_bytes, print_bytes, f);
	print_pools("Allocations", &s->allocation, print_count, f);
	print_pools("Active allocs", &s->active, print_count, f);
	print_pools("GPU reserved segments", &s->segment, print_count, f);
	print_pools("Non-releasable allocs", &s->inactive_split, print_count, f);
	print_rule('-', f);
	as_pytorch_print_row("Oversize allocations", &s->oversize_allocations,
			     &s->oversize_allocations, print_count, f);
	print_rule('-', f);
	as_pytorch_print_row("Oversize GPU segments", &s->oversize_segments, &s->oversize_segments,
			     print_count, f);
	print_rule('=', f);
}
