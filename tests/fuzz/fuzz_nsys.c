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
	const char *create, *insert;
	int columns;
} tables[] = {
	{ "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, contextId, address, bytes,"
	  " memKind, memoryOperationType, name, correlationId, streamId, localMemoryPoolAddress)",
	  "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", 12 },
	{ "CREATE TABLE StringIds(id, value)", "INSERT INTO StringIds VALUES(?,?)", 2 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(globalTid, correlationId, nameId, callchainId)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?)", 4 },
	{ "CREATE TABLE CUDA_CALLCHAINS(id, stackDepth, symbol, module)",
	  "INSERT INTO CUDA_CALLCHAINS VALUES(?,?,?,?)", 4 },
	{ "CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text, textId)",
	  "INSERT INTO NVTX_EVENTS VALUES(?,?,?,?,?,?)", 6 },
	{ "CREATE TABLE ENUM_CUDA_MEM_KIND(id, name)", "INSERT INTO ENUM_CUDA_MEM_KIND VALUES(?,?)", 2 },
	{ "CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER(id, name)",
	  "INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES(?,?)", 2 },
	{ "CREATE TABLE TARGET_INFO_GPU(id, name, totalMemory)", "INSERT INTO TARGET_INFO_GPU VALUES(?,?,?)", 3 },
	{ "CREATE TABLE TARGET_INFO_CUDA_DEVICE(pid, cudaId, gpuId)",
	  "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(?,?,?)", 3 },
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

/*
 * A database is read as it is. Of other bytes the first two choose the tables, the third how much of the
 * end is damage: pairs of a place in the file and a byte.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, data + size };
	const uint64_t lacking = take(&b, 2), damage = take(&b, 1) % 4;
	sqlite3_int64 length;
	sqlite3_stmt *insert;
	unsigned char *file;
	sqlite3 *db;

	if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0)
		return fuzz_reader(&frag_reader_nsys, data, size);
	must(sqlite3_open(":memory:", &db) == SQLITE_OK, "no database", NULL);
	sqlite3_exec(db, "PRAGMA page_size = 512; BEGIN", NULL, NULL, NULL);
	for (size_t i = 0; i < TABLES; i++)
		if (!(lacking >> i & 1))
			sqlite3_exec(db, tables[i].create, NULL, NULL, NULL);
	while (b.end - b.at > (ptrdiff_t)(3 * damage)) {
		const size_t which = take(&b, 1) % (TABLES + 4) % TABLES;

		if (sqlite3_prepare_v2(db, tables[which].insert, -1, &insert, NULL) != SQLITE_OK)
			continue;
		for (int i = 1; i <= tables[which].columns; i++)
			bind(insert, i, &b);
		sqlite3_step(insert);
		sqlite3_finalize(insert);
	}
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	file = sqlite3_serialize(db, "main", &length, 0);
	sqlite3_close(db);
	if (!file)              /* no table, no page */
		return 0;
	for (uint64_t i = 0; i < damage && length; i++) {
		const uint64_t at = take(&b, 2) % (uint64_t)length;

		file[at] = (unsigned char)take(&b, 1);
	}
	fuzz_reader(&frag_reader_nsys, file, (size_t)length);
	sqlite3_free(file);
	return 0;
}

#endif
