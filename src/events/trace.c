/* trace.c - a trace from its opening to its end: its events in batches. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/json.h"
#include "events/id_map.h"
#include "events/recording_info.h"
#include "events/resolve.h"
#include "events/tape.h"
#include "input/input.h"
#include "snapshot/snapshot.h"
#include "trace/name_tables.h"
#include "trace/scope.h"

#define AHEAD 32        /* records; a batch is a multiple of it */

static bool own_stacks_init(struct frag_own_stacks *s, uint64_t seed)
{
	*s = (struct frag_own_stacks){ .frames = NULL };
	if (!frag_stacks_init(&s->table, seed) || !frag_map_init(&s->number, seed))
		return false;
	s->frames = malloc(FRAG_FRAMES_MAX * sizeof(*s->frames));
	return s->frames != NULL;
}

/* What is left of a stack makes no difference between packages and Python's own modules. */
static enum frag_origin origin_of_frame(const struct frag_frame *f)
{
	const enum frag_origin origin = frag_frame_origin(f->file, f->line);

	return origin == FRAG_ORIGIN_PYTHON ? FRAG_ORIGIN_PACKAGE : origin;
}

/* The innermost frames of the stack, and the best that is among them. */
static uint32_t read_stack(struct frag_own_stacks *s, uint64_t at,
			   const struct frag_source_ops *source, void *state,
			   enum frag_origin *best)
{
	uint32_t count = 0;

	*best = FRAG_ORIGIN_NATIVE;
	while (at && count < FRAG_FRAMES_MAX) {
		struct frag_frame *f = &s->frames[count++];
		enum frag_origin origin;

		source->frame(state, &at, f);
		origin = origin_of_frame(f);
		*best = origin > *best ? origin : *best;
	}
	return count;
}

/* Keeps the frames of the best origin in the stack, and remembers the number of the result. */
static FRAG_OR_NOMEM own_stacks_number(struct frag_own_stacks *s, uint32_t stack,
				       const struct frag_source_ops *source, void *state,
				       uint32_t *own)
{
	enum frag_origin best;
	uint32_t count;

	FRAG_ASSERT(stack && s->frames);
	*own = frag_map_get(&s->number, stack);
	if (*own != FRAG_MAP_NONE)
		return true;
	*own = 0;
	count = read_stack(s, stack, source, state, &best);
	for (uint32_t i = count; i-- > 0;) {
		const struct frag_frame *f = &s->frames[i];
		uint32_t frame;

		if (origin_of_frame(f) != best)
			continue;
		if (!frag_stacks_frame(&s->table, f, &frame)
		    || !frag_stacks_push(&s->table, frame, *own, own))
			return false;
	}
	return frag_map_add(&s->number, stack, *own);
}

static struct frag_text trace_tag_text(const void *of, uint32_t tag)
{
	const struct frag_trace *t = of;

	return frag_tag_text(&t->tags, tag);
}

static bool trace_stack_frame(const void *of, uint64_t *at, struct frag_frame *frame)
{
	const struct frag_trace *t = of;

	if (!*at || !t->stacks)
		return false;
	if (t->own.frames)
		frag_stacks_at(&t->own.table, at, frame);
	else
		t->source->frame(t->state, at, frame);
	return true;
}

static bool trace_whole_frame(const void *of, uint64_t *at, struct frag_frame *frame)
{
	const struct frag_trace *t = of;

	if (!*at || !t->stacks)
		return false;
	t->source->frame(t->state, at, frame);
	return true;
}

/* What the source calls streams and pools of its first segments, as dense indexes. */
static int name_initial(struct frag_trace *t, struct frag_error *err)
{
	struct frag_first_state *const b =
		t->source->beginning ? t->source->beginning(t->state) : NULL;
	struct frag_initial *const initial = b ? b->segments : NULL;
	const uint32_t count = b ? b->segment_count : 0;

	t->info.beginning = b;
	t->to_place = b ? b->block_count : 0;
	t->symbols = (struct frag_symbols){
		.of = t,
		.tag = trace_tag_text,
		.frame = trace_stack_frame,
		.whole = trace_whole_frame,
		.initial = initial,
		.initial_count = count,
	};
	for (uint32_t i = 0; i < count; i++) {
		struct frag_initial *seg = &initial[i];

		seg->stream = frag_handles_index(&t->streams, &seg->stream_name);
		seg->pool = frag_handles_index(&t->pools, &seg->pool_name);
		if (seg->stream == UINT32_MAX || seg->pool == UINT32_MAX)
			return frag_fail_nomem(err);
		seg->stream_order = frag_stream_order(&seg->stream_name, seg->stream);
	}
	return 0;
}

