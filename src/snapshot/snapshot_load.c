/* snapshot_load.c - reads a snapshot's contents from its values. */
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/parse.h"

#define DEVICES_MAX 1024
#define POOL_NAME 48            /* bytes: two numbers */
#define ADDRESS_MAX (UINT64_MAX >> 1)
#define SIZE_HIGHEST (UINT64_C(1) << 53)
/* The most memory for an event or block: the log, the rewound state, the plan. */
#define MADE_OF_ONE (2 * (sizeof(struct frag_logged) + sizeof(struct frag_live_block)          \
			  + sizeof(struct frag_snapshot_plan)))

/* The element of the file that messages name. */
struct place {
	const char *list;
	uint32_t i, j;
	bool two;
};

static int bad_element(const struct frag_snapshot *s, const struct place *at, const char *text)
{
	if (!at)
		return -FRAG_ETRACE;
	if (at->two)
		return frag_fail(s->err, FRAG_ETRACE, "%s: %s[%u][%u]: %s", s->whole.path, at->list,
				 at->i, at->j, text);
	return frag_fail(s->err, FRAG_ETRACE, "%s: %s[%u]: %s", s->whole.path, at->list, at->i,
			 text);
}

/*
 * A list that is in many places would be read as often: no snapshot does that.
 * An event that does counts as often as what is made of it.
 */
static int see(struct frag_snapshot *s, const struct place *at)
{
	if (!frag_values_take(&s->values, MADE_OF_ONE) && s->values.file)
		return frag_kept_too_much(s->whole.path, s->values.file, s->err);
	if (s->seen++ < s->values.cells + 1)
		return 0;
	return bad_element(s, at, "more events and blocks than the file has values: a list is shared");
}

static int need_u64(const struct frag_snapshot *s, const struct place *at,
		    const struct frag_value *value, const char *name, uint64_t max, uint64_t *out)
{
	char text[160];

	if (frag_value_u64(value, out) && *out <= max)
		return 0;
	if (!at)
		return -FRAG_ETRACE;
	snprintf(text, sizeof(text), "member \"%s\" %s", name,
		 !value ? "is missing" : "is not an integer in its range");
	return bad_element(s, at, text);
}

static uint64_t maybe_u64(const struct frag_value *value)
{
	uint64_t number;

	return frag_value_u64(value, &number) ? number : 0;
}

static uint32_t frames_of(const struct frag_snapshot *s, const struct frag_value *frames)
{
	return frag_list_count(frames) ? frag_value_number(&s->values, frames) + 1 : 0;
}

/* Members of a block. */
enum { BLOCK_ADDRESS, BLOCK_SIZE, BLOCK_REQUESTED, BLOCK_STATE, BLOCK_FRAMES, BLOCK_HISTORY,
       BLOCK_MEMBERS };
static const char *const block_members[BLOCK_MEMBERS] = {
	"address", "size", "requested_size", "state", "frames", "history",
};

/* Members of an event. */
enum { EVENT_ACTION, EVENT_ADDR, EVENT_SIZE, EVENT_FREE, EVENT_STREAM, EVENT_TIME, EVENT_FRAMES,
       EVENT_POOL, EVENT_SEGMENT_POOL, EVENT_NOTE, EVENT_CATEGORY, EVENT_CONTEXT, EVENT_FORWARD,
       EVENT_MEMBERS };
static const char *const event_members[EVENT_MEMBERS] = {
	"action", "addr", "size", "device_free", "stream", "time_us", "frames", "pool_id",
	"segment_pool_id", "user_metadata", "category", "compile_context", "forward_frames",
};

/* The number of a pool by its pair, which is PyTorch's own word for it; 0 for the default. */
static int load_pool(struct frag_snapshot *s, const struct frag_value *pair, uint32_t *out)
{
	struct frag_handle *name;
	uint64_t a, b;
	char *text;

	*out = FRAG_NO_POOL;
	if (!frag_value_u64(frag_list_at(&s->values, pair, 0), &a)
	    || !frag_value_u64(frag_list_at(&s->values, pair, 1), &b))
		return 0;
	for (uint32_t i = s->pool_count; i-- > 0;) {
		if (s->pools[i].a == a && s->pools[i].b == b) {
			*out = i;
			return 0;
		}
	}
	if (s->pool_count >= 65536)     /* each is searched for among all */
		return frag_fail(s->err, FRAG_ETRACE, "%s: more than 65536 memory pools",
				 s->whole.path);
	if (!FRAG_GROW(s->pools, s->pool_capacity, s->pool_count)
	    || frag_values_text(&s->values, POOL_NAME, &text) != FRAG_ADDED)
		return frag_fail_nomem(s->err);
	s->pools[s->pool_count].a = a;
	s->pools[s->pool_count].b = b;
	name = &s->pools[s->pool_count].name;
	name->text = text;
	name->number = (uint64_t)snprintf(text, POOL_NAME, "%" PRIu64 "_%" PRIu64, a, b);
	*out = s->pool_count++;
	return 0;
}

