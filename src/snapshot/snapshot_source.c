/* snapshot_source.c - the records of a snapshot as a source; opening one of each of its formats. */
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "input/value_tree.h"

#define SETTINGS_ROOM 4096
#define STRETCH 1024
#define BEFORE "(before the history)"
#define NAME_MAX (UINT32_C(1) << 20)    /* bytes of a mark's name, ... */
#define END_MAX 8                       /* ... and of the end that it marks */
#define HANDLE_MAX (UINT64_C(1) << 53)
#define HOST_PAGE 4096

struct source {
	struct frag_snapshot s;
	uint32_t at, last;              /* of the plan: the next record, and the one given */
	uint32_t stretch_end;
	char t_text[STRETCH][FRAG_NUMBER_ROOM];
	char tag_text[STRETCH][FRAG_TAG_ROOM];
};

static int source_refill(void *state, struct frag_error *err)
{
	struct source *src = state;
	uint32_t left = src->s.plan_count - src->at;

	(void)err;
	src->stretch_end = src->at + (left < STRETCH ? left : STRETCH);
	return left > 0;
}

/* A device is named only where there are several. */
static void set_record_device(struct source *src, struct frag_record *rec,
			      const struct frag_snapshot_plan *p)
{
	if (src->s.device_count > 1) {
		rec->members |= FRAG_HAS_DEVICE;
		rec->device = p->device;
	}
}

static void put_alloc(struct source *src, struct frag_record *rec,
		      const struct frag_snapshot_plan *p, uint64_t size, uint64_t stream,
		      uint32_t pool)
{
	rec->op = FRAG_OP_ALLOC;
	rec->members |= FRAG_HAS_SIZE;
	rec->size = size;
	if (stream) {
		rec->members |= FRAG_HAS_STREAM;
		/* a handle is a pointer; one too large for an integer of a trace is cut */
		rec->stream = (struct frag_handle){ .number = stream % HANDLE_MAX };
	}
	if (pool && pool != FRAG_NO_POOL) {
		rec->members |= FRAG_HAS_POOL;
		rec->pool = src->s.pools[pool].name;
	}
	set_record_device(src, rec, p);
}

static enum frag_add put_first_live(struct source *src, struct frag_record *rec,
				    const struct frag_snapshot_plan *p, bool bare)
{
	const struct frag_snap_device *d = &src->s.devices[p->device];
	const struct frag_live_block *h = &d->first_live[p->index];
	enum frag_add rc;

	put_alloc(src, rec, p, h->requested, h->stream, h->pool);
	if (bare)
		return FRAG_ADDED;
	rc = frag_snapshot_tag(&src->s, h->frames, 0, src->tag_text[src->last % STRETCH], rec);
	if (!h->frames && src->s.stacks != FRAG_STACKS_NONE) {
		rec->members |= FRAG_HAS_TAG;
		rec->tag = (struct frag_text){ .text = BEFORE, .length = sizeof(BEFORE) - 1 };
	}
	return rc;
}

/* Appends the suffix of the marked end to the annotation's text, once. */
static enum frag_add name_remark(struct frag_snapshot *s, struct frag_annotation *r)
{
	static const char *const ends[] = { "", " (start)", " (end)" };
	const uint32_t length = r->text.length < NAME_MAX ? r->text.length : NAME_MAX;
	const uint32_t end = (uint32_t)strlen(ends[r->stage]);
	enum frag_add rc;
	char *text;

	if (r->named || !end)
		return FRAG_ADDED;
	rc = frag_values_text(&s->values, length + end, &text);
	if (rc != FRAG_ADDED)
		return rc;
	memcpy(text, r->text.text, length);
	memcpy(text + length, ends[r->stage], end);
	r->text = (struct frag_text){ .text = text, .length = length + end };
	r->named = true;
	return rc;
}

/* Named by the annotation, by the note of its event, or by the action; cut to NAME_MAX. */
static enum frag_add set_record_mark(struct source *src, struct frag_record *rec,
				     const struct frag_snapshot_plan *p)
{
	struct frag_snapshot *s = &src->s;
	const struct frag_logged *e;
	struct frag_text name = { .text = "snapshot", .length = 8 };
	enum frag_add rc = FRAG_ADDED;
	uint32_t max = NAME_MAX;

	if (p->kind == FRAG_PLAN_REMARK) {
		rc = name_remark(s, &s->remarks[p->index]);
		name = s->remarks[p->index].text;
		max += s->remarks[p->index].named ? END_MAX : 0;
	} else {
		e = &s->devices[p->device].log[p->index];
		if (e->action == FRAG_ACT_ANNOTATE)
			name = e->note ? s->notes[e->note - 1]
				       : (struct frag_text){ "annotate", 8 };
	}
	name.length = name.length > max ? max : name.length;
	rec->op = FRAG_OP_MARK;
	rec->members = FRAG_HAS_OP | FRAG_HAS_NAME;
	rec->text = name;
	set_record_device(src, rec, p);
	return rc;
}