/*
 * The source is taken over, also where this fails: whatever was made until then is
 * closed with the trace.
 */
static int trace_make(struct frag_trace **out, const struct frag_source_ops *ops, void *state,
		      const char *path, const struct frag_device_figures *devices,
		      uint32_t device_count, const struct frag_trace_options *options,
		      struct frag_error *err)
{
	const bool python = options && options->stacks == FRAG_STACKS_PYTHON;
	const bool whole =
		ops->frame && (python || (options && options->stacks == FRAG_STACKS_ALL));
	struct frag_trace *t = calloc(1, sizeof(*t));
	uint64_t seed = frag_hash_seed();
	int rc;

	if (!t) {
		if (ops->close)
			ops->close(state);
		return frag_fail_nomem(err);
	}
	t->source = ops;
	t->state = state;
	if (options)
		t->options = *options;
	if (ops->select_stacks)
		ops->select_stacks(state, python ? FRAG_STACKS_ALL : t->options.stacks);
	t->path = strdup(path);
	t->info = (struct frag_trace_info){ .path = t->path, .form = ops->form };
	t->events = malloc(FRAG_BATCH * sizeof(*t->events));
	if (t->options.records)
		t->records = malloc(FRAG_BATCH * sizeof(*t->records));
	if (whole)
		t->stacks = malloc(FRAG_BATCH * sizeof(*t->stacks));
	if (whole && python)
		t->whole = malloc(FRAG_BATCH * sizeof(*t->whole));
	rc = frag_devices_copy(&t->devices, devices, device_count, err);
	t->info.devices = t->devices.figures;
	t->info.device_count = t->devices.count;
	if (!rc && (!t->path || !t->events || (t->options.records && !t->records)
		    || (whole && !t->stacks) || (whole && python && !t->whole)
		    || (whole && python && !own_stacks_init(&t->own, seed))
		    || !frag_handles_init(&t->streams, seed)
		    || !frag_handles_init(&t->pools, seed)
		    || !frag_map_init(&t->released, seed)
		    || !frag_map_init(&t->contexts, seed) || !frag_tags_init(&t->tags, seed)
		    || !frag_lives_init(&t->lives, device_count, seed)))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : name_initial(t, err);
	if (rc) {
		frag_trace_close(t);
		return rc;
	}
	t->shown = t->info;
	*out = t;
	return 0;
}

/*
 * A copy of it, on one line: strings of JSON hold no line ends, what is between may.
 * What is not printable is in strings, where its escape means the same.
 */
static int keep_meta(struct frag_trace *t, struct frag_text meta, struct frag_error *err)
{
	size_t room = 1;
	char *line, *end;

	if (!meta.text)
		return 0;
	for (uint32_t i = 0; i < meta.length; i++)
		room += meta.text[i] >= ' ' && meta.text[i] < 0x7f && meta.text[i] != '[' ? 1 : 6;
	t->meta = malloc(room);
	line = malloc((size_t)meta.length + 1);
	if (!t->meta || !line) {
		free(line);
		return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < meta.length; i++)
		line[i] = (unsigned char)meta.text[i] < ' ' ? ' ' : meta.text[i];
	end = frag_put_printable(t->meta, line, meta.length);
	*end = '\0';
	free(line);
	t->info.meta = (struct frag_text){ .text = t->meta, .length = (uint32_t)(end - t->meta) };
	return frag_scope_take(&t->info.scope, t->meta, &t->info.meta.length, t->path, err);
}

/*
 * make() closes the reading where it fails, so only a failure after it has
 * something to undo here.
 */
int frag_trace_open(struct frag_trace **out, const char *path,
		    const struct frag_trace_options *options, struct frag_error *err)
{
	static const struct frag_trace_options plain = { .lenient = false };
	struct frag_reading r;
	int rc = frag_reading_open(&r, path, options ? options : &plain, err);

	if (rc)
		return rc;
	rc = trace_make(out, r.ops, r.state, path, r.devices, r.device_count, options, err);
	if (rc)
		return rc;
	(*out)->input = r.input;
	(*out)->constraints = r.constraints;
	(*out)->ours = true;
	(*out)->info.form = r.form;
	(*out)->info.host = r.host;
	(*out)->info.pytorch = r.pytorch;
	(*out)->info.scope = r.scope;
	(*out)->end.said = r.scope.ends == FRAG_ENDS_OOM;
	(*out)->end.step = r.oom_step;
	(*out)->end.bytes = r.oom_bytes;
	rc = keep_meta(*out, r.meta, err);
	rc = rc ? rc : frag_recorded_find(*out, err);
	if (rc) {
		frag_trace_close(*out);
		*out = NULL;
		return rc;
	}
	(*out)->shown = (*out)->info;
	return 0;
}

