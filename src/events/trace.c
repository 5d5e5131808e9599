/* trace.c - opening a trace, and its events in batches. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "events/resolve.h"
#include "events/readers.h"

#define BATCH 1024      /* events */
#define AHEAD 32        /* records; a batch is a multiple of it */

static int copy_devices(struct frag_trace *t, const struct frag_device_figures *devices,
			uint32_t count, struct frag_error *err)
{
	t->devices = calloc(count, sizeof(*t->devices));
	if (!t->devices)
		return frag_fail_nomem(err);
	t->info.devices = t->devices;
	for (; t->info.device_count < count; t->info.device_count++) {
		struct frag_device_figures *to = &t->devices[t->info.device_count];

		if (devices[t->info.device_count].granularity == 0)
			return frag_fail(err, FRAG_EUSAGE, "device %u: a granularity of 0 bytes",
					 t->info.device_count);
		*to = devices[t->info.device_count];
		if (to->name && !(to->name = strdup(to->name)))
			return frag_fail_nomem(err);
	}
	return 0;
}

/* What the source calls streams and pools of its first segments, as dense indexes. */
static int name_initial(struct frag_trace *t, struct frag_error *err)
{
	if (t->source->initial)
		t->initial = t->source->initial(t->state, &t->initial_count);
	for (uint32_t i = 0; i < t->initial_count; i++) {
		struct frag_initial *seg = &t->initial[i];

		seg->stream = frag_handles_index(&t->streams, &seg->stream_name);
		seg->pool = frag_handles_index(&t->pools, &seg->pool_name);
		if (seg->stream == UINT32_MAX || seg->pool == UINT32_MAX)
			return frag_fail_nomem(err);
		seg->stream_order = frag_stream_order(&seg->stream_name, seg->stream);
	}
	return 0;
}

