/* leaks_answer.c - what fragsim leaks found, in every form: for people, as rows, as a document. */
#include "answers/leaks_answer.h"

#include "answers/answers.h"
#include "iterations/levels.h"

#define COUNT_MIN 3             /* iterations: of fewer none is known to be one */
#define LEAK_NAME(k) \
	frag_owner_text((k)->tag, (k)->frames, (k)->size, (char[FRAG_OWNER_ROOM]){ 0 })

/* "12.0 MiB per iteration", "3.99 MiB every 3 iterations" */
static const char *pace_text(const struct frag_leak *k, char buf[64])
{
	if (k->period > 1)
		snprintf(buf, 64, "%s every %" PRIu32 " iterations",
			 SIZE(k->an_iteration * k->period), k->period);
	else
		snprintf(buf, 64, "%s per iteration", SIZE(k->an_iteration));
	return buf;
}

#define PACE(k) pace_text((k), (char[64]){ 0 })

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
		frag_put_first_line(to, INK_YELLOW, "", "UNKNOWN: no iterations found, %d are"
				    " needed: fragsim record --torch --steps %d",
				    FRAG_ROUNDS_MIN + 1, FRAG_ROUNDS_MIN + 1);
	else if (leaks->rounds < FRAG_ROUNDS_MIN)
		frag_put_first_line(to, INK_YELLOW, "", "UNKNOWN: %" PRIu32 " iteration%s recorded,"
				    " %d are needed: fragsim record --torch --steps %d", count,
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
		frag_put_row(to, "evidence", "%" PRIu32 " iteration%s of about %" PRIu64 " step%s"
			     " begin at marks %s", it->count, frag_s(it->count), steps,
			     frag_s(steps), SHOWN(it->mark));
	else if (it->loop)
		frag_put_row(to, "evidence", "%" PRIu32 " iterations of about %" PRIu64 " step%s,"
			     " by the stacks: a loop at %s; --mark NAME names others", it->count,
			     steps, frag_s(steps), SHOWN(it->loop));
	else if (it->count)
		frag_put_row(to, "evidence", "%" PRIu32 " iterations: sizes repeat every %" PRIu64
			     " step%s; --mark NAME names others", it->count, steps, frag_s(steps));
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
				     ? "%s: %s, %" PRIu64 " block%s since step %" PRIu64
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

	if (d->full_in == UINT64_MAX)
		frag_put_row(to, "full", "unknown: --device-bytes SIZE or --device CARD gives the"
			     " capacity");
	else
		frag_put_row(to, "full", "in %" PRIu64 " iteration%s of a %s device, about %" PRIu64
			     " steps (estimated; fragmentation is ignored)", d->full_in,
			     frag_s(d->full_in), SIZE(a->devices[device].total),
			     frag_steps_until_full(a->leaks, device));
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

static const struct frag_column columns[] = {
	{ "device", "device", FRAG_CELL_COUNT },
	{ "who", "who", FRAG_CELL_TEXT },
	{ "bytes_an_iteration", "an iteration", FRAG_CELL_SIZE },
	{ "period", "period", FRAG_CELL_COUNT },
	{ "kind", "kind", FRAG_CELL_TEXT },
	{ "rise", NULL, FRAG_CELL_SIZE },
	{ "bytes", NULL, FRAG_CELL_SIZE },
	{ "blocks", "blocks", FRAG_CELL_COUNT },
	{ "first_step", "since step", FRAG_CELL_COUNT },
	{ 0 },
};

static const char *leak_kind(const struct frag_leak *k)
{
	return k->larger ? "larger" : "more";
}

static void leaks_fill(struct frag_table *t, const void *what)
{
	const struct frag_leaks *leaks = ((const struct frag_leaks_answer *)what)->leaks;

	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		const struct frag_leak *k = &leaks->leaks[i];

		frag_cell(t, true, k->device);
		frag_cell_text(t, LEAK_NAME(k));
		frag_cell(t, true, k->an_iteration);
		frag_cell(t, k->period, k->period);
		frag_cell_text(t, leak_kind(k));
		frag_cell(t, true, k->rise);
		frag_cell(t, true, k->bytes);
		frag_cell(t, true, k->blocks);
		frag_cell(t, k->blocks, k->first_step);
	}
}

