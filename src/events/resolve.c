/* resolve.c - records to events: validation, and dense indexes for all names. */
#include "events/resolve.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"
#include "base/inline.h"
#include "base/parse.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "input/input.h"
#include "trace/record_scan.h"

#define LONG_TEXT ((uint64_t)16 << 10)  /* bytes */
#define BYTES_A_LIFE 128                /* with its place among the ids */

void frag_leave_out(struct frag_trace *t, const char *kind, const struct frag_error *err)
{
	struct frag_kind_count *k = t->kinds;

	t->info.skipped++;
	while (k < t->kinds + t->kind_count && strcmp(k->kind, kind) != 0)
		k++;
	if (k == t->kinds + FRAG_KINDS_MAX)
		return;
	if (k == t->kinds + t->kind_count) {
		t->kind_count++;
		k->kind = kind;
		snprintf(k->first, sizeof(k->first), "%.383s", err->message);
	}
	k->count++;
}

/* An event bad in itself: "WHERE: step N: ..." */
__attribute__((format(printf, 6, 7)))
static int flawed(struct frag_trace *t, const struct frag_record *rec, const char **kind,
		  const char *what, struct frag_error *err, const char *format, ...)
{
	char where[512] = "", text[400];
	va_list args;

	*kind = what;
	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (t->source->where)
		t->source->where(t->state, rec->at, where, sizeof(where));
	return frag_fail(err, FRAG_ETRACE, "%s: event %" PRIu64 ": %s",
			 *where ? where : t->info.path, t->step, text);
}

/* The same of a block, whose id comes first. Its buffers are no matter of the hot path. */
__attribute__((format(printf, 6, 7), noinline))
static int flawed_block(struct frag_trace *t, const struct frag_record *rec, const char **kind,
			const char *what, struct frag_error *err, const char *format, ...)
{
	char id[FRAG_ID_ROOM], rest[400];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(rest, sizeof(rest), format, args);
	va_end(args);
	return flawed(t, rec, kind, what, err, "%s of id %s%s", frag_op_name(rec->op),
		      frag_show_id(&rec->id, id), rest);
}

/*
 * Describes the history of an id that is not live, by reading the input again from its start:
 * the trace keeps no record of freed ids.
 */
static const char *history(struct frag_trace *t, const struct frag_handle *id, char buf[64])
{
	struct frag_record rec;
	struct frag_error ignored;
	const char *kind;
	uint64_t step = 0, freed = FRAG_NEVER;

	if (t->options.lenient || !t->source->rewind || !t->source->rewind(t->state))
		return "is not live";
	while (step < t->step && t->source->refill(t->state, &ignored) == 1) {
		int rc;

		while (step < t->step && (rc = t->source->next(t->state, &rec, &kind, &ignored))) {
			if (rc == 1 && rec.op == FRAG_OP_FREE && rec.members & FRAG_HAS_ID
			    && frag_same_handle(&rec.id, id))
				freed = step;
			step++;
		}
	}
	if (freed == FRAG_NEVER)
		return "was never allocated";
	snprintf(buf, 64, "was freed at event %" PRIu64, freed);
	return buf;
}

/* The place comes first, as the history is found by reading the input again. */
static int not_live(struct frag_trace *t, const struct frag_record *rec, const char **kind,
		    struct frag_error *err)
{
	char shown[FRAG_ID_ROOM], past[64], where[512] = "";
	struct frag_handle id = rec->id;
	char *copy;
	int rc;

	if (rec->op == FRAG_OP_COMPLETE)
		return flawed_block(t, rec, kind, "a complete of an id that is not pending", err,
				    ", but no block of that id is pending on one");
	copy = id.text ? malloc((size_t)id.number + 1) : NULL;
	*kind = "an id that is not live";
	if (id.text && !copy)
		return frag_fail_nomem(err);
	/* reading again overwrites what the record borrowed */
	if (copy)
		id.text = memcpy(copy, id.text, (size_t)id.number);
	if (t->source->where)
		t->source->where(t->state, rec->at, where, sizeof(where));
	rc = frag_fail(err, FRAG_ETRACE, "%s: event %" PRIu64 ": %s of id %s, which %s",
		       *where ? where : t->info.path, t->step, frag_op_name(rec->op),
		       frag_show_id(&id, shown), history(t, &id, past));
	free(copy);
	return rc;
}

