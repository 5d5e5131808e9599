/* leaks_answer.c - what fragsim leaks found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/escape.h"
#include "documents/document_head.h"
#include "documents/documents.h"
#include "answers/text_style.h"
#include "answers/table.h"

#define FRAG_LEAK_NAME_ROOM 200
static const char *frag_leak_name(const struct frag_leak *leak, char buf[FRAG_LEAK_NAME_ROOM]);

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Line 1: of the device that leaks most. */
static void leaks_print_verdict(const struct frag_leaks_answer *a,
				const struct frag_text_style *paper, FILE *f)
{
	const struct frag_leaking *most = a->leaks->devices;
	const struct frag_iterations *it = &a->leaks->iterations;
	char text[FRAG_PRINTABLE_ROOM + 200], room[FRAG_PRINTABLE_ROOM];
	const char *path = frag_printable(room, frag_input_name(a->trace->path));

	for (uint32_t i = 1; i < a->trace->device_count; i++)
		if (a->leaks->devices[i].leak > most->leak)
			most = &a->leaks->devices[i];
	if (most->leak)
		snprintf(text, sizeof(text), "LEAK%s: %s per iteration in %" PRIu32 " iterations of %s",
			 it->mark ? "" : " (iterations inferred)", SIZE(most->leak), it->count,
			 path);
	else
		snprintf(text, sizeof(text), "NO LEAK: no tag keeps memory of every iteration (%"
			 PRIu32 " iterations of %s)", it->count, path);
	frag_put_first_line(paper, most->leak ? INK_RED : INK_BOLD, "", text, f);
}

static void print_iterations(const struct frag_leaks_answer *a, const struct frag_text_style *paper,
			     FILE *f)
{
	const struct frag_iterations *it = &a->leaks->iterations;
	char mark[FRAG_PRINTABLE_ROOM];

	if (it->mark)
		frag_put_row(paper->columns, "evidence", f, "iterations of about %" PRIu64
			     " step%s begin at marks %s", a->leaks->steps, plural(a->leaks->steps),
			     frag_printable(mark, it->mark));
	else
		frag_put_row(paper->columns, "evidence", f, "inferred: sizes repeat every %" PRIu64
			     " step%s; --mark NAME names the iterations", a->leaks->steps,
			     plural(a->leaks->steps));
	frag_put_row(paper->columns, "counted", f,
		     "blocks of iterations 1 to %" PRIu32 " that are live when iteration %" PRIu32
		     " begins (the first is 0)", it->count - 3, it->count - 1);
}

/* "12.0 MiB more", "as much", "1.00 MiB less" */
static void print_growth(const struct frag_leaking *d, const struct frag_text_style *paper, FILE *f)
{
	char first[FRAG_NUMBER_ROOM], last[FRAG_NUMBER_ROOM];
	const uint64_t pace = (uint64_t)llround(fabs(d->growth));

	if (!pace)
		frag_put_row(paper->columns, "live", f, "%s at the first iteration, %s at the last;"
			     " constant from one start to the next", frag_size_text(first, d->first),
			     frag_size_text(last, d->last));
	else
		frag_put_row(paper->columns, "live", f, "%s at the first iteration, %s at the last; %s %s"
			     " from one start to the next", frag_size_text(first, d->first),
			     frag_size_text(last, d->last), SIZE(pace),
			     d->growth > 0 ? "more" : "less");
}

static void print_leak(const struct frag_leak *leak, bool first, const struct frag_text_style *paper,
		       FILE *f)
{
	char name[FRAG_LEAK_NAME_ROOM];

	frag_put_row(paper->columns, first ? "top tags" : "", f, "%s per iteration: %s, %" PRIu64
		     " block%s since step %" PRIu64, SIZE(leak->an_iteration),
		     frag_leak_name(leak, name), leak->blocks, plural(leak->blocks),
		     leak->first_step);
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
			print_leak(&leaks->leaks[i], shown == 1, paper, f);
		else
			more++;
	if (more)
		frag_put_row(paper->columns, "", f, "and %" PRIu32 " more: --top N", more);
}

static void print_end(const struct frag_leaks_answer *a, uint32_t device,
		      const struct frag_text_style *paper, FILE *f)
{
	const struct frag_leaking *d = &a->leaks->devices[device];
	char total[FRAG_NUMBER_ROOM];

	if (d->full_in == UINT64_MAX)
		frag_put_row(paper->columns, "full", f,
			     "unknown: --device-bytes SIZE or --device CARD gives the capacity");
	else
		frag_put_row(paper->columns, "full", f,
			     "%s in %" PRIu64 " iteration%s, about %" PRIu64
			     " steps; fragmentation is not included",
			     frag_size_text(total, a->devices[device].total), d->full_in,
			     plural(d->full_in), frag_steps_until_full(a->leaks, device));
}

