/* leaks_answer.c - what fragsim leaks found, in every form: for people, as rows, as a document. */
#include "answers/leaks_answer.h"

#include "answers/answers.h"
#include "iterations/levels.h"

#define COUNT_MIN 3             /* iterations: of fewer none is known to be one */
#define LEAK_NAME(k) \
	frag_owner_text((k)->tag, (k)->frames, (k)->size, (char[FRAG_OWNER_ROOM]){ 0 })

/* "12.0 MiB per iteration", "3.99 MiB every 3 iterations", "4 B (512 B allocated) per iteration" */
static const char *pace_text(const struct frag_leak *k, char buf[96])
{
	const uint64_t n = k->period > 1 ? k->period : 1;
	struct frag_words words = { .text = buf, .size = 96 };

	frag_add(&words, "%s", SIZE(k->an_iteration * n));
	if (k->rounded > k->an_iteration)
		frag_add(&words, " (%s allocated)", SIZE(k->rounded * n));
	if (n > 1)
		frag_add(&words, " every %" PRIu64 " iterations", n);
	else
		frag_add(&words, " per iteration");
	return buf;
}

#define PACE(k) pace_text((k), (char[96]){ 0 })

static void print_grows(const struct frag_leaks_answer *a, uint32_t device,
			const struct frag_text_style *to)
{
	const struct frag_leaking *d = &a->leaks->devices[device];
	const struct frag_leak *k = frag_leaks_largest(a->leaks, device);
	struct frag_words by = WORDS(64), what = WORDS(FRAG_OWNER_ROOM + 64);

	if (d->first && d->last >= d->first + d->first / 2)
		frag_add(&by, "%.1fx", (double)d->last / (double)d->first);
	else
		frag_add(&by, "by %s", SIZE(d->last > d->first ? d->last - d->first : k ? k->rise : 0));
	if (k && k->larger)
		frag_add(&what, "%s allocates ever larger blocks", LEAK_NAME(k));
	else if (k)
		frag_add(&what, "most of it by %s, not kept", LEAK_NAME(k));
	else
		frag_add(&what, "no single line is proven to keep it");
	frag_put_first_line(to, INK_RED, "", "GROWS: live memory rises %s over %" PRIu32
			    " iterations; %s", by.text, a->leaks->rounds, what.text);
}

/* A recording without an answer: what is missing, and how to record it. */
static void print_unknown(const struct frag_leaks_answer *a, uint32_t device,
			  const struct frag_text_style *to)
{
	const struct frag_leaks *leaks = a->leaks;
	const struct frag_leaking *d = &leaks->devices[device];
	const uint32_t count = leaks->iterations.count;

	if (!count)
		frag_put_first_line(to, INK_YELLOW, "", "UNKNOWN: too few iterations, %d are"
				    " needed: fragsim record --torch --iterations %d",
				    FRAG_ROUNDS_MIN + 1, FRAG_ROUNDS_MIN + 1);
	else if (leaks->rounds < FRAG_ROUNDS_MIN)
		frag_put_first_line(to, INK_YELLOW, "", "UNKNOWN: %" PRIu32 " iteration%s recorded,"
				    " %d are needed: fragsim record --torch --iterations %d", count,
				    frag_s(count), FRAG_ROUNDS_MIN + 1, FRAG_ROUNDS_MIN + 1);
	else if (d->stopped)
		frag_put_first_line(to, INK_YELLOW, "", "UNKNOWN: live memory rose by %s up to"
				    " iteration %" PRIu32 " of %" PRIu32 "; a longer recording shows"
				    " whether it rises on", SIZE(d->stopped_bytes), d->stopped + 1,
				    leaks->rounds);
	else
		frag_put_first_line(to, INK_YELLOW, "", "UNKNOWN: memory stays allocated after the"
				    " last of %" PRIu32 " iterations, and no iterations are known"
				    " there", count);
}

/* Line 1: of the device that the verdict of all is of. */
static void leaks_print_verdict(const struct frag_leaks_answer *a, const struct frag_text_style *to)
{
	const struct frag_leaks *leaks = a->leaks;
	const uint32_t worst = frag_leaks_worst(leaks, a->trace->device_count);
	const struct frag_leaking *d = &leaks->devices[worst];
	const struct frag_leak *k = frag_leaks_largest(leaks, worst);
	struct frag_words levels = WORDS(80);

	switch (leaks->verdict) {
	case FRAG_LEAK_FOUND:
		frag_put_first_line(to, INK_RED, "", "LEAK: %s of %s", PACE(k), LEAK_NAME(k));
		break;
	case FRAG_LEAK_GROWS:
		print_grows(a, worst, to);
		break;
	case FRAG_LEAK_UNKNOWN:
		print_unknown(a, worst, to);
		break;
	case FRAG_LEAK_NONE:
		frag_add(&levels, "%s", SIZE(d->low));
		if (d->high > d->low)
			frag_add(&levels, " to %s", SIZE(d->high));
		frag_put_first_line(to, INK_BOLD, "", "NO LEAK: live memory returns to %s in each of"
				    " %" PRIu32 " iterations", levels.text, leaks->rounds);
		break;
	}
}