static void set_record_time(struct source *src, struct frag_record *rec,
			    const struct frag_snapshot_plan *p)
{
	char *text = src->t_text[src->last % STRETCH];

	if (!src->s.has_times || !src->s.has_history)
		return;
	rec->t = frag_snapshot_time(&src->s, p);
	rec->members |= FRAG_HAS_T;
	rec->t_text.text = text;
	rec->t_text.length = (uint32_t)((rec->t < 0x1p64 ? frag_put_u64(text, (uint64_t)rec->t)
					 : frag_put_double(text, rec->t)) - text);
}

/*
 * One entry of the plan as a record. A block of the first state and a request that
 * ran out of memory are ordinary allocs; a device is named only where there are
 * several. bare: without what decides nothing, tag, stack and time.
 */
static int source_put_next(struct source *src, struct frag_record *rec, bool bare, struct frag_error *err)
{
	enum frag_add added = FRAG_ADDED;
	const struct frag_snapshot_plan *p;
	const struct frag_logged *e;

	FRAG_ASSERT(src->at <= src->stretch_end && src->stretch_end <= src->s.plan_count);
	if (src->at == src->stretch_end)
		return 0;
	src->last = src->at++;
	p = &src->s.plan[src->last];
	*rec = (struct frag_record){
		.members = FRAG_HAS_OP | FRAG_HAS_ID, .id.number = p->id, .at = src->last,
	};
	switch ((enum frag_plan_kind)p->kind) {
	case FRAG_PLAN_INITIAL:
		added = put_first_live(src, rec, p, bare);
		break;
	case FRAG_PLAN_ALLOC:
	case FRAG_PLAN_OOM:
		e = &src->s.devices[p->device].log[p->index];
		put_alloc(src, rec, p, e->size, e->stream, e->pool);
		if (!bare)
			added = frag_snapshot_tag(&src->s, e->frames, e->note,
					  src->tag_text[src->last % STRETCH], rec);
		break;
	case FRAG_PLAN_DEFER:
	case FRAG_PLAN_INITIAL_FREE:
		rec->members |= FRAG_HAS_PENDING;
		rec->pending = true;
		/* fall through */
	case FRAG_PLAN_FREE:
	case FRAG_PLAN_OOM_FREE:
		rec->op = FRAG_OP_FREE;
		break;
	case FRAG_PLAN_COMPLETE:
		rec->op = FRAG_OP_COMPLETE;
		break;
	case FRAG_PLAN_EMPTY_CACHE:
		rec->op = FRAG_OP_EMPTY_CACHE;
		rec->members = FRAG_HAS_OP;
		set_record_device(src, rec, p);
		break;
	case FRAG_PLAN_RELEASE_POOL:
		rec->op = FRAG_OP_RELEASE_POOL;
		rec->members = FRAG_HAS_OP | FRAG_HAS_POOL;
		set_record_device(src, rec, p);
		rec->pool = src->s.pools[src->s.devices[p->device].log[p->index].pool].name;
		break;
	case FRAG_PLAN_CONFIGURE:
		rec->op = FRAG_OP_CONFIGURE;
		rec->members = FRAG_HAS_OP | FRAG_HAS_VALUE;
		rec->text = (struct frag_text){ src->s.change, (uint32_t)strlen(src->s.change) };
		break;
	case FRAG_PLAN_MARK:
	case FRAG_PLAN_REMARK:
		added = set_record_mark(src, rec, p);
		break;
	}
	if (!bare)
		set_record_time(src, rec, p);
	if (added == FRAG_ADD_TOO_MUCH)
		return frag_fail(err, FRAG_ETRACE, "%s: more text than a snapshot of this size"
				 " has", src->s.whole.path);
	return added == FRAG_ADDED ? 1 : frag_fail_nomem(err);
}

