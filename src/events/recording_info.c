/* recording_info.c - queries of the recording from which a trace was made. */
#include "events/recording_info.h"

#include <string.h>

#include "base/json.h"
#include "events/id_map.h"
#include "events/resolve.h"
#include "events/tape.h"

/* Those that record what a program requests of PyTorch's allocator. */
#define SNAPSHOT "torch.cuda.memory"
#define PROFILER "torch.profiler"
#define GENERATED "fragsim gen"  /* a scenario of ours, as PyTorch programs request */
static const char *const recorders[] = { "record_torch.py", SNAPSHOT, PROFILER, GENERATED };

const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace)
{
	return frag_snapshot_of(trace->source, trace->state);
}

int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);

	return frag_trace_from(out, frag_snapshot_again(trace->state), trace->state, s->figures,
			       s->device_count, NULL, err);
}

void frag_trace_reread(const struct frag_trace *trace, enum frag_stacks stacks)
{
	const struct frag_source_ops *ops = frag_snapshot_again(trace->state);

	if (ops->select_stacks)
		ops->select_stacks(trace->state, stacks);
}

const uint32_t *frag_trace_places(const struct frag_trace *trace, uint32_t device,
				  uint32_t *count)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);
	const bool known = s && device < s->device_count;

	*count = known ? s->devices[device].order_count : 0;
	return known ? s->devices[device].order : NULL;
}

const char *frag_trace_recorder(const struct frag_trace *trace)
{
	if (trace->recorder)
		return trace->recorder;
	if (!trace->info.pytorch)
		return NULL;
	return frag_trace_snapshot(trace) ? SNAPSHOT : PROFILER;
}

const char *frag_trace_alloc_conf(const struct frag_trace *trace)
{
	return trace->alloc_conf;
}

const char *frag_trace_pytorch(const struct frag_trace *trace)
{
	return trace->pytorch;
}

bool frag_trace_is_unread(const struct frag_trace *trace)
{
	return trace->step == 0;
}

bool frag_trace_recorded_end(const struct frag_trace *trace, uint64_t *step, uint64_t *size)
{
	*step = trace->info.ends_at_oom ? trace->info.oom_step : trace->end.step;
	*size = trace->info.ends_at_oom ? trace->info.oom_bytes : trace->end.bytes;
	return trace->info.ends_at_oom || trace->end.said;
}

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
	t->end.said = frag_json_member(meta, "ends_at_oom", &end)
		      && frag_json_kind(end) == FRAG_JSON_OBJECT
		      && count_member(end, "step", &t->end.step)
		      && count_member(end, "size", &t->end.bytes);
	return 0;
}

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

void frag_recorded_watch(struct frag_trace *t, uint32_t count)
{
	for (uint32_t i = count; t->end.said && i-- > 0;) {
		if (t->events[i].op != FRAG_OP_ALLOC)
			continue;
		t->end.last_step = t->events[i].step;
		t->end.last_bytes = t->events[i].bytes;
		t->end.any = true;
		return;
	}
}

/* Of a trace that was cut, or added to, since that was written it is another one. */
void frag_recorded_end(struct frag_trace *t)
{
	if (!t->end.said || !t->end.any || t->end.last_step != t->end.step
	    || t->end.last_bytes != t->end.bytes)
		return;
	t->info.ends_at_oom = true;
	t->info.oom_step = t->end.step;
	t->info.oom_bytes = t->end.bytes;
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
