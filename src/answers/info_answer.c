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
		fprintf(f, "  at most %s live, in %" PRIu64 " block%s, at event %" PRIu64 "\n",
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
	fprintf(f, "\n%12s  mark\n", "event");
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
		{ s->freed_at_once, "block is freed by the event after its alloc",
		  "blocks are freed by the event after their alloc" },
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
	print_bins(s->lives, "life, events", false, f);
	print_marks(s, f);
	print_oddities(s, f);
}

/* The document, see fragsim-trace(1) ----------------------------------------------- */

/* Fewer than 2^64 sizes below 2^53: two parts of 19 digits are enough. */
static const char *wide_json(frag_wide value, char *buf)
{
	const uint64_t unit = UINT64_C(10000000000000000000);
	char *p = buf;

	if (value >= unit)
		p = frag_put_u64(p, (uint64_t)(value / unit));
	snprintf(p, FRAG_NUMBER_ROOM, value < unit ? "%" PRIu64 : "%019" PRIu64,
		 (uint64_t)(value % unit));
	return buf;
}

/* Of a snapshot -------------------------------------------------------------------- */

static const char *settings_of(const void *facts, char *buf)
{
	_Static_assert(SETTINGS_ROOM <= FRAG_ELEMENT_MAX, "a field's text is long enough");
	return find_settings(((const struct frag_trace_facts *)facts)->snapshot, buf);
}

static void put_versions(struct frag_node_ref in, const void *facts)
{
	const struct frag_snapshot *s = ((const struct frag_trace_facts *)facts)->snapshot;
	char version[64];

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++)
		if (frag_snapshot_version(s, i, version, sizeof(version)))
			frag_json_text(in, frag_snapshot_version_names[i], version);
}

static struct frag_cell_value overflowed_of(const void *snapshot)
{
	uint64_t max;
	const enum frag_overflow overflow = frag_snapshot_overflow(snapshot, &max);

	return (struct frag_cell_value){
		.there = overflow != FRAG_OVERFLOW_UNKNOWN, .b = overflow == FRAG_OVERFLOWED,
	};
}

static struct frag_cell_value max_entries_of(const void *snapshot)
{
	uint64_t max;

	frag_snapshot_overflow(snapshot, &max);
	return (struct frag_cell_value){ .there = max != 0, .u = max };
}

/* A device, as the recording shows it. */
struct frag_recorded_view {
	const struct frag_snap_device *device;
	const struct frag_logged *oom;  /* the first, or NULL */
	struct frag_recorded figures;
	uint64_t events;
	bool ends_at_oom;
};

static bool recorded_at(const void *of, uint32_t i, void *element)
{
	const struct frag_trace_facts *facts = of;
	const struct frag_snapshot *s = facts->snapshot;
	struct frag_recorded_view *to = element;
	const struct frag_snap_device *d;

	if (i >= s->device_count)
		return false;
	d = &s->devices[i];
	*to = (struct frag_recorded_view){
		.device = d, .oom = d->oom_count ? &d->log[d->first_oom] : NULL,
		.events = s->has_history ? d->log_count : 0,
		.ends_at_oom = d->oom_count && d->last_oom != UINT32_MAX,
	};
	recorded_of(facts, i, &to->figures);
	return true;
}

static struct frag_cell_value release_of(const void *of)
{
	const struct frag_recorded_by *by = &((const struct frag_trace_facts *)of)->by;

	return FRAG_OF(by->version ? by : NULL);
}

