/* trace_info.c - what a trace contains, and what the snapshot that it was read from says. */
#include "answers/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/format.h"
#include "base/atomic_file.h"
#include "documents/document_head.h"
#include "snapshot/snapshot.h"

#define SETTINGS_ROOM 4096

/* The settings string of PyTorch, or else one made from its values; NULL: none in the file. */
static const char *find_settings(const struct frag_snapshot *s, char buf[SETTINGS_ROOM])
{
	if (frag_snapshot_settings(s, buf, SETTINGS_ROOM))
		return buf;
	frag_snapshot_settings_values(s, buf, SETTINGS_ROOM);
	return *buf || frag_snapshot_has_settings(s) ? buf : NULL;
}

static void print_ring(const struct frag_snapshot *s, FILE *f)
{
	uint64_t max, lost;
	const enum frag_overflow overflow = frag_snapshot_overflow(s, &max);

	if (overflow == FRAG_OVERFLOW_UNKNOWN)
		return;
	fputs("ring buffer: ", f);
	if (max)
		fprintf(f, "capacity %" PRIu64 " event%s per device, ", max, frag_s(max));
	fputs(overflow == FRAG_OVERFLOWED ? "overflowed: older events are missing" : "not overflowed",
	      f);
	if (overflow == FRAG_OVERFLOWED && frag_snapshot_lost(s, &lost))
		fprintf(f, ", with the first %" PRIu64 " allocation%s", lost, frag_s(lost));
	fputc('\n', f);
}

/* Lines: of all of it, and of a device. */
static void describe_snapshot(const struct frag_snapshot *s, FILE *f)
{
	char settings[SETTINGS_ROOM], version[64], shown[FRAG_PRINTABLE_ROOM];
	const char *text = find_settings(s, settings);

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++)
		if (frag_snapshot_version(s, i, version, sizeof(version)))
			fprintf(f, "%s: %s\n", frag_snapshot_version_names[i],
				frag_printable(shown, version));
	fprintf(f, "settings: %s\n", !text ? "not in the file"
		: *text ? frag_printable(shown, text) : "default");
	print_ring(s, f);
}

static void print_history(const struct frag_snapshot *s, const struct frag_snap_device *d, FILE *f)
{
	if (!s->has_history) {
		fputs("  history: none, only the state at the end\n", f);
		return;
	}
	fprintf(f, "  history: %" PRIu32 " event%s", d->log_count, d->log_count == 1 ? "" : "s");
	if (d->start_count || d->first_live_count)
		fprintf(f, ", which begin in mid-run with %" PRIu32 " segment%s of %s and %" PRIu32
			" live block%s", d->start_count, d->start_count == 1 ? "" : "s",
			SIZE(d->start_bytes), d->first_live_count,
			d->first_live_count == 1 ? "" : "s");
	fputc('\n', f);
	if (d->lost)
		fprintf(f, "  %" PRIu64 " event%s the others\n", d->lost,
			d->lost == 1 ? " contradicts" : "s contradict");
}

static void describe_recorded(const struct frag_snapshot *s, uint32_t device, FILE *f)
{
	const struct frag_snap_device *d = &s->devices[device];
	struct frag_recorded r;

	frag_snapshot_recorded(s, device, &r);
	fprintf(f, "  recorded: at most %s reserved, at the end %s\n",
		SIZE(r.peak_reserved), SIZE(r.end_reserved));
	fprintf(f, "  recorded: at most %s allocated, at the end %s\n",
		SIZE(r.peak_allocated), SIZE(r.end_allocated));
	print_history(s, d, f);
	if (d->oom_count)
		fprintf(f,
			"  %" PRIu32 " out-of-memory, the first for %s with %s free on the device%s"
			"\n",
			d->oom_count, SIZE(d->log[d->first_oom].size),
			SIZE(d->log[d->first_oom].addr),
			d->last_oom == UINT32_MAX ? ""
			: d->oom_count == 1	  ? ", where the recording ends"
						  : "; the recording ends at the last one");
}

static void oom_json(struct frag_node_ref in, const struct frag_snap_device *d)
{
	struct frag_node_ref oom;

	frag_json_u64(in, "ooms", d->oom_count);
	if (!d->oom_count) {
		frag_json_null(in, "first_oom");
		return;
	}
	oom = frag_json_object(in, "first_oom");
	frag_json_u64(oom, "size", d->log[d->first_oom].size);
	frag_json_u64(oom, "device_free", d->log[d->first_oom].addr);
}

static void device_json(struct frag_node_ref list, const struct frag_snapshot *s, uint32_t i)
{
	const struct frag_snap_device *d = &s->devices[i];
	struct frag_node_ref o = frag_json_object(list, NULL);
	struct frag_recorded r;

	frag_snapshot_recorded(s, i, &r);
	frag_json_u64(o, "peak_reserved_bytes", r.peak_reserved);
	frag_json_u64(o, "last_reserved_bytes", r.end_reserved);
	frag_json_u64(o, "peak_allocated_bytes", r.peak_allocated);
	frag_json_u64(o, "last_allocated_bytes", r.end_allocated);
	frag_json_u64(o, "history_events", s->has_history ? d->log_count : 0);
	frag_json_u64(o, "contradictions", d->lost);
	frag_json_u64(o, "first_segments", d->start_count);
	frag_json_u64(o, "first_segment_bytes", d->start_bytes);
	frag_json_u64(o, "first_live_blocks", d->first_live_count);
	oom_json(o, d);
	frag_json_bool(o, "ends_at_oom", d->oom_count && d->last_oom != UINT32_MAX);
}

static void release_json(struct frag_node_ref in, const struct frag_recorded_by *by)
{
	struct frag_node_ref o;

	if (!by->version) {
		frag_json_null(in, "pytorch");
		return;
	}
	o = frag_json_object(in, "pytorch");
	frag_json_text(o, "version", by->version);
	frag_json_text(o, "why", by->why);
}

/* Both, as the member "recording". */
static void describe_json(struct frag_node_ref root, const struct frag_snapshot *s,
			const struct frag_recorded_by *by)
{
	struct frag_node_ref o = frag_json_object(root, "recording"), list;
	char settings[SETTINGS_ROOM], version[64];
	uint64_t max;
	const enum frag_overflow overflow = frag_snapshot_overflow(s, &max);

	frag_json_text(o, "settings", find_settings(s, settings));
	list = frag_json_object(o, "versions");
	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++)
		if (frag_snapshot_version(s, i, version, sizeof(version)))
			frag_json_text(list, frag_snapshot_version_names[i], version);
	release_json(o, by);
	frag_json_bool(o, "history", s->has_history);
	if (overflow == FRAG_OVERFLOW_UNKNOWN)
		frag_json_null(o, "overflowed");
	else
		frag_json_bool(o, "overflowed", overflow == FRAG_OVERFLOWED);
	frag_json_u64_or_null(o, "max_entries", max != 0, max);
	list = frag_json_array(o, "devices");
	for (uint32_t i = 0; i < s->device_count; i++)
		device_json(list, s, i);
}

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

/* Counts of events by operation, of streams, pools and sizes, and the time span. */
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
			describe_recorded(snapshot, i, f);
	}
}

/* Lines about the snapshot that the trace was read from. */
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
		describe_snapshot(snapshot, f);
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
		describe_json(root, snapshot, by);
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
