/*
 * one_reader.h - any bytes through one reader, whatever a sniff would say, and
 * what comes out of it through the trace: for fuzzers.
 */
#pragma once

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events/resolve.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what, const struct frag_error *err)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, err ? err->message : "no");
	abort();
}

/* Every stack ends, and its texts are there. */
static void read_stack(const struct frag_symbols *symbols, uint64_t at)
{
	struct frag_frame frame;
	uint64_t before = at;

	while (frag_symbols_frame(symbols, &at, &frame)) {
		must(at < before, "a stack that stands on itself", NULL);
		must(!frame.name.length || frame.name.text[frame.name.length - 1] != '\xff', "a name",
		     NULL);
		before = at;
	}
}

static int read_all(struct frag_reading *r, struct frag_error *err)
{
	const struct frag_trace_options options = { .stacks = FRAG_STACKS_ALL };
	struct frag_trace *trace;
	struct frag_batch batch;
	int rc = frag_trace_from(&trace, r->ops, r->state, r->devices, r->device_count, &options,
				 err);

	if (rc)
		return rc;
	trace->input = r->input;
	do {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; !rc && batch.stacks && i < batch.count; i++)
			read_stack(frag_trace_symbols(trace), batch.stacks[i]);
	} while (!rc && batch.count);
	frag_trace_close(trace);
	return rc;
}

/* Bad input is refused with one line; nothing else may go wrong. */
static int fuzz_reader(const struct frag_reader *reader, const uint8_t *data, size_t size)
{
	const struct frag_log log = { .warn = NULL };
	struct frag_error err = { .code = 0 };
	struct frag_reading r = { .form = reader->name };
	struct frag_input in;
	char path[40];
	int fd = memfd_create("trace", MFD_CLOEXEC), rc;

	must(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "cannot write the input", &err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = frag_input_open(&in, path, &err);
	must(rc == 0, "cannot open the input", &err);
	rc = frag_input_fill(&in, 0, &err);
	if (rc < 0)
		frag_input_close(&in);
	else
		rc = reader->open(&r, &in, &log, &err);
	if (rc == 0)
		rc = read_all(&r, &err);
	must(rc == 0 || rc == -FRAG_ETRACE, "neither good nor bad input", &err);
	must(rc == 0 || (*err.message && !strpbrk(err.message, "\r\n")), "no message", &err);
	close(fd);
	return 0;
}
