/*
 * as_sqlite.c - a simulated run as an SQLite database, for questions in SQL. fragsim-formats(5)
 * describes the tables.
 *
 * SQLite writes into the temporary file of the output, which is renamed as that of every output. A
 * compressed output, a pipe and standard output get the bytes of a database in memory.
 */
#include "answers/export.h"

#ifdef FRAG_NO_SQLITE

static int as_sqlite_begin(struct frag_export *x, struct frag_error *err)
{
	return frag_fail(err, FRAG_EUSAGE, "--to %s: this fragsim was built without SQLite (make"
			 " WITH_SQLITE=yes)", x->ops->name);
}

static void as_sqlite_fini(struct frag_export *x)
{
	(void)x;
}

#else

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "answers/append.h"
#include "base/array_grow.h"
#include "fragsim/version.h"
#include "metrics/metric.h"
#include "trace/name_tables.h"

static const char as_sqlite_schema[] =
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = 1; BEGIN;"
	"CREATE TABLE info(key TEXT PRIMARY KEY, value);"
	"CREATE TABLE devices(device INTEGER PRIMARY KEY, name TEXT, total_bytes INTEGER,"
	" context_bytes INTEGER, other_bytes INTEGER);"
	"CREATE TABLE tags(tag INTEGER PRIMARY KEY, text TEXT);"
	"CREATE TABLE stacks(stack INTEGER, depth INTEGER, function TEXT, file TEXT, line INTEGER,"
	" PRIMARY KEY(stack, depth)) WITHOUT ROWID;"
	"CREATE TABLE events(step INTEGER PRIMARY KEY, op TEXT, t REAL, device INTEGER, id, size INTEGER,"
	" stream INTEGER, pool INTEGER, tag INTEGER, stack INTEGER, text TEXT, status TEXT);"
	"CREATE TABLE blocks(step INTEGER PRIMARY KEY, device INTEGER, id, requested INTEGER,"
	" bytes INTEGER, segment INTEGER, offset INTEGER, tag INTEGER, stack INTEGER,"
	" free_step INTEGER, end_step INTEGER);"
	"CREATE TABLE segments(device INTEGER, segment INTEGER, bytes INTEGER, mapped INTEGER,"
	" expandable INTEGER, step INTEGER, release_step INTEGER, PRIMARY KEY(device, segment))"
	" WITHOUT ROWID;";
static const char as_sqlite_indexes[] =
	"CREATE INDEX events_tag ON events(tag) WHERE tag NOTNULL;"
	"CREATE INDEX blocks_tag ON blocks(tag) WHERE tag NOTNULL;"
	"CREATE INDEX blocks_segment ON blocks(device, segment);"
	"CREATE INDEX blocks_free_step ON blocks(free_step);"
	"CREATE INDEX segments_step ON segments(step); COMMIT;";

#define OF_SEGMENT " WHERE device = ?1 AND segment = ?2"

enum as_sqlite_query { INFO, DEVICE, TAG, STACK, EVENT, BLOCK, FREE, END, OVER, SEGMENT, MAP, RELEASE, QUERIES,
		       STEP = QUERIES };
static const char *const as_sqlite_queries[QUERIES] = {
	[INFO] = "INSERT INTO info VALUES(?,?)",
	[DEVICE] = "INSERT INTO devices VALUES(?,?,?,?,?)",
	[TAG] = "INSERT INTO tags VALUES(?,?)",
	[STACK] = "INSERT INTO stacks VALUES(?,?,?,?,?)",
	[EVENT] = "INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
	[BLOCK] = "INSERT INTO blocks VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[FREE] = "UPDATE blocks SET free_step = ?2 WHERE step = ?1",
	[END] = "UPDATE blocks SET end_step = ?2 WHERE step = ?1",
	[OVER] = "UPDATE blocks SET free_step = ?2, end_step = ?2 WHERE step = ?1",
	[SEGMENT] = "INSERT INTO segments VALUES(?,?,?,?,?,?,NULL)",
	[MAP] = "UPDATE segments SET mapped = mapped + ?3, bytes = max(bytes, mapped + ?3)" OF_SEGMENT,
	[RELEASE] = "UPDATE segments SET mapped = 0, release_step = ?3" OF_SEGMENT,
};

