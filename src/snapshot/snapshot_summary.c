/*
 * snapshot_summary.c - data of a snapshot that need no simulation: settings and version, peaks
 * of the recording.
 *
 * The last state is in the file; the log leads there. Blocks have the size of their requests,
 * rounded up as PyTorch does by default, because the file does not store the size of a freed
 * block.
 */
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"

static const struct frag_value *setting(const struct frag_snapshot *s, const char *name)
{
	return frag_dict_get(&s->values, frag_dict_get(&s->values, &s->root, "allocator_settings"),
			     name);
}

static bool has_settings(const struct frag_snapshot *s)
{
	return frag_is(frag_dict_get(&s->values, &s->root, "allocator_settings"), FRAG_DICT);
}

/* Of the settings; or of the file itself. */
static const struct frag_value *ring(const struct frag_snapshot *s, const char *name)
{
	const struct frag_value *value = setting(s, name);

	return value ? value : frag_dict_get(&s->values, &s->root, name);
}

enum frag_overflow frag_snapshot_overflow(const struct frag_snapshot *s, uint64_t *max)
{
	const struct frag_value *flag = ring(s, "trace_alloc_overflowed");

	if (!frag_value_u64(ring(s, "trace_alloc_max_entries"), max))
		*max = 0;
	if (!frag_is(flag, FRAG_TRUTH) && !frag_is(flag, FRAG_INTEGER))
		return FRAG_OVERFLOW_UNKNOWN;
	return flag->as.magnitude ? FRAG_OVERFLOWED : FRAG_OVERFLOW_NONE;
}

bool frag_snapshot_lost(const struct frag_snapshot *s, uint64_t *allocs)
{
	return frag_value_u64(ring(s, "trace_alloc_lost"), allocs) && *allocs;
}

/* The name of the settings string, as each device's allocator writes it. */
static const char *const conf_names[] = {
	[FRAG_NPU] = "PYTORCH_NPU_ALLOC_CONF", [FRAG_XPU] = "PYTORCH_ALLOC_CONF",
	[FRAG_HIP] = "PYTORCH_HIP_ALLOC_CONF", [FRAG_CUDA] = "PYTORCH_CUDA_ALLOC_CONF",
};

/* Is a frame below this folder? */
static bool has_frame_below(const struct frag_snapshot *s, const char *folder)
{
	for (uint32_t i = 0; i < s->values.count; i++) {
		const struct frag_value *v = &s->values.table[i];

		if (v->kind == FRAG_STRING
		    && frag_text_find((struct frag_text){ v->as.text, v->length }, folder))
			return true;
	}
	return false;
}

/* Its settings name it, or the build of PyTorch; torch_npu writes neither, but it is in stacks. */
enum frag_accelerator frag_snapshot_accelerator(const struct frag_snapshot *s)
{
	char version[64];

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++) {
		if (!strstr(frag_snapshot_version_names[i], "torch")
		    || !frag_snapshot_version(s, i, version, sizeof(version)))
			continue;
		if (strstr(version, "+rocm"))
			return FRAG_HIP;
		if (strstr(version, "+xpu"))
			return FRAG_XPU;
	}
	for (int i = FRAG_CUDA; i <= FRAG_NPU; i++)
		if (setting(s, conf_names[i]))
			return (enum frag_accelerator)i;
	return !has_settings(s) && has_frame_below(s, "/torch_npu/") ? FRAG_NPU : FRAG_CUDA;
}

/* False: it is no text, or an empty one, or too long. */
static bool copy_text(const struct frag_value *text, char *buf, size_t size)
{
	if (!frag_is(text, FRAG_STRING) || !text->length || text->length >= size)
		return false;
	memcpy(buf, text->as.text, text->length);
	buf[text->length] = '\0';
	return true;
}

#define EXPANDABLE "expandable_segments"

static bool is_expandable(const struct frag_snapshot *s)
{
	const struct frag_value *value = setting(s, EXPANDABLE);

	return frag_is(value, FRAG_TRUTH) && value->as.magnitude;
}

static void snapshot_settings_put(char *buf, size_t size, const char *item)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, "%s%s", used ? "," : "", item);
}

/* Those before the change of settings, if there is one. */
static bool first_settings(const struct frag_snapshot *s, char *buf, size_t size)
{
	if (s->change)
		snprintf(buf, size, "%s", s->first_settings);
	return s->change;
}