/* The device of this ordinal, made where it is new. */
static int load_device(struct frag_snapshot *s, const struct place *at,
		       uint64_t ordinal, struct frag_snap_device **out)
{
	struct frag_snap_device *devices;

	if (ordinal >= DEVICES_MAX)
		return bad_element(s, at, "a device ordinal of 1024 or more");
	if (ordinal >= s->device_count) {
		devices = realloc(s->devices, (size_t)(ordinal + 1) * sizeof(*devices));
		if (!devices)
			return frag_fail_nomem(s->err);
		memset(devices + s->device_count, 0,
		       (size_t)(ordinal + 1 - s->device_count) * sizeof(*devices));
		s->devices = devices;
		s->device_count = (uint32_t)ordinal + 1;
	}
	*out = &s->devices[ordinal];
	return 0;
}

/*
 * Blocks rise by address and never overlap: *addr is the end of the previous one. A block
 * without an address, as in older versions, starts there. Only blocks in use are kept; the gaps
 * are free.
 */
static int read_block(struct frag_snapshot *s, const struct place *at,
		      const struct frag_value *dict, struct frag_snap_device *d,
		      const struct frag_region *region, uint64_t *addr)
{
	const struct frag_value *m[BLOCK_MEMBERS], *state, *old;
	struct frag_live_block h = { .stream = region->stream, .pool = region->pool };
	uint64_t end = region->addr + region->bytes;
	int rc = see(s, at);

	frag_dict_members(&s->values, dict, &s->load.blocks, m);
	state = m[BLOCK_STATE];
	rc = rc ? rc : need_u64(s, at, m[BLOCK_SIZE], "size", SIZE_HIGHEST, &h.bytes);
	if (rc)
		return rc;
	if (!frag_value_u64(m[BLOCK_ADDRESS], &h.addr))
		h.addr = *addr;
	if (h.addr < *addr || h.addr > end || h.bytes > end - h.addr || h.bytes == 0)
		return bad_element(s, at, "a block is outside its segment, or overlaps the one"
				   " before it");
	*addr = h.addr + h.bytes;
	if (frag_text_is(state, "inactive"))
		return 0;
	h.pending = frag_text_is(state, "active_pending_free")
		    || frag_text_is(state, "active_awaiting_free");
	if (!h.pending && !frag_text_is(state, "active_allocated"))
		return bad_element(s, at,
				   "a block's \"state\" is none of active_allocated,"
				   " active_pending_free and inactive");
	/* before 2.1 what was requested, and where from, was in the block's history */
	old = frag_list_at(&s->values, m[BLOCK_HISTORY], 0);
	h.requested = maybe_u64(m[BLOCK_REQUESTED]);
	if (!h.requested)
		h.requested = maybe_u64(frag_dict_get(&s->values, old, "real_size"));
	h.frames = frames_of(s, m[BLOCK_FRAMES]);
	if (!h.frames)
		h.frames = frames_of(s, frag_dict_get(&s->values, old, "frames"));
	h.sized = h.requested && h.requested <= h.bytes;
	if (!h.sized)
		h.requested = h.bytes;
	if (!FRAG_GROW(d->first_live, d->first_live_capacity, d->first_live_count))
		return frag_fail_nomem(s->err);
	d->first_live[d->first_live_count++] = h;
	d->end_allocated += h.pending ? 0 : h.bytes;
	return 0;
}

bool frag_snapshot_is_large(const struct frag_snap_device *d, uint64_t bytes)
{
	return d->host ? bytes > FRAG_SMALL_REQUEST : bytes != FRAG_SMALL_SEGMENT;
}

/*
 * The segment bounds its blocks, so it is checked first and kept last. Its kind is
 * known where the file names it; else the size says it, as small segments have one
 * size only.
 */
