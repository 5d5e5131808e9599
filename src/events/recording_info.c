/* recording_info.c - what is known of the recording from which a trace was made. */
#include "events/recording_info.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "events/id_map.h"
#include "events/resolve.h"
#include "events/tape.h"

/* Those that record what a program requests of PyTorch's allocator. */
#define SNAPSHOT "torch.cuda.memory"
#define PROFILER "torch.profiler"
#define GENERATED "fragsim trace gen"  /* a scenario of ours, as PyTorch programs request */
static const char of_npu[] = "torch.npu.memory", of_xpu[] = "torch.xpu.memory";
static const char *const recorders[] = { "record_torch.py", "fragsim.models", SNAPSHOT, of_npu,
					 of_xpu, PROFILER, GENERATED };

/* The text of a member; NULL where it is none. */
static const char *text_member(struct frag_node_ref object, const char *key)
{
	struct frag_node_ref member;

	if (!frag_json_member(object, key, &member) || frag_json_kind(member) != FRAG_JSON_STRING)
		return NULL;
	return frag_json_string(member);
}

/* False: out of memory. */
static bool keep_text(char **out, struct frag_node_ref object, const char *key)
{
	const char *text = text_member(object, key);

	if (text)
		*out = strdup(text);
	return !text || *out;
}

static bool count_member(struct frag_node_ref object, const char *key, uint64_t *value)
{
	struct frag_node_ref member;
	int64_t number;

	if (!frag_json_member(object, key, &member) || frag_json_kind(member) != FRAG_JSON_NUMBER
	    || !frag_json_integer(member, &number) || number < 0)
		return false;
	*value = (uint64_t)number;
	return true;
}

static int find_members(struct frag_trace *t, struct frag_node_ref meta, struct frag_error *err)
{
	const char *recorder = text_member(meta, "recorder");
	const char *source = text_member(meta, "source");
	struct frag_node_ref end;

	/* random requests are those of no program */
	if (source && strncmp(source, GENERATED " ", strlen(GENERATED " ")) == 0
	    && strncmp(source, GENERATED " random", strlen(GENERATED " random")) != 0)
		recorder = GENERATED;
	for (size_t i = 0; recorder && i < sizeof(recorders) / sizeof(recorders[0]); i++)
		if (strcmp(recorder, recorders[i]) == 0)
			t->recorder = recorders[i];
	if (!t->recorder)
		return 0;
	t->info.pytorch = true;
	if (!keep_text(&t->alloc_conf, meta, "alloc_conf")
	    || !keep_text(&t->pytorch, meta, "pytorch"))
		return frag_fail_nomem(err);
	count_member(meta, "kept_outputs_bytes", &t->info.kept_outputs);
	t->end.said = frag_json_member(meta, "ends_at_oom", &end)
		      && frag_json_kind(end) == FRAG_JSON_OBJECT
		      && count_member(end, "step", &t->end.step)
		      && count_member(end, "size", &t->end.bytes);
	if (t->end.said && !t->info.scope.stated)
		t->info.scope.ends = FRAG_ENDS_OOM;
	return 0;
}

/* Takes what the recorder said out of info.meta. -FRAG_ENOMEM */
int frag_recorded_find(struct frag_trace *t, struct frag_error *err)
{
	struct frag_node_ref root;
	struct frag_json doc;
	int rc;

	if (!t->info.meta.text)
		return 0;
	root = frag_json_parse(&doc, t->info.meta.text, t->info.meta.length);
	rc = root.node ? find_members(t, root, err) : frag_fail_nomem(err);
	frag_json_end(&doc);
	return rc;
}

/*
 * Notes the request that failed at the recording's end, or the last one where no step is named, and
 * whether its device goes on.
 */
void frag_recorded_watch(struct frag_trace *t, uint32_t count)
{
	struct frag_recorded_end *end = &t->end;

	for (uint32_t i = 0; i < count && t->info.scope.ends == FRAG_ENDS_OOM; i++) {
		const struct frag_event *ev = &t->events[i];

		if (ev->op != FRAG_OP_ALLOC)
			continue;
		if (!end->said || ev->step == end->step) {
			end->seen = !end->said || ev->bytes == end->bytes;
			end->step = ev->step;
			end->bytes = ev->bytes;
			end->device = ev->device;
		} else if (ev->step > end->step) {
			end->passed = end->passed || !end->seen || ev->device == end->device;
		}
	}
}

