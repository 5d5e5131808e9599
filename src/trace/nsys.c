/*
 * nsys.c - the database that `nsys export --type sqlite` writes, as a source: the memory events of a
 * CUDA program, with its NVTX ranges and call stacks.
 *
 * The schema is published in the documentation of Nsight Systems ("SQLite Schema Reference"), and
 * differs between releases: a column that is missing reads as NULL. The file is hostile until
 * proven otherwise. libsqlite3 opens it for reading, without views and triggers, and gives up
 * after an amount of work that the size of the file bounds. Tables whose rows are found by a number
 * are copied into temporary ones with an index, in which each number occurs once.
 */
#include "trace/reader.h"

#define MAGIC "SQLite format 3"         /* and a NUL */

static enum frag_sniff nsys_sniff(const char *bytes, size_t length)
{
	return frag_sniff_prefix(bytes, length, MAGIC, sizeof(MAGIC));
}

#ifdef FRAG_NO_SQLITE

const char *frag_nsys_library(void)
{
	return NULL;
}

static int nsys_load(struct frag_reading *out, struct frag_input *in, bool addresses,
		     const struct frag_log *log, struct frag_error *err)
{
	const int rc = frag_fail(err, FRAG_ETRACE, "%s: an SQLite database: this fragsim was built"
				 " without SQLite (make WITH_SQLITE=yes)", frag_input_name(in->path));

	(void)out;
	(void)addresses;
	(void)log;
	frag_input_close(in);
	return rc;
}

#else

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "trace/header_scan.h"

const char *frag_nsys_library(void)
{
	return sqlite3_libversion();
}

#define EVENTS "CUDA_GPU_MEMORY_USAGE_EVENTS"
#define KIND "CUDA_MEMOPR_MEMORY_KIND_"
#define OPERATION "CUDA_DEV_MEM_EVENT_OPR_"
#define TEXT_MAX "1000"                 /* characters that are read of a text */
#define NVTX "NVTX_EVENTS"
#define GPUS "TARGET_INFO_GPU"
#define NSYS_TAG_ROOM 8200              /* two texts in UTF-8 */
#define RANGES_MAX 512                    /* NVTX ranges that are open at once on a thread */
#define LENGTH_MAX (16 << 20)           /* bytes of a row */

/* Kinds of memory that are not the device's, as ENUM_CUDA_MEM_KIND names them. */
static const struct {
	const char *name, *text;
} other_kinds[] = {
	{ KIND "PAGEABLE", "pageable" }, { KIND "PINNED", "pinned" }, { KIND "ARRAY", "array" },
	{ KIND "MANAGED", "managed" }, { KIND "MANAGED_STATIC", "managed static" },
	{ KIND "UNKNOWN", "unknown" },
};
#define OTHER_KINDS (sizeof(other_kinds) / sizeof(other_kinds[0]))

/* An NVTX range that has begun on a thread. */
struct open_range {
	int64_t end;
	char *text;             /* owned */
};

struct nvtx_thread {
	struct open_range *open;        /* the innermost is the last */
	uint32_t depth, capacity;
};

struct nsys {
	sqlite3 *db;
	const char *path;               /* for messages */
	struct frag_buffered *rows;
	struct frag_address_map addresses;
	sqlite3_stmt *ranges;           /* NVTX ranges by their begin; NULL after the last */
	struct frag_map thread_map;     /* globalTid -> thread */
	struct nvtx_thread *threads;
	uint32_t thread_count, thread_capacity;
	struct frag_map chains;         /* call chain -> its index in `calls` */
	struct { uint32_t stack, caller; } *calls;      /* caller: text of its first frame outside CUDA */
	uint32_t call_count, call_capacity;
	sqlite3_stmt *frames;
	struct frag_handles processes, contexts;
	bool has_kinds;
	bool by_address;                /* rows have addresses instead of streams */
	uint64_t bytes;                 /* of the file */
	uint64_t others[OTHER_KINDS];   /* events of other kinds */
	uint64_t pooled;                /* allocations from pools of cudaMallocAsync */
	int64_t origin;                 /* ns; time 0 of the trace */
	uint32_t device_count;
	uint64_t work, work_max;        /* thousands of steps of SQLite's machine */
	bool nomem;                     /* whether a table has a column could not be found out */
};

/* What SQLite said last. */
static int nsys_fail(const struct nsys *n, struct frag_error *err)
{
	const int code = sqlite3_errcode(n->db);

	if (code == SQLITE_NOMEM)
		return frag_fail_nomem(err);
	if (code == SQLITE_INTERRUPT)
		return frag_fail(err, FRAG_ETRACE, "%s: a damaged database: reading its tables takes"
				 " more steps than its size allows", n->path);
	return frag_fail(err, FRAG_ETRACE, "%s: cannot be read as a database: %.200s", n->path,
			 sqlite3_errmsg(n->db));
}

/* Ends a query that would run for ever, as a page that is its own child can make it. */
static int nsys_progress(void *ctx)
{
	struct nsys *n = ctx;

	return ++n->work > n->work_max;
}