static int read_segment(struct frag_snapshot *s, const struct place *at,
			const struct frag_value *dict, uint64_t ordinal)
{
	const struct frag_value *blocks = frag_dict_get(&s->values, dict, "blocks");
	const struct frag_value *type = frag_dict_get(&s->values, dict, "segment_type");
	const struct frag_value *range = frag_dict_get(&s->values, dict, "is_expandable");
	struct frag_region r = { .range = false };
	struct frag_snap_device *d;
	uint64_t addr;
	int rc = see(s, at);

	rc = rc ? rc : need_u64(s, at, frag_dict_get(&s->values, dict, "address"), "address",
				ADDRESS_MAX, &r.addr);
	rc = rc ? rc : need_u64(s, at, frag_dict_get(&s->values, dict, "total_size"), "total_size",
				SIZE_HIGHEST, &r.bytes);
	rc = rc ? rc : load_device(s, at, ordinal, &d);
	rc = rc ? rc : load_pool(s, frag_dict_get(&s->values, dict, "segment_pool_id"), &r.pool);
	if (rc)
		return rc;
	if (r.bytes == 0)
		return bad_element(s, at, "a segment of no bytes");
	r.pool = r.pool == FRAG_NO_POOL ? 0 : r.pool;
	r.stream = maybe_u64(frag_dict_get(&s->values, dict, "stream"));
	r.known = frag_is(type, FRAG_STRING) && !d->host;       /* the host's are all "small" */
	r.large = r.known ? !frag_text_is(type, "small") : frag_snapshot_is_large(d, r.bytes);
	r.framed = frag_list_count(frag_dict_get(&s->values, dict, "frames")) > 0;
	r.range = frag_is(range, FRAG_TRUTH) && range->as.magnitude;
	d->any_map = d->any_map || r.range;
	addr = r.addr;
	for (uint32_t i = 0; i < frag_list_count(blocks) && !rc; i++)
		rc = read_block(s, at, frag_list_at(&s->values, blocks, i), d, &r, &addr);
	if (rc)
		return rc;
	if (!FRAG_GROW(d->regions, d->region_capacity, d->region_count))
		return frag_fail_nomem(s->err);
	d->regions[d->region_count++] = r;
	d->end_reserved += r.bytes;
	return 0;
}

const char *const frag_action_names[] = {
	"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
	"segment_map", "segment_unmap", "oom", "snapshot", "annotate", "other",
};

static uint8_t find_action(struct frag_snapshot *s, const struct frag_value *value)
{
	const uint32_t number = frag_value_number(&s->values, value) + 1;

	for (uint8_t i = 0; i < FRAG_ACT_OTHER; i++)
		if (s->load.actions[i] == number)
			return i;
	for (uint8_t i = 0; i < FRAG_ACT_OTHER; i++) {
		if (frag_text_is(value, frag_action_names[i])) {
			s->load.actions[i] = number;
			return i;
		}
	}
	return FRAG_ACT_OTHER;
}

/* Text that the program itself attached to the event. */
static const struct frag_value *find_note(const struct frag_value *text,
					  const struct frag_value *category)
{
	if (!frag_is(text, FRAG_STRING) || !text->length)
		text = category;
	return frag_is(text, FRAG_STRING) && text->length ? text : NULL;
}

static int add_note(struct frag_snapshot *s, const struct frag_value *text, uint32_t *note)
{
	if (!FRAG_GROW(s->notes, s->note_capacity, s->note_count))
		return frag_fail_nomem(s->err);
	s->notes[s->note_count++] = (struct frag_text){ .text = text->as.text,
							.length = text->length };
	*note = s->note_count;
	return 0;
}

/* The number of where an event comes from, plus 1; 0: nothing, or there are too many others. */
static int load_origin(struct frag_snapshot *s, const struct frag_value *context,
		       const struct frag_value *forward, uint16_t *origin)
{
	struct frag_event_origin o = { .forward = forward ? frames_of(s, forward) : 0 };
	uint64_t key;
	uint32_t at;

	if (frag_is(context, FRAG_STRING) && context->length)
		o.context = frag_value_number(&s->values, context) + 1;
	/* outside of compiled code the allocator writes this */
	if (o.context && o.context != s->load.no_context && frag_text_is(context, "N/A"))
		s->load.no_context = o.context;
	o.context = o.context == s->load.no_context ? 0 : o.context;
	if (!o.context && !o.forward)
		return 0;
	key = (uint64_t)o.context << 32 | o.forward;
	if (!s->origin_at.entries && !frag_map_init(&s->origin_at, frag_hash_seed()))
		return frag_fail_nomem(s->err);
	at = frag_map_get(&s->origin_at, key);
	if (at == FRAG_MAP_NONE && s->origin_count < UINT16_MAX) {
		at = s->origin_count;
		if (!FRAG_GROW(s->origins, s->origin_capacity, at) || !frag_map_add(&s->origin_at, key, at))
			return frag_fail_nomem(s->err);
		s->origins[s->origin_count++] = o;
	}
	*origin = (uint16_t)(at + 1);   /* FRAG_MAP_NONE becomes 0 */
	return 0;
}

