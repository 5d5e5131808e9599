/* trace_info.c - what a trace is, for people and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/format.h"
#include "base/escape.h"
#include "base/output_path.h"
#include "base/c_locale.h"
#include "documents/document_head.h"
#include "answers/describe_snapshot.h"
#include "answers/report.h"

#define BAR 24

/* Printable; what is not ASCII as an escape. */
static void print_text(const char *text, size_t length, FILE *f)
{
	char buf[6 * 256 + 2], *end;

	end = frag_put_json(buf, text, length < 256 ? length : 256);
	fwrite(buf, 1, (size_t)(end - buf), f);
}

#define SPAN_MAX 1e15           /* microseconds: nanoseconds beyond have no 64 bits */

/* "2.50 s": how long it is from one time of a trace to another, which may be before it. */
static const char *span_text(char buf[FRAG_NUMBER_ROOM], double from, double to)
{
	const double us = to - from;
	char text[FRAG_NUMBER_ROOM];

	if (!(fabs(us) < SPAN_MAX)) {
		/* the difference may be too large for a double */
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%g s",
			      isfinite(us) ? us / 1e6 : to / 1e6 - from / 1e6);
		return buf;
	}
	frag_time_text(text, (uint64_t)(fabs(us) * 1e3 + 0.5));
	snprintf(buf, FRAG_NUMBER_ROOM, "%s%.30s", us < 0 ? "-" : "", text);
	return buf;
}

static void print_events(const struct frag_survey *s, const struct frag_trace_info *t, FILE *f)
{
	const char *between = "";
	char span[FRAG_NUMBER_ROOM];

	fprintf(f, "%" PRIu64 " event%s: ", t->events, t->events == 1 ? "" : "s");
	for (uint32_t op = 0; op < FRAG_OPS; op++) {
		if (!s->ops[op])
			continue;
		fprintf(f, "%s%" PRIu64 " %s", between, s->ops[op],
			frag_op_name((enum frag_op)op));
		between = ", ";
	}
	fprintf(f, "%s\n", *between ? "" : "none");
	if (t->skipped)
		fprintf(f, "  %" PRIu64 " bad event%s left out\n", t->skipped, frag_s(t->skipped));
	fprintf(f, "%u stream%s, %u pool%s, %u different size%s\n", s->streams,
		s->streams == 1 ? "" : "s", s->pools, s->pools == 1 ? "" : "s",
		s->sizes_seen.count, s->sizes_seen.count == 1 ? "" : "s");
	if (s->with_t)
		fprintf(f, "time: %s from the first to the last of %" PRIu64 " times\n",
			span_text(span, s->first_t, s->last_t), s->with_t);
	else
		fputs("time: none\n", f);
}

static void print_devices(const struct frag_survey *s, const struct frag_trace_info *t,
			  const struct frag_snapshot *snapshot, FILE *f)
{
	char text[FRAG_NUMBER_ROOM], shown[FRAG_PRINTABLE_ROOM];

	for (uint32_t i = 0; i < s->device_count; i++) {
		const struct frag_survey_device *d = &s->devices[i];
		const struct frag_device_figures *figures = &t->devices[i];
		const char *name = figures->name ? frag_printable(shown, figures->name) : "";

		fprintf(f, "device %u: %s%s%s, %" PRIu64 " alloc%s\n", i,
			name, figures->name ? ", " : "",
			figures->total ? frag_size_text(text, figures->total) : "unlimited",
			d->allocs, frag_s(d->allocs));
		fprintf(f, "  at most %s live, in %" PRIu64 " block%s, at step %" PRIu64 "\n",
			frag_wide_size_text(text, d->peak_bytes), d->peak_blocks,
			d->peak_blocks == 1 ? "" : "s", d->peak_step);
		fprintf(f, "  at the end %s live, in %" PRIu64 " block%s\n",
			frag_wide_size_text(text, d->live_bytes), d->live, d->live == 1 ? "" : "s");
		if (snapshot)
			frag_describe_recorded(snapshot, i, f);
	}
}

/* What a snapshot says of it, beside the trace. */
static void print_host(const struct frag_host_memory *host, FILE *f)
{
	if (!host->events && !host->live)
		return;
	fprintf(f, "pinned host memory: %" PRIu64 " event%s outside the trace, which run --host"
		" simulates\n", host->events, host->events == 1 ? "" : "s");
	fprintf(f, "  at most %s live\n", SIZE(host->peak_bytes));
	fprintf(f, "  at the end %s live, in %" PRIu64 " block%s\n",
		SIZE(host->live_bytes), host->live, host->live == 1 ? "" : "s");
}