#define RECORDED(m) FRAG_AT(recorded_view, figures.m)
#define HISTORY(m) FRAG_VIA(recorded_view, device, snap_device, m)
#define SNAPSHOT FRAG_WHOLE_VIA(trace_facts, snapshot)
static const struct frag_field oom_fields[] = {
	{ "size", FRAG_TYPE_BYTES, FRAG_AT(logged, size), "of the request" },
	{ "device_free", FRAG_TYPE_BYTES, FRAG_AT(logged, addr) },
	{ 0 },
}, recorded_fields[] = {
	{ "peak_reserved_bytes", FRAG_TYPE_BYTES, RECORDED(peak_reserved) },
	{ "last_reserved_bytes", FRAG_TYPE_BYTES, RECORDED(end_reserved), "at the end" },
	{ "peak_allocated_bytes", FRAG_TYPE_BYTES, RECORDED(peak_allocated), "of a simulation where that agrees"
	  " with the log; otherwise each block counts as its request, rounded up to 512 bytes" },
	{ "last_allocated_bytes", FRAG_TYPE_BYTES, RECORDED(end_allocated), "as the file has them" },
	{ "history_events", FRAG_TYPE_COUNT, FRAG_AT(recorded_view, events) },
	{ "contradictions", FRAG_TYPE_COUNT, HISTORY(lost), "events that contradict others" },
	{ "first_segments", FRAG_TYPE_COUNT, HISTORY(start_count), "from before the history" },
	{ "first_segment_bytes", FRAG_TYPE_BYTES, HISTORY(start_bytes) },
	{ "first_live_blocks", FRAG_TYPE_COUNT, HISTORY(first_live_count) },
	{ "ooms", FRAG_TYPE_COUNT, HISTORY(oom_count) },
	{ "first_oom", FRAG_TYPE_OBJECT, FRAG_POINTER(recorded_view, oom), .fields = oom_fields,
	  .nullable = true },
	{ "ends_at_oom", FRAG_TYPE_FLAG, FRAG_AT(recorded_view, ends_at_oom),
	  "no request follows the last one" },
	{ 0 },
}, release_fields[] = {
	{ "version", FRAG_TYPE_TEXT, FRAG_AT(recorded_by, version), "or a range of them" },
	{ "why", FRAG_TYPE_TEXT, FRAG_AT(recorded_by, why), "what shows it" },
	{ 0 },
}, recording_fields[] = {
	{ "settings", FRAG_TYPE_TEXT, FRAG_WHOLE, "null: the file has none", .text = settings_of,
	  .nullable = true },
	{ "versions", FRAG_TYPE_MAP, FRAG_WHOLE, "by the member of the file that has one", .put = put_versions,
	  .members = "{\"type\":\"string\"}" },
	{ "pytorch", FRAG_TYPE_OBJECT, FRAG_WHOLE, "the release whose rules a run uses",
	  .get = release_of, .fields = release_fields, .nullable = true },
	{ "history", FRAG_TYPE_FLAG, FRAG_VIA(trace_facts, snapshot, snapshot, has_history),
	  "the file has one" },
	{ "overflowed", FRAG_TYPE_FLAG, SNAPSHOT, "the ring buffer dropped older events; null: unknown",
	  .get = overflowed_of, .nullable = true },
	{ "max_entries", FRAG_TYPE_COUNT, SNAPSHOT, "of the ring buffer, for a device; null: unknown",
	  .get = max_entries_of, .nullable = true },
	{ "devices", FRAG_TYPE_LIST, FRAG_WHOLE, .each = recorded_at, .fields = recorded_fields },
	{ 0 },
};

/* Of the trace --------------------------------------------------------------------- */

static void put_ops(struct frag_node_ref in, const void *facts)
{
	const struct frag_survey *s = ((const struct frag_trace_facts *)facts)->survey;

	for (uint32_t op = 0; op < FRAG_OPS; op++)
		frag_json_u64(in, frag_op_name((enum frag_op)op), s->ops[op]);
}

static const char *duration_of(const void *survey, char *buf)
{
	const struct frag_survey *s = survey;
	const double duration = s->last_t - s->first_t;

	*frag_put_double(buf, duration) = '\0';
	return s->with_t && isfinite(duration) ? buf : NULL;
}

static struct frag_cell_value snapshot_facts_of(const void *of)
{
	const struct frag_trace_facts *facts = of;

	return FRAG_OF(facts->snapshot ? facts : NULL);
}

struct frag_survey_view {
	const struct frag_device_figures *figures;
	const struct frag_survey_device *device;
};

static bool surveyed_at(const void *of, uint32_t i, void *element)
{
	const struct frag_trace_facts *facts = of;

	if (i >= facts->survey->device_count)
		return false;
	*(struct frag_survey_view *)element = (struct frag_survey_view){
		&facts->trace->devices[i], &facts->survey->devices[i],
	};
	return true;
}