static void note_action(struct frag_snapshot *s, const struct frag_value *action)
{
	if (!s->other_actions++ && frag_is(action, FRAG_STRING))
		snprintf(s->other_action, sizeof(s->other_action), "%.*s",
			 (int)frag_text_cut(action->as.text, action->length,
					    sizeof(s->other_action) - 1), action->as.text);
}

/*
 * An event out of its members; note and pool are numbers of values, plus 1, until it is in a log.
 * at may be NULL: then a failure has no message, as the event is read again.
 *
 * The meaning of a member depends on the action: an out-of-memory event has free bytes instead
 * of an address. Unknown actions are omitted, because a newer PyTorch may add some. One event
 * without a time removes the times of all, because records are merged by time.
 */
static int load_event(struct frag_snapshot *s, const struct place *at,
		      const struct frag_value *const *m, struct frag_logged *e)
{
	const struct frag_value *note, *pool;
	uint64_t t;
	int rc;

	*e = (struct frag_logged){ .action = FRAG_ACT_OTHER };
	if (!m[EVENT_ACTION])
		return bad_element(s, at, "no event: member \"action\" is missing");
	e->action = find_action(s, m[EVENT_ACTION]);
	if (e->action == FRAG_ACT_OTHER && at)
		note_action(s, m[EVENT_ACTION]);
	if (e->action == FRAG_ACT_OTHER)
		return 0;
	rc = need_u64(s, at, m[EVENT_SIZE], "size", SIZE_HIGHEST, &e->size);
	if (e->action == FRAG_ACT_OOM)
		e->addr = maybe_u64(m[EVENT_FREE]);
	else
		rc = rc ? rc : need_u64(s, at, m[EVENT_ADDR], "addr", ADDRESS_MAX, &e->addr);
	if (rc)
		return rc;
	if (e->action == FRAG_ACT_ANNOTATE && !e->addr)
		e->action = FRAG_ACT_OTHER;     /* of no block: a mark, an external annotation too */
	note = find_note(m[EVENT_NOTE], m[EVENT_CATEGORY]);
	pool = m[EVENT_POOL] ? m[EVENT_POOL] : m[EVENT_SEGMENT_POOL];
	e->note = note ? frag_value_number(&s->values, note) + 1 : 0;
	e->pool = frag_list_count(pool) ? frag_value_number(&s->values, pool) + 1 : 0;
	e->stream = maybe_u64(m[EVENT_STREAM]);
	e->frames = frames_of(s, m[EVENT_FRAMES]);
	e->t = frag_value_u64(m[EVENT_TIME], &t) && t < SIZE_HIGHEST ? (double)t : -1;
	return load_origin(s, m[EVENT_CONTEXT], m[EVENT_FORWARD], &e->origin);
}

/*
 * An unusual event stays a dict, so that its message comes in the order of the file. It keeps its
 * place among the others; so does the first of a log.
 */
static bool take_logged(void *state, const struct frag_value *name, const uint32_t *items,
		       uint32_t count, uint64_t *number)
{
	struct frag_snapshot *s = state;
	const uint32_t before = s->taken_capacity;
	const struct frag_value *m[EVENT_MEMBERS];
	struct frag_logged *e;

	if (!frag_text_is(name, "device_traces"))
		return false;
	s->taken_count += !s->taken_count;
	if (!FRAG_GROW(s->taken, s->taken_capacity, s->taken_count))
		return false;
	*number = s->taken_count++;
	e = &s->taken[*number];
	return frag_values_take(&s->values, (s->taken_capacity - before) * sizeof(*e))
	       && frag_items_members(&s->values, items, count, &s->load.events, m)
	       && m[EVENT_ACTION] && load_event(s, NULL, m, e) == 0 && e->action != FRAG_ACT_OTHER;
}