/*
 * A trace that was cut since its header was written lacks the failed request, and what was before
 * it; one that was added to goes on after it. Skipped bad events are lost.
 */
void frag_recorded_end(struct frag_trace *t)
{
	struct frag_scope *scope = &t->info.scope;

	if (scope->ends == FRAG_ENDS_OOM) {
		if (t->end.passed)
			scope->ends = FRAG_ENDS_END;
		else if (!t->end.seen)
			scope->ends = FRAG_ENDS_CUT;
		t->info.oom_step = t->end.step;
		t->info.oom_bytes = t->end.bytes;
	}
	if (t->info.skipped && scope->ends == FRAG_ENDS_END)
		scope->ends = FRAG_ENDS_CUT;
	if (scope->lost < t->info.skipped)
		scope->lost = t->info.skipped;
}

const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace)
{
	return frag_snapshot_of(trace->source, trace->state);
}

int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);

	trace->source->rewind(trace->state);
	return frag_trace_from(out, &frag_snapshot_borrowed, trace->state, s->figures,
			       s->device_count, NULL, err);
}

int frag_trace_change_settings(struct frag_trace *t, uint64_t at, const char *before,
			       const char *after, struct frag_error *err)
{
	struct frag_snapshot *s = frag_snapshot_of(t->source, t->state);

	FRAG_ASSERT(s && t->step == 0);
	t->end.step -= s->change && t->end.step > s->change_at;
	if (!frag_snapshot_change(s, (uint32_t)at, before, after))
		return frag_fail_nomem(err);
	t->end.step += s->change && t->end.step >= s->change_at;
	return 0;
}

void frag_trace_set_log(struct frag_trace *t, const struct frag_log_check *log)
{
	const struct frag_snapshot *s = frag_trace_snapshot(t);

	t->info.log = *log;
	t->info.log.changed_to = s->change;
	t->info.log.changed_at = s->change_at;
	t->shown = t->info;
}

/* NULL stays NULL. */
static bool keep_copy(char **to, const char **text)
{
	free(*to);
	*to = *text ? strdup(*text) : NULL;
	return !*text == !*to;
}

int frag_trace_set_growth(struct frag_trace *t, enum frag_grows grows,
			  const struct frag_memory_growth *growth, struct frag_error *err)
{
	struct frag_memory_growth own = *growth;

	if (!keep_copy(&t->growth_tag, &own.tag) || !keep_copy(&t->growth_frames, &own.frames))
		return frag_fail_nomem(err);
	own.tag = t->growth_tag;
	own.frames = t->growth_frames;
	t->info.growth = t->shown.growth = own;
	t->info.scope.grows = t->shown.scope.grows = grows;
	return 0;
}

const uint32_t *frag_trace_places(const struct frag_trace *trace, uint32_t device,
				  uint32_t *count)
{
	const struct frag_first_state *b = trace->info.beginning;
	const bool known = b && device < b->order_count;

	*count = known ? b->orders[device].count : 0;
	return known ? b->orders[device].ranks : NULL;
}

struct frag_recording_info frag_trace_recording(const struct frag_trace *t)
{
	const struct frag_snapshot *s = frag_trace_snapshot(t);
	struct frag_recording_info r = {
		.recorder = t->recorder, .alloc_conf = t->alloc_conf, .pytorch = t->pytorch,
		.unread = t->step == 0, .ended = t->end.said, .end_step = t->end.step,
		.end_bytes = t->end.bytes,
		.constraints = t->constraints,
		.accelerator = s ? frag_snapshot_accelerator(s) : t->recorder == of_npu ? FRAG_NPU
			       : t->recorder == of_xpu ? FRAG_XPU : FRAG_CUDA,
	};

	if (s)
		r.recorder = r.accelerator == FRAG_NPU ? of_npu
			     : r.accelerator == FRAG_XPU ? of_xpu : SNAPSHOT;
	else if (!r.recorder && t->info.pytorch)
		r.recorder = PROFILER;
	return r;
}

char *frag_stream_json(const struct frag_tape *tape, uint32_t stream)
{
	FRAG_ASSERT(stream < tape->trace->streams.count);
	return frag_id_json(frag_handle_at(&tape->trace->streams, stream));
}

char *frag_pool_json(const struct frag_tape *tape, uint32_t pool)
{
	FRAG_ASSERT(pool < tape->trace->pools.count);
	return frag_id_json(frag_handle_at(&tape->trace->pools, pool));
}