static int report_missing(struct frag_trace *t, const struct frag_record *rec, uint32_t missing,
			  const char **kind, struct frag_error *err)
{
	return flawed(t, rec, kind, "a missing member", err, "%s: member \"%s\" is missing",
		      frag_op_name(rec->op), frag_event_member_names[__builtin_ctz(missing)]);
}

static int find_stream(struct frag_trace *t, const struct frag_record *rec, uint32_t *stream,
		       struct frag_error *err)
{
	if (!(rec->members & FRAG_HAS_STREAM))
		return 0;
	*stream = frag_handles_index(&t->streams, &rec->stream);
	return *stream == UINT32_MAX ? frag_fail_nomem(err) : 0;
}

/* The program was done with the pool. */
static int released_already(struct frag_trace *t, const struct frag_record *rec,
			    const char **kind, struct frag_error *err)
{
	char pool[FRAG_ID_ROOM];

	return flawed_block(t, rec, kind, "an alloc into a released pool", err,
			    " into pool %s, which was released", frag_show_id(&rec->pool, pool));
}

/* A pool is a device's own. */
static uint64_t pool_key(uint32_t device, uint32_t pool)
{
	return (uint64_t)device << 32 | pool;
}

/*
 * Every check comes before the first change: a bad event must leave the trace as
 * it was, since a lenient run goes on after it.
 */
static int resolve_alloc(struct frag_trace *t, const struct frag_record *rec,
			 struct frag_event *ev, const char **kind, struct frag_error *err)
{
	struct frag_found found;
	struct frag_life *life;
	int rc;

	if (rec->size >= FRAG_SIZE_LIMIT)
		return flawed(t, rec, kind, "a value out of range", err,
			      "alloc: size %" PRIu64 " is not below 2^53", rec->size);
	found = frag_lives_find(&t->lives, &rec->id);
	if (found.slot != NO_SLOT)
		return flawed_block(t, rec, kind, "an alloc of a live id", err,
				    ", which is live since event %" PRIu64,
				    t->lives.lives[found.slot].birth);
	rc = find_stream(t, rec, &ev->stream, err);
	if (rec->members & FRAG_HAS_POOL) {
		ev->pool = frag_handles_index(&t->pools, &rec->pool);
		if (t->released.count && frag_map_get(&t->released, pool_key(ev->device, ev->pool))
						 != FRAG_MAP_NONE)
			return released_already(t, rec, kind, err);
	}
	if (rc || ev->pool == UINT32_MAX
	    || (rec->members & FRAG_HAS_TAG && !frag_tags_acquire(&t->tags, rec->tag, &ev->tag)))
		return frag_fail_nomem(err);
	ev->slot = frag_lives_begin(&t->lives, &rec->id, found);
	if (ev->slot == NO_SLOT)
		return frag_fail_nomem(err);
	FRAG_ASSERT(ev->slot < t->lives.count);
	life = &t->lives.lives[ev->slot];
	life->birth = t->step;
	life->device = ev->device;
	life->stream = ev->stream;
	if (rec->members & FRAG_HAS_STREAM)
		ev->stream_order = frag_stream_order(&rec->stream, ev->stream);
	life->tag = ev->tag;
	ev->bytes = rec->size;
	if (rec->members & FRAG_HAS_PLACE)
		ev->place = rec->place;
	t->info.allocs++;
	return 0;
}

/* The live block that the event names, on its own device. */
FRAG_INLINE int resolve_find_live(
	struct frag_trace *t, const struct frag_record *rec, struct frag_event *ev,
	struct frag_found *found, const char **kind, struct frag_error *err)
{
	if (rec->op == FRAG_OP_COMPLETE)
		*found = frag_lives_announced(&t->lives, &rec->id);
	else
		*found = frag_lives_find(&t->lives, &rec->id);
	ev->slot = found->slot;
	if (ev->slot == NO_SLOT)
		return not_live(t, rec, kind, err);
	ev->device = t->lives.lives[ev->slot].device;
	if (rec->members & FRAG_HAS_DEVICE && rec->device != ev->device)
		return flawed_block(t, rec, kind, "a block of another device", err,
				    " on device %" PRIu64 ", but it was allocated on device %u",
				    rec->device, ev->device);
	return 0;
}