static void find_event_members(struct frag_snapshot *s)
{
	s->load = (struct frag_snapshot_load){
		.blocks = { .names = block_members, .count = BLOCK_MEMBERS },
		.events = { .names = event_members, .count = EVENT_MEMBERS },
	};
}

struct frag_taker frag_snapshot_taker(struct frag_snapshot *s)
{
	find_event_members(s);
	return (struct frag_taker){ .take = take_logged, .state = s };
}

/* Adds it to the log: pools and notes count in the order of the file. */
static int log_event(struct frag_snapshot *s, struct frag_logged e, struct frag_snap_device *d)
{
	const uint32_t note = e.note, pool = e.pool;
	int rc = load_pool(s, pool ? &s->values.table[pool - 1] : NULL, &e.pool);

	e.note = 0;
	if (!rc && note)
		rc = add_note(s, &s->values.table[note - 1], &e.note);
	if (rc)
		return rc;
	if (e.t < 0) {
		s->has_times = false;
		e.t = 0;
	}
	if (e.action == FRAG_ACT_SEGMENT_MAP || e.action == FRAG_ACT_SEGMENT_UNMAP)
		d->any_map = true;
	if (!FRAG_GROW(d->log, d->log_capacity, d->log_count))
		return frag_fail_nomem(s->err);
	d->log[d->log_count++] = e;
	return 0;
}

/* Allocates a whole log at once, but never more than see() permits. */
static bool expect(const struct frag_snapshot *s, struct frag_snap_device *d, uint32_t count)
{
	uint64_t left = s->values.cells + 1 - s->seen;
	uint64_t need, afforded = (s->values.max - s->values.bytes) / sizeof(*d->log);

	left = left < afforded ? left : afforded;
	need = (uint64_t)d->log_count + (count < left ? count : left);
	if (need <= d->log_capacity || need > UINT32_MAX)
		return true;
	return frag_grow(&d->log, &d->log_capacity, need, sizeof(*d->log));
}

/* Is it the only log of the file, with each taken event at its number? Then these are the log. */
static bool are_taken(const struct frag_snapshot *s, const struct frag_value *log)
{
	const struct frag_value *traces = frag_dict_get(&s->values, &s->root, "device_traces");
	uint32_t logs = log == frag_dict_get(&s->values, &s->root, "host_traces");

	for (uint32_t i = 0; i < frag_list_count(traces); i++)
		logs += frag_list_count(frag_list_at(&s->values, traces, i)) > 0;
	for (uint32_t i = 0; i < frag_list_count(log); i++) {
		const struct frag_value *event = frag_list_at(&s->values, log, i);

		if (event->kind == FRAG_TAKEN && event->as.magnitude != i)
			return false;
	}
	return logs == 1 && s->taken_count;
}

/* at: the log, or its first event where it is one of several. */
static int read_log(struct frag_snapshot *s, struct place *at, const struct frag_value *log,
		    uint32_t ordinal)
{
	uint32_t count = frag_list_count(log), *i = at->two ? &at->j : &at->i;
	const struct frag_value *m[EVENT_MEMBERS], *item;
	struct frag_snap_device *d = NULL;
	struct frag_logged e;
	int rc = count ? load_device(s, at, ordinal, &d) : 0;

	if (!rc && count && are_taken(s, log)) {
		d->log = s->taken;
		d->log_capacity = s->taken_capacity;
		s->taken = NULL;
	} else if (!rc && count && !expect(s, d, count)) {
		rc = frag_fail_nomem(s->err);
	}
	for (*i = 0; *i < count && !rc; ++*i) {
		item = frag_list_at(&s->values, log, *i);
		rc = see(s, at);
		if (!rc && item->kind == FRAG_TAKEN) {
			e = (s->taken ? s->taken : d->log)[item->as.magnitude];
		} else if (!rc) {
			frag_dict_members(&s->values, item, &s->load.events, m);
			rc = load_event(s, at, m, &e);
		}
		if (!rc && e.action != FRAG_ACT_OTHER)
			rc = log_event(s, e, d);
	}
	return rc;
}

/*
 * Annotations are a separate list, outside of the logs. An annotation of a device without
 * segments and events is omitted, because no records of that device follow it.
 */