/*
 * Blocks wait here for their ends, in the order of their steps, as an update of a row takes twice the
 * time of the row. Those that live longest have one all the same.
 */
#define WAITING 32768

struct as_sqlite_row {
	uint64_t step, requested, bytes, segment, offset, tag, stack;
	struct frag_handle id;          /* a number */
	uint64_t free_step, end_step;   /* 0: not yet; no block is freed by the first event */
	uint32_t device;
};

struct as_sqlite_slot {
	uint64_t step;          /* 1 + that which allocated its block; 0: none */
	uint64_t row;           /* the number of its row among those that waited */
};

struct as_sqlite {
	sqlite3 *db;
	sqlite3_stmt *queries[QUERIES + 1];
	struct frag_handles tags;       /* number 0 is none */
	struct frag_map stacks;         /* those that are in the table */
	struct as_sqlite_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct as_sqlite_row *waiting;  /* row i is at i % WAITING */
	uint64_t written, rows;         /* rows that no longer wait; all rows */
	uint64_t events;                /* 1 + the last event of the table */
	int failed;                     /* of a callback: -FRAG_E... */
};

static int as_sqlite_fail(struct frag_export *x, struct frag_error *err)
{
	struct as_sqlite *s = x->state;

	if (!s->db || sqlite3_errcode(s->db) == SQLITE_NOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, FRAG_EOUTPUT, "%s: %s", x->out->path, sqlite3_errmsg(s->db));
}

/*
 * Runs a query with these values, one for each letter of `kinds`: u a uint64_t, d a double, t a
 * struct frag_text, i a const struct frag_handle *. 0 of u, an empty text and NULL of i are NULL in
 * the table; 0 of U is 0. D: a double that is NULL there; n: NULL, without a value.
 */
static int as_sqlite_put(struct frag_export *x, enum as_sqlite_query query, struct frag_error *err,
			 const char *kinds, ...)
{
	struct as_sqlite *s = x->state;
	sqlite3_stmt *q = s->queries[query];
	va_list values;
	int rc;

	va_start(values, kinds);
	for (int i = 1; kinds[i - 1]; i++) {
		const char kind = kinds[i - 1];

		if (kind == 'u' || kind == 'U') {
			const uint64_t number = va_arg(values, uint64_t);

			if (number || kind == 'U')
				sqlite3_bind_int64(q, i, (sqlite3_int64)number);
			else
				sqlite3_bind_null(q, i);
		} else if (kind == 'd') {
			sqlite3_bind_double(q, i, va_arg(values, double));
		} else if (kind == 'D') {
			(void)va_arg(values, double);
			sqlite3_bind_null(q, i);
		} else if (kind == 't') {
			const struct frag_text text = va_arg(values, struct frag_text);

			if (text.length)
				sqlite3_bind_text(q, i, text.text, (int)text.length, SQLITE_STATIC);
			else
				sqlite3_bind_null(q, i);
		} else if (kind == 'i') {
			const struct frag_handle *h = va_arg(values, const struct frag_handle *);

			if (h && h->text)
				sqlite3_bind_text(q, i, h->text, (int)h->number, SQLITE_STATIC);
			else if (h)
				sqlite3_bind_int64(q, i, (sqlite3_int64)h->number);
			else
				sqlite3_bind_null(q, i);
		} else {
			sqlite3_bind_null(q, i);
		}
	}
	va_end(values);
	rc = sqlite3_step(q) == SQLITE_DONE ? 0 : as_sqlite_fail(x, err);
	sqlite3_reset(q);
	return rc;
}

static struct frag_text as_sqlite_word(const char *word)
{
	return (struct frag_text){ .text = word, .length = word ? (uint32_t)strlen(word) : 0 };
}