bool frag_snapshot_settings(const struct frag_snapshot *s, char *buf, size_t size)
{
	const struct frag_value *text = NULL;

	if (first_settings(s, buf, size))
		return *buf;
	for (int i = FRAG_CUDA; i <= FRAG_NPU && !text; i++)
		text = setting(s, conf_names[i]);
	if (!copy_text(text, buf, size))
		return false;
	/* the string is the last one that was set, and keeps expandable segments as they were */
	if (is_expandable(s) && !strstr(buf, EXPANDABLE))
		snapshot_settings_put(buf, size, EXPANDABLE ":True");
	return true;
}

/* [1:0,2:4,...] where one of them is set. */
static void put_roundup(const struct frag_snapshot *s, char *buf, size_t size)
{
	const struct frag_value *dict = setting(s, "roundup_power2_divisions");
	char list[512] = "", item[64];
	bool any = false;

	for (unsigned mib = 1; mib <= 32768; mib *= 2) {
		char name[16];
		uint64_t divisions;

		snprintf(name, sizeof(name), "%u", mib);
		if (!frag_value_u64(frag_dict_get(&s->values, dict, name), &divisions))
			return;
		snprintf(item, sizeof(item), "%u:%" PRIu64, mib, divisions);
		snapshot_settings_put(list, sizeof(list), item);
		any = any || divisions;
	}
	if (!any)
		return;
	snapshot_settings_put(buf, size, "roundup_power2_divisions:[");
	snprintf(buf + strlen(buf), size - strlen(buf), "%s]", list);
}

static void put_value(const struct frag_snapshot *s, struct frag_node_ref in, const char *name,
		      const struct frag_value *value)
{
	const struct frag_value *item;
	struct frag_node_ref box;
	struct frag_text key;
	char text[256];

	switch (value->kind) {
	case FRAG_TRUTH:
		frag_json_bool(in, name, value->as.magnitude != 0);
		break;
	case FRAG_INTEGER:
		frag_snprintf(text, sizeof(text), "%s%" PRIu64, value->minus ? "-" : "", value->as.magnitude);
		frag_json_raw(in, name, text);
		break;
	case FRAG_REAL:
		frag_snprintf(text, sizeof(text), "%.17g", value->as.real);
		frag_json_raw(in, name, isfinite(value->as.real) ? text : NULL);
		break;
	case FRAG_STRING:
		snprintf(text, sizeof(text), "%.*s", (int)frag_text_cut(value->as.text, value->length, sizeof(text) - 1),
			 value->as.text);
		frag_json_text(in, name, text);
		break;
	case FRAG_LIST:
		box = frag_json_array(in, name);
		for (uint32_t i = 0; (item = frag_list_at(&s->values, value, i)) != NULL; i++)
			put_value(s, box, NULL, item);
		break;
	case FRAG_DICT:
		box = frag_json_object(in, name);
		for (uint32_t i = 0; frag_dict_key(&s->values, value, i, &key); i++) {
			snprintf(text, sizeof(text), "%.*s", (int)frag_text_cut(key.text, key.length, sizeof(text) - 1), key.text);
			item = frag_dict_get(&s->values, value, text);
			if (item)
				put_value(s, box, text, item);
		}
		break;
	default:
		frag_json_raw(in, name, NULL);
	}
}

void frag_snapshot_put_settings(const struct frag_snapshot *s, struct frag_node_ref in, const char *name)
{
	if (has_settings(s))
		put_value(s, in, name, frag_dict_get(&s->values, &s->root, "allocator_settings"));
}

/*
 * Only settings that differ from the allocator's defaults: an unlimited
 * max_split_size, say, is written as the largest integer.
 */
bool frag_snapshot_settings_values(const struct frag_snapshot *s, char *buf, size_t size)
{
	const struct frag_value *threshold = setting(s, "garbage_collection_threshold");
	uint64_t max_split;
	char item[64];

	FRAG_ASSERT(size > 0);
	if (first_settings(s, buf, size))
		return true;
	*buf = '\0';
	if (is_expandable(s))
		snapshot_settings_put(buf, size, EXPANDABLE ":True");
	if (frag_value_u64(setting(s, "max_split_size"), &max_split) && max_split >> 63 == 0) {
		snprintf(item, sizeof(item), "max_split_size_mb:%" PRIu64, max_split >> 20);
		snapshot_settings_put(buf, size, item);
	}
	if (frag_is(threshold, FRAG_REAL) && threshold->as.real > 0) {
		frag_snprintf(item, sizeof(item), "garbage_collection_threshold:%.17g",
			      threshold->as.real);
		snapshot_settings_put(buf, size, item);
	}
	put_roundup(s, buf, size);
	return has_settings(s);
}

