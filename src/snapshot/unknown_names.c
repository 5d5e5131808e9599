/* unknown_names.c - names in a snapshot that no known release of PyTorch writes: a note each kind. */
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"

static const char *const file_names[] = {
	"segments", "device_traces", "allocator_settings", "external_annotations", "host_segments",
	"host_traces", "torch_version", "pytorch_version", "version", "trace_alloc_overflowed",
	"trace_alloc_max_entries", "trace_alloc_lost", "categories", NULL,
};
static const char *const setting_names[] = {
	"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF",
	"PYTORCH_NPU_ALLOC_CONF", "expandable_segments", "expandable_segments_reserve",
	"garbage_collection_threshold", "graph_capture_record_stream_reuse",
	"large_segment_size_mb", "max_cached_size", "max_non_split_rounding_size",
	"max_round_threshold", "max_split_size", "per_process_memory_fraction",
	"pinned_num_register_threads", "pinned_reserve_segment_size_mb",
	"pinned_use_background_threads", "pinned_use_cuda_host_register",
	"release_lock_on_cudamalloc", "release_lock_on_hipmalloc", "roundup_power2_divisions",
	"throw_on_cudamalloc_oom", "trace_alloc_overflowed", "trace_alloc_max_entries",
	"trace_alloc_lost", "torch_version", "pytorch_version", "version", "fragsim", "backend",
	"use_async_allocator", "use_release_lock_on_hipmalloc", NULL,
};
static const char *const segment_names[] = {
	"device", "address", "total_size", "allocated_size", "active_size", "requested_size",
	"stream", "segment_type", "segment_pool_id", "is_expandable", "frames", "blocks",
	"registration_counter", NULL,
};
static const char *const block_names[] = {
	"address", "size", "requested_size", "state", "frames", "history", "cpp_frames",
	"gc_counter", NULL,
};
static const char *const event_names[] = {
	"action", "addr", "size", "device_free", "stream", "time_us", "frames", "pool_id",
	"segment_pool_id", "user_metadata", "internal_metadata", "compile_context", "category",
	"forward_frames", "cpp_frames", "device", NULL,
};

/* One note of the members of a dict that are in no list. False: there are none. */
static bool note_members(const struct frag_snapshot *s, const struct frag_value *dict,
			 const char *what, const char *const *known, const struct frag_log *log)
{
	char shown[FRAG_PRINTABLE_ROOM], first[64] = "", others[40] = "";
	struct frag_text key;
	uint32_t count = 0;

	for (uint32_t i = 0; frag_dict_key(&s->values, dict, i, &key); i++) {
		if (known[frag_text_among(key, known)])
			continue;
		if (!count++)
			snprintf(first, sizeof(first), "%.*s",
				 (int)frag_text_cut(key.text, key.length, sizeof(first) - 1), key.text);
	}
	if (count > 1)
		snprintf(others, sizeof(others), " and %" PRIu32 " other%s", count - 1,
			 frag_s(count - 1));
	if (count)
		frag_note(log, "%s: unknown name \"%s\"%s, which is ignored", what,
			  frag_printable(shown, first), others);
	return count;
}

bool frag_snapshot_note_unknown(const struct frag_snapshot *s, const struct frag_log *log)
{
	const struct frag_values *v = &s->values;
	const struct frag_value *segments = s->root.kind == FRAG_LIST
		? &s->root : frag_dict_get(v, &s->root, "segments");
	const struct frag_value *traces = frag_dict_get(v, &s->root, "device_traces");
	const struct frag_value *segment = frag_list_at(v, segments, 0), *block, *event = NULL;
	char shown[FRAG_PRINTABLE_ROOM];
	bool any;

	block = frag_list_at(v, frag_dict_get(v, segment, "blocks"), 0);
	for (uint32_t i = 0; i < frag_list_count(traces) && !event; i++)
		event = frag_list_at(v, frag_list_at(v, traces, i), 0);
	any = note_members(s, &s->root, "the snapshot", file_names, log);
	any |= note_members(s, frag_dict_get(v, &s->root, "allocator_settings"),
			    "allocator_settings", setting_names, log);
	any |= note_members(s, segment, "segments", segment_names, log);
	any |= note_members(s, block, "blocks", block_names, log);
	any |= note_members(s, event, "device_traces", event_names, log);
	if (s->other_actions)
		frag_note(log, "device_traces: %" PRIu64 " event%s with an unknown action, the first"
			  " \"%s\", %s ignored", s->other_actions, frag_s(s->other_actions),
			  frag_printable(shown, s->other_action),
			  s->other_actions == 1 ? "which is" : "which are");
	return any || s->other_actions;
}