/* The tag of a block that ends may go, once this batch has been consumed. */
static int resolve_free(struct frag_trace *t, const struct frag_record *rec,
			struct frag_event *ev, const char **kind, struct frag_error *err)
{
	bool pending = rec->members & FRAG_HAS_PENDING && rec->pending;
	struct frag_found found;
	uint32_t tag;
	int rc = resolve_find_live(t, rec, ev, &found, kind, err);

	if (rc)
		return rc;
	tag = t->lives.lives[ev->slot].tag;
	if (tag && !FRAG_GROW(t->left, t->left_capacity, t->left_count))
		return frag_fail_nomem(err);
	if (tag)
		t->left[t->left_count++] = tag;
	if (!frag_lives_free(&t->lives, found, t->step, pending, &ev->waits))
		return frag_fail_nomem(err);
	t->info.frees++;
	return 0;
}

static int resolve_complete(struct frag_trace *t, const struct frag_record *rec,
			    struct frag_event *ev, const char **kind, struct frag_error *err)
{
	uint32_t first = t->lives.ended_count;
	struct frag_found found;
	int rc = resolve_find_live(t, rec, ev, &found, kind, err);

	if (rc)
		return rc;
	if (!frag_lives_complete(&t->lives, found))
		return frag_fail_nomem(err);
	ev->ended_count = t->lives.ended_count - first;
	return 0;
}

static int resolve_record_stream(struct frag_trace *t, const struct frag_record *rec,
				 struct frag_event *ev, const char **kind, struct frag_error *err)
{
	struct frag_found found;
	int rc = resolve_find_live(t, rec, ev, &found, kind, err);

	rc = rc ? rc : find_stream(t, rec, &ev->stream, err);
	if (rc)
		return rc;
	return frag_lives_record(&t->lives, ev->slot, ev->stream) ? 0 : frag_fail_nomem(err);
}

/* `ended` points nowhere yet: the array may still move. trace.c sets it. */
static int resolve_sync(struct frag_trace *t, const struct frag_record *rec,
			struct frag_event *ev, struct frag_error *err)
{
	const uint32_t first = t->lives.ended_count;
	int rc;

	ev->stream = FRAG_ALL;
	rc = find_stream(t, rec, &ev->stream, err);
	if (rc)
		return rc;
	if (!frag_lives_sync(&t->lives, ev->device, ev->stream, t->step))
		return frag_fail_nomem(err);
	ev->ended_count = t->lives.ended_count - first;
	return 0;
}

/* A pool other than 0. */
static int resolve_find_pool(struct frag_trace *t, const struct frag_record *rec,
			     struct frag_event *ev, const char **kind, struct frag_error *err)
{
	if (!rec->pool.text && !rec->pool.number)
		return flawed(t, rec, kind, "a value out of range", err,
			      "%s: pool 0 is the program's own, which is never %s",
			      frag_op_name(rec->op), rec->op == FRAG_OP_RELEASE_POOL ? "released"
						     : "begun or ended");
	ev->pool = frag_handles_index(&t->pools, &rec->pool);
	return ev->pool == UINT32_MAX ? frag_fail_nomem(err) : 0;
}

/* A second time changes nothing. */
static int resolve_release_pool(struct frag_trace *t, const struct frag_record *rec,
				struct frag_event *ev, const char **kind, struct frag_error *err)
{
	int rc = resolve_find_pool(t, rec, ev, kind, err);
	uint64_t key;

	if (rc)
		return rc;
	key = pool_key(ev->device, ev->pool);
	if (frag_map_get(&t->released, key) == FRAG_MAP_NONE
	    && !frag_map_add(&t->released, key, 0))
		return frag_fail_nomem(err);
	return 0;
}