static void leaks_print_evidence(const struct frag_leaks_answer *a, const struct frag_text_style *to)
{
	const struct frag_iterations *it = &a->leaks->iterations;
	const uint64_t steps = a->leaks->steps;

	if (it->mark)
		frag_put_row(to, "evidence", "%" PRIu32 " iteration%s of about %" PRIu64 " event%s"
			     " begin at marks %s", it->count, frag_s(it->count), steps,
			     frag_s(steps), SHOWN(it->mark));
	else if (it->loop)
		frag_put_row(to, "evidence", "%" PRIu32 " iterations of about %" PRIu64 " event%s,"
			     " by the stacks: a loop at %s; --mark NAME names others", it->count,
			     steps, frag_s(steps), SHOWN(it->loop));
	else if (it->count)
		frag_put_row(to, "evidence", "%" PRIu32 " iterations: sizes repeat every %" PRIu64
			     " event%s; --mark NAME names others", it->count, steps, frag_s(steps));
}

static void print_leaks(const struct frag_leaks_answer *a, uint32_t device,
			const struct frag_text_style *to)
{
	const struct frag_leaks *leaks = a->leaks;
	uint32_t count = 0;

	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		const struct frag_leak *k = &leaks->leaks[i];

		if (k->device == device && count++ < a->top)
			frag_put_row(to, count == 1 ? "top tags" : "", k->proven
				     ? "%s: %s, %" PRIu64 " block%s since event %" PRIu64
				       ", none freed up to iteration %" PRIu32
				     : "%s: %s, larger blocks", PACE(k), LEAK_NAME(k), k->blocks,
				     frag_s(k->blocks), k->first_step, leaks->rounds);
	}
	if (count > a->top)
		frag_put_row(to, "", "and %" PRIu32 " more: --top N", count - a->top);
}

static void print_end(const struct frag_leaks_answer *a, uint32_t device,
		      const struct frag_text_style *to)
{
	const struct frag_leaking *d = &a->leaks->devices[device];
	const uint64_t total = a->devices[device].total;

	if (d->full_in == UINT64_MAX)
		frag_put_row(to, "full", "unknown: --device-bytes SIZE or --device CARD gives the"
			     " capacity");
	else if (!d->simulated)
		frag_put_row(to, "full", "in about %" PRIu64 " iteration%s of a %s device, about %"
			     PRIu64 " events (estimated by division: the iterations differ;"
			     " fragmentation is ignored)", d->full_in, frag_s(d->full_in), SIZE(total),
			     frag_steps_until_full(a->leaks, device));
	else if (d->at_least)
		frag_put_row(to, "full", "in more than %" PRIu64 " iteration%s of a %s device: no request"
			     " fails up to iteration %" PRIu64 ", where the simulation ends", d->full_in,
			     frag_s(d->full_in), SIZE(total), d->fails_in);
	else
		frag_put_row(to, "full", "in %" PRIu64 " iteration%s of a %s device: a request of"
			     " iteration %" PRIu64 " fails, as simulated", d->full_in,
			     frag_s(d->full_in), SIZE(total), d->fails_in);
	frag_put_context(to, a->devices[device].total, a->devices[device].context, false);
}

static void leaks_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_leaks_answer *a = what;
	const struct frag_leaks *leaks = a->leaks;

	leaks_print_verdict(a, to);
	for (uint32_t i = 0; i < a->trace->device_count; i++) {
		const struct frag_leaking *d = &leaks->devices[i];

		if (a->trace->device_count > 1)
			frag_put_row(to, "device", "%" PRIu32 ": %s", i, frag_leak_verdicts[d->verdict]);
		print_leaks(a, i, to);
		if (leaks->rounds > 2)
			frag_put_row(to, "level", "%s at iteration 2, %s at iteration %" PRIu32,
				     SIZE(d->first), SIZE(d->last), leaks->rounds);
		if (d->verdict >= FRAG_LEAK_GROWS)
			print_end(a, i, to);
	}
	leaks_print_evidence(a, to);
	if (leaks->verdict == FRAG_LEAK_FOUND)
		frag_put_row(to, "note", "a cache that is still filling looks the same: a longer"
			     " recording shows whether it stops");
}

static const char *leak_name(const void *leak, char *buf)
{
	const struct frag_leak *k = leak;

	return frag_owner_text(k->tag, k->frames, k->size, buf);
}

