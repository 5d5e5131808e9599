/* leaks_answer.c - what fragsim leaks found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <math.h>

#define LEAK_NAME(k) \
	frag_owner_text((k)->tag, (k)->frames, (k)->size, (char[FRAG_OWNER_ROOM]){ 0 })

/* Line 1: of the device that leaks most. */
static void leaks_print_verdict(const struct frag_leaks_answer *a, const struct frag_text_style *to)
{
	const struct frag_leaking *most = a->leaks->devices;
	const struct frag_iterations *it = &a->leaks->iterations;
	const char *path = SHOWN(frag_input_name(a->trace->path));

	for (uint32_t i = 1; i < a->trace->device_count; i++)
		if (a->leaks->devices[i].leak > most->leak)
			most = &a->leaks->devices[i];
	if (most->leak)
		frag_put_first_line(to, INK_RED, "", "LEAK%s: %s per iteration in %" PRIu32
				    " iterations of %s", it->mark ? "" : " (iterations inferred)",
				    SIZE(most->leak), it->count, path);
	else
		frag_put_first_line(to, INK_BOLD, "", "NO LEAK: no tag keeps memory of every"
				    " iteration (%" PRIu32 " iterations of %s)", it->count, path);
}

static void print_iterations(const struct frag_leaks_answer *a, const struct frag_text_style *to)
{
	const struct frag_iterations *it = &a->leaks->iterations;
	const uint64_t steps = a->leaks->steps;

	if (it->mark)
		frag_put_row(to, "evidence", "iterations of about %" PRIu64 " step%s begin at marks"
			     " %s", steps, frag_s(steps), SHOWN(it->mark));
	else
		frag_put_row(to, "evidence", "inferred: sizes repeat every %" PRIu64 " step%s;"
			     " --mark NAME names the iterations", steps, frag_s(steps));
	frag_put_row(to, "counted", "blocks of iterations 1 to %" PRIu32 " that are live when"
		     " iteration %" PRIu32 " begins (the first is 0)", it->count - 3, it->count - 1);
}

/* "12.0 MiB more", "as much", "1.00 MiB less" */
static void print_growth(const struct frag_leaking *d, const struct frag_text_style *to)
{
	const uint64_t pace = (uint64_t)llround(fabs(d->growth));

	frag_put_row(to, "live", "%s at the first iteration, %s at the last; %s%s from one start to"
		     " the next", SIZE(d->first), SIZE(d->last), pace ? SIZE(pace) : "constant",
		     !pace ? "" : d->growth > 0 ? " more" : " less");
}

static void print_leaks(const struct frag_leaks_answer *a, uint32_t device,
			const struct frag_text_style *to)
{
	const struct frag_leaks *leaks = a->leaks;
	uint32_t count = 0;

	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		const struct frag_leak *k = &leaks->leaks[i];

		if (k->device == device && count++ < a->top)
			frag_put_row(to, count == 1 ? "top tags" : "", "%s per iteration: %s, %"
				     PRIu64 " block%s since step %" PRIu64, SIZE(k->an_iteration),
				     LEAK_NAME(k), k->blocks, frag_s(k->blocks),
				     k->first_step);
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
		frag_put_row(to, "full", "%s in %" PRIu64 " iteration%s, about %" PRIu64 " steps;"
			     " fragmentation is not included", SIZE(a->devices[device].total),
			     d->full_in, frag_s(d->full_in),
			     frag_steps_until_full(a->leaks, device));
	frag_put_context(to, a->devices[device].total, a->devices[device].context, false);
}

static void leaks_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_leaks_answer *a = what;

	leaks_print_verdict(a, to);
	for (uint32_t i = 0; i < a->trace->device_count; i++) {
		if (a->trace->device_count > 1)
			frag_put_row(to, "device", "%" PRIu32, i);
		if (a->leaks->devices[i].leak) {
			print_leaks(a, i, to);
			print_end(a, i, to);
		}
		print_growth(&a->leaks->devices[i], to);
	}
	print_iterations(a, to);
}

static const struct frag_column columns[] = {
	{ "device", "device", FRAG_CELL_COUNT },
	{ "who", "who", FRAG_CELL_TEXT },
	{ "bytes_an_iteration", "an iteration", FRAG_CELL_SIZE },
	{ "bytes", NULL, FRAG_CELL_SIZE },
	{ "blocks", "blocks", FRAG_CELL_COUNT },
	{ "first_step", "since step", FRAG_CELL_COUNT },
	{ 0 },
};

static void leaks_fill(struct frag_table *t, const void *what)
{
	const struct frag_leaks *leaks = ((const struct frag_leaks_answer *)what)->leaks;

	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		const struct frag_leak *k = &leaks->leaks[i];

		frag_cell(t, true, k->device);
		frag_cell_text(t, LEAK_NAME(k));
		frag_cell(t, true, k->an_iteration);
		frag_cell(t, true, k->bytes);
		frag_cell(t, true, k->blocks);
		frag_cell(t, true, k->first_step);
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
	frag_json_rows(o, rows, d);
	frag_json_u64_or_null(o, "full_in_steps", d->full_in != UINT64_MAX,
			      frag_steps_until_full(a->leaks, device));
}

static void put_frames(struct frag_node_ref o, const void *of)
{
	const struct frag_leak *leak = of;

	if (leak->frames)
		frag_json_frames(o, leak->frames);
}

static const struct frag_json_row leak_rows[] = {
	ROW(leak, device), ROW_JSON("tag", leak, tag), ROW_ZERO("size", leak, size),
	ROW_AS("bytes_an_iteration", leak, an_iteration), ROW(leak, bytes), ROW(leak, blocks),
	ROW(leak, first_step), ROW_CALL(put_frames), ROW_END,
};

static void leaks_document(struct frag_node_ref root, const void *what)
{
	const struct frag_leaks_answer *a = what;
	const struct frag_leaks *leaks = a->leaks;
	struct frag_node_ref list, o;

	frag_document_trace(root, "trace", a->trace);
	o = frag_json_object(root, "iterations");
	frag_json_u64(o, "count", leaks->iterations.count);
	frag_json_text(o, "mark", leaks->iterations.mark);
	frag_json_u64(o, "steps", leaks->steps);
	frag_json_u64(o, "first", 1);
	frag_json_u64(o, "last", leaks->iterations.count - 3);
	list = frag_json_array(root, "devices");
	for (uint32_t d = 0; d < a->trace->device_count; d++)
		leaks_put_device(list, a, d);
	FRAG_JSON_LIST(root, "leaks", leak_rows, leaks->leaks, leaks->leak_count);
}

const struct frag_format *const frag_leaks_formats[] = {
	FRAG_TEXT_FORM("text", leaks_print),
	FRAG_ANSWER_FORMS("leaks", leaks_document, columns, leaks_fill),
};
