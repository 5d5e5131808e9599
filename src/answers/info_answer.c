/* info_answer.c - what a trace contains, and what the snapshot that it was read from says. */
#include "answers/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "documents/document_head.h"
#include "snapshot/snapshot.h"

#define SETTINGS_ROOM 4096

/* The settings string of PyTorch, or else one made from its values; NULL: none in the file. */
static const char *find_settings(const struct frag_snapshot *s, char buf[SETTINGS_ROOM])
{
	if (frag_snapshot_settings(s, buf, SETTINGS_ROOM))
		return buf;
	return frag_snapshot_settings_values(s, buf, SETTINGS_ROOM) ? buf : NULL;
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
	putc('\n', f);
}

/* Lines: of all of it, and of a device. */
static void describe_snapshot(const struct frag_snapshot *s, FILE *f)
{
	char settings[SETTINGS_ROOM], version[64];
	const char *text = find_settings(s, settings);

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++)
		if (frag_snapshot_version(s, i, version, sizeof(version)))
			fprintf(f, "%s: %s\n", frag_snapshot_version_names[i], SHOWN(version));
	fprintf(f, "settings: %s\n", !text ? "not in the file" : *text ? SHOWN(text) : "default");
	print_ring(s, f);
}

/* How the recorded rules and settings compare with the log. */
static void print_log(const struct frag_log_check *log, FILE *f)
{
	if (!log->decisions)
		return;
	if (log->changed_to)
		fprintf(f, "settings from event %" PRIu64 " on: %s, as the log shows\n",
			log->changed_at, SHOWN(log->changed_to));
	if (log->differences)
		fprintf(f, "recorded log: differs from event %" PRIu64 " on, in %" PRIu64 " of %"
			PRIu64 " decisions: settings changed in mid-run?\n", log->first,
			log->differences, log->decisions);
	else
		fprintf(f, "recorded log: all %" PRIu64 " decisions agree\n", log->decisions);
}

static void print_history(const struct frag_snapshot *s, const struct frag_snap_device *d, FILE *f)
{
	if (!s->has_history) {
		fputs("  history: none, only the state at the end\n", f);
		return;
	}
	fprintf(f, "  history: %" PRIu32 " event%s", d->log_count, frag_s(d->log_count));
	if (d->start_count || d->first_live_count)
		fprintf(f, ", which begin in mid-run with %" PRIu32 " segment%s of %s and %" PRIu32
			" live block%s", d->start_count, frag_s(d->start_count),
			SIZE(d->start_bytes), d->first_live_count, frag_s(d->first_live_count));
	putc('\n', f);
	if (d->lost)
		fprintf(f, "  %" PRIu64 " event%s the others\n", d->lost,
			d->lost == 1 ? " contradicts" : "s contradict");
}

/*
 * The log has what was reserved, and of a block its request: its size also depends on the block that
 * the allocator found for it. So a simulation counts what was allocated.
 */
static void recorded_of(const struct frag_trace_facts *facts, uint32_t device,
			struct frag_recorded *out)
{
	frag_snapshot_recorded(facts->snapshot, device, out);
	if (facts->runs)
		out->peak_allocated = facts->runs[device].peak.allocated;
}

static void describe_recorded(const struct frag_trace_facts *facts, uint32_t device, FILE *f)
{
	const struct frag_snapshot *s = facts->snapshot;
	const struct frag_snap_device *d = &s->devices[device];
	const struct frag_logged *oom = d->oom_count ? &d->log[d->first_oom] : NULL;
	struct frag_recorded r;

	recorded_of(facts, device, &r);
	fprintf(f, "  recorded: at most %s reserved, at the end %s\n",
		SIZE(r.peak_reserved), SIZE(r.end_reserved));
	fprintf(f, "  recorded: at most %s allocated, at the end %s\n",
		SIZE(r.peak_allocated), SIZE(r.end_allocated));
	print_history(s, d, f);
	if (oom)
		fprintf(f, "  %" PRIu32 " out-of-memory, the first for %s with %s free on the"
			" device%s\n", d->oom_count, SIZE(oom->size), SIZE(oom->addr),
			d->last_oom == UINT32_MAX ? ""
			: d->oom_count == 1 ? ", where the recording ends"
			: "; the recording ends at the last one");
}