/* Has the table this column? A view is no table. False also on out of memory, which n->nomem notes. */
static bool nsys_has(struct nsys *n, const char *table, const char *column)
{
	const int rc = sqlite3_table_column_metadata(n->db, "main", table, column, NULL, NULL, NULL,
						     NULL, NULL);

	n->nomem = n->nomem || rc == SQLITE_NOMEM;
	return rc == SQLITE_OK;
}

static int nsys_prepare(const struct nsys *n, sqlite3_stmt **out, char *sql, struct frag_error *err)
{
	const int rc = sql ? sqlite3_prepare_v2(n->db, sql, -1, out, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc == SQLITE_NOMEM ? frag_fail_nomem(err) : rc ? nsys_fail(n, err) : 0;
}

/* 1: a row; 0: the end. */
static int nsys_step(const struct nsys *n, sqlite3_stmt *query, struct frag_error *err)
{
	const int rc = sqlite3_step(query);

	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : nsys_fail(n, err);
}

static const char temporary[] =
	"PRAGMA trusted_schema = OFF; PRAGMA temp_store = FILE; PRAGMA cell_size_check = ON;"
	"CREATE TEMP TABLE strings(id INTEGER PRIMARY KEY, value);"
	"CREATE TEMP TABLE kinds(id INTEGER PRIMARY KEY, name);"
	"CREATE TEMP TABLE operations(id INTEGER PRIMARY KEY, name);"
	"CREATE TEMP TABLE calls(pid INT, id INT, tid INT, name INT, chain INT, PRIMARY KEY(pid, id))"
	" WITHOUT ROWID;"
	"CREATE TEMP TABLE frames(id INT, depth INT, symbol INT, module INT, PRIMARY KEY(id, depth))"
	" WITHOUT ROWID;"
	"CREATE TEMP TABLE gpus(pid INT, cuda INT, gpu INT, PRIMARY KEY(pid, cuda)) WITHOUT ROWID;";

/* Rows for the temporary tables, of tables that have the columns; the first of equal keys is taken. */
static const struct {
	const char *table, *columns[4], *sql;
} imports[] = {
	{ "StringIds", { "id", "value" },
	  "INSERT OR IGNORE INTO strings SELECT id, substr(value, 1, " TEXT_MAX ") FROM main.StringIds"
	  " WHERE typeof(id) = 'integer'" },
	{ "ENUM_CUDA_MEM_KIND", { "id", "name" },
	  "INSERT OR IGNORE INTO kinds SELECT id, name FROM main.ENUM_CUDA_MEM_KIND"
	  " WHERE typeof(id) = 'integer'" },
	{ NULL, { NULL }, "INSERT OR IGNORE INTO kinds VALUES (0, '" KIND "PAGEABLE'),"
	  "(1, '" KIND "PINNED'), (2, '" KIND "DEVICE'), (3, '" KIND "ARRAY'), (4, '" KIND "MANAGED'),"
	  "(5, '" KIND "DEVICE_STATIC'), (6, '" KIND "MANAGED_STATIC'), (7, '" KIND "UNKNOWN')" },
	{ "ENUM_CUDA_DEV_MEM_EVENT_OPER", { "id", "name" },
	  "INSERT OR IGNORE INTO operations SELECT id, name FROM main.ENUM_CUDA_DEV_MEM_EVENT_OPER"
	  " WHERE typeof(id) = 'integer'" },
	{ NULL, { NULL }, "INSERT OR IGNORE INTO operations VALUES (0, '" OPERATION "ALLOCATION'),"
	  "(1, '" OPERATION "DEALLOCATION')" },
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", { "globalTid", "correlationId", "nameId", "callchainId" },
	  "INSERT OR IGNORE INTO calls SELECT globalTid >> 24, correlationId, globalTid, nameId,"
	  " callchainId FROM main.CUPTI_ACTIVITY_KIND_RUNTIME"
	  " WHERE correlationId IN (SELECT correlationId FROM main." EVENTS ")" },
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", { "globalTid", "correlationId", "nameId" },
	  "INSERT OR IGNORE INTO calls SELECT globalTid >> 24, correlationId, globalTid, nameId, NULL"
	  " FROM main.CUPTI_ACTIVITY_KIND_RUNTIME"
	  " WHERE correlationId IN (SELECT correlationId FROM main." EVENTS ")" },
	{ "CUDA_CALLCHAINS", { "id", "stackDepth", "symbol", "module" },
	  "INSERT OR IGNORE INTO frames SELECT id, stackDepth, symbol, module"
	  " FROM main.CUDA_CALLCHAINS WHERE id IN (SELECT chain FROM calls)" },
	{ "TARGET_INFO_CUDA_DEVICE", { "pid", "cudaId", "gpuId" },
	  "INSERT OR IGNORE INTO gpus SELECT pid, cudaId, gpuId FROM main.TARGET_INFO_CUDA_DEVICE"
	  " WHERE typeof(gpuId) = 'integer'" },
};

static int nsys_run(const struct nsys *n, const char *sql, struct frag_error *err)
{
	return sqlite3_exec(n->db, sql, NULL, NULL, NULL) ? nsys_fail(n, err) : 0;
}

