/*
 * fuzz_changed_trace.c - any bytes as a trace, through changes of predict.
 *
 * The first three bytes choose up to three changes, one each by its place in the table below ('0'
 * is the first, and beyond the last none); the rest is the trace, as a file has it. Of a trace
 * that can be read, what comes out has to be valid: only a mistake of the command line may end it,
 * as a glob that fits nothing. Where sizes alone change, there are as many events as before.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transform/changed_trace.h"

#define CHANGES 3
#define EVENTS_MAX 200000       /* of a changed trace: blocks may come to many pieces */

static const struct frag_program_change changes[] = {
	{ .kind = FRAG_CHANGE_SCALE, .numerator = 1, .denominator = 3, .text = "scale" },
	{ .kind = FRAG_CHANGE_SCALE, .numerator = 2, .denominator = 1, .life = FRAG_LIVES_SHORT,
	  .text = "scale short" },
	{ .kind = FRAG_CHANGE_SHARD, .numerator = 1, .denominator = 8, .life = FRAG_LIVES_LONG,
	  .text = "shard" },
	{ .kind = FRAG_CHANGE_HOIST, .text = "hoist" },
	{ .kind = FRAG_CHANGE_SPLIT, .bytes = 7, .text = "split" },
	{ .kind = FRAG_CHANGE_SPLIT, .bytes = 1 << 20, .text = "split" },
	{ .kind = FRAG_CHANGE_ISOLATE, .by = FRAG_BY_LIFE, .text = "isolate by life" },
	{ .kind = FRAG_CHANGE_ISOLATE, .by = FRAG_BY_TAG, .text = "isolate by tag" },
	{ .kind = FRAG_CHANGE_ISOLATE, .by = FRAG_BY_TAG, .glob = "a*", .text = "isolate a*" },
	{ .kind = FRAG_CHANGE_ISOLATE, .by = FRAG_BY_SIZE, .limits = { 100, 5000 },
	  .limit_count = 2, .text = "isolate by size" },
	{ .kind = FRAG_CHANGE_WARMUP, .mark = "step1", .text = "warmup" },
	{ .kind = FRAG_CHANGE_PREALLOCATE, .bytes = 4096, .text = "preallocate" },
	{ .kind = FRAG_CHANGE_DROP, .glob = "*", .text = "drop" },
	{ .kind = FRAG_CHANGE_PRIME_POOL, .bytes = 4096, .text = "prime pool" },
};
#define KINDS (sizeof(changes) / sizeof(*changes))
#define SIZES_ONLY 3            /* so many of the first keep the events */

static void must(bool good, const char *what, const struct frag_error *err)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_changed_trace: %s: %s\n", what, err->code ? err->message : "");
	abort();
}

/* To its end, or as far as it goes: the events so far, and how it ended. */
static int read_all(struct frag_trace *trace, uint64_t *events, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	*events = 0;
	do {
		rc = frag_trace_next(trace, &batch, err);
		*events += rc ? 0 : batch.count;
	} while (!rc && batch.count && *events < EVENTS_MAX);
	return rc;
}

static int open_bytes(struct frag_trace **trace, int fd, struct frag_error *err)
{
	const struct frag_trace_options options = { .lenient = true, .records = true };
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return frag_trace_open(trace, path, &options, err);
}

static void change(int fd, const struct frag_program_change *chosen, uint32_t count, bool sizes_only,
		   uint64_t wanted)
{
	const struct frag_changed_options o = { .changes = chosen, .count = count };
	struct frag_error err = { .code = 0 };
	struct frag_trace *from, *trace;
	uint64_t events;
	int rc;

	must(open_bytes(&from, fd, &err) == 0, "cannot be read again", &err);
	must(frag_changed_open(&trace, from, &o, &err) == 0, "cannot be changed", &err);
	rc = read_all(trace, &events, &err);
	must(rc == 0 || rc == -FRAG_EUSAGE, "a changed trace is invalid", &err);
	must(rc || !sizes_only || events == wanted, "other events", &err);
	frag_trace_close(trace);
	frag_trace_close(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frag_program_change chosen[CHANGES];
	struct frag_error err = { .code = 0 };
	struct frag_trace *plain;
	uint32_t count = 0;
	bool sizes_only = true, good = false;
	uint64_t events = 0;
	int fd;

	for (size_t i = 0; i < CHANGES && i < size; i++) {
		const size_t kind = (size_t)data[i] - '0';

		if (kind >= KINDS)
			continue;
		chosen[count++] = changes[kind];
		sizes_only = sizes_only && kind < SIZES_ONLY;
	}
	fd = memfd_create("trace", MFD_CLOEXEC);
	must(fd >= 0, "no file", &err);
	if (count && size > CHANGES
	    && write(fd, data + CHANGES, size - CHANGES) == (ssize_t)(size - CHANGES)
	    && open_bytes(&plain, fd, &err) == 0) {
		good = read_all(plain, &events, &err) == 0 && events < EVENTS_MAX;
		frag_trace_close(plain);
	}
	if (good)
		change(fd, chosen, count, sizes_only, events);
	close(fd);
	return 0;
}