/* The first value of a bin. */
static uint64_t min(uint32_t bin)
{
	return bin ? UINT64_C(1) << (bin - 1) : 0;
}

/*
 * Bars are relative to the fullest bin, as the counts of two traces differ by
 * orders of magnitude.
 */
static void print_bins(const struct frag_survey_bin *bins, const char *title, bool sizes, FILE *f)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < FRAG_SURVEY_BINS; i++)
		max = bins[i].count > max ? bins[i].count : max;
	if (!max)
		return;
	fprintf(f, "\n%-14s %10s %14s\n", title, "blocks", "bytes");
	for (uint32_t i = 0; i < FRAG_SURVEY_BINS; i++) {
	char from[FRAG_NUMBER_ROOM], bytes[FRAG_NUMBER_ROOM];
		int length = (int)((double)bins[i].count / (double)max * BAR + 0.5);

		if (!bins[i].count)
			continue;
		if (sizes)
			frag_size_text(from, min(i));
		else
			snprintf(from, sizeof(from), "%" PRIu64, min(i));
		fprintf(f, "%14s %10" PRIu64 " %14s%s%.*s\n", from, bins[i].count,
			frag_wide_size_text(bytes, bins[i].bytes), length ? "  " : "", length,
			"########################");
	}
}

static void print_marks(const struct frag_survey *s, FILE *f)
{
	uint64_t count = s->ops[FRAG_OP_MARK];

	if (!count)
		return;
	fprintf(f, "\n%12s  mark\n", "step");
	for (uint64_t i = 0; i < count && i < FRAG_SURVEY_MARKS; i++) {
		fprintf(f, "%12" PRIu64 "  ", s->marks[i].step);
		print_text(s->marks[i].name, strlen(s->marks[i].name), f);
		fputc('\n', f);
	}
	if (count > FRAG_SURVEY_MARKS)
		fprintf(f, "  the first %d of %" PRIu64 " marks\n", FRAG_SURVEY_MARKS, count);
}

static uint64_t never_freed(const struct frag_survey *s)
{
	uint64_t live = 0;

	for (uint32_t i = 0; i < s->device_count; i++)
		live += s->devices[i].live;
	return live;
}