static const struct frag_json_row recorded_rows[] = {
	ROW_AS("peak_reserved_bytes", recorded, peak_reserved),
	ROW_AS("last_reserved_bytes", recorded, end_reserved),
	ROW_AS("peak_allocated_bytes", recorded, peak_allocated),
	ROW_AS("last_allocated_bytes", recorded, end_allocated), ROW_END,
}, history_rows[] = {
	ROW_AS("contradictions", snap_device, lost), ROW_AS("first_segments", snap_device, start_count),
	ROW_AS("first_segment_bytes", snap_device, start_bytes),
	ROW_AS("first_live_blocks", snap_device, first_live_count),
	ROW_AS("ooms", snap_device, oom_count), ROW_END,
}, oom_rows[] = {
	ROW(logged, size), ROW_AS("device_free", logged, addr), ROW_END,
};

static void device_json(struct frag_node_ref list, const struct frag_trace_facts *facts, uint32_t i)
{
	const struct frag_snapshot *s = facts->snapshot;
	const struct frag_snap_device *d = &s->devices[i];
	struct frag_node_ref o = frag_json_object(list, NULL);
	struct frag_recorded r;

	recorded_of(facts, i, &r);
	frag_json_rows(o, recorded_rows, &r);
	frag_json_u64(o, "history_events", s->has_history ? d->log_count : 0);
	frag_json_rows(o, history_rows, d);
	frag_json_of(o, "first_oom", oom_rows, d->oom_count ? &d->log[d->first_oom] : NULL);
	frag_json_bool(o, "ends_at_oom", d->oom_count && d->last_oom != UINT32_MAX);
}

/* Both, as the member "recording". */
static void describe_json(struct frag_node_ref root, const struct frag_trace_facts *facts)
{
	const struct frag_snapshot *s = facts->snapshot;
	const struct frag_recorded_by *by = &facts->by;
	static const struct frag_json_row release_rows[] = {
		ROW(recorded_by, version), ROW(recorded_by, why), ROW_END,
	};
	struct frag_node_ref o = frag_json_object(root, "recording"), list;
	char settings[SETTINGS_ROOM], version[64];
	uint64_t max;
	const enum frag_overflow overflow = frag_snapshot_overflow(s, &max);

	frag_json_text(o, "settings", find_settings(s, settings));
	list = frag_json_object(o, "versions");
	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++)
		if (frag_snapshot_version(s, i, version, sizeof(version)))
			frag_json_text(list, frag_snapshot_version_names[i], version);
	frag_json_of(o, "pytorch", release_rows, by->version ? by : NULL);
	frag_json_bool(o, "history", s->has_history);
	if (overflow == FRAG_OVERFLOW_UNKNOWN)
		frag_json_null(o, "overflowed");
	else
		frag_json_bool(o, "overflowed", overflow == FRAG_OVERFLOWED);
	frag_json_u64_or_null(o, "max_entries", max != 0, max);
	list = frag_json_array(o, "devices");
	for (uint32_t i = 0; i < s->device_count; i++)
		device_json(list, facts, i);
}

#define BAR 24

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
	char span[FRAG_NUMBER_ROOM];
	struct frag_words w = WORDS(400);

	for (uint32_t op = 0; op < FRAG_OPS; op++)
		if (s->ops[op])
			frag_add_item(&w, ", ", "%" PRIu64 " %s", s->ops[op],
				      frag_op_name((enum frag_op)op));
	fprintf(f, "%" PRIu64 " event%s: %s\n", t->events, frag_s(t->events),
		w.used ? w.text : "none");
	if (t->skipped)
		fprintf(f, "  %" PRIu64 " bad event%s left out\n", t->skipped, frag_s(t->skipped));
	fprintf(f, "%u stream%s, %u pool%s, %u different size%s\n", s->streams, frag_s(s->streams),
		s->pools, frag_s(s->pools), s->sizes_seen.count, frag_s(s->sizes_seen.count));
	if (s->with_t)
		fprintf(f, "time: %s from the first to the last of %" PRIu64 " times\n",
			span_text(span, s->first_t, s->last_t), s->with_t);
	else
		fputs("time: none\n", f);
}

static char *sum_text(char buf[FRAG_NUMBER_ROOM], frag_wide bytes)
{
	if (bytes <= UINT64_MAX)
		return frag_size_text(buf, (uint64_t)bytes);
	frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f PiB", (double)bytes / 0x1p50);
	return buf;
}