/* A pool's context opens once, and closes once after that. */
static int resolve_context(struct frag_trace *t, const struct frag_record *rec,
			   struct frag_event *ev, const char **kind, struct frag_error *err)
{
	const bool begins = rec->op == FRAG_OP_BEGIN_POOL;
	int rc = resolve_find_pool(t, rec, ev, kind, err);
	char pool[FRAG_ID_ROOM];
	uint64_t key;
	bool open;

	ev->stream = FRAG_ALL;
	rc = rc || !begins ? rc : find_stream(t, rec, &ev->stream, err);
	if (rc)
		return rc;
	key = pool_key(ev->device, ev->pool);
	open = frag_map_get(&t->contexts, key) != FRAG_MAP_NONE;
	if (begins && frag_map_get(&t->released, key) != FRAG_MAP_NONE)
		return flawed(t, rec, kind, "a released pool", err,
			      "begin_pool: pool %s was released", frag_show_id(&rec->pool, pool));
	if (begins == open)
		return flawed(t, rec, kind, "a pool's context", err,
			      "%s: the context of pool %s is %s", frag_op_name(rec->op),
			      frag_show_id(&rec->pool, pool), open ? "open already" : "not open");
	if (!begins)
		frag_map_remove(&t->contexts, key, 0);
	else if (!frag_map_add(&t->contexts, key, 0))
		return frag_fail_nomem(err);
	return 0;
}

static int resolve_configure(struct frag_trace *t, const struct frag_record *rec,
			     struct frag_event *ev, const char **kind, struct frag_error *err)
{
	const struct frag_trace_options *o = &t->options;
	struct frag_error why = { .code = 0 };
	int rc;

	if (!o->configured
	    || !o->configured(o->configured_ctx, rec->text.text, rec->text.length, &why))
		return 0;
	rc = flawed(t, rec, kind, "settings that a policy does not take", err, "configure: %s",
		    why.message);
	if (!o->lenient || t->records)
		return rc;
	frag_leave_out(t, *kind, err);
	ev->members &= ~(uint32_t)FRAG_HAS_VALUE;
	return 0;
}

/*
 * What an operation must have, and its names as indexes. Whatever is wrong with a
 * record ends here, so no consumer of events looks for it again. Of an operation that
 * concerns one device, that is device 0 where none is named.
 */
static int resolve_op(struct frag_trace *t, const struct frag_record *rec, struct frag_event *ev,
		      const char **kind, struct frag_error *err)
{
	if ((unsigned)rec->op >= FRAG_OPS)
		return flawed(t, rec, kind, "an unknown op", err, "unknown op %d", (int)rec->op);
	if (frag_event_needs[rec->op] & ~rec->members)
		return report_missing(t, rec, frag_event_needs[rec->op] & ~rec->members, kind, err);
	if (rec->op == FRAG_OP_SET_FRACTION && !(rec->fraction >= 0 && rec->fraction <= 1))
		return flawed(t, rec, kind, "a value out of range", err,
			      "set_fraction: value %g is not from 0 to 1", rec->fraction);
	if (rec->members & FRAG_HAS_DEVICE) {
		if (rec->device >= t->info.device_count)
			return flawed(t, rec, kind, "a device that does not exist", err,
				      "device %" PRIu64 " does not exist: the trace has %u (0 to"
				      " %u)", rec->device, t->info.device_count,
				      t->info.device_count - 1);
		ev->device = (uint32_t)rec->device;
	} else if (rec->op == FRAG_OP_ALLOC || frag_event_needs[rec->op] == FRAG_HAS_POOL) {
		ev->device = 0;
	}
	switch (rec->op) {
	case FRAG_OP_ALLOC:
		return resolve_alloc(t, rec, ev, kind, err);
	case FRAG_OP_FREE:
		return resolve_free(t, rec, ev, kind, err);
	case FRAG_OP_COMPLETE:
		return resolve_complete(t, rec, ev, kind, err);
	case FRAG_OP_RECORD_STREAM:
		return resolve_record_stream(t, rec, ev, kind, err);
	case FRAG_OP_SYNC:
		return resolve_sync(t, rec, ev, err);
	case FRAG_OP_RELEASE_POOL:
		return resolve_release_pool(t, rec, ev, kind, err);
	case FRAG_OP_BEGIN_POOL:
	case FRAG_OP_END_POOL:
		return resolve_context(t, rec, ev, kind, err);
	case FRAG_OP_SET_FRACTION:
		ev->fraction = rec->fraction;
		return 0;
	case FRAG_OP_CONFIGURE:
		ev->text = rec->text;
		return resolve_configure(t, rec, ev, kind, err);
	case FRAG_OP_MARK:
		ev->text = rec->text;
		return 0;
	case FRAG_OP_EMPTY_CACHE:
	case FRAG_OPS:
	default:
		return 0;
	}
}