/*
 * The value of a generated column is computed for every row that is read, at any price: a table
 * of the export has none.
 */
static int refuse_generated(const struct nsys *n, const char *table, struct frag_error *err)
{
	sqlite3_stmt *query = NULL;
	int rc = nsys_prepare(n, &query, sqlite3_mprintf("SELECT name FROM pragma_table_xinfo(%Q)"
							 " WHERE hidden <> 0", table), err);

	rc = rc ? rc : nsys_step(n, query, err);
	if (rc == 1)
		rc = frag_fail(err, FRAG_ETRACE, "%s: the column %.60s of %s is computed: Nsight Systems"
			       " writes no such column", n->path,
			       (const char *)sqlite3_column_text(query, 0), table);
	sqlite3_finalize(query);
	return rc;
}

/* Fills the temporary tables from those that are there. */
static int nsys_import(struct nsys *n, struct frag_error *err)
{
	int rc = nsys_run(n, temporary, err);

	for (size_t i = 0; i < sizeof(imports) / sizeof(imports[0]) && !rc; i++) {
		const char *table = imports[i].table;
		bool there = true;

		if (strstr(imports[i].sql, EVENTS) && !nsys_has(n, EVENTS, "correlationId"))
			continue;
		for (size_t k = 0; k < 4 && imports[i].columns[k]; k++)
			there = there && nsys_has(n, table, imports[i].columns[k]);
		if (there && table)
			rc = refuse_generated(n, table, err);
		if (there && !rc)
			rc = nsys_run(n, imports[i].sql, err);
	}
	return rc;
}

/* Columns of the events, in the order of the query; those after the first four may be missing. */
enum nsys_column { START, BYTES, ADDRESS, OPERATION_ID, KIND_ID, DEVICE, CONTEXT, STREAM, PROCESS, NAME,
		   CORRELATION, POOL, NSYS_COLUMNS, ROW = NSYS_COLUMNS, OPERATION_NAME, KIND_NAME, TID,
		   CHAIN, CALL, GPU };
static const char *const event_columns[NSYS_COLUMNS] = {
	"start", "bytes", "address", "memoryOperationType", "memKind", "deviceId", "contextId",
	"streamId", "globalPid", "name", "correlationId", "localMemoryPoolAddress",
};

/* The events in the order of time, and at equal times of the rows. */
static int prepare_events(struct nsys *n, sqlite3_stmt **out, struct frag_error *err)
{
	sqlite3_str *sql = sqlite3_str_new(n->db);

	sqlite3_str_appendall(sql, "SELECT e.*, o.name, k.name, c.tid, c.chain, s.value, g.gpu FROM"
			      " (SELECT ");
	for (int i = 0; i < NSYS_COLUMNS; i++)
		sqlite3_str_appendf(sql, "%s AS %s, ",
				    nsys_has(n, EVENTS, event_columns[i]) ? event_columns[i] : "NULL",
				    event_columns[i]);
	sqlite3_str_appendf(sql, "%s AS number FROM main." EVENTS ") AS e"
			    " LEFT JOIN operations AS o ON o.id = e.memoryOperationType"
			    " LEFT JOIN kinds AS k ON k.id = e.memKind"
			    " LEFT JOIN calls AS c ON c.pid = e.globalPid >> 24 AND c.id = e.correlationId"
			    " LEFT JOIN strings AS s ON s.id = c.name"
			    " LEFT JOIN gpus AS g ON g.pid = (e.globalPid >> 24) & 0xffffff"
			    " AND g.cuda = e.deviceId ORDER BY e.start, number",
			    nsys_has(n, EVENTS, "rowid") ? "rowid" : "0");
	return nsys_prepare(n, out, sqlite3_str_finish(sql), err);
}

/* Push and pop ranges (event type 59) of threads that allocate, by their begin. */
static int prepare_ranges(struct nsys *n, struct frag_error *err)
{
	const bool text = nsys_has(n, NVTX, "text"), id = nsys_has(n, NVTX, "textId");
	int rc;

	if (!(text || id) || !nsys_has(n, NVTX, "start") || !nsys_has(n, NVTX, "end")
	    || !nsys_has(n, NVTX, "globalTid"))
		return 0;
	rc = refuse_generated(n, NVTX, err);
	return rc ? rc : nsys_prepare(n, &n->ranges, sqlite3_mprintf(
		"SELECT r.start, r.\"end\", r.globalTid, coalesce(substr(%s, 1, " TEXT_MAX "), s.value)"
		" FROM main." NVTX " AS r LEFT JOIN strings AS s ON s.id = %s"
		" WHERE typeof(r.start) = 'integer' AND typeof(r.\"end\") = 'integer' AND %s"
		" AND r.globalTid IN (SELECT tid FROM calls) ORDER BY r.start",
		text ? "r.text" : "NULL", id ? "r.textId" : "NULL",
		nsys_has(n, NVTX, "eventType") ? "r.eventType = 59" : "1"), err);
}