struct as_sqlite_device {
	struct frag_export *x;
	struct frag_error *err;
	uint64_t device;
};

/* Segments from before the first event. */
static void as_sqlite_initial(void *ctx, const struct frag_segment_view *g, const struct frag_block_view *b)
{
	const struct as_sqlite_device *at = ctx;
	struct as_sqlite *s = at->x->state;

	if (!b && !s->failed)
		s->failed = as_sqlite_put(at->x, SEGMENT, at->err, "UUUUU", at->device,
					  (uint64_t)g->ordinal, g->mapped, g->mapped,
					  (uint64_t)(g->page != 0));
}

/*
 * The table of steps has a column for each metric that rows have by default. Of one device the step
 * alone is the key, which is that of the rows: SQLite appends such rows without a search.
 */
static int as_sqlite_make_steps(struct frag_export *x, struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	sqlite3_str *create = sqlite3_str_new(s->db), *insert = sqlite3_str_new(s->db);
	const bool alone = frag_sim_devices(x->sim)->count == 1;
	char *sql[2];
	int rc;

	sqlite3_str_appendf(create, "CREATE TABLE steps(step INTEGER%s, device INTEGER",
			    alone ? " PRIMARY KEY" : "");
	sqlite3_str_appendall(insert, "INSERT INTO steps VALUES(?,?");
	for (uint32_t i = 0; i < FRAG_METRIC_ALL; i++) {
		const struct frag_metric *metric = &frag_metric_table()[i];

		if (metric->requested)
			continue;
		sqlite3_str_appendf(create, ", \"%w\" %s", metric->name,
				    metric->unit == FRAG_METRIC_PERCENT ? "REAL" : "INTEGER");
		sqlite3_str_appendall(insert, ",?");
	}
	sqlite3_str_appendall(create, alone ? ")" : ", PRIMARY KEY(step, device)) WITHOUT ROWID");
	sqlite3_str_appendall(insert, ")");
	sql[0] = sqlite3_str_finish(create);
	sql[1] = sqlite3_str_finish(insert);
	if (!sql[0] || !sql[1])
		rc = frag_fail_nomem(err);
	else
		rc = sqlite3_exec(s->db, sql[0], NULL, NULL, NULL) == SQLITE_OK
		     && sqlite3_prepare_v2(s->db, sql[1], -1, &s->queries[STEP], NULL) == SQLITE_OK
			? 0 : as_sqlite_fail(x, err);
	sqlite3_free(sql[0]);
	sqlite3_free(sql[1]);
	return rc;
}

/* Creates the tables, and adds the devices with their first segments. */
static int as_sqlite_begin(struct frag_export *x, struct frag_error *err)
{
	const struct frag_devices *devices = frag_sim_devices(x->sim);
	struct as_sqlite *s = x->state = calloc(1, sizeof(*s));
	const char *path = x->out->packer || !x->out->temporary ? ":memory:" : x->out->temporary;
	int rc = 0;

	if (!s || !frag_handles_init(&s->tags, frag_hash_seed())
	    || !frag_map_init(&s->stacks, frag_hash_seed()))
		return frag_fail_nomem(err);
	s->waiting = malloc(WAITING * sizeof(*s->waiting));
	if (!s->waiting)
		return frag_fail_nomem(err);
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK
	    || sqlite3_exec(s->db, as_sqlite_schema, NULL, NULL, NULL) != SQLITE_OK)
		return as_sqlite_fail(x, err);
	for (int i = 0; i < QUERIES && !rc; i++)
		if (sqlite3_prepare_v2(s->db, as_sqlite_queries[i], -1, &s->queries[i], NULL) != SQLITE_OK)
			rc = as_sqlite_fail(x, err);
	rc = rc ? rc : as_sqlite_make_steps(x, err);
	rc = rc ? rc : as_sqlite_put(x, INFO, err, "tt", as_sqlite_word("fragsim"),
				     as_sqlite_word(FRAG_VERSION));
	rc = rc ? rc : as_sqlite_put(x, INFO, err, "tt", as_sqlite_word("policy"),
				     as_sqlite_word(x->choice->text));
	for (uint32_t i = 0; i < devices->count && !rc; i++) {
		const struct frag_device_figures *d = &devices->figures[i];
		struct as_sqlite_device at = { .x = x, .err = err, .device = i };

		rc = as_sqlite_put(x, DEVICE, err, "UtuUU", (uint64_t)i, as_sqlite_word(d->name),
				   d->total, d->context, d->other);
		if (!rc)
			frag_heap_walk(frag_sim_heap(x->sim, i), &at, as_sqlite_initial);
		rc = rc ? rc : s->failed;
	}
	return rc;
}