static const char *const kinds[] = { "more", "larger", NULL };

static struct frag_cell_value kind_of(const void *leak)
{
	return FRAG_TEXT_OF(kinds[((const struct frag_leak *)leak)->larger]);
}

static struct frag_cell_value since_of(const void *leak)
{
	const struct frag_leak *k = leak;

	return (struct frag_cell_value){ .there = k->blocks != 0, .u = k->first_step };
}

#define LEAK(m) FRAG_AT(leak, m)
static const struct frag_field row_fields[] = {
	{ NULL, FRAG_TYPE_COUNT, LEAK(device), NULL, "device", "device" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, "who", "who", .text = leak_name },
	{ NULL, FRAG_TYPE_BYTES, LEAK(an_iteration), NULL, "bytes_an_iteration", "an iteration" },
	{ NULL, FRAG_TYPE_COUNT, LEAK(period), NULL, "period", "period", .absence = FRAG_UNLESS_ZERO },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, "kind", "kind", .get = kind_of },
	{ NULL, FRAG_TYPE_BYTES, LEAK(rise), NULL, "rise" },
	{ NULL, FRAG_TYPE_BYTES, LEAK(bytes), NULL, "bytes" },
	{ NULL, FRAG_TYPE_COUNT, LEAK(blocks), NULL, "blocks", "blocks" },
	{ NULL, FRAG_TYPE_COUNT, FRAG_WHOLE, NULL, "first_step", "since event", .get = since_of },
	{ 0 },
}, rows[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_ARRAY_VIA(leaks_answer, leaks, leaks, leaks, leak_count),
	  .fields = row_fields },
	{ 0 },
}, rising_fields[] = {
	{ "device", FRAG_TYPE_COUNT, LEAK(device) },
	{ "tag", FRAG_TYPE_TEXT_JSON, LEAK(tag), .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, LEAK(rise), "from the level of the second iteration to the last",
	  .least = 1 },
	{ "per_iteration", FRAG_TYPE_BYTES, LEAK(an_iteration), .least = 1 },
	{ "period", FRAG_TYPE_COUNT, LEAK(period), "iterations from one that keeps blocks to the next;"
	  " null: no period", .absence = FRAG_UNLESS_ZERO, .least = 1 },
	{ "kind", FRAG_TYPE_WORD, FRAG_WHOLE, "more blocks, or larger ones", .get = kind_of,
	  .words = kinds },
	{ 0 },
}, leak_fields[] = {
	{ "device", FRAG_TYPE_COUNT, LEAK(device) },
	{ "tag", FRAG_TYPE_TEXT_JSON, LEAK(tag), .nullable = true },
	{ "size", FRAG_TYPE_BYTES, LEAK(size), "of each block, where it has neither tag nor stack",
	  .absence = FRAG_UNLESS_ZERO },
	{ "bytes_an_iteration", FRAG_TYPE_BYTES, LEAK(an_iteration), .least = 1 },
	{ "bytes", FRAG_TYPE_BYTES, LEAK(bytes), "kept since the first iteration", .least = 1 },
	{ "blocks", FRAG_TYPE_COUNT, LEAK(blocks), .least = 3 },
	{ "first_step", FRAG_TYPE_COUNT, LEAK(first_step), "the event of the oldest of them" },
	{ "frames", FRAG_TYPE_FRAMES, LEAK(frames), "the stack of that", .optional = true },
	{ 0 },
};

struct frag_leaking_view {
	uint32_t ordinal;
	const struct frag_device_figures *figures;
	const struct frag_leaking *leaking;
	uint64_t full_in_steps;
	bool estimated;
	uint64_t fails_in;
};

static bool leaking_at(const void *of, uint32_t i, void *element)
{
	const struct frag_leaks_answer *a = of;
	struct frag_leaking_view *to = element;

	if (i == a->trace->device_count)
		return false;
	*to = (struct frag_leaking_view){
		.ordinal = i, .figures = &a->devices[i], .leaking = &a->leaks->devices[i],
		.full_in_steps = UINT64_MAX,
	};
	to->estimated = !to->leaking->simulated;
	to->fails_in = to->estimated || to->leaking->at_least ? UINT64_MAX : to->leaking->fails_in;
	if (to->leaking->full_in != UINT64_MAX)
		to->full_in_steps = frag_steps_until_full(a->leaks, i);
	return true;
}