/* The text of a column in UTF-8, which SQLite may have to make first; NULL where it is NULL. */
static FRAG_OR_NOMEM nsys_text(const struct nsys *n, sqlite3_stmt *row, int column, const char **out)
{
	*out = (const char *)sqlite3_column_text(row, column);
	return *out || sqlite3_errcode(n->db) != SQLITE_NOMEM;
}

static struct frag_text nsys_text_of(const char *text)
{
	return (struct frag_text){ .text = text, .length = text ? (uint32_t)strlen(text) : 0 };
}

/* The thread of a globalTid; NULL: out of memory. */
static struct nvtx_thread *nsys_thread(struct nsys *n, uint64_t tid)
{
	uint32_t i = frag_map_get(&n->thread_map, tid);

	if (i != FRAG_MAP_NONE)
		return &n->threads[i];
	if (!FRAG_GROW(n->threads, n->thread_capacity, n->thread_count)
	    || !frag_map_add(&n->thread_map, tid, n->thread_count))
		return NULL;
	n->threads[n->thread_count] = (struct nvtx_thread){ .depth = 0 };
	return &n->threads[n->thread_count++];
}

static void end_ranges(struct nvtx_thread *thread, int64_t time)
{
	while (thread->depth && thread->open[thread->depth - 1].end < time)
		free(thread->open[--thread->depth].text);
}

/* The range of the query's row begins. Within RANGES_MAX others it is omitted. */
static int begin_range(struct nsys *n, struct frag_error *err)
{
	struct nvtx_thread *thread = nsys_thread(n, (uint64_t)sqlite3_column_int64(n->ranges, 2));
	const char *text;

	if (!thread || !nsys_text(n, n->ranges, 3, &text))
		return frag_fail_nomem(err);
	end_ranges(thread, sqlite3_column_int64(n->ranges, 0));
	if (!text || !*text || thread->depth == RANGES_MAX)
		return 0;
	if (!FRAG_GROW(thread->open, thread->capacity, thread->depth))
		return frag_fail_nomem(err);
	thread->open[thread->depth].end = sqlite3_column_int64(n->ranges, 1);
	thread->open[thread->depth].text = strdup(text);
	if (!thread->open[thread->depth].text)
		return frag_fail_nomem(err);
	thread->depth++;
	return 0;
}

/* The next range of the query; after the last it is gone. */
static int next_range(struct nsys *n, struct frag_error *err)
{
	const int rc = nsys_step(n, n->ranges, err);

	if (rc == 0) {
		sqlite3_finalize(n->ranges);
		n->ranges = NULL;
	}
	return rc > 0 ? 0 : rc;
}

/* *text: the innermost range that is open on the thread at this time; NULL: none. */
static int find_range(struct nsys *n, uint64_t tid, int64_t time, const char **text,
		      struct frag_error *err)
{
	struct nvtx_thread *thread;
	int rc = 0;

	while (n->ranges && !rc && sqlite3_column_int64(n->ranges, 0) <= time) {
		rc = begin_range(n, err);
		rc = rc ? rc : next_range(n, err);
	}
	thread = rc ? NULL : nsys_thread(n, tid);
	*text = NULL;
	if (!thread)
		return rc ? rc : frag_fail_nomem(err);
	end_ranges(thread, time);
	if (thread->depth)
		*text = thread->open[thread->depth - 1].text;
	return 0;
}