/* Nothing of this is an error: it is what surprises whoever recorded the trace. */
static void print_oddities(const struct frag_survey *s, FILE *f)
{
	const struct {
		uint64_t count;
		const char *singular, *plural;
	} odd[] = {
		{ never_freed(s), "block is never freed", "blocks are never freed" },
		{ s->freed_at_once, "block is freed in the step after its alloc",
		  "blocks are freed in the step after their alloc" },
		{ s->sizes[0].count, "block has no bytes", "blocks have no bytes" },
		{ s->waiting_frees, "free waits for a stream or a complete",
		  "frees wait for a stream or a complete" },
		{ s->backwards, "time is before the one that precedes it",
		  "times are before the one that precedes them" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		if (!odd[i].count)
			continue;
		fprintf(f, "%s%" PRIu64 " %s\n", any ? "" : "\n", odd[i].count,
			odd[i].count == 1 ? odd[i].singular : odd[i].plural);
		any = true;
	}
}

void frag_report_info(const struct frag_survey *s, const struct frag_trace_info *t,
		      const struct frag_snapshot *snapshot, const struct frag_recorded_by *by,
		      FILE *f)
{
	char path[FRAG_PRINTABLE_ROOM];

	fprintf(f, "%s: %s form\n", frag_printable(path, frag_input_name(t->path)), t->form);
	if (t->meta.text) {
		fputs("meta: ", f);
		fwrite(t->meta.text, 1, t->meta.length, f);
		fputc('\n', f);
	}
	print_events(s, t, f);
	if (snapshot)
		frag_describe_snapshot(snapshot, f);
	if (by->version)
		fprintf(f, "PyTorch: %s, as %s\n", by->version, by->why);
	print_devices(s, t, snapshot, f);
	print_host(&t->host, f);
	print_bins(s->sizes, "size, from", true, f);
	print_bins(s->lives, "life, steps", false, f);
	print_marks(s, f);
	print_oddities(s, f);
}

static void put_wide(struct frag_node_ref in, const char *key, frag_wide value)
{
	char text[FRAG_WIDE_ROOM];

	*frag_put_wide(text, value) = '\0';
	frag_json_raw(in, key, text);
}

static void bins_json(struct frag_node_ref in, const char *key, const struct frag_survey_bin *bins)
{
	struct frag_node_ref list = frag_json_array(in, key);

	for (uint32_t i = 0; i < FRAG_SURVEY_BINS; i++) {
		struct frag_node_ref bin;

		if (!bins[i].count)
			continue;
		bin = frag_json_object(list, NULL);
		frag_json_u64(bin, "from", min(i));
		frag_json_u64(bin, "blocks", bins[i].count);
		put_wide(bin, "bytes", bins[i].bytes);
	}
}

static void devices_json(struct frag_node_ref in, const struct frag_survey *s,
			 const struct frag_trace_info *t)
{
	struct frag_node_ref list = frag_json_array(in, "devices");

	for (uint32_t i = 0; i < s->device_count; i++) {
		struct frag_node_ref d = frag_json_object(list, NULL);

		frag_json_text(d, "name", t->devices[i].name);
		frag_json_u64(d, "total_bytes", t->devices[i].total);
		frag_json_u64(d, "context_bytes", t->devices[i].context);
		frag_json_u64(d, "other_bytes", t->devices[i].other);
		frag_json_u64(d, "granularity_bytes", t->devices[i].granularity);
		frag_json_u64(d, "allocs", s->devices[i].allocs);
		put_wide(d, "peak_live_bytes", s->devices[i].peak_bytes);
		frag_json_u64(d, "peak_live_blocks", s->devices[i].peak_blocks);
		frag_json_u64(d, "peak_step", s->devices[i].peak_step);
		put_wide(d, "last_live_bytes", s->devices[i].live_bytes);
		frag_json_u64(d, "last_live_blocks", s->devices[i].live);
	}
}

static void host_json(struct frag_node_ref in, const struct frag_host_memory *host)
{
	struct frag_node_ref o;

	if (!host->events && !host->live)
		return;
	o = frag_json_object(in, "host");
	frag_json_u64(o, "events", host->events);
	frag_json_u64(o, "peak_live_bytes", host->peak_bytes);
	frag_json_u64(o, "last_live_bytes", host->live_bytes);
	frag_json_u64(o, "last_live_blocks", host->live);
}

static void marks_json(struct frag_node_ref in, const struct frag_survey *s)
{
	struct frag_node_ref list = frag_json_array(in, "marks");

	for (uint64_t i = 0; i < s->ops[FRAG_OP_MARK] && i < FRAG_SURVEY_MARKS; i++) {
		struct frag_node_ref m = frag_json_object(list, NULL);

		frag_json_u64(m, "step", s->marks[i].step);
		frag_json_text(m, "name", s->marks[i].name);
	}
}

/* Every member is always there; null stands for what the trace does not have. */
int frag_report_info_json(const struct frag_survey *s, const struct frag_trace_info *t,
			  const struct frag_snapshot *snapshot, const struct frag_recorded_by *by,
			  struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-info"), ops;
	const double duration = s->last_t - s->first_t;
	char number[FRAG_NUMBER_ROOM];
	int rc;

	frag_json_text(root, "path", t->path);
	frag_json_text(root, "form", t->form);
	frag_document_content(root, "content", t->content);
	frag_json_raw(root, "meta", t->meta.text);
	frag_json_u64(root, "events", t->events);
	frag_json_u64(root, "left_out", t->skipped);
	ops = frag_json_object(root, "ops");
	for (uint32_t op = 0; op < FRAG_OPS; op++)
		frag_json_u64(ops, frag_op_name((enum frag_op)op), s->ops[op]);
	frag_json_u64(root, "streams", s->streams);
	frag_json_u64(root, "pools", s->pools);
	frag_json_u64(root, "different_sizes", s->sizes_seen.count);
	frag_json_u64(root, "times", s->with_t);
	*frag_put_double(number, duration) = '\0';
	frag_json_raw(root, "duration", s->with_t && isfinite(duration) ? number : NULL);
	if (snapshot)
		frag_describe_json(root, snapshot, by);
	devices_json(root, s, t);
	host_json(root, &t->host);
	bins_json(root, "sizes", s->sizes);
	bins_json(root, "lives", s->lives);
	marks_json(root, s);
	frag_json_u64(root, "never_freed", never_freed(s));
	frag_json_u64(root, "freed_at_once", s->freed_at_once);
	frag_json_u64(root, "of_no_bytes", s->sizes[0].count);
	frag_json_u64(root, "waiting_frees", s->waiting_frees);
	frag_json_u64(root, "times_backwards", s->backwards);
	rc = frag_json_write(&doc, out, err);
	frag_json_end(&doc);
	return rc;
}