/* *tag: the number of the event's tag in the table; 0: none. */
static int as_sqlite_tag(struct frag_export *x, const struct frag_event *ev, uint64_t *tag,
			 struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	const uint32_t before = s->tags.count;
	uint32_t number;

	*tag = 0;
	if (!ev->tag)
		return 0;
	number = frag_handles_intern_text(&s->tags, frag_symbols_tag(frag_sim_symbols(x->sim), ev->tag));
	if (number == UINT32_MAX)
		return frag_fail_nomem(err);
	*tag = number;
	return s->tags.count == before ? 0
		: as_sqlite_put(x, TAG, err, "Ut", *tag, frag_handle_text(&s->tags, number));
}

/* Adds the frames of a stack, the innermost with depth 0. */
static int as_sqlite_stack(struct frag_export *x, uint32_t stack, struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	struct frag_frame f;
	uint64_t at = stack;
	int rc = 0;

	if (!stack || frag_map_get(&s->stacks, stack) != FRAG_MAP_NONE)
		return 0;
	if (!frag_map_add(&s->stacks, stack, 1))
		return frag_fail_nomem(err);
	for (uint64_t depth = 0; !rc && frag_symbols_frame(frag_sim_symbols(x->sim), &at, &f); depth++)
		rc = as_sqlite_put(x, STACK, err, "UUttu", (uint64_t)stack, depth, f.name, f.file,
				   f.line);
	return rc;
}

/* The event, once for all devices that it concerns. */
static int as_sqlite_event(struct frag_export *x, const struct frag_step *step, uint64_t tag,
			   struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const struct frag_text op = as_sqlite_word(frag_op_name((enum frag_op)ev->op));
	const struct frag_text status = as_sqlite_word(frag_step_status_name(step->status));
	const struct frag_handle number = { .number = ev->device };
	const struct frag_handle *id = shows_id(ev) ? &ev->id : NULL;
	const struct frag_handle *device = ev->device == FRAG_ALL ? NULL : &number;
	const uint64_t stream = ev->stream, pool = ev->pool, stack = step->stack;
	const bool timed = ev->members & FRAG_HAS_T;
	struct as_sqlite *s = x->state;

	if (ev->step < s->events)
		return 0;
	s->events = ev->step + 1;
	if (ev->op != FRAG_OP_ALLOC)
		return as_sqlite_put(x, EVENT, err, timed ? "Utdiinnnnntt" : "UtDiinnnnntt", ev->step, op,
				     ev->t, device, id, ev->text, status);
	return as_sqlite_put(x, EVENT, err, timed ? "UtdiiUUUuunt" : "UtDiiUUUuunt", ev->step, op, ev->t,
			     device, id, ev->bytes, stream, pool, tag, stack, status);
}

/* Writes the row that has waited longest. */
static int as_sqlite_write(struct frag_export *x, struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	const struct as_sqlite_row *r = &s->waiting[s->written++ % WAITING];

	return as_sqlite_put(x, BLOCK, err, r->requested ? "UUiUUUUuuuu" : "UUiUUnnuuuu", r->step,
			     (uint64_t)r->device, &r->id, r->requested, r->bytes, r->segment, r->offset,
			     r->tag, r->stack, r->free_step, r->end_step);
}