/* Is a frame in CUDA's own libraries, or in those of Nsight Systems? */
static bool is_of_cuda(const char *module)
{
	static const char *const names[] = { "libcuda.", "libcudart", "libcupti", "libToolsInjection",
					     "libnsys" };
	const char *file = frag_file_name(module);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(file, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * Reads the frames of a call chain, the innermost first, into the table of stacks. *caller is the
 * text of the first one outside CUDA.
 */
static int read_frames(struct nsys *n, int64_t chain, uint32_t *stack, uint32_t *caller,
		       struct frag_error *err)
{
	uint32_t frames[FRAG_FRAMES_MAX], count = 0;
	int rc = 1;

	sqlite3_bind_int64(n->frames, 1, chain);
	while (count < FRAG_FRAMES_MAX && (rc = nsys_step(n, n->frames, err)) == 1) {
		const char *name, *module;
		struct frag_frame frame;
		char text[NSYS_TAG_ROOM];

		if (!nsys_text(n, n->frames, 0, &name) || !nsys_text(n, n->frames, 1, &module))
			return frag_fail_nomem(err);
		frame = (struct frag_frame){ .name = nsys_text_of(name), .file = nsys_text_of(module) };
		if (!frag_stacks_frame(&n->rows->stacks, &frame, &frames[count++]))
			return frag_fail_nomem(err);
		if (*caller || !name || is_of_cuda(module ? module : ""))
			continue;
		snprintf(text, sizeof(text), module ? "%s (%s)" : "%s", name,
			 module ? frag_file_name(module) : "");
		if (!frag_buffered_text(n->rows, nsys_text_of(text), caller))
			return frag_fail_nomem(err);
	}
	sqlite3_reset(n->frames);
	while (count && rc >= 0)
		if (!frag_stacks_push(&n->rows->stacks, frames[--count], *stack, stack))
			rc = frag_fail_nomem(err);
	return rc < 0 ? rc : 0;
}

/* The number of a call chain in n->calls, which thousands of calls share. -FRAG_E... */
static int find_chain(struct nsys *n, int64_t chain, uint32_t *call, struct frag_error *err)
{
	int rc;

	*call = frag_map_get(&n->chains, (uint64_t)chain);
	if (*call != FRAG_MAP_NONE)
		return 0;
	if (!FRAG_GROW(n->calls, n->call_capacity, n->call_count)
	    || !frag_map_add(&n->chains, (uint64_t)chain, n->call_count))
		return frag_fail_nomem(err);
	*call = n->call_count++;
	n->calls[*call].stack = n->calls[*call].caller = 0;
	rc = read_frames(n, chain, &n->calls[*call].stack, &n->calls[*call].caller, err);
	return rc;
}

/*
 * What an allocation is called: the variable, the caller or the function of CUDA, and the NVTX range
 * around it; its stack.
 */
static int name_event(struct nsys *n, sqlite3_stmt *row, struct frag_row *out, struct frag_error *err)
{
	const char *variable, *function, *range = NULL;
	char text[NSYS_TAG_ROOM];
	uint32_t call, stack = 0, tag = 0;
	struct frag_text name;
	bool named;
	int rc = 0;

	if (!nsys_text(n, row, NAME, &variable) || !nsys_text(n, row, CALL, &function))
		return frag_fail_nomem(err);
	named = variable && *variable;
	name = nsys_text_of(named ? variable : function);
	if (sqlite3_column_type(row, CHAIN) == SQLITE_INTEGER) {
		rc = find_chain(n, sqlite3_column_int64(row, CHAIN), &call, err);
		if (rc)
			return rc;
		stack = n->calls[call].stack;
		if (n->calls[call].caller && !named)
			name = frag_handle_text(&n->rows->texts, n->calls[call].caller);
	}
	if (sqlite3_column_type(row, TID) == SQLITE_INTEGER)
		rc = find_range(n, (uint64_t)sqlite3_column_int64(row, TID),
				sqlite3_column_int64(row, START), &range, err);
	if (rc)
		return rc;
	snprintf(text, sizeof(text), "%.*s%s%s", (int)name.length, name.length ? name.text : "",
		 name.length && range ? " | " : "", range ? range : "");
	if (*text && !frag_buffered_text(n->rows, nsys_text_of(text), &tag))
		return frag_fail_nomem(err);
	return frag_buffered_site(n->rows, tag, stack, &out->text) ? 0 : frag_fail_nomem(err);
}

/* An integer of a row, `least` at least; NULL is 0 in a column that may be missing. */
static int nsys_number(const struct nsys *n, sqlite3_stmt *row, enum nsys_column column, int64_t least,
		       int64_t *out, struct frag_error *err)
{
	static const char *const types[] = { [SQLITE_FLOAT] = "a real number", [SQLITE_TEXT] = "text",
					     [SQLITE_BLOB] = "a blob", [SQLITE_NULL] = "NULL" };
	const int type = sqlite3_column_type(row, (int)column);

	*out = sqlite3_column_int64(row, (int)column);
	if (type == SQLITE_NULL && column > OPERATION_ID)
		return 0;
	if (type != SQLITE_INTEGER)
		return frag_fail(err, FRAG_ETRACE, "%s: row %" PRId64 " of " EVENTS ": %s is %s, not an"
				 " integer", n->path, (int64_t)sqlite3_column_int64(row, ROW),
				 event_columns[column], types[type]);
	if (*out < least)
		return frag_fail(err, FRAG_ETRACE, "%s: row %" PRId64 " of " EVENTS ": %s is %" PRId64,
				 n->path, (int64_t)sqlite3_column_int64(row, ROW), event_columns[column],
				 *out);
	return 0;
}

/* Is it memory of a device? Other kinds, NULL among them, are counted. Old exports have no kinds. */
static bool is_of_device(struct nsys *n, const char *kind)
{
	size_t i = 0;

	if (!n->has_kinds || (kind && (strcmp(kind, KIND "DEVICE") == 0
				       || strcmp(kind, KIND "DEVICE_STATIC") == 0)))
		return true;
	while (i < OTHER_KINDS - 1 && (!kind || strcmp(kind, other_kinds[i].name) != 0))
		i++;
	n->others[i]++;
	return false;
}

/* A number for (a, b), in the order of their first use. False: out of memory. */
static bool nsys_pair(struct frag_handles *h, int64_t a, int64_t b, uint32_t *number)
{
	const int64_t pair[2] = { a, b };

	*number = frag_handles_intern_text(h, (struct frag_text){ (const char *)pair, sizeof(pair) });
	return *number != UINT32_MAX;
}

/* The device, the stream and the address of an event; streams belong to a context of a process. */
static int place_event(struct nsys *n, sqlite3_stmt *row, struct frag_row *out, uint64_t *address,
		       struct frag_error *err)
{
	int64_t device, context, stream, process, where;
	uint32_t owner, of_context;
	int rc = nsys_number(n, row, DEVICE, 0, &device, err);

	rc = rc ? rc : nsys_number(n, row, CONTEXT, INT64_MIN, &context, err);
	rc = rc ? rc : nsys_number(n, row, STREAM, INT64_MIN, &stream, err);
	rc = rc ? rc : nsys_number(n, row, PROCESS, INT64_MIN, &process, err);
	rc = rc ? rc : nsys_number(n, row, ADDRESS, INT64_MIN, &where, err);
	if (rc)
		return rc;
	if (sqlite3_column_type(row, GPU) == SQLITE_INTEGER)
		device = sqlite3_column_int64(row, GPU);
	if (device < 0 || device >= FRAG_DEVICES_MAX)
		return frag_fail(err, FRAG_ETRACE, "%s: row %" PRId64 " of " EVENTS ": device %" PRId64
				 " is not below %d", n->path, (int64_t)sqlite3_column_int64(row, ROW),
				 device, FRAG_DEVICES_MAX);
	if (!nsys_pair(&n->processes, process, 0, &owner)
	    || !nsys_pair(&n->contexts, process, context, &of_context))
		return frag_fail_nomem(err);
	out->device = (uint16_t)device;
	n->device_count = device >= n->device_count ? (uint32_t)device + 1 : n->device_count;
	if (!n->by_address && sqlite3_column_type(row, STREAM) != SQLITE_NULL && stream >= 0
	    && stream < UINT32_MAX) {
		out->members |= FRAG_ROW_STREAM;
		out->stream = (uint64_t)stream | (uint64_t)(of_context - 1) << 32;
	}
	/* an address is one of a process; those of CUDA have 52 bits at most */
	*address = (uint64_t)where ^ (where ? (uint64_t)(owner - 1) << 52 : 0);
	if (n->by_address)
		out->stream = *address;
	return 0;
}

/* Adds the row of an event of device memory; others are counted. */
static int add_event(struct nsys *n, sqlite3_stmt *row, struct frag_error *err)
{
	const char *operation, *kind;
	struct frag_row out = { .members = FRAG_ROW_T };
	int64_t start, bytes;
	uint64_t address = 0;
	int rc = nsys_number(n, row, START, INT64_MIN, &start, err);
	bool good;

	if (rc)
		return rc;
	if (!nsys_text(n, row, OPERATION_NAME, &operation) || !nsys_text(n, row, KIND_NAME, &kind))
		return frag_fail_nomem(err);
	if (!is_of_device(n, kind))
		return 0;
	rc = nsys_number(n, row, BYTES, 0, &bytes, err);
	rc = rc ? rc : place_event(n, row, &out, &address, err);
	if (rc)
		return rc;
	if (n->rows->count == 0)
		n->origin = start < 0 ? start : 0;
	out.t = (double)((uint64_t)start - (uint64_t)n->origin) / 1000;
	out.size = (uint64_t)bytes;
	out.place = (uint64_t)sqlite3_column_int64(row, ROW);
	if (operation && strcmp(operation, OPERATION "DEALLOCATION") == 0) {
		good = frag_address_map_free(&n->addresses, address, &out);
	} else if (operation && strcmp(operation, OPERATION "ALLOCATION") == 0) {
		n->pooled += sqlite3_column_int64(row, POOL) != 0;
		rc = name_event(n, row, &out, err);
		good = rc || frag_address_map_alloc(&n->addresses, address, &out);
	} else {
		return frag_fail(err, FRAG_ETRACE, "%s: row %" PRId64 " of " EVENTS ":"
				 " memoryOperationType is neither an allocation nor a deallocation",
				 n->path, (int64_t)sqlite3_column_int64(row, ROW));
	}
	return good ? rc : frag_fail_nomem(err);
}

/* Steps through the events, and through the NVTX ranges up to the time of each. */
static int read_events(struct nsys *n, struct frag_error *err)
{
	sqlite3_stmt *events = NULL;
	uint64_t kept;
	int rc = prepare_events(n, &events, err);

	rc = rc ? rc : prepare_ranges(n, err);
	rc = rc ? rc : nsys_prepare(n, &n->frames, sqlite3_mprintf(
		"SELECT s.value, m.value FROM frames AS f LEFT JOIN strings AS s ON s.id = f.symbol"
		" LEFT JOIN strings AS m ON m.id = f.module WHERE f.id = ?1 ORDER BY f.depth"), err);
	if (!rc && n->ranges)
		rc = next_range(n, err);
	while (!rc && (rc = nsys_step(n, events, err)) == 1) {
		rc = add_event(n, events, err);
		kept = n->rows->count * sizeof(*n->rows->rows) + n->rows->text_bytes;
		if (!rc && n->rows->count % 4096 == 0 && kept > frag_kept_max(n->bytes))
			rc = frag_kept_too_much(n->path, n->bytes, err);
	}
	sqlite3_finalize(events);
	return rc;
}

/* Prints warnings about events that were omitted or have another meaning. */
static void note_others(const struct nsys *n, const struct frag_log *log)
{
	char list[300] = "";
	uint64_t count = 0;

	for (size_t i = 0; i < OTHER_KINDS; i++) {
		const size_t used = strlen(list);

		count += n->others[i];
		if (n->others[i])
			snprintf(list + used, sizeof(list) - used, "%s%" PRIu64 " %s", used ? ", " : "",
				 n->others[i], other_kinds[i].text);
	}
	if (count)
		frag_note(log, "%s: %" PRIu64 " event%s of memory that is not the device's left out: %s",
			  n->path, count, frag_s(count), list);
	if (!n->has_kinds)
		frag_note(log, "%s: the export names no kinds of memory: all of it is taken for the"
			  " device's", n->path);
	if (n->pooled)
		frag_note(log, "%s: %" PRIu64 " allocation%s from pools of cudaMallocAsync: the size of"
			  " a pool is not simulated", n->path, n->pooled, frag_s(n->pooled));
}

/* "file:" and the path, with every byte that means something in a URI as %XX. NULL: out of memory. */
static char *database_uri(const char *path)
{
	static const char digits[] = "0123456789abcdef", options[] = "?mode=ro&immutable=1";
	char *uri = malloc(3 * strlen(path) + sizeof("file://") + sizeof(options)), *p = uri;

	if (!uri)
		return NULL;
	p += snprintf(p, sizeof("file://"), *path == '/' ? "file://" : "file:");
	for (; *path; path++) {
		if (*path == '/' || *path == '.' || (*path >= '0' && *path <= '9')
		    || ((*path | 32) >= 'a' && (*path | 32) <= 'z')) {
			*p++ = *path;
			continue;
		}
		*p++ = '%';
		*p++ = digits[(unsigned char)*path >> 4];
		*p++ = digits[*path & 15];
	}
	memcpy(p, options, sizeof(options));
	return uri;
}

/* Opens a file by its name; a pipe, a packed file and a descriptor are read into memory. Takes the input over. */
static int open_database(struct nsys *n, struct frag_input *in, struct frag_whole *whole,
			 struct frag_error *err)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	const bool file = in->rewindable && !frag_unpacker_packed(in->unpacker)
			  && strcmp(in->path, "-") != 0 && strncmp(in->path, "/dev/", 5) != 0
			  && strncmp(in->path, "/proc/", 6) != 0;
	char *uri = NULL;
	int rc = 0;

	n->rows = frag_buffered_new(in->path, "row");
	if (file) {
		n->bytes = frag_input_bytes(in);
		uri = database_uri(in->path);
		frag_input_close(in);
	} else {
		rc = frag_whole_read(whole, in, err);
		n->bytes = rc ? 0 : whole->total > whole->read ? whole->total : whole->read;
	}
	if (rc)
		return rc;
	if (!n->rows || (file && !uri))
		rc = frag_fail_nomem(err);
	n->path = n->rows ? frag_input_name(n->rows->path) : "";
	/* exports need 6 where they are small, and a 600th of their bytes where they are large */
	n->work_max = 1000 + n->bytes / 16;
	if (!rc && sqlite3_open_v2(file ? uri : ":memory:", &n->db, flags | (file ? 0 : SQLITE_OPEN_MEMORY),
				   NULL) != SQLITE_OK)
		rc = n->db ? nsys_fail(n, err) : frag_fail_nomem(err);
	if (!rc && !file
	    && sqlite3_deserialize(n->db, "main", (unsigned char *)whole->bytes,
				   (sqlite3_int64)whole->length, (sqlite3_int64)whole->length,
				   SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		rc = nsys_fail(n, err);
	free(uri);
	return rc;
}

/* No code of the file runs, and no row is larger than real ones. */
static void distrust(struct nsys *n)
{
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_limit(n->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	sqlite3_progress_handler(n->db, 1000, nsys_progress, n);
}

/* The table of events is there, with the columns that it cannot lack. */
static int check_tables(struct nsys *n, struct frag_error *err)
{
	int rc = nsys_run(n, "SELECT count(*) FROM main.sqlite_master", err);

	if (!rc && !nsys_has(n, EVENTS, NULL) && !n->nomem)
		return frag_fail(err, FRAG_ETRACE, "%s: no table " EVENTS ": record with nsys profile"
				 " --cuda-memory-usage=true, and export with nsys export --type sqlite",
				 n->path);
	for (int i = START; i <= OPERATION_ID && !rc; i++)
		if (!nsys_has(n, EVENTS, event_columns[i]) && !n->nomem)
			rc = frag_fail(err, FRAG_ETRACE, "%s: " EVENTS " has no column %s", n->path,
				       event_columns[i]);
	n->has_kinds = nsys_has(n, EVENTS, "memKind");
	if (!rc && n->nomem)
		rc = frag_fail_nomem(err);
	return rc ? rc : refuse_generated(n, EVENTS, err);
}

/* Names and sizes of the devices, where the export has them. */
static int read_gpus(struct nsys *n, struct frag_buffered *rows, struct frag_error *err)
{
	sqlite3_stmt *gpus = NULL;
	int rc;

	if (!nsys_has(n, GPUS, "id") || !nsys_has(n, GPUS, "name") || !nsys_has(n, GPUS, "totalMemory"))
		return n->nomem ? frag_fail_nomem(err) : 0;
	rc = refuse_generated(n, GPUS, err);
	rc = rc ? rc : nsys_prepare(n, &gpus, sqlite3_mprintf(
		"SELECT id, substr(name, 1, 100), totalMemory FROM main." GPUS
		" WHERE typeof(id) = 'integer' AND id BETWEEN 0 AND %d", (int)rows->device_count - 1), err);
	while (!rc && (rc = nsys_step(n, gpus, err)) == 1) {
		struct frag_device_figures *d = &rows->devices[sqlite3_column_int64(gpus, 0)];
		const int64_t total = sqlite3_column_int64(gpus, 2);
		const char *name;

		rc = nsys_text(n, gpus, 1, &name) ? 0 : frag_fail_nomem(err);
		if (rc || d->name || !name)
			continue;
		d->name = strdup(name);
		d->total = total > 0 ? (uint64_t)total : 0;
		rc = d->name ? 0 : frag_fail_nomem(err);
	}
	sqlite3_finalize(gpus);
	return rc;
}

/* Reads all that counts into n->rows. */
static int nsys_read(struct nsys *n, const struct frag_log *log, struct frag_error *err)
{
	int rc;

	distrust(n);
	if (!frag_map_init(&n->thread_map, frag_hash_seed()) || !frag_map_init(&n->chains, frag_hash_seed())
	    || !frag_handles_init(&n->processes, frag_hash_seed())
	    || !frag_handles_init(&n->contexts, frag_hash_seed())
	    || !frag_stacks_init(&n->rows->stacks, frag_hash_seed())
	    || !frag_address_map_init(&n->addresses, n->rows))
		return frag_fail_nomem(err);
	rc = check_tables(n, err);
	rc = rc ? rc : nsys_import(n, err);
	rc = rc ? rc : read_events(n, err);
	if (!rc && !n->rows->count)
		rc = frag_fail(err, FRAG_ETRACE, "%s: no event of memory of a device", n->path);
	if (!rc && !frag_address_map_end(&n->addresses, 0, log))
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < n->rows->count && n->device_count > 1; i++)
		n->rows->rows[i].members |= FRAG_ROW_DEVICE;
	if (!rc && n->nomem)
		rc = frag_fail_nomem(err);
	if (!rc)
		note_others(n, log);
	return rc;
}

/* Releases all of it, also after a failure at any place. */
static void nsys_fini(struct nsys *n)
{
	for (uint32_t i = 0; i < n->thread_count; i++) {
		while (n->threads[i].depth)
			free(n->threads[i].open[--n->threads[i].depth].text);
		free(n->threads[i].open);
	}
	free(n->threads);
	free(n->calls);
	frag_map_fini(&n->thread_map);
	frag_map_fini(&n->chains);
	frag_handles_fini(&n->processes);
	frag_handles_fini(&n->contexts);
	frag_address_map_fini(&n->addresses);
	sqlite3_finalize(n->ranges);
	sqlite3_finalize(n->frames);
	sqlite3_close(n->db);
	frag_buffered_del(n->rows);
}

/* Reads the whole database before the first event: later rows can free earlier memory. */
static int nsys_load(struct frag_reading *out, struct frag_input *in, bool addresses,
		     const struct frag_log *log, struct frag_error *err)
{
	struct nsys n = { .device_count = 1, .by_address = addresses };
	struct frag_whole whole = { .path = NULL };
	int rc = open_database(&n, in, &whole, err);

	rc = rc ? rc : nsys_read(&n, log, err);
	if (!rc) {
		struct frag_buffered *rows = n.rows;

		n.rows = NULL;
		rows->bytes = n.bytes;
		n.path = frag_input_name(rows->path);
		rc = frag_buffered_open(out, rows, n.device_count, NULL, err);
		if (!rc && (rc = read_gpus(&n, rows, err)) != 0)
			out->ops->close(out->state);
	}
	nsys_fini(&n);
	frag_whole_fini(&whole);
	return rc;
}

#endif

static int nsys_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		     struct frag_error *err)
{
	return nsys_load(out, in, false, log, err);
}

int frag_nsys_allocations(struct frag_buffered **out, const char *path, const struct frag_log *log,
			  struct frag_error *err)
{
	enum frag_sniff known = FRAG_SNIFF_NO;
	struct frag_reading reading;
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	if (rc)
		return rc;
	do {
		rc = frag_input_fill(&in, 0, err);
		known = nsys_sniff(in.buf, in.end);
	} while (rc > 0 && known == FRAG_SNIFF_MORE);
	if (rc >= 0 && known != FRAG_SNIFF_YES)
		rc = frag_fail(err, FRAG_ETRACE, "%s: no SQLite database: give the file that nsys export"
			       " --type sqlite writes", frag_input_name(path));
	if (rc < 0) {
		frag_input_close(&in);
		return rc;
	}
	rc = nsys_load(&reading, &in, true, log, err);
	if (!rc)
		*out = reading.state;
	return rc;
}

const struct frag_reader frag_reader_nsys = {
	.name = "nsys",
	.sniff = nsys_sniff,
	.open = nsys_open,
};