static int source_next(void *state, struct frag_record *rec, const char **kind, struct frag_error *err)
{
	(void)kind;
	return source_put_next(state, rec, false, err);
}

static int source_next_bare(void *state, struct frag_record *rec, const char **kind, struct frag_error *err)
{
	(void)kind;
	return source_put_next(state, rec, true, err);
}

/*
 * The element of the file that the record comes from, so that a reader can look it
 * up there. The first state was computed: no element says it.
 */
static void source_where(void *state, uint64_t at, char *buf, uint32_t size)
{
	const struct source *src = state;
	const struct frag_snapshot_plan *p;

	if (at >= src->s.plan_count) {
		snprintf(buf, size, "%s", src->s.whole.path);
		return;
	}
	p = &src->s.plan[at];
	p += p->kind == FRAG_PLAN_CONFIGURE;
	if (p->kind == FRAG_PLAN_INITIAL || p->kind == FRAG_PLAN_INITIAL_FREE)
		snprintf(buf, size, "%s: the state that the history of device %u begins with",
			 src->s.whole.path, p->device);
	else if (p->kind == FRAG_PLAN_REMARK)
		snprintf(buf, size, "%s: external_annotations[%u]", src->s.whole.path,
			 src->s.remarks[p->index].order);
	else if (src->s.devices[p->device].host)
		snprintf(buf, size, "%s: host_traces[%u]", src->s.whole.path, p->index);
	else
		snprintf(buf, size, "%s: device_traces[%u][%u]", src->s.whole.path, p->device,
			 p->index);
}

static bool source_rewind(void *state)
{
	struct source *src = state;

	src->at = src->last = src->stretch_end = 0;
	src->s.backward.text = NULL;
	return true;
}

static struct frag_first_state *source_beginning(void *state)
{
	return &((struct source *)state)->s.beginning;
}

static void source_select_stacks(void *state, enum frag_stacks stacks)
{
	((struct source *)state)->s.stacks = stacks;
}

static void source_frame(void *state, uint64_t *at, struct frag_frame *frame)
{
	frag_stacks_at(&((const struct source *)state)->s.table, at, frame);
}

static void source_amount(void *state, uint64_t *read, uint64_t *total)
{
	const struct source *src = state;
	const uint64_t of = src->s.plan_count ? src->s.plan_count : 1;

	/* in records, turned to bytes: the file itself was read at the beginning */
	*total = src->s.whole.total;
	*read = (uint64_t)((double)src->s.whole.read * ((double)src->at / (double)of));
}

/* Also ends a source after a failed start: members not yet set are NULL. */
static void source_close(void *state)
{
	struct source *src = state;
	struct frag_snapshot *s = &src->s;

	for (uint32_t i = 0; i < s->device_count; i++) {
		struct frag_snap_device *d = &s->devices[i];

		free(d->log);
		free(d->first_live);
		free(d->regions);
		free(d->calls);
		free(d->initial);
		free(d->places);
		free(d->runs);
		free(d->order);
		free(d->end_regions);
	}
	free(s->devices);
	free(s->taken);
	free(s->figures);
	free(s->pools);
	free(s->notes);
	free(s->origins);
	frag_map_fini(&s->origin_at);
	free(s->remarks);
	frag_map_fini(&s->known_at);
	free(s->known);
	free(s->frame_of);
	frag_stacks_fini(&s->table);
	free(s->plan);
	free(s->change);
	free(s->first_settings);
	free(s->initial);
	free(s->beginning.blocks);
	free(s->beginning.orders);
	frag_values_fini(&s->values);
	frag_whole_fini(&s->whole);
	free(src);
}

static const struct frag_source_ops snapshot_source = {
	.form = "PyTorch snapshot",
	.refill = source_refill,
	.next = source_next,
	.where = source_where,
	.rewind = source_rewind,
	.beginning = source_beginning,
	.select_stacks = source_select_stacks,
	.frame = source_frame,
	.amount = source_amount,
	.close = source_close,
};

/* Leaves the state to the trace that owns it, at its first record. */
static void source_return(void *state)
{
	source_rewind(state);
}

const struct frag_source_ops frag_snapshot_borrowed = {
	.form = "PyTorch snapshot",
	.refill = source_refill,
	.next = source_next_bare,
	.where = source_where,
	.rewind = source_rewind,
	.beginning = source_beginning,
	.amount = source_amount,
	.close = source_return,
};

struct frag_snapshot *frag_snapshot_of(const struct frag_source_ops *ops, void *state)
{
	struct source *src = state;