/* Writes rows from the first on: all, or those that are complete. */
static int as_sqlite_flush(struct frag_export *x, bool all, struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	int rc = 0;

	while (!rc && s->written < s->rows && (all || s->waiting[s->written % WAITING].end_step))
		rc = as_sqlite_write(x, err);
	return rc;
}

/* The block that an alloc has placed. An id that is a text does not outlive the step. */
static int as_sqlite_block(struct frag_export *x, const struct frag_step *step, uint64_t tag,
			   struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	struct as_sqlite *s = x->state;
	int rc;

	if (!FRAG_EXTEND(s->slots, s->slot_capacity, s->slot_count, ev->slot))
		return frag_fail_nomem(err);
	rc = as_sqlite_flush(x, false, err);
	if (!rc && s->rows - s->written == WAITING)
		rc = as_sqlite_write(x, err);
	s->slots[ev->slot] = (struct as_sqlite_slot){ .step = ev->step + 1, .row = s->rows };
	s->waiting[s->rows++ % WAITING] = (struct as_sqlite_row){
		.step = ev->step, .device = step->device, .id = ev->id, .requested = ev->bytes,
		.bytes = ev->bytes ? step->bytes : 0, .segment = step->segment,
		.offset = step->offset, .tag = tag, .stack = step->stack,
	};
	return rc || !ev->id.text ? rc : as_sqlite_flush(x, true, err);
}

/* The block of a slot is freed, no stream uses it any more, or both at once: FREE, END, OVER. */
static int as_sqlite_over(struct frag_export *x, enum as_sqlite_query query, uint32_t slot, uint64_t step,
			  struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	struct as_sqlite_slot *of = slot < s->slot_count ? &s->slots[slot] : NULL;
	const uint64_t allocated = of ? of->step : 0;
	struct as_sqlite_row *r;

	if (!allocated)
		return 0;
	if (query != FREE)
		of->step = 0;
	if (of->row < s->written)
		return as_sqlite_put(x, query, err, "UU", allocated - 1, step);
	r = &s->waiting[of->row % WAITING];
	r->free_step = query != END ? step : r->free_step;
	r->end_step = query != FREE ? step : r->end_step;
	return 0;
}

/* Ends the blocks that the event frees, or that no stream uses any more. */
static int as_sqlite_frees(struct frag_export *x, const struct frag_step *step, struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	int rc = 0;

	for (uint32_t i = 0; i < ev->ended_count && !rc; i++)
		rc = as_sqlite_over(x, END, ev->ended[i].slot, ev->step, err);
	return rc || ev->op != FRAG_OP_FREE ? rc
	       : as_sqlite_over(x, ev->waits ? FREE : OVER, ev->slot, ev->step, err);
}

/* A call of the device changes the table of segments. */
static int as_sqlite_call(struct frag_export *x, const struct frag_step *step, const struct frag_call *c,
			  struct frag_error *err)
{
	const uint64_t device = step->device, ordinal = c->ordinal, now = step->event->step;

	switch (c->kind) {
	case FRAG_CALL_NEW:
		return as_sqlite_put(x, SEGMENT, err, "UUUUUU", device, ordinal, c->bytes, c->bytes,
				     (uint64_t)0, now);
	case FRAG_CALL_NEW_RANGE:
		return as_sqlite_put(x, SEGMENT, err, "UUUUUU", device, ordinal, (uint64_t)0, (uint64_t)0,
				     (uint64_t)1, now);
	case FRAG_CALL_MAP:
		return as_sqlite_put(x, MAP, err, "UUU", device, ordinal, c->bytes);
	case FRAG_CALL_UNMAP:
		return as_sqlite_put(x, MAP, err, "UUU", device, ordinal, 0 - c->bytes);
	case FRAG_CALL_RELEASE:
	case FRAG_CALL_RELEASE_RANGE:
		break;
	}
	return as_sqlite_put(x, RELEASE, err, "UUU", device, ordinal, now);
}