/* Names that came with a release; without the first of them, the settings are no real ones. */
bool frag_snapshot_releases(const struct frag_snapshot *s, uint32_t *least, uint32_t *most,
			    const char **why)
{
	const struct frag_value *segments = s->root.kind == FRAG_LIST
		? &s->root : frag_dict_get(&s->values, &s->root, "segments");
	const struct frag_value *block = frag_list_at(
		&s->values, frag_dict_get(&s->values, frag_list_at(&s->values, segments, 0), "blocks"),
		0);

	if (!setting(s, "pinned_num_register_threads")) {
		/* blocks have addresses from 2.1 on, and had a history before */
		*least = *most = 0;
		*why = "its blocks have no address";
		return !has_settings(s) && frag_is(block, FRAG_DICT)
		       && !frag_dict_get(&s->values, block, "address");
	}
	if (setting(s, "max_round_threshold")) {
		*least = 13;
		*most = 15;
		*why = "its settings have max_round_threshold";
	} else if (setting(s, "graph_capture_record_stream_reuse")) {
		*least = 9;
		*most = 14;
		*why = "its settings have graph_capture_record_stream_reuse, not"
		       " max_round_threshold";
	} else {
		*least = 1;
		*most = 8;
		*why = "its settings lack graph_capture_record_stream_reuse";
	}
	return true;
}

#define BLOCK_UNIT 512

static uint64_t round_request(uint64_t bytes)
{
	return (bytes + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
}

/* A log with contradictions may take away more than there was. */
static void change(uint64_t *now, uint64_t bytes, bool more, uint64_t *peak)
{
	*now = more ? *now + bytes : *now - frag_min(bytes, *now);
	*peak = frag_max(*peak, *now);
}

/* Follows both totals through the log; the end is that of the last state, not of the log. */
void frag_snapshot_recorded(const struct frag_snapshot *s, uint32_t device,
			    struct frag_recorded *out)
{
	const struct frag_snap_device *d = &s->devices[device];
	uint64_t reserved = d->start_bytes, allocated = 0;

	FRAG_ASSERT(device < s->device_count);
	for (uint32_t i = 0; i < d->first_live_count; i++)
		allocated += d->first_live[i].pending ? 0 : round_request(d->first_live[i].requested);
	*out = (struct frag_recorded){
		.peak_reserved = reserved, .end_reserved = d->end_reserved,
		.peak_allocated = allocated, .end_allocated = d->end_allocated,
	};
	for (uint32_t i = 0; i < d->log_count; i++) {
		const struct frag_logged *e = &d->log[i];

		if (e->role == FRAG_ROLE_CALL)
			change(&reserved, e->size, e->action == FRAG_ACT_SEGMENT_ALLOC
			       || e->action == FRAG_ACT_SEGMENT_MAP, &out->peak_reserved);
		else if (e->role == FRAG_ROLE_ALLOC || e->role == FRAG_ROLE_FREE
			 || e->role == FRAG_ROLE_DEFER)
			change(&allocated, round_request(e->size), e->role == FRAG_ROLE_ALLOC,
			       &out->peak_allocated);
	}
	out->peak_reserved = frag_max(out->peak_reserved, d->end_reserved);
	out->peak_allocated = frag_max(out->peak_allocated, d->end_allocated);
}

const char *const frag_snapshot_version_names[] = {
	"torch_version", "pytorch_version", "version", "fragsim", NULL,
};

bool frag_snapshot_version(const struct frag_snapshot *s, uint32_t which, char *buf, size_t size)
{
	const char *name = frag_snapshot_version_names[which];
	const struct frag_value *value = frag_dict_get(&s->values, &s->root, name);

	/* fragsim's own snapshots have a dict among the settings */
	if (!frag_is(value, FRAG_STRING))
		value = frag_dict_get(&s->values, setting(s, name), "version");
	return copy_text(value, buf, size);
}