static int leaks_print(const void *what, const struct frag_text_style *paper, FILE *f,
		       struct frag_error *err)
{
	const struct frag_leaks_answer *a = what;

	(void)err;
	leaks_print_verdict(a, paper, f);
	for (uint32_t i = 0; i < a->trace->device_count; i++) {
		const struct frag_leaking *d = &a->leaks->devices[i];

		if (a->trace->device_count > 1)
			frag_put_row(paper->columns, "device", f, "%" PRIu32, i);
		if (d->leak) {
			print_leaks(a, i, paper, f);
			print_end(a, i, paper, f);
		}
		print_growth(d, paper, f);
	}
	print_iterations(a, paper, f);
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = leaks_print };

/* A tag is JSON text: its quotes go. What is longer is cut. */
static const char *frag_leak_name(const struct frag_leak *leak, char buf[FRAG_LEAK_NAME_ROOM])
{
	const char *text = leak->tag ? leak->tag + 1 : leak->frames;
	size_t length = !text ? 0 : leak->tag ? strlen(text) - 1 : strcspn(text, "\n");
	char size[FRAG_NUMBER_ROOM];

	if (!text)
		snprintf(buf, FRAG_LEAK_NAME_ROOM, "blocks of %s without a tag",
			 frag_size_text(size, leak->size));
	else if (length < FRAG_LEAK_NAME_ROOM)
		snprintf(buf, FRAG_LEAK_NAME_ROOM, "%.*s", (int)length, text);
	else
		snprintf(buf, FRAG_LEAK_NAME_ROOM, "%.*s...", FRAG_LEAK_NAME_ROOM - 4, text);
	return buf;
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
	char name[FRAG_LEAK_NAME_ROOM];

	for (uint32_t i = 0; i < leaks->leak_count; i++) {
		const struct frag_leak *k = &leaks->leaks[i];

		frag_cell(t, true, k->device);
		frag_cell_text(t, frag_leak_name(k, name));
		frag_cell(t, true, k->an_iteration);
		frag_cell(t, true, k->bytes);
		frag_cell(t, true, k->blocks);
		frag_cell(t, true, k->first_step);
	}
}

static const struct frag_table_rows rows = { columns, leaks_fill };

const struct frag_format *const frag_leaks_formats[] = {
	&text_format, FRAG_ANSWER_FORMS("leaks", frag_leaks_document, &rows),
};

static void leaks_put_device(struct frag_node_ref list, const struct frag_leaks_answer *a,
			     uint32_t device)
{
	const struct frag_leaking *d = &a->leaks->devices[device];
	struct frag_node_ref o = frag_json_object(list, NULL);
	const bool ends = d->full_in != UINT64_MAX;

	frag_json_u64(o, "ordinal", device);
	frag_json_text(o, "name", a->devices[device].name);
	frag_json_u64_or_null(o, "total_bytes", a->devices[device].total != 0,
			      a->devices[device].total);
	frag_json_u64(o, "live_first", d->first);
	frag_json_u64(o, "live_last", d->last);
	frag_json_u64(o, "live_peak", d->peak);
	frag_json_fixed4(o, "growth", d->growth);
	frag_json_u64(o, "leak", d->leak);
	frag_json_u64_or_null(o, "full_in_iterations", ends, d->full_in);
	frag_json_u64_or_null(o, "full_in_steps", ends, frag_steps_until_full(a->leaks, device));
}

static void put_leak(struct frag_node_ref list, const struct frag_leak *leak)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "device", leak->device);
	frag_json_raw(o, "tag", leak->tag);
	frag_json_u64_or_null(o, "size", leak->size != 0, leak->size);
	frag_json_u64(o, "bytes_an_iteration", leak->an_iteration);
	frag_json_u64(o, "bytes", leak->bytes);
	frag_json_u64(o, "blocks", leak->blocks);
	frag_json_u64(o, "first_step", leak->first_step);
	if (leak->frames)
		frag_json_frames(o, leak->frames);
}

void frag_leaks_document(struct frag_node_ref root, const void *what)
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
	list = frag_json_array(root, "leaks");
	for (uint32_t i = 0; i < leaks->leak_count; i++)
		put_leak(list, &leaks->leaks[i]);
}