	return ops == &snapshot_source || ops == &frag_snapshot_borrowed ? &src->s : NULL;
}

/* A failed request in the log gives the capacity of the device. */
static int make_figures(struct frag_snapshot *s)
{
	static char host_name[] = "pinned host memory";

	s->figures = calloc(s->device_count, sizeof(*s->figures));
	if (!s->figures)
		return frag_fail_nomem(s->err);
	for (uint32_t i = 0; i < s->device_count; i++)
		s->figures[i] = (struct frag_device_figures){
			.granularity = s->devices[i].host ? HOST_PAGE : FRAG_SMALL_SEGMENT,
			.total = s->devices[i].capacity, .host = s->devices[i].host,
			.name = s->devices[i].host ? host_name : NULL,
		};
	return 0;
}

/*
 * Warns of conditions that limit the accuracy: a history that begins in mid-run,
 * contradictions, and a device size known only from a failed request. A log as long as a usual
 * ring buffer was probably cut.
 */
static void note_device(const struct frag_snapshot *s, uint32_t i, const struct frag_log *log)
{
	const struct frag_snap_device *d = &s->devices[i];
	char taken[128] = "";

	if (d->first_live_count && d->log_count && s->has_history)
		frag_note(log, "device %u: the history begins in mid-run: %u segment%s of %s with %u"
			  " live block%s %s allocated before it%s", i, d->start_count, frag_s(d->start_count),
			  SIZE(d->start_bytes), d->first_live_count, frag_s(d->first_live_count),
			  d->start_count == 1 ? "was" : "were",
			  frag_snapshot_dropped(s, d)
				  ? ", and a number of events as round as this means that"
				    " older ones were dropped"
				  : "");
	if (d->lost)
		frag_note(log, "device %u: %" PRIu64 " event%s the others, as where some"
			  " were dropped or not recorded; frees that are missing are taken as done",
			  i, d->lost, d->lost == 1 ? " contradicts" : "s contradict");
	if (d->oom_count && !s->sized)
		snprintf(taken, sizeof(taken), "; %s is taken as its capacity (--device-bytes says"
			 " otherwise)", d->capacity ? SIZE(d->capacity) : "no size");
	if (d->oom_count)
		frag_note(log,
			  "device %u: the recording has %u out-of-memory%s, the first for %s with"
			  " %s free on the device%s",
			  i, d->oom_count, frag_s(d->oom_count),
			  SIZE(d->log[d->first_oom].size), SIZE(d->log[d->first_oom].addr), taken);
}

/* With garbage collection off, a request releases memory only after the device refused. */
static void note_full(const struct frag_snapshot *s, uint32_t i, const struct frag_log *log)
{
	const struct frag_snap_device *d = &s->devices[i];
	char settings[SETTINGS_ROOM];
	struct frag_recorded r;

	frag_snapshot_settings_values(s, settings, sizeof(settings));
	if (!d->forced || d->capacity || s->sized || strstr(settings, "garbage_collection"))
		return;
	frag_snapshot_recorded(s, i, &r);
	frag_note(log,
		  "device %u: requests released memory before they reserved more, so the device"
		  " was full then; its size is not in the file: --device-bytes %" PRIu64
		  ", the most"
		  " that was reserved, takes it for as large",
		  i, r.peak_reserved);
}

static void note_overflow(const struct frag_snapshot *s, uint64_t max, const struct frag_log *log)
{
	char room[64] = "", lost[80] = "";
	uint64_t allocs;

	if (max)
		snprintf(room, sizeof(room), ", which holds %" PRIu64 " per device,", max);
	if (frag_snapshot_lost(s, &allocs))
		snprintf(lost, sizeof(lost), " with the first %" PRIu64 " allocation%s", allocs,
			 frag_s(allocs));
	frag_note(log,
		  "the ring buffer of the recording%s overflowed: older events were dropped%s, so"
		  " the history is that of the last ones alone, and peaks before it are unknown"
		  " (max_entries of _record_memory_history() makes it larger)",
		  room, lost);
}

static void note_all(const struct frag_snapshot *s, const struct frag_log *log)
{
	uint64_t max;
	const enum frag_overflow overflow = frag_snapshot_overflow(s, &max);

	if (overflow == FRAG_OVERFLOWED)
		note_overflow(s, max, log);
	for (uint32_t i = 0; i < s->device_count; i++) {
		note_device(s, i, log);
		note_full(s, i, log);
	}
	frag_snapshot_note_unknown(s, log);
	if (!s->has_history)
		frag_note(log, "the snapshot has no history: only the state at its end, which the"
			  " run begins with");
}