/* The metrics after the step. */
static int as_sqlite_metrics(struct frag_export *x, const struct frag_step *step, struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	sqlite3_stmt *q = s->queries[STEP];
	int column = 3, rc;

	sqlite3_bind_int64(q, 1, (sqlite3_int64)step->event->step);
	sqlite3_bind_int64(q, 2, step->device);
	for (uint32_t i = 0; i < FRAG_METRIC_ALL; i++) {
		const struct frag_metric *metric = &frag_metric_table()[i];
		const union frag_metric_value value = frag_metric_get(step->metrics, metric);

		if (metric->requested)
			continue;
		if (is_known(step->metrics, metric) && metric->unit == FRAG_METRIC_PERCENT)
			sqlite3_bind_double(q, column, value.d);
		else if (is_known(step->metrics, metric))
			sqlite3_bind_int64(q, column, value.i);
		else
			sqlite3_bind_null(q, column);
		column++;
	}
	rc = sqlite3_step(q) == SQLITE_DONE ? 0 : as_sqlite_fail(x, err);
	sqlite3_reset(q);
	return rc;
}

static int as_sqlite_step(struct frag_export *x, const struct frag_step *step, struct frag_error *err)
{
	uint64_t tag = 0;
	int rc = as_sqlite_tag(x, step->event, &tag, err);

	rc = rc ? rc : as_sqlite_stack(x, step->stack, err);
	rc = rc ? rc : as_sqlite_event(x, step, tag, err);
	for (uint32_t i = 0; i < step->call_count && !rc; i++)
		rc = as_sqlite_call(x, step, &step->calls[i], err);
	if (!rc && step->status != FRAG_STEP_SKIPPED)
		rc = as_sqlite_frees(x, step, err);
	if (!rc && step->placed && step->event->op == FRAG_OP_ALLOC && step->status == FRAG_STEP_OK)
		rc = as_sqlite_block(x, step, tag, err);
	return rc ? rc : as_sqlite_metrics(x, step, err);
}

/* Completes the database, before the output is renamed. */
static int as_sqlite_end(struct frag_export *x, struct frag_error *err)
{
	struct as_sqlite *s = x->state;
	sqlite3_int64 length;
	unsigned char *bytes;
	int rc = as_sqlite_flush(x, true, err);

	rc = rc ? rc : as_sqlite_put(x, INFO, err, "tt", as_sqlite_word("t"),
				     as_sqlite_word(x->by_time ? "microseconds" : "none"));
	if (!rc && sqlite3_exec(s->db, as_sqlite_indexes, NULL, NULL, NULL) != SQLITE_OK)
		rc = as_sqlite_fail(x, err);
	if (rc || (x->out->temporary && !x->out->packer))
		return rc;
	bytes = sqlite3_serialize(s->db, "main", &length, 0);
	if (!bytes)
		return frag_fail_nomem(err);
	frag_outfile_write(x->out, bytes, (size_t)length);
	sqlite3_free(bytes);
	return frag_outfile_status(x->out, err);
}

static void as_sqlite_fini(struct frag_export *x)
{
	struct as_sqlite *s = x->state;

	if (!s)
		return;
	for (int i = 0; i <= QUERIES; i++)
		sqlite3_finalize(s->queries[i]);
	sqlite3_close(s->db);
	frag_handles_fini(&s->tags);
	frag_map_fini(&s->stacks);
	free(s->slots);
	free(s->waiting);
	free(s);
	x->state = NULL;
}

#endif

const struct frag_export_ops frag_export_sqlite = {
	.name = "sqlite",
	.summary = "an SQLite database of events, blocks, segments, steps, tags and stacks",
	.ending = ".sqlite",
	.begin = as_sqlite_begin,
	.fini = as_sqlite_fini,
#ifndef FRAG_NO_SQLITE
	.step = as_sqlite_step,
	.end = as_sqlite_end,
#endif
};