static void print_devices(const struct frag_trace_facts *facts, FILE *f)
{
	const struct frag_survey *s = facts->survey;
	char text[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < s->device_count; i++) {
		const struct frag_survey_device *d = &s->devices[i];
		const struct frag_device_figures *figures = &facts->trace->devices[i];

		fprintf(f, "device %u: %s%s%s, %" PRIu64 " alloc%s\n", i,
			figures->name ? SHOWN(figures->name) : "", figures->name ? ", " : "",
			figures->total ? SIZE(figures->total) : "unlimited", d->allocs,
			frag_s(d->allocs));
		fprintf(f, "  at most %s live, in %" PRIu64 " block%s, at step %" PRIu64 "\n",
			sum_text(text, d->peak_bytes), d->peak_blocks,
			frag_s(d->peak_blocks), d->peak_step);
		fprintf(f, "  at the end %s live, in %" PRIu64 " block%s\n",
			sum_text(text, d->live_bytes), d->live, frag_s(d->live));
		if (facts->snapshot)
			describe_recorded(facts, i, f);
	}
}

/* Lines about the snapshot that the trace was read from. */
static void print_host(const struct frag_host_memory *host, FILE *f)
{
	if (!host->events && !host->live)
		return;
	fprintf(f, "pinned host memory: %" PRIu64 " event%s outside the trace, which run --host"
		" simulates\n", host->events, frag_s(host->events));
	fprintf(f, "  at most %s live\n", SIZE(host->peak_bytes));
	fprintf(f, "  at the end %s live, in %" PRIu64 " block%s\n",
		SIZE(host->live_bytes), host->live, frag_s(host->live));
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
	char from[FRAG_NUMBER_ROOM], bytes[FRAG_NUMBER_ROOM];
	uint64_t max = 0;

	for (uint32_t i = 0; i < FRAG_SURVEY_BINS; i++)
		max = bins[i].count > max ? bins[i].count : max;
	if (!max)
		return;
	fprintf(f, "\n%-14s %10s %14s\n", title, "blocks", "bytes");
	for (uint32_t i = 0; i < FRAG_SURVEY_BINS; i++) {
		const int length = (int)((double)bins[i].count / (double)max * BAR + 0.5);

		if (!bins[i].count)
			continue;
		snprintf(from, sizeof(from), "%" PRIu64, min(i));
		fprintf(f, "%14s %10" PRIu64 " %14s%s%.*s\n", sizes ? SIZE(min(i)) : from,
			bins[i].count, sum_text(bytes, bins[i].bytes),
			length ? "  " : "", length, "########################");
	}
}