static int read_remarks(struct frag_snapshot *s, const struct frag_value *list)
{
	for (uint32_t i = 0; i < frag_list_count(list); i++) {
		const struct frag_value *dict = frag_list_at(&s->values, list, i);
		const struct frag_value *name = frag_dict_get(&s->values, dict, "name");
		const struct frag_value *stage = frag_dict_get(&s->values, dict, "stage");
		struct frag_annotation r = {
			.t = (double)maybe_u64(frag_dict_get(&s->values, dict, "time_us")),
			.device = (uint32_t)maybe_u64(frag_dict_get(&s->values, dict, "device")),
			.stage = frag_text_is(stage, "START") ? 1 : frag_text_is(stage, "END") ? 2 : 0,
		};
		struct place at = { .list = "external_annotations", .i = i };
		int rc = see(s, &at);

		if (rc)
			return rc;
		if (!frag_is(name, FRAG_STRING) || r.device >= s->device_count)
			continue;
		r.order = i;
		r.text = (struct frag_text){ .text = name->as.text, .length = name->length };
		if (!FRAG_GROW(s->remarks, s->remark_capacity, s->remark_count))
			return frag_fail_nomem(s->err);
		s->remarks[s->remark_count++] = r;
	}
	return 0;
}

/* Pinned host memory: one log, and segments of no device. */
static int read_host(struct frag_snapshot *s)
{
	const struct frag_value *segments = frag_dict_get(&s->values, &s->root, "host_segments");
	const struct frag_value *log = frag_dict_get(&s->values, &s->root, "host_traces");
	struct place at = { .list = "host_segments" };
	const uint32_t ordinal = s->device_count;
	struct frag_snap_device *d;
	int rc;

	if (!frag_list_count(segments) && !frag_list_count(log))
		return 0;
	rc = load_device(s, &at, ordinal, &d);
	if (rc)
		return rc;
	d->host = true;
	for (; at.i < frag_list_count(segments) && !rc; at.i++)
		rc = read_segment(s, &at, frag_list_at(&s->values, segments, at.i), ordinal);
	at.list = "host_traces";
	return rc ? rc : read_log(s, &at, log, ordinal);
}

/*
 * Pinned host memory, as totals. The log is read backwards: a block that was allocated and not
 * freed must exist at the end; where it does not, the last state is corrected.
 */
struct host_walk {
	const struct frag_snapshot *s;
	struct frag_map live;           /* addresses of the blocks at the moment */
	uint64_t now;                   /* their bytes */
	struct frag_host_memory host;
};

static uint64_t host_size_of(const struct frag_snapshot *s, const struct frag_value *dict)
{
	uint64_t size;

	return frag_value_u64(frag_dict_get(&s->values, dict, "size"), &size)
	       && size <= SIZE_HIGHEST ? size : 0;
}

/* A file may claim anything. */
static void host_add(uint64_t *to, uint64_t much)
{
	*to += frag_min(much, UINT64_MAX - *to);
}

/* The block is there at the moment; one that is already is no other. */
static bool host_enter(struct host_walk *w, uint64_t addr, uint64_t size)
{
	if (frag_map_get(&w->live, addr) != FRAG_MAP_NONE)
		return true;
	host_add(&w->now, size);
	w->host.peak_bytes = frag_max(w->host.peak_bytes, w->now);
	return frag_map_add(&w->live, addr, 0);
}

/* Walks backwards past the allocation of a block. */
static void host_leave(struct host_walk *w, uint64_t addr, uint64_t size)
{
	if (frag_map_get(&w->live, addr) != FRAG_MAP_NONE) {
		frag_map_remove(&w->live, addr, 0);
		w->now -= frag_min(size, w->now);
		return;
	}
	host_add(&w->host.live_bytes, size);
	host_add(&w->host.peak_bytes, size);
	w->host.live++;
}

/* Blocks that are allocated at the end. A list that is in many places is not read as often. */
static bool enter_end(struct host_walk *w)
{
	const struct frag_values *v = &w->s->values;
	const struct frag_value *segments = frag_dict_get(v, &w->s->root, "host_segments");
	uint64_t left = v->cells, addr;

	for (uint32_t i = 0; i < frag_list_count(segments); i++) {
		const struct frag_value *segment = frag_list_at(v, segments, i);
		const struct frag_value *blocks = frag_dict_get(v, segment, "blocks");

		for (uint32_t k = 0; k < frag_list_count(blocks) && left; k++, left--) {
			const struct frag_value *block = frag_list_at(v, blocks, k);

			if (!frag_text_is(frag_dict_get(v, block, "state"), "active_allocated")
			    || !frag_value_u64(frag_dict_get(v, block, "address"), &addr))
				continue;
			if (!host_enter(w, addr, host_size_of(w->s, block)))
				return false;
		}
	}
	w->host.live_bytes = w->now;
	w->host.live = w->live.count;
	return true;
}