static void warn_time(struct frag_trace *t, const struct frag_record *rec)
{
	t->warned_t = true;
	frag_note(&t->options.log, "%.400s: time runs backwards at event %" PRIu64 " (t %g after"
		  " %g); the order in the file is what counts",
		  frag_input_name(t->info.path), t->step, rec->t, t->last_t);
}

static inline void resolve_note_time(struct frag_trace *t, const struct frag_record *rec)
{
	if (!(rec->members & FRAG_HAS_T))
		return;
	if (t->any_t && rec->t < t->last_t && !t->warned_t)
		warn_time(t, rec);
	t->any_t = true;
	t->last_t = rec->t;
}

static uint64_t handle_content(const struct frag_handle *h)
{
	return h->text ? ~frag_hash_content(h->text, (size_t)h->number, 0) : h->number;
}

/* Of the members that few events have. */
static uint64_t rare_content(const struct frag_record *rec, const struct frag_event *ev)
{
	uint64_t x = 0, bits;

	if (rec->members & FRAG_HAS_DEVICE)
		x += (rec->device + 1) * UINT64_C(0x1d8e4e27c47d124f);
	if (rec->members & FRAG_HAS_POOL)
		x += handle_content(&rec->pool) * UINT64_C(0xeb44accab455d165);
	if (rec->members & FRAG_HAS_PENDING)
		x += rec->pending;
	if (ev->text.text)
		x += frag_hash_content(ev->text.text, ev->text.length, 1);
	if (rec->op == FRAG_OP_SET_FRACTION) {
		memcpy(&bits, &rec->fraction, sizeof(bits));
		x += bits * UINT64_C(0x3c79ac492ba7b653);
	}
	return x;
}

/* Mixes the event's members into the identity of the trace: an odd multiplier for each. */
static void note_content(struct frag_trace *t, const struct frag_record *rec,
			 const struct frag_event *ev)
{
	uint64_t x = ((uint64_t)(rec->members & FRAG_HAS_WRITTEN) << 8 | (uint64_t)rec->op)
		     * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t bits;

	if (rec->members & FRAG_HAS_ID)
		x += handle_content(&rec->id) * UINT64_C(0xd6e8feb86659fd93);
	if (rec->members & FRAG_HAS_SIZE)
		x += rec->size * UINT64_C(0xa0761d6478bd642f);
	if (rec->members & FRAG_HAS_STREAM)
		x += handle_content(&rec->stream) * UINT64_C(0xe7037ed1a0b428db);
	if (rec->members & FRAG_HAS_T) {
		memcpy(&bits, &rec->t, sizeof(bits));
		x += bits * UINT64_C(0x8ebc6af09c88c6e3);
	}
	if (ev->tag)
		x += frag_tag_at(&t->tags, ev->tag)->content * UINT64_C(0x589965cc75374cc3);
	else if (rec->members & FRAG_HAS_TAG)
		x += frag_hash_content(rec->tag.text, rec->tag.length, 0);
	if (rec->members & (FRAG_HAS_DEVICE | FRAG_HAS_POOL | FRAG_HAS_PENDING | FRAG_HAS_VALUE
			    | FRAG_HAS_NAME))
		x += rare_content(rec, ev);
	x = (x ^ t->info.content) * UINT64_C(0xff51afd7ed558ccd);
	t->info.content = x ^ x >> 32;
}