static void print_marks(const struct frag_survey *s, FILE *f)
{
	const uint64_t count = s->ops[FRAG_OP_MARK];
	char name[6 * 256 + 3];

	if (!count)
		return;
	fprintf(f, "\n%12s  mark\n", "step");
	for (uint64_t i = 0; i < count && i < FRAG_SURVEY_MARKS; i++) {
		/* printable; what is not ASCII as an escape */
		*frag_put_json(name, s->marks[i].name, strnlen(s->marks[i].name, 256)) = '\0';
		fprintf(f, "%12" PRIu64 "  %s\n", s->marks[i].step, name);
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

static void print_scope(const struct frag_scope *scope, FILE *f)
{
	struct frag_words w = WORDS(200);

	frag_add_scope(&w, scope);
	fprintf(f, "scope: %s\n", w.text);
}

void frag_report_info(const struct frag_trace_facts *facts, FILE *f)
{
	const struct frag_survey *s = facts->survey;
	const struct frag_trace_info *t = facts->trace;

	fprintf(f, "%s: %s form\n", SHOWN(frag_input_name(t->path)), t->form);
	if (t->meta.text)
		fprintf(f, "meta: %.*s\n", (int)t->meta.length, t->meta.text);
	print_scope(&t->scope, f);
	print_events(s, t, f);
	if (facts->snapshot)
		describe_snapshot(facts->snapshot, f);
	print_log(&t->log, f);
	if (facts->by.version)
		fprintf(f, "PyTorch: %s, as %s\n", facts->by.version, facts->by.why);
	print_devices(facts, f);
	print_host(&t->host, f);
	print_bins(s->sizes, "size, from", true, f);
	print_bins(s->lives, "life, steps", false, f);
	print_marks(s, f);
	print_oddities(s, f);
}

/* Fewer than 2^64 sizes below 2^53: two parts of 19 digits are enough. */
static void put_wide(struct frag_node_ref in, const char *key, frag_wide value)
{
	const uint64_t unit = UINT64_C(10000000000000000000);
	char text[2 * FRAG_NUMBER_ROOM], *p = text;

	if (value >= unit)
		p = frag_put_u64(p, (uint64_t)(value / unit));
	snprintf(p, FRAG_NUMBER_ROOM, value < unit ? "%" PRIu64 : "%019" PRIu64,
		 (uint64_t)(value % unit));
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
	struct frag_node_ref list = frag_json_array(in, "devices"), o;

	for (uint32_t i = 0; i < s->device_count; i++) {
		const struct frag_survey_device *d = &s->devices[i];

		o = frag_json_object(list, NULL);
		frag_put_fields(o, frag_figures_fields, &t->devices[i]);
		frag_json_u64(o, "allocs", d->allocs);
		put_wide(o, "peak_live_bytes", d->peak_bytes);
		frag_json_u64(o, "peak_live_blocks", d->peak_blocks);
		frag_json_u64(o, "peak_step", d->peak_step);
		put_wide(o, "last_live_bytes", d->live_bytes);
		frag_json_u64(o, "last_live_blocks", d->live);
	}
}

static void host_json(struct frag_node_ref in, const struct frag_host_memory *host)
{
	static const struct frag_json_row rows[] = {
		ROW(host_memory, events), ROW_AS("peak_live_bytes", host_memory, peak_bytes),
		ROW_AS("last_live_bytes", host_memory, live_bytes),
		ROW_AS("last_live_blocks", host_memory, live), ROW_END,
	};

	if (host->events || host->live)
		frag_json_of(in, "host", rows, host);
}

/* Every member is always there; null stands for what the trace does not have. */
int frag_report_info_json(void *of, struct frag_outfile *out, struct frag_error *err)
{
	const struct frag_trace_facts *facts = of;
	const struct frag_survey *s = facts->survey;
	const struct frag_trace_info *t = facts->trace;
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-info"), list, o;
	const double duration = s->last_t - s->first_t;
	char number[FRAG_NUMBER_ROOM];

	frag_json_text(root, "path", t->path);
	frag_json_text(root, "form", t->form);
	frag_document_content(root, "content", t->content);
	frag_json_raw(root, "meta", t->meta.text);
	frag_document_scopes(root, &t, 1);
	frag_json_u64(root, "events", t->events);
	frag_json_u64(root, "left_out", t->skipped);
	o = frag_json_object(root, "ops");
	for (uint32_t op = 0; op < FRAG_OPS; op++)
		frag_json_u64(o, frag_op_name((enum frag_op)op), s->ops[op]);
	frag_json_u64(root, "streams", s->streams);
	frag_json_u64(root, "pools", s->pools);
	frag_json_u64(root, "different_sizes", s->sizes_seen.count);
	frag_json_u64(root, "times", s->with_t);
	*frag_put_double(number, duration) = '\0';
	frag_json_raw(root, "duration", s->with_t && isfinite(duration) ? number : NULL);
	if (facts->snapshot)
		describe_json(root, facts);
	if (t->log.decisions)
		frag_document_log(root, &t->log);
	devices_json(root, s, t);
	host_json(root, &t->host);
	bins_json(root, "sizes", s->sizes);
	bins_json(root, "lives", s->lives);
	list = frag_json_array(root, "marks");
	for (uint64_t i = 0; i < s->ops[FRAG_OP_MARK] && i < FRAG_SURVEY_MARKS; i++) {
		o = frag_json_object(list, NULL);
		frag_json_u64(o, "step", s->marks[i].step);
		frag_json_text(o, "name", s->marks[i].name);
	}
	frag_json_u64(root, "never_freed", never_freed(s));
	frag_json_u64(root, "freed_at_once", s->freed_at_once);
	frag_json_u64(root, "of_no_bytes", s->sizes[0].count);
	frag_json_u64(root, "waiting_frees", s->waiting_frees);
	frag_json_u64(root, "times_backwards", s->backwards);
	return frag_json_write(&doc, out, err);
}