#define LEAKING(m) FRAG_VIA(leaking_view, leaking, leaking, m)
static const struct frag_field leaking_fields[] = {
	{ "ordinal", FRAG_TYPE_COUNT, FRAG_AT(leaking_view, ordinal) },
	{ "name", FRAG_TYPE_TEXT, FRAG_VIA(leaking_view, figures, device_figures, name), .nullable = true },
	{ "total_bytes", FRAG_TYPE_BYTES, FRAG_VIA(leaking_view, figures, device_figures, total),
	  "null: unknown", .absence = FRAG_UNLESS_ZERO },
	{ "verdict", FRAG_TYPE_WORD, LEAKING(verdict), .words = frag_leak_verdicts },
	{ "live_first", FRAG_TYPE_BYTES, LEAKING(first), "the level of the second iteration" },
	{ "live_last", FRAG_TYPE_BYTES, LEAKING(last), "the level of the last whole one" },
	{ "live_peak", FRAG_TYPE_BYTES, LEAKING(peak), "in the last whole one" },
	{ "growth", FRAG_TYPE_NUMBER, LEAKING(growth), "bytes an iteration; 0 with another verdict than"
	  " grows or leak" },
	{ "leak", FRAG_TYPE_BYTES, LEAKING(leak), "the same of all leaks" },
	{ "full_in_iterations", FRAG_TYPE_COUNT, LEAKING(full_in), "after the recording, until a request"
	  " fails; null: never, or unknown", .absence = FRAG_UNLESS_MAX },
	{ "fails_in_iteration", FRAG_TYPE_COUNT, FRAG_AT(leaking_view, fails_in), "which has that request,"
	  " from 1, the first of the recording; null where it was not simulated, or none failed",
	  .absence = FRAG_UNLESS_MAX },
	{ "at_least", FRAG_TYPE_FLAG, LEAKING(at_least), "no request had failed when the simulation ended" },
	{ "full_in_steps", FRAG_TYPE_COUNT, FRAG_AT(leaking_view, full_in_steps), "the same in events",
	  .absence = FRAG_UNLESS_MAX },
	{ "estimated", FRAG_TYPE_FLAG, FRAG_AT(leaking_view, estimated), "full_in_iterations is a"
	  " division, as the iterations do not repeat" },
	{ 0 },
};

/* Of fewer iterations than COUNT_MIN none is known to be one. */
struct frag_rounds_view {
	uint32_t count, whole;
	const struct frag_leaks *leaks;
};

static bool rounds_view(const void *of, uint32_t i, void *element)
{
	const struct frag_leaks *leaks = ((const struct frag_leaks_answer *)of)->leaks;
	const bool known = leaks->iterations.count >= COUNT_MIN;

	(void)i;
	*(struct frag_rounds_view *)element = (struct frag_rounds_view){
		known ? leaks->iterations.count : 0, known ? leaks->rounds : 0, leaks,
	};
	return true;
}

static const struct frag_field iterations_fields[] = {
	{ "count", FRAG_TYPE_COUNT, FRAG_AT(rounds_view, count) },
	{ "whole", FRAG_TYPE_COUNT, FRAG_AT(rounds_view, whole), "the last is never whole" },
	{ "mark", FRAG_TYPE_TEXT, FRAG_VIA(rounds_view, leaks, leaks, iterations.mark),
	  "that begins each", .nullable = true },
	{ "loop", FRAG_TYPE_TEXT, FRAG_VIA(rounds_view, leaks, leaks, iterations.loop),
	  "whose passes they are", .nullable = true },
	{ "steps", FRAG_TYPE_COUNT, FRAG_VIA(rounds_view, leaks, leaks, steps), "events of one, in the"
	  " mean" },
	{ 0 },
}, document_fields[] = {
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(leaks_answer, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(leaks_answer, trace, trace_info, scope)),
	{ "verdict", FRAG_TYPE_WORD, FRAG_VIA(leaks_answer, leaks, leaks, verdict), "of the worst device",
	  .words = frag_leak_verdicts },
	{ "iterations", FRAG_TYPE_OBJECT, FRAG_WHOLE, .each = rounds_view, .fields = iterations_fields },
	{ "devices", FRAG_TYPE_LIST, FRAG_WHOLE, .each = leaking_at, .fields = leaking_fields },
	{ "rising", FRAG_TYPE_LIST, FRAG_ARRAY_VIA(leaks_answer, leaks, leaks, leaks, leak_count),
	  "tags whose memory rises, leaks first", .fields = rising_fields, .cut = true },
	{ "leaks", FRAG_TYPE_LIST, FRAG_ARRAY_VIA(leaks_answer, leaks, leaks, leaks, proven_count),
	  "of them the leaks, the largest first", .fields = leak_fields, .cut = true },
	{ 0 },
};

const struct frag_document_type frag_leaks_document = {
	.format = "fragsim-leaks", .version = 2, .fields = document_fields,
	.what = "The answer of fragsim leaks, see fragsim-leaks(1).",
};

const struct frag_format *const frag_leaks_formats[] = {
	FRAG_TEXT_FORM(leaks_print), FRAG_ANSWER_FORMS(frag_leaks_document, rows),
};