static int make(struct frag_trace **out, const struct frag_source_ops *ops, void *state,
		const char *path, const struct frag_device_figures *devices,
		uint32_t device_count, const struct frag_trace_options *options,
		struct frag_error *err)
{
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
	if (ops->tell)
		ops->tell(state, t->options.stacks);
	t->path = strdup(path);
	t->info = (struct frag_trace_info){ .path = t->path, .form = ops->form };
	t->events = malloc(BATCH * sizeof(*t->events));
	if (t->options.records)
		t->records = malloc(BATCH * sizeof(*t->records));
	if (t->options.stacks == FRAG_STACKS_ALL && ops->frame)
		t->stacks = malloc(BATCH * sizeof(*t->stacks));
	rc = copy_devices(t, devices, device_count, err);
	if (!rc && (!t->path || !t->events || (t->options.records && !t->records)
		    || (t->options.stacks == FRAG_STACKS_ALL && ops->frame && !t->stacks)
		    || !frag_handles_init(&t->streams, seed)
		    || !frag_handles_init(&t->pools, seed) || !frag_tags_init(&t->tags, seed)
		    || !frag_lives_init(&t->lives, device_count, seed)))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : name_initial(t, err);
	if (rc) {
		frag_trace_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

/* A copy of it, on one line: strings of JSON hold no line ends, what is between may. */
static int keep_meta(struct frag_trace *t, struct frag_text meta, struct frag_error *err)
{
	if (!meta.text)
		return 0;
	t->meta = malloc((size_t)meta.length + 1);
	if (!t->meta)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < meta.length; i++)
		t->meta[i] = (unsigned char)meta.text[i] < ' ' ? ' ' : meta.text[i];
	t->meta[meta.length] = '\0';
	t->info.meta = (struct frag_text){ .text = t->meta, .length = meta.length };
	return 0;
}

int frag_trace_open(struct frag_trace **out, const char *path,
		    const struct frag_trace_options *options, struct frag_error *err)
{
	const struct frag_log silent = { .warn = NULL };
	struct frag_reading r;
	int rc = frag_reading_open(&r, path, options && options->meta,
				   options ? &options->log : &silent, err);

	if (rc)
		return rc;
	rc = make(out, r.ops, r.state, path, r.devices, r.device_count, options, err);
	if (rc)
		return rc;
	(*out)->info.form = r.form;
	rc = keep_meta(*out, r.meta, err);
	if (rc) {
		frag_trace_close(*out);
		*out = NULL;
	}
	return rc;
}

int frag_trace_from(struct frag_trace **out, const struct frag_source_ops *ops, void *state,
		    const struct frag_device_figures *devices, uint32_t device_count,
		    const struct frag_trace_options *options, struct frag_error *err)
{
	static const struct frag_device_figures unlimited = { .granularity = FRAG_GRANULARITY };

	return make(out, ops, state, ops->form, device_count ? devices : &unlimited,
		    device_count ? device_count : 1, options, err);
}

void frag_trace_close(struct frag_trace *t)
{
	if (!t)
		return;
	if (t->source->close)
		t->source->close(t->state);
	for (uint32_t d = 0; d < t->info.device_count; d++)
		free(t->devices[d].name);
	free(t->devices);
	free(t->path);
	free(t->events);
	free(t->records);
	free(t->stacks);
	free(t->meta);
	free(t->left);
	frag_handles_fini(&t->streams);
	frag_handles_fini(&t->pools);
	frag_tags_fini(&t->tags);
	frag_lives_fini(&t->lives);
	free(t);
}

const struct frag_trace_info *frag_trace_info(const struct frag_trace *t)
{
	return &t->info;
}

void frag_trace_override(struct frag_trace *t, uint64_t total, uint64_t context, uint64_t other,
			 uint64_t granularity)
{
	for (uint32_t d = 0; d < t->info.device_count; d++) {
		struct frag_device_figures *f = &t->devices[d];

		f->total = total == UINT64_MAX ? f->total : total;
		f->context = context == UINT64_MAX ? f->context : context;
		f->other = other == UINT64_MAX ? f->other : other;
		if (granularity == UINT64_MAX)
			continue;
		f->granularity = granularity;
		f->small_most = f->small_granularity = 0;
	}
}

const struct frag_initial *frag_trace_initial(const struct frag_trace *t, uint32_t *count)
{
	*count = t->initial_count;
	return t->initial;
}

int frag_trace_describe(struct frag_trace *t, uint32_t device,
			const struct frag_device_figures *figures, const char *name)
{
	char *copy = name ? strdup(name) : NULL;

	if (name && !copy)
		return -FRAG_ENOMEM;
	free(t->devices[device].name);
	t->devices[device] = *figures;
	t->devices[device].name = copy;
	return 0;
}

bool frag_trace_is_stream(const struct frag_trace *t)
{
	uint64_t read = 0, total = 0;

	if (t->source->amount)
		t->source->amount(t->state, &read, &total);
	return total == 0;
}

struct frag_text frag_trace_tag(const struct frag_trace *t, uint32_t tag)
{
	if (tag == 0 || tag >= t->tags.count)
		return (struct frag_text){ .text = NULL };
	return (struct frag_text){ .text = t->tags.tags[tag].text,
				   .length = t->tags.tags[tag].length };
}

bool frag_trace_frame(const struct frag_trace *t, uint64_t *at, struct frag_frame *frame)
{
	if (!*at || !t->stacks)
		return false;
	t->source->frame(t->state, at, frame);
	return true;
}

/* Counts a bad event that is left out. */
static void leave_out(struct frag_trace *t, const char *kind, const struct frag_error *err)
{
	struct frag_kind_count *k = t->kinds;

	t->info.skipped++;
	while (k < t->kinds + t->kind_count && strcmp(k->kind, kind) != 0)
		k++;
	if (k == t->kinds + FRAG_KINDS_MOST)
		return;
	if (k == t->kinds + t->kind_count) {
		t->kind_count++;
		k->kind = kind;
		snprintf(k->first, sizeof(k->first), "%.383s", err->message);
	}
	k->count++;
}

static void report_left_out(struct frag_trace *t)
{
	char message[640];

	for (uint32_t i = 0; i < t->kind_count && t->options.log.warn; i++) {
		snprintf(message, sizeof(message), "left out %" PRIu64 " event%s: %s; the first: %s",
			 t->kinds[i].count, t->kinds[i].count == 1 ? "" : "s", t->kinds[i].kind,
			 t->kinds[i].first);
		t->options.log.warn(t->options.log.ctx, message);
	}
	t->kind_count = 0;      /* once, however often the end is asked for */
}

/* What the last batch borrowed is over. */
static void begin_batch(struct frag_trace *t)
{
	for (uint32_t i = 0; i < t->left_count; i++)
		frag_tags_leave(&t->tags, t->left[i]);
	t->left_count = 0;
	t->lives.ended_count = 0;
	frag_tags_sweep(&t->tags);
}

/* Now that the array of the ended stands still, each event gets its part of it. */
static void settle_ended(struct frag_trace *t, uint32_t count)
{
	const struct frag_ended *ended = t->lives.ended;

	if (t->lives.ended_count == 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		t->events[i].ended = ended;
		ended += t->events[i].ended_count;
	}
}

/*
 * The next records of the stretch, at most AHEAD. What stopped it: 1, it is full;
 * 0, the stretch is used up; or what is wrong with the record behind them.
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
	uint32_t hashes[AHEAD], ids = 0;
	int rc = take_records(t, ahead, count, kind, err);

	for (uint32_t i = 0; i < *count && far; i++)
		if (ahead[i].members & FRAG_HAS_ID)
			hashes[ids++] = frag_lives_expect(&t->lives, &ahead[i].id);
	for (uint32_t i = 0; i < ids; i++)
		frag_lives_approach(&t->lives, hashes[i]);
	return rc;
}

/* One record more, or one bad one: -FRAG_E... where that ends the run. */
static int settle_record(struct frag_trace *t, int rc, const char *kind, struct frag_error *err)
{
	if (rc == -FRAG_ETRACE && kind && t->options.lenient) {
		leave_out(t, kind, err);
		rc = 0;
	}
	t->step += rc == 0;
	return rc;
}

/*
 * Fills the batch from the source's present stretch; *count grows. Ids may lie
 * anywhere in a table larger than the caches: a few records are decoded ahead,
 * so that their entries come while others are resolved.
 */
static int fill_batch(struct frag_trace *t, uint32_t *count, struct frag_error *err)
{
	struct frag_record ahead[AHEAD];

	while (*count <= BATCH - AHEAD && t->stretch) {
		struct frag_error behind;       /* what is wrong with the record behind them */
		const char *kind_behind = NULL;
		uint32_t n;
		int rc, rc_behind = read_ahead(t, ahead, &n, &kind_behind, &behind);

		for (uint32_t i = 0; i < n; i++) {
			const char *kind = NULL;

			rc = frag_resolve(t, &ahead[i], &t->events[*count], &kind, err);
			if (rc == 0 && t->records)
				t->records[*count] = ahead[i];
			if (rc == 0 && t->stacks)
				t->stacks[*count] = ahead[i].members & FRAG_HAS_STACK
						    ? ahead[i].stack : 0;
			*count += rc == 0;
			rc = settle_record(t, rc, kind, err);
			if (rc)
				return rc;
		}
		if (rc_behind < 0) {
			*err = behind;
			rc_behind = settle_record(t, rc_behind, kind_behind, err);
			if (rc_behind)
				return rc_behind;
		} else {
			t->stretch = rc_behind == 1;
		}
	}
	return 0;
}

int frag_trace_next(struct frag_trace *t, struct frag_batch *batch, struct frag_error *err)
{
	struct frag_error own;
	uint32_t count = 0;
	int rc = 0;

	err = err ? err : &own;         /* lenient reads the messages of what it leaves out */
	begin_batch(t);
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
	if (t->info.whole && count == 0)
		report_left_out(t);
	settle_ended(t, count);
	if (t->source->amount)
		t->source->amount(t->state, &t->info.bytes, &t->info.total_bytes);
	*batch = (struct frag_batch){ .events = t->events, .count = count,
				       .records = t->records, .stacks = t->stacks };
	return 0;
}