int frag_trace_from(struct frag_trace **out, const struct frag_source_ops *ops, void *state,
		    const struct frag_device_figures *devices, uint32_t device_count,
		    const struct frag_trace_options *options, struct frag_error *err)
{
	static const struct frag_device_figures unlimited = { .granularity = FRAG_GRANULARITY };

	return trace_make(out, ops, state, ops->form, device_count ? devices : &unlimited,
			  device_count ? device_count : 1, options, err);
}

/* Closes the source and frees everything that the trace owns; NULL is allowed. */
void frag_trace_close(struct frag_trace *t)
{
	if (!t)
		return;
	if (t->source->close)
		t->source->close(t->state);
	frag_devices_fini(&t->devices);
	free(t->path);
	free(t->events);
	free(t->records);
	free(t->stacks);
	free(t->whole);
	frag_stacks_fini(&t->own.table);
	frag_map_fini(&t->own.number);
	free(t->own.frames);
	free(t->meta);
	free(t->growth_tag);
	free(t->growth_frames);
	free(t->alloc_conf);
	free(t->pytorch);
	free(t->left);
	frag_handles_fini(&t->streams);
	frag_handles_fini(&t->pools);
	frag_map_fini(&t->released);
	frag_map_fini(&t->contexts);
	frag_tags_fini(&t->tags);
	frag_lives_fini(&t->lives);
	free(t);
}

const struct frag_trace_info *frag_trace_info(const struct frag_trace *t)
{
	return &t->shown;
}

bool frag_trace_is_stream(const struct frag_trace *t)
{
	uint64_t read = 0, total = 0;

	frag_trace_amount(t, &read, &total);
	return total == 0;
}

const struct frag_symbols *frag_trace_symbols(const struct frag_trace *t)
{
	return &t->symbols;
}

static void report_left_out(struct frag_trace *t)
{
	for (uint32_t i = 0; i < t->kind_count; i++)
		frag_note(&t->options.log, "left out %" PRIu64 " event%s: %s; the first: %s",
			  t->kinds[i].count, frag_s(t->kinds[i].count), t->kinds[i].kind,
			  t->kinds[i].first);
	t->kind_count = 0;      /* once, however often the end is read */
}

void frag_trace_end_batch(struct frag_trace *t)
{
	for (uint32_t i = 0; i < t->left_count; i++)
		frag_tags_release(&t->tags, t->left[i]);
	t->left_count = 0;
	t->lives.ended_count = 0;
	frag_tags_sweep(&t->tags);
}

/* Now that the array of the ended no longer moves, each event gets its part of it. */
static void finish_ended(struct frag_trace *t, uint32_t count)
{
	const struct frag_ended *ended = t->lives.ended;

	if (t->lives.ended_count == 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		t->events[i].ended = ended;
		ended += t->events[i].ended_count;
	}
	FRAG_ASSERT(ended <= t->lives.ended + t->lives.ended_count);
}

/*
 * Takes the next records of the source's buffer, at most AHEAD. Returns 1 if AHEAD is reached, 0
 * if the buffer is used up, or the error of the record after them.
 */
static int take_records(struct frag_trace *t, struct frag_record *ahead, uint32_t *count,
			const char **kind, struct frag_error *err)
{
	int rc = 1;

	if (t->source->many)
		return t->source->many(t->state, ahead, AHEAD, count, kind, err);
	for (*count = 0; *count < AHEAD; ++*count) {
		rc = t->source->next(t->state, &ahead[*count], kind, err);
		if (rc != 1)
			break;
	}
	return rc;
}

static int read_ahead(struct frag_trace *t, struct frag_record *ahead, uint32_t *count,
		      const char **kind, struct frag_error *err)
{
	const bool far = frag_lives_are_far(&t->lives);
	uint32_t hashes[AHEAD];
	int rc = take_records(t, ahead, count, kind, err);

	for (uint32_t i = 0; i < *count && far; i++)
		if (ahead[i].members & FRAG_HAS_ID)
			hashes[i] = frag_lives_prefetch(&t->lives, &ahead[i].id);
	for (uint32_t i = 0; i < *count && far; i++)
		if (ahead[i].members & FRAG_HAS_ID)
			frag_lives_approach(&t->lives, &ahead[i].id, hashes[i]);
	return rc;
}