/* The last request of all devices, where it failed. */
static void find_end(const struct frag_snapshot *s, struct frag_reading *out)
{
	for (uint32_t i = 0; i < s->plan_count; i++) {
		const struct frag_snapshot_plan *p = &s->plan[i];
		const struct frag_snap_device *d = &s->devices[p->device];

		if (p->kind != FRAG_PLAN_OOM || p->index != d->last_oom)
			continue;
		out->scope.ends = FRAG_ENDS_OOM;
		out->oom_step = i;
		out->oom_bytes = d->log[p->index].size;
	}
}

/* Each takes the input over; the members needed later go to s->whole. */
static int take_pickle(struct frag_snapshot *s, struct frag_input *in, struct frag_error *err)
{
	const struct frag_taker taker = frag_snapshot_taker(s);
	int rc = frag_pickle_stream(&s->values, &s->root, in, &taker, err);

	frag_input_amount(in, &s->whole.read, &s->whole.total);
	s->whole.path = in->path;
	in->path = NULL;
	frag_input_close(in);
	return rc;
}

/* The 6 bits of a digit of base64; or a negative number. */
static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* After `"base64": "`; NULL where there is none. */
static const char *find_base64(const struct frag_whole *w)
{
	static const char name[] = "\"base64\"";
	const char *p = w->bytes, *end = w->bytes + w->length;

	while (p < end && (p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		if ((size_t)(end - p) < sizeof(name) || memcmp(p, name, sizeof(name) - 1) != 0) {
			p++;
			continue;
		}
		p += sizeof(name) - 1;
		while (*p == ' ' || *p == ':')
			p++;
		if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/*
 * Replaces the bytes, a page that PyTorch's viewer was written into, by the pickle that is in it as
 * base64. In place: four digits make three bytes, so the writer never passes the reader.
 */
static int unwrap_page(struct frag_whole *w, struct frag_error *err)
{
	const char *from = find_base64(w), *end = w->bytes + w->length;
	char *to = w->bytes;
	uint32_t bits = 0;
	int count = 0;

	FRAG_ASSERT(w->bytes && w->path);
	if (!from)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: a web page, but no \"base64\" member in it: PyTorch's"
				 " viewer keeps the snapshot there",
				 w->path);
	for (; from < end && *from != '"' && *from != '='; from++) {
		int six = digit_of(*from);

		if (six < 0)
			return frag_fail(err, FRAG_ETRACE, "%s: byte %zu: no digit of base64",
					 w->path, (size_t)(from - w->bytes));
		bits = bits << 6 | (uint32_t)six;
		count += 6;
		if (count >= 8)
			*to++ = (char)(bits >> (count -= 8) & 0xff);
	}
	if (from == end)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: byte %zu: truncated: the base64 of the snapshot"
				 " ends here",
				 w->path, w->length);
	w->length = (size_t)(to - w->bytes);
	memset(to, 0, FRAG_WINDOW_SLACK);
	return 0;
}

/*
 * A snapshot as JSON has names of members and digits of addresses: it takes at most this many bytes
 * of values for each of its text. Other JSON is refused before it takes more.
 */
#define JSON_VALUES_A_BYTE 6
#define JSON_VALUES_MIN (1 << 20)

/* A page of the viewer, or JSON: all of it in memory. */
static int take_whole(struct frag_snapshot *s, struct frag_input *in, bool page,
		      struct frag_error *err)
{
	const struct frag_taker taker = frag_snapshot_taker(s);
	struct frag_whole *w = &s->whole;
	int rc = frag_whole_read(w, in, err);

	if (!rc && page)
		rc = unwrap_page(w, err);
	frag_values_init(&s->values, w->length, 0);
	frag_values_allow(&s->values, w->length, w->read);
	if (!page && s->values.max > JSON_VALUES_MIN + JSON_VALUES_A_BYTE * (uint64_t)w->length) {
		s->values.max = JSON_VALUES_MIN + JSON_VALUES_A_BYTE * (uint64_t)w->length;
		s->values.file = 0;     /* it is not the size of the compressed file that decides */
	}
	if (!page)
		return rc ? rc : frag_value_json_read(&s->values, &s->root, w->bytes, w->length,
						      w->path, err);
	rc = rc ? rc : frag_pickle_read(&s->values, &s->root, w->bytes, w->length, w->path,
					&taker, err);
	free(w->bytes);
	w->bytes = NULL;
	return rc;
}

static enum frag_sniff sniff_pickle(const char *bytes, size_t length)
{
	if (length < 2)
		return length && (unsigned char)bytes[0] != 0x80 ? FRAG_SNIFF_NO : FRAG_SNIFF_MORE;
	return (unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5 ? FRAG_SNIFF_YES
										  : FRAG_SNIFF_NO;
}

static enum frag_sniff sniff_page(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r'
			      || bytes[i] == '\t'))
		i++;
	return i == length ? FRAG_SNIFF_MORE : bytes[i] == '<' ? FRAG_SNIFF_YES : FRAG_SNIFF_NO;
}