/* Bytes of names that may be kept of the record. A mark is kept by each device. */
static uint64_t resolve_text_bytes(const struct frag_trace *t, const struct frag_record *rec,
				   const struct frag_event *ev)
{
	uint64_t bytes = 0;

	if (rec->members & FRAG_HAS_ID && rec->id.text)
		bytes += rec->id.number;
	if (rec->members & FRAG_HAS_TAG)
		bytes += rec->tag.length;
	if (rec->members & FRAG_HAS_STREAM && rec->stream.text)
		bytes += rec->stream.number;
	if (rec->members & FRAG_HAS_POOL && rec->pool.text)
		bytes += rec->pool.number;
	if (rec->members & FRAG_HAS_NAME && rec->op == FRAG_OP_MARK)
		bytes += (uint64_t)rec->text.length
			 * (ev->device == FRAG_ALL ? t->info.device_count : 1);
	return bytes;
}

/*
 * What a trace keeps, blocks and long names, is bounded by what was read of its file:
 * a few packed bytes say the same pending free, or 64 MiB of one name, again and
 * again. Usual names are no matter, as their blocks take more.
 */
static int resolve_afford(struct frag_trace *t, const struct frag_record *rec,
			  const struct frag_event *ev, struct frag_error *err)
{
	uint64_t bytes = resolve_text_bytes(t, rec, ev), read = UINT64_MAX, total = 0, max;

	if (bytes < LONG_TEXT && t->lives.count <= t->lives_afforded)
		return 0;
	t->long_text += bytes < LONG_TEXT ? 0 : bytes;
	frag_trace_amount(t, &read, &total);
	read = read > total ? read : total;
	max = frag_kept_max(read);
	if (t->long_text > max || t->lives.count > (max - t->long_text) / BYTES_A_LIFE)
		return frag_kept_too_much(t->info.path, read, err);
	t->lives_afforded = (uint32_t)((max - t->long_text) / BYTES_A_LIFE);
	return 0;
}

static inline void resolve_begin_event(struct frag_event *ev, uint64_t step,
				       const struct frag_record *rec)
{
	ev->step = step;
	ev->stream_order = 0;
	ev->slot = ev->stream = ev->pool = ev->tag = 0;
	ev->device = FRAG_ALL;
	ev->members = rec->members;
	ev->op = (uint8_t)rec->op;
	ev->waits = false;
	frag_event_clear_rest(ev);
}

/* Time and content are noted last: a skipped event changes neither. */
int frag_resolve(struct frag_trace *t, const struct frag_record *rec, struct frag_event *ev,
		 const char **kind, struct frag_error *err)
{
	int rc;

	resolve_begin_event(ev, t->step, rec);
	rc = resolve_op(t, rec, ev, kind, err);
	rc = rc ? rc : resolve_afford(t, rec, ev, err);
	if (rc)
		return rc;
	if (rec->members & FRAG_HAS_ID)
		ev->id = rec->id;
	if (rec->members & FRAG_HAS_T) {
		ev->t = rec->t;
		ev->t_text = rec->t_text;
	}
	resolve_note_time(t, rec);
	note_content(t, rec, ev);
	t->info.events++;
	return 0;
}

int frag_place(struct frag_trace *t, struct frag_record *rec, struct frag_error *err)
{
	const struct frag_first_state *b = t->info.beginning;
	const uint64_t device = rec->members & FRAG_HAS_DEVICE ? rec->device : 0;
	const struct frag_first_block *k;

	/* a bad event that was skipped has a step too */
	while (t->placed < t->to_place && b->blocks[t->placed].event < t->step)
		t->placed++;
	if (t->placed == t->to_place || b->blocks[t->placed].event != t->step)
		return 0;
	k = &b->blocks[t->placed++];
	if (rec->op != FRAG_OP_ALLOC || rec->size != k->requested
	    || device != b->segments[k->spot.initial].device)
		return frag_fail(err, FRAG_ETRACE, "%s: event %" PRIu64 ": \"beginning\" has it as"
				 " an alloc of %" PRIu64 " bytes on device %u", t->path, t->step,
				 k->requested, b->segments[k->spot.initial].device);
	rec->members |= FRAG_HAS_PLACE;
	rec->place = &k->spot;
	return 0;
}