/*
 * One record more, or one bad one: -FRAG_E... where that ends the run. None is skipped before the
 * last block of the beginning, which names its allocs by their numbers.
 */
static int finish_record(struct frag_trace *t, int rc, const char *kind, struct frag_error *err)
{
	if (rc == -FRAG_ETRACE && kind && t->options.lenient && t->placed == t->to_place) {
		frag_leave_out(t, kind, err);
		rc = 0;
	}
	t->step += rc == 0;
	return rc;
}

/*
 * Fills the batch from the source's present buffer; *count grows. Ids may be anywhere in a table
 * larger than the caches: a few records are decoded ahead, so that their entries come while
 * others are resolved.
 */
static int fill_batch(struct frag_trace *t, uint32_t *count, struct frag_error *err)
{
	struct frag_record ahead[AHEAD];

	FRAG_ASSERT(*count <= FRAG_BATCH);
	while (*count <= FRAG_BATCH - AHEAD && t->stretch) {
		struct frag_error behind;       /* what is wrong with the record after them */
		const char *kind_behind = NULL;
		uint32_t n;
		int rc, rc_behind = read_ahead(t, ahead, &n, &kind_behind, &behind);

		for (uint32_t i = 0; i < n; i++) {
			const char *kind = NULL;
			const uint32_t stack = ahead[i].members & FRAG_HAS_STACK
						       ? ahead[i].stack : 0;

			if (t->own.frames && ahead[i].members & FRAG_HAS_STACK && ahead[i].stack
			    && !own_stacks_number(&t->own, stack, t->source, t->state,
						  &ahead[i].stack))
				return frag_fail_nomem(err);
			rc = t->placed < t->to_place ? frag_place(t, &ahead[i], err) : 0;
			if (rc)
				return rc;
			rc = frag_resolve(t, &ahead[i], &t->events[*count], &kind, err);
			if (rc == 0 && t->records)
				t->records[*count] = ahead[i];
			if (rc == 0 && t->stacks)
				t->stacks[*count] = ahead[i].members & FRAG_HAS_STACK
						    ? ahead[i].stack : 0;
			if (rc == 0 && t->whole)
				t->whole[*count] = stack;
			*count += rc == 0;
			rc = finish_record(t, rc, kind, err);
			if (rc)
				return rc;
		}
		if (rc_behind < 0) {
			*err = behind;
			rc_behind = finish_record(t, rc_behind, kind_behind, err);
			if (rc_behind)
				return rc_behind;
		} else {
			t->stretch = rc_behind == 1;
		}
	}
	return 0;
}

int frag_trace_read_batch(struct frag_trace *t, struct frag_batch *batch, struct frag_error *err)
{
	uint32_t count = 0;
	int rc = 0;

	frag_trace_end_batch(t);
	while (!rc && count == 0 && !t->info.whole) {
		if (!t->stretch) {
			rc = t->source->refill(t->state, err);
			t->stretch = rc == 1;
			t->info.whole = rc == 0;
		}
		if (t->stretch)
			rc = fill_batch(t, &count, err);
	}
	if (rc < 0)
		return rc;
	frag_recorded_watch(t, count);
	if (t->info.whole) {
		frag_recorded_end(t);
		if (count == 0) {
			report_left_out(t);
			/*
			 * ids are not needed any more, and most entries are blocks that are
			 * never freed
			 */
			frag_lives_fini(&t->lives);
		}
	}
	finish_ended(t, count);
	frag_trace_amount(t, &t->info.bytes, &t->info.total_bytes);
	*batch = (struct frag_batch){
		.events = t->events, .count = count, .records = t->records, .stacks = t->stacks,
		.whole = t->whole ? t->whole : t->stacks,
	};
	return 0;
}

int frag_trace_next(struct frag_trace *t, struct frag_batch *batch, struct frag_error *err)
{
	struct frag_error own;
	int rc;

	FRAG_ASSERT(t && batch);
	/* lenient reads the messages of the events that it skips */
	rc = frag_trace_read_batch(t, batch, err ? err : &own);
	t->shown = t->info;
	return rc;
}