static void leaks_put_device(struct frag_node_ref list, const struct frag_leaks_answer *a,
			     uint32_t device)
{
	static const struct frag_json_row rows[] = {
		ROW_AS("live_first", leaking, first), ROW_AS("live_last", leaking, last),
		ROW_AS("live_peak", leaking, peak), ROW(leaking, growth), ROW(leaking, leak),
		ROW_MAX("full_in_iterations", leaking, full_in), ROW_END,
	};
	const struct frag_leaking *d = &a->leaks->devices[device];
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "ordinal", device);
	frag_json_text(o, "name", a->devices[device].name);
	frag_json_u64_or_null(o, "total_bytes", a->devices[device].total != 0,
			      a->devices[device].total);
	frag_json_text(o, "verdict", frag_leak_verdicts[d->verdict]);
	frag_json_rows(o, rows, d);
	frag_json_u64_or_null(o, "full_in_steps", d->full_in != UINT64_MAX,
			      frag_steps_until_full(a->leaks, device));
	frag_json_bool(o, "estimated", true);
}

static void put_frames(struct frag_node_ref o, const void *of)
{
	const struct frag_leak *leak = of;

	if (leak->frames)
		frag_json_frames(o, leak->frames);
}

static void put_kind(struct frag_node_ref o, const void *of)
{
	frag_json_text(o, "kind", leak_kind(of));
}

static const struct frag_json_row leak_rows[] = {
	ROW(leak, device), ROW_JSON("tag", leak, tag), ROW_ZERO("size", leak, size),
	ROW_AS("bytes_an_iteration", leak, an_iteration), ROW(leak, bytes), ROW(leak, blocks),
	ROW(leak, first_step), ROW_CALL(put_frames), ROW_END,
};

static const struct frag_json_row rising_rows[] = {
	ROW(leak, device), ROW_JSON("tag", leak, tag), ROW_AS("bytes", leak, rise),
	ROW_AS("per_iteration", leak, an_iteration), ROW_ZERO("period", leak, period),
	ROW_CALL(put_kind), ROW_END,
};

static void leaks_document(struct frag_node_ref root, const void *what)
{
	const struct frag_leaks_answer *a = what;
	const struct frag_leaks *leaks = a->leaks;
	const uint32_t count = leaks->iterations.count;
	struct frag_node_ref list, o;

	frag_document_trace(root, "trace", a->trace);
	frag_json_text(root, "verdict", frag_leak_verdicts[leaks->verdict]);
	o = frag_json_object(root, "iterations");
	frag_json_u64(o, "count", count < COUNT_MIN ? 0 : count);
	frag_json_u64(o, "whole", count < COUNT_MIN ? 0 : leaks->rounds);
	frag_json_text(o, "mark", leaks->iterations.mark);
	frag_json_text(o, "loop", leaks->iterations.loop);
	frag_json_u64(o, "steps", leaks->steps);
	list = frag_json_array(root, "devices");
	for (uint32_t d = 0; d < a->trace->device_count; d++)
		leaks_put_device(list, a, d);
	FRAG_JSON_LIST(root, "rising", rising_rows, leaks->leaks, leaks->leak_count);
	FRAG_JSON_LIST(root, "leaks", leak_rows, leaks->leaks, leaks->proven_count);
}

const struct frag_format *const frag_leaks_formats[] = {
	FRAG_TEXT_FORM("text", leaks_print),
	FRAG_ANSWER_FORMS("leaks", leaks_document, columns, leaks_fill),
};
