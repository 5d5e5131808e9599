/* describe_snapshot.c - what a snapshot of PyTorch says of its recording. */
#include "answers/describe_snapshot.h"

#include <inttypes.h>

#include "base/format.h"
#include "base/escape.h"

#define SETTINGS_ROOM 4096

/* The string that PyTorch was given, or else what its values come to; NULL: none in the file. */
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

void frag_describe_snapshot(const struct frag_snapshot *s, FILE *f)
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

void frag_describe_recorded(const struct frag_snapshot *s, uint32_t device, FILE *f)
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

void frag_describe_json(struct frag_node_ref root, const struct frag_snapshot *s,
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