static const char *peak_bytes_of(const void *device, char *buf)
{
	return wide_json(((const struct frag_survey_device *)device)->peak_bytes, buf);
}

static const char *last_bytes_of(const void *device, char *buf)
{
	return wide_json(((const struct frag_survey_device *)device)->live_bytes, buf);
}

static struct frag_cell_value host_of(const void *of)
{
	const struct frag_host_memory *host = &((const struct frag_trace_info *)of)->host;

	return FRAG_OF(host->events || host->live ? host : NULL);
}

/* A line of a table: the blocks from this value on, up to that of the next. */
struct frag_bin_view {
	const struct frag_survey_bin *bin;
	uint64_t from;
	uint32_t next;
};

static bool bin_at(const struct frag_survey_bin *bins, uint32_t i, struct frag_bin_view *to)
{
	if (!i)
		to->next = 0;
	for (; to->next < FRAG_SURVEY_BINS; to->next++)
		if (bins[to->next].count) {
			to->bin = &bins[to->next];
			to->from = min(to->next++);
			return true;
		}
	return false;
}

static bool size_at(const void *survey, uint32_t i, void *element)
{
	return bin_at(((const struct frag_survey *)survey)->sizes, i, element);
}

static bool life_at(const void *survey, uint32_t i, void *element)
{
	return bin_at(((const struct frag_survey *)survey)->lives, i, element);
}

static const char *bin_bytes(const void *bin, char *buf)
{
	return wide_json(((const struct frag_survey_bin *)bin)->bytes, buf);
}

static bool surveyed_mark_at(const void *survey, uint32_t i, void *element)
{
	const struct frag_survey *s = survey;

	if (i >= s->ops[FRAG_OP_MARK] || i >= FRAG_SURVEY_MARKS)
		return false;
	*(struct frag_survey_mark *)element = s->marks[i];
	return true;
}

static struct frag_cell_value never_freed_of(const void *survey)
{
	return FRAG_NUMBER_OF(never_freed(survey));
}

