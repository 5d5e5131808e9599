/*
 * fuzz_nsys.c - any rows in the tables of Nsight Systems through its reader, and any damage to the
 * pages that hold them.
 */
#include "fuzz/one_reader.h"

#include "trace/reader.h"

#ifdef FRAG_NO_SQLITE

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&frag_reader_nsys, data, size);
}

#else

#include <sqlite3.h>

static const struct {
	const char *name, *columns, *values;
	int count;
} tables[] = {
	{ "CUDA_GPU_MEMORY_USAGE_EVENTS", "start, globalPid, deviceId, contextId, address, bytes,"
	  " memKind, memoryOperationType, name, correlationId, streamId, localMemoryPoolAddress",
	  "?,?,?,?,?,?,?,?,?,?,?,?", 12 },
	{ "StringIds", "id, value", "?,?", 2 },
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid, correlationId, nameId, callchainId", "?,?,?,?", 4 },
	{ "CUDA_CALLCHAINS", "id, stackDepth, symbol, module", "?,?,?,?", 4 },
	{ "NVTX_EVENTS", "start, end, eventType, globalTid, text, textId", "?,?,?,?,?,?", 6 },
	{ "ENUM_CUDA_MEM_KIND", "id, name", "?,?", 2 },
	{ "ENUM_CUDA_DEV_MEM_EVENT_OPER", "id, name", "?,?", 2 },
	{ "TARGET_INFO_GPU", "id, name, totalMemory", "?,?,?", 3 },
	{ "TARGET_INFO_CUDA_DEVICE", "pid, cudaId, gpuId", "?,?,?", 3 },
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

struct bytes {
	const uint8_t *at, *end;
};

static uint64_t take(struct bytes *b, int n)
{
	uint64_t value = 0;

	while (n-- > 0)
		value = value << 8 | (b->at < b->end ? *b->at++ : 0);
	return value;
}

/* A value of any type; most are small numbers, so that rows refer to each other. */
static void bind(sqlite3_stmt *insert, int column, struct bytes *b)
{
	const uint64_t kind = take(b, 1);
	const size_t left = (size_t)(b->end - b->at), length = left < kind % 8 ? left : kind % 8;

	if (kind < 160)
		sqlite3_bind_int64(insert, column, (sqlite3_int64)(kind % 16));
	else if (kind < 176)
		sqlite3_bind_int64(insert, column, (sqlite3_int64)((kind & 7) << 24));
	else if (kind < 192)
		sqlite3_bind_int64(insert, column, (sqlite3_int64)take(b, 8));
	else if (kind < 240)
		sqlite3_bind_text(insert, column, (const char *)b->at, (int)length, SQLITE_TRANSIENT);
	else if (kind < 245)
		sqlite3_bind_blob(insert, column, b->at, (int)length, SQLITE_TRANSIENT);
	else if (kind < 250)
		sqlite3_bind_double(insert, column, (double)take(b, 2) / 16);
	if (kind >= 192 && kind < 245)
		b->at += length;
}

static sqlite3_stmt *inserts[TABLES];

/* All tables, empty: made once, as reading SQL takes SQLite far longer than rows. */
static sqlite3 *tables_make(void)
{
	sqlite3 *db;
	char sql[500];

	must(sqlite3_open(":memory:", &db) == SQLITE_OK, "no database", NULL);
	sqlite3_exec(db, "PRAGMA page_size = 512", NULL, NULL, NULL);
	for (size_t i = 0; i < TABLES; i++) {
		snprintf(sql, sizeof(sql), "CREATE TABLE %s(%s)", tables[i].name, tables[i].columns);
		must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql, NULL);
		snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(%s)", tables[i].name, tables[i].values);
		must(sqlite3_prepare_v2(db, sql, -1, &inserts[i], NULL) == SQLITE_OK, sql, NULL);
	}
	return db;
}

/* The database has another table instead: its name is in the schema, and in no row. */
static void rename_table(unsigned char *file, sqlite3_int64 length, const char *name)
{
	unsigned char *end = file + length;

	while ((file = memmem(file, (size_t)(end - file), name, strlen(name))) != NULL)
		*file = 'x';
}

/*
 * A database is read as it is. Of other bytes the first two choose the tables, the third how much of the
 * end is damage: pairs of a place in the file and a byte.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static sqlite3 *db;
	struct bytes b = { data, data + size };
	const uint64_t lacking = take(&b, 2), damage = take(&b, 1) % 4;
	sqlite3_int64 length;
	unsigned char *file;

	if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0)
		return fuzz_reader(&frag_reader_nsys, data, size);
	if (!db)
		db = tables_make();
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	while (b.end - b.at > (ptrdiff_t)(3 * damage)) {
		const size_t which = take(&b, 1) % (TABLES + 4) % TABLES;

		if (lacking >> which & 1)
			continue;
		sqlite3_clear_bindings(inserts[which]);
		for (int i = 1; i <= tables[which].count; i++)
			bind(inserts[which], i, &b);
		sqlite3_step(inserts[which]);
		sqlite3_reset(inserts[which]);
	}
	file = sqlite3_serialize(db, "main", &length, 0);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	must(file != NULL, "no pages", NULL);
	for (size_t i = 0; i < TABLES; i++)
		if (lacking >> i & 1)
			rename_table(file, length, tables[i].name);
	for (uint64_t i = 0; i < damage; i++) {
		const uint64_t at = take(&b, 2) % (uint64_t)length;

		file[at] = (unsigned char)take(&b, 1);
	}
	fuzz_reader(&frag_reader_nsys, file, (size_t)length);
	sqlite3_free(file);
	return 0;
}

#endif