/*
 * Backwards an alloc ends a block and a free begins one, so the bytes in use reach their peak
 * although the first state is unknown.
 */
static bool walk_back(struct host_walk *w)
{
	const struct frag_values *v = &w->s->values;
	const struct frag_value *log = frag_dict_get(v, &w->s->root, "host_traces");
	bool good = true;

	w->host.events = frag_list_count(log);
	for (uint32_t i = frag_list_count(log); i-- > 0 && good;) {
		const struct frag_value *event = frag_list_at(v, log, i);
		const struct frag_value *action = frag_dict_get(v, event, "action");
		uint64_t addr;

		if (event->kind == FRAG_TAKEN) {
			const struct frag_logged *e = &w->s->taken[event->as.magnitude];

			if (e->action == FRAG_ACT_ALLOC)
				host_leave(w, e->addr, e->size);
			else if (e->action == FRAG_ACT_FREE_REQUESTED)
				good = host_enter(w, e->addr, e->size);
			continue;
		}
		if (!frag_value_u64(frag_dict_get(v, event, "addr"), &addr))
			continue;
		if (frag_text_is(action, "alloc"))
			host_leave(w, addr, host_size_of(w->s, event));
		else if (frag_text_is(action, "free_requested"))
			good = host_enter(w, addr, host_size_of(w->s, event));
	}
	return good;
}

static int sum_host(struct frag_snapshot *s)
{
	struct host_walk w = { .s = s };
	bool good = frag_map_init(&w.live, frag_hash_seed()) && enter_end(&w) && walk_back(&w);

	frag_map_fini(&w.live);
	s->host = w.host;
	return good ? 0 : frag_fail_nomem(s->err);
}

/*
 * Devices come into being as segments and logs name them, one at least, so that
 * annotations have all of them before they are read. Pinned host memory is last:
 * its ordinal is the first that no device has.
 */
int frag_snapshot_load(struct frag_snapshot *s)
{
	const struct frag_value *segments = frag_dict_get(&s->values, &s->root, "segments");
	const struct frag_value *traces = frag_dict_get(&s->values, &s->root, "device_traces");
	struct frag_snap_device *d;
	int rc = 0;

	FRAG_ASSERT(s->err && !s->device_count);
	find_event_members(s);
	if (s->root.kind == FRAG_LIST)          /* what torch.cuda.memory_snapshot() returns */
		segments = &s->root;
	if (!frag_is(segments, FRAG_LIST) && !frag_is(traces, FRAG_LIST))
		return frag_fail(s->err, FRAG_ETRACE, "%s: no snapshot of PyTorch: neither"
				 " \"segments\" nor \"device_traces\" is in it", s->whole.path);
	s->has_times = true;
	if (!FRAG_GROW(s->pools, s->pool_capacity, 0))
		return frag_fail_nomem(s->err);
	memset(&s->pools[0], 0, sizeof(s->pools[0]));
	s->pool_count = 1;
	for (uint32_t i = 0; i < frag_list_count(segments) && !rc; i++) {
		const struct place at = { .list = "segments", .i = i };
		const struct frag_value *segment = frag_list_at(&s->values, segments, i);

		rc = read_segment(s, &at, segment,
				  maybe_u64(frag_dict_get(&s->values, segment, "device")));
	}
	for (uint32_t i = 0; i < frag_list_count(traces) && !rc; i++) {
		struct place at = { .list = "device_traces", .i = i, .two = true };

		rc = read_log(s, &at, frag_list_at(&s->values, traces, i), i);
	}
	rc = rc ? rc : load_device(s, &(struct place){ .list = "segments" }, 0, &d);
	rc = rc ? rc : read_remarks(s, frag_dict_get(&s->values, &s->root, "external_annotations"));
	if (!rc && s->with_host)
		rc = read_host(s);
	for (uint32_t i = 0; i < s->device_count && !rc; i++)
		for (uint32_t e = 0; e < s->devices[i].log_count; e++)
			s->has_history = s->has_history
				|| s->devices[i].log[e].action <= FRAG_ACT_SEGMENT_UNMAP;
	return rc ? rc : sum_host(s);
}