#define TRACE(m) FRAG_VIA(trace_facts, trace, trace_info, m)
#define SURVEY(m) FRAG_VIA(trace_facts, survey, survey, m)
#define SURVEY_ALL FRAG_WHOLE_VIA(trace_facts, survey)
#define SURVEYED(m) FRAG_VIA(survey_view, device, survey_device, m)
#define SURVEYED_ALL FRAG_WHOLE_VIA(survey_view, device)
static const struct frag_field surveyed_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE_VIA(survey_view, figures), frag_figures_fields),
	{ "allocs", FRAG_TYPE_COUNT, SURVEYED(allocs) },
	{ "peak_live_bytes", FRAG_TYPE_SUM, SURVEYED_ALL, "requested bytes of live blocks",
	  .text = peak_bytes_of },
	{ "peak_live_blocks", FRAG_TYPE_COUNT, SURVEYED(peak_blocks), "at that peak" },
	{ "peak_step", FRAG_TYPE_COUNT, SURVEYED(peak_step), "the first event with it" },
	{ "last_live_bytes", FRAG_TYPE_SUM, SURVEYED_ALL, "at the end", .text = last_bytes_of },
	{ "last_live_blocks", FRAG_TYPE_COUNT, SURVEYED(live) },
	{ 0 },
}, host_fields[] = {
	{ "events", FRAG_TYPE_COUNT, FRAG_AT(host_memory, events) },
	{ "peak_live_bytes", FRAG_TYPE_BYTES, FRAG_AT(host_memory, peak_bytes) },
	{ "last_live_bytes", FRAG_TYPE_BYTES, FRAG_AT(host_memory, live_bytes) },
	{ "last_live_blocks", FRAG_TYPE_COUNT, FRAG_AT(host_memory, live) },
	{ 0 },
}, bin_fields[] = {
	{ "from", FRAG_TYPE_COUNT, FRAG_AT(bin_view, from), "the lowest value; the next one is twice it" },
	{ "blocks", FRAG_TYPE_COUNT, FRAG_VIA(bin_view, bin, survey_bin, count), .least = 1 },
	{ "bytes", FRAG_TYPE_SUM, FRAG_WHOLE_VIA(bin_view, bin), "of them", .text = bin_bytes },
	{ 0 },
}, mark_fields[] = {
	{ "step", FRAG_TYPE_COUNT, FRAG_AT(survey_mark, step) },
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(survey_mark, name), "at most 63 bytes of it" },
	{ 0 },
}, info_fields[] = {
	{ "path", FRAG_TYPE_TEXT, TRACE(path), "as it was given" },
	{ "form", FRAG_TYPE_TEXT, TRACE(form), "its format" },
	{ "content", FRAG_TYPE_CONTENT, TRACE(content), "as in fragsim-result" },
	{ "meta", FRAG_TYPE_JSON, TRACE(meta.text), "its own metadata without the scope", .nullable = true,
	  .members = "[\"object\",\"null\"]" },
	FRAG_SCOPE_FIELD(TRACE(scope)),
	{ "events", FRAG_TYPE_COUNT, TRACE(events), "valid ones" },
	{ "left_out", FRAG_TYPE_COUNT, TRACE(skipped), "invalid ones" },
	{ "ops", FRAG_TYPE_MAP, FRAG_WHOLE, "valid events by kind", .put = put_ops,
	  .members = "{\"type\":\"integer\",\"minimum\":0}" },
	{ "streams", FRAG_TYPE_COUNT, SURVEY(streams), "that blocks are allocated on" },
	{ "pools", FRAG_TYPE_COUNT, SURVEY(pools), "that blocks are allocated in" },
	{ "different_sizes", FRAG_TYPE_COUNT, SURVEY(sizes_seen.count), "of blocks" },
	{ "times", FRAG_TYPE_COUNT, SURVEY(with_t), "events with a time" },
	{ "duration", FRAG_TYPE_NUMBER_JSON, SURVEY_ALL, "microseconds from the first to the last; null: no"
	  " event has a time, or the number is too large", .text = duration_of, .nullable = true },
	{ "recording", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of a PyTorch snapshot", .get = snapshot_facts_of,
	  .fields = recording_fields, .optional = true },
	FRAG_MEMBERS(FRAG_WHOLE_VIA(trace_facts, trace), frag_log_field),
	{ "devices", FRAG_TYPE_LIST, FRAG_WHOLE, "of the trace", .each = surveyed_at,
	  .fields = surveyed_fields },
	{ "host", FRAG_TYPE_OBJECT, FRAG_WHOLE_VIA(trace_facts, trace), "pinned memory of a PyTorch snapshot", .get = host_of,
	  .fields = host_fields, .optional = true },
	{ "sizes", FRAG_TYPE_LIST, SURVEY_ALL, "blocks by size in bytes", .each = size_at, .fields = bin_fields },
	{ "lives", FRAG_TYPE_LIST, SURVEY_ALL, "freed blocks by lifetime in events", .each = life_at,
	  .fields = bin_fields },
	{ "marks", FRAG_TYPE_LIST, SURVEY_ALL, "the first ten", .each = surveyed_mark_at, .fields = mark_fields },
	{ "never_freed", FRAG_TYPE_COUNT, SURVEY_ALL, "blocks", .get = never_freed_of },
	{ "freed_at_once", FRAG_TYPE_COUNT, SURVEY(freed_at_once), "blocks that the event after their alloc frees" },
	{ "of_no_bytes", FRAG_TYPE_COUNT, SURVEY(sizes[0].count), "blocks" },
	{ "waiting_frees", FRAG_TYPE_COUNT, SURVEY(waiting_frees), "frees that wait for a stream or a complete" },
	{ "times_backwards", FRAG_TYPE_COUNT, SURVEY(backwards), "times that are before the previous one" },
	{ 0 },
};

const struct frag_document_type frag_info_document = {
	.format = "fragsim-info", .version = 1, .fields = info_fields, .no_tool = true,
	.what = "What fragsim trace info --json writes, see fragsim-trace(1).",
};

int frag_report_info_json(void *facts, struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc = frag_document_of(&frag_info_document, facts);

	return frag_json_write(&doc, out, err);
}
