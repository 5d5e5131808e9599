/* snapshot_settings.c - the allocator's settings that a snapshot was recorded under. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/bug.h"
#include "snapshot/snapshot.h"

static const struct frag_value *setting(const struct frag_snapshot *s, const char *name)
{
	return frag_dict_get(&s->values, frag_dict_get(&s->values, &s->root, "allocator_settings"),
			     name);
}

bool frag_snapshot_has_settings(const struct frag_snapshot *s)
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

bool frag_snapshot_settings(const struct frag_snapshot *s, char *buf, size_t size)
{
	const struct frag_value *text = setting(s, "PYTORCH_CUDA_ALLOC_CONF");

	if (!frag_is(text, FRAG_STRING) || !text->length || text->length >= size)
		return false;
	memcpy(buf, text->as.text, text->length);
	buf[text->length] = '\0';
	return true;
}

static void snapshot_settings_put(char *buf, size_t size, const char *item)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, "%s%s", used ? "," : "", item);
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

/*
 * Only settings that differ from the allocator's defaults: an unlimited
 * max_split_size, say, is written as the largest integer.
 */
void frag_snapshot_settings_values(const struct frag_snapshot *s, char *buf, size_t size)
{
	const struct frag_value *expandable = setting(s, "expandable_segments");
	const struct frag_value *threshold = setting(s, "garbage_collection_threshold");
	uint64_t max_split;
	char item[64];

	FRAG_ASSERT(size > 0);
	*buf = '\0';
	if (frag_is(expandable, FRAG_TRUTH) && expandable->as.magnitude)
		snapshot_settings_put(buf, size, "expandable_segments:True");
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
}

/* Names that came with a release; without the first of them, the settings are no real ones. */
bool frag_snapshot_releases(const struct frag_snapshot *s, uint32_t *least, uint32_t *most,
			    const char **why)
{
	if (!setting(s, "pinned_num_register_threads"))
		return false;
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