static enum frag_sniff sniff_json(const char *bytes, size_t length)
{
	static const char *const ours[] = { "segments", "device_traces", "allocator_settings",
					    "external_annotations", "host_segments", "host_traces",
					    NULL };
	static const char *const ours_in_array[] = { "total_size", "segment_type", "blocks", NULL };
	static const char *const theirs[] = { "op", "events", "format", NULL };
	enum frag_sniff answer = frag_sniff_json(bytes, length, false, ours, theirs);

	return answer != FRAG_SNIFF_NO ? answer
		: frag_sniff_json(bytes, length, true, ours_in_array, theirs);
}

/*
 * The input is taken over also where this fails. err is the caller's of this call
 * alone, so the source does not keep it.
 */
static int open_source(struct frag_reading *out, struct frag_input *in,
		       const struct frag_log *log, struct frag_error *err)
{
	struct source *src = calloc(1, sizeof(*src));
	struct frag_snapshot *s;
	int rc;

	if (!src) {
		frag_input_close(in);
		return frag_fail_nomem(err);
	}
	s = &src->s;
	s->err = err;
	s->with_host = out->with_host;
	s->sized = out->sized;
	/* whichever of the three readers it was that knew the first bytes */
	rc = sniff_pickle(in->buf, in->end) == FRAG_SNIFF_YES ? take_pickle(s, in, err)
	     : take_whole(s, in, sniff_page(in->buf, in->end) == FRAG_SNIFF_YES, err);
	rc = rc ? rc : frag_snapshot_load(s);
	rc = rc ? rc : frag_snapshot_rewind(s);
	rc = rc ? rc : frag_snapshot_plan(s);
	rc = rc ? rc : frag_snapshot_begin(s);
	rc = rc ? rc : make_figures(s);
	if (rc) {
		source_close(src);
		return rc;
	}
	s->err = NULL;
	note_all(s, log);
	*out = (struct frag_reading){
		.ops = &snapshot_source,
		.state = src,
		.form = out->form,
		.devices = s->figures,
		.device_count = s->device_count,
		.host = s->host,
		.pytorch = true,
		.scope = frag_snapshot_scope(s),
	};
	find_end(s, out);
	return 0;
}

#define HEAD ((size_t)4096)     /* bytes in which a snapshot names its first list */

int frag_snapshot_is_file(const char *path, bool *is, struct frag_error *err)
{
	static const char *const names[] = { "segments", "device_traces", "total_size", NULL };
	struct frag_text head;
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	*is = false;
	if (rc)
		return rc == -FRAG_ENOMEM ? rc : 0;
	do
		rc = in.end < HEAD ? frag_input_fill(&in, 0, err) : 0;
	while (rc == 1);
	head = (struct frag_text){ in.buf, (uint32_t)(in.end < HEAD ? in.end : HEAD) };
	if (in.end > 2 && (unsigned char)in.buf[0] == 0x80)
		for (int i = 0; names[i] && !*is; i++)
			*is = frag_text_find(head, names[i]);
	frag_input_close(&in);
	return rc == -FRAG_ENOMEM ? rc : 0;
}

const struct frag_reader frag_reader_pickle = {
	.name = "PyTorch snapshot, pickle",
	.sniff = sniff_pickle,
	.open = open_source,
};

const struct frag_reader frag_reader_snapshot_json = {
	.name = "PyTorch snapshot, JSON",
	.sniff = sniff_json,
	.open = open_source,
};

const struct frag_reader frag_reader_snapshot_page = {
	.name = "PyTorch snapshot, web page",
	.sniff = sniff_page,
	.open = open_source,
};
