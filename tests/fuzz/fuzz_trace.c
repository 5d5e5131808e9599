/*
 * fuzz_trace.c - any bytes as a trace, and what it holds through every policy.
 *
 * The first byte says how, the rest is the trace, as a file has it:
 *
 *   1    --lenient
 *   2    --on-oom continue
 *   4    a device of 5 MiB, whatever the trace says
 *   8    odd keys for the policies
 *   96   how long the pieces are, where the trace comes in pieces
 *
 * so '0' is a plain run and '?' has the first four. The trace is read twice: from a
 * file, under --check and with every output, and in pieces from a socket, where
 * reading twice is impossible; both have to say the same. A policy that the
 * heap refuses, and metrics that a walk over the heap does not confirm, abort.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fragsim/engine.h"
#include "documents/documents.h"
#include "answers/report.h"
#include "answers/row_writer.h"

enum { LENIENT = 1, CONTINUE = 2, SMALL = 4, ODD_KEYS = 8 };

#define POLICIES 14
#define DEVICES_MAX 4           /* a trace of more is only read */
#define EVENTS_MAX 4000
#define PIECES_MAX 100          /* what a socket holds without a reader */
#define STREAM_MAX ((size_t)60000)
#define SMALL_DEVICE (UINT64_C(5) << 20)

static const char *const plain[POLICIES] = {
	"bestfit", "bfc", "buddy", "compact", "cupy", "direct", "firstfit", "nextfit", "plan",
	"pytorch", "rmm", "sizeclass", "tlsf", "worstfit",
};
static const char *const odd[POLICIES] = {
	"bestfit:align=1,segment=1,min_split=3",
	"bfc:memory_limit=3MiB,garbage_collection=true,fragmentation_fraction=0.01",
	"buddy:min=1,segment=4096,pool=64KiB",
	"compact:over=bestfit,segment=100000", "cupy:limit=100000", "direct",
	"firstfit:pool=1MiB,min_split=4096", "nextfit:align=4096,segment=100000", "plan:file=",
	"pytorch:expandable_segments=true,roundup_power2_divisions=4",
	"rmm:initial=4KiB,maximum=1MiB",
	"sizeclass:quantum=1,steps=1,max_small=100,slab=257,segment=3",
	"tlsf:sl_log2=1,segment=3,pool=1000",
	"worstfit:release=false,segment=1KiB,pool=3",
};

/* One simulation and all who watch it. */
struct watched {
	struct frag_sim *sim;
	struct frag_rows csv, ndjson, places;
	struct frag_chart charts[DEVICES_MAX];
};

/* How a reading ended. */
struct outcome {
	int rc;
	struct frag_trace_info info;
	struct frag_error err;
};

static int bytes_fd = -1;       /* a nameless file that holds the trace */
static FILE *nowhere;
static struct frag_outfile sink;

static void must(bool good, const char *what, const struct frag_error *err)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_trace: %s: %s\n", what, err && err->code ? err->message : "");
	abort();
}

static void set_up(void)
{
	struct frag_error err = { .code = 0 };

	if (nowhere)
		return;
	nowhere = fopen("/dev/null", "w");
	bytes_fd = memfd_create("trace", MFD_CLOEXEC);
	must(nowhere && bytes_fd >= 0, "cannot begin", NULL);
	must(frag_outfile_open(&sink, "/dev/null", &err) == 0, "/dev/null", &err);
}

static void swallow(void *ctx, const char *message)
{
	(void)ctx;
	fputs(message, nowhere);
}

static void observe(struct watched *w, int (*step)(void *, const struct frag_step *,
						   struct frag_error *), void *ctx)
{
	const struct frag_observer observer = { .step = step, .ctx = ctx };

	must(frag_sim_observe(w->sim, &observer) == 0, "too many observers", NULL);
}

static void begin(struct watched *w, const char *policy, unsigned how,
		  const struct frag_trace *trace)
{
	const struct frag_trace_info *info = frag_trace_info(trace);
	struct frag_sim_options options = {
		.on_oom_continue = how & CONTINUE, .check = true, .on_oom = &frag_oom_explain,
	};
	struct frag_error err = { .code = 0 };
	struct frag_devices devices;
	struct frag_columns all;
	struct frag_choice choice;
	bool many = info->device_count > 1;

	memset(w, 0, sizeof(*w));
	must(frag_devices_copy(&devices, info->devices, info->device_count, &err) == 0, policy,
	     &err);
	if (how & SMALL)
		frag_devices_override(&devices, SMALL_DEVICE, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	options.devices = devices.figures;
	must(frag_choice_parse(&choice, policy, &err) == 0, policy, &err);
	must(frag_sim_new(&w->sim, &choice, trace, &options, &err) == 0, policy, &err);
	frag_devices_fini(&devices);
	must(frag_columns_parse(&all, "all", &err) == 0, policy, &err);
	must(frag_rows_init(&w->csv, &sink, FRAG_ROWS_CSV, &all, policy, many, false)
	     && frag_rows_init(&w->ndjson, &sink, FRAG_ROWS_NDJSON, &all, policy, many, false)
	     && frag_rows_init(&w->places, &sink, FRAG_ROWS_NDJSON, NULL, policy, many, false),
	     policy, NULL);
	w->places.follows = true;
	observe(w, frag_rows_observe, &w->csv);
	observe(w, frag_rows_observe, &w->ndjson);
	observe(w, frag_rows_observe, &w->places);
	observe(w, frag_chart_observe, w->charts);
}

static void end(struct watched *w)
{
	frag_rows_fini(&w->csv);
	frag_rows_fini(&w->ndjson);
	frag_rows_fini(&w->places);
	frag_sim_del(w->sim);
}

static void report(struct watched *all, const struct frag_trace *trace)
{
	struct frag_report_run runs[POLICIES * DEVICES_MAX];
	const struct frag_result *kept[POLICIES * DEVICES_MAX];
	struct frag_report r = {
		.trace = frag_trace_info(trace), .runs = runs, .to = { .f = nowhere },
	};
	struct frag_error err = { .code = 0 };

	for (uint32_t i = 0; i < POLICIES; i++) {
		uint32_t devices;
		const struct frag_result *results = frag_sim_results(all[i].sim, false, &devices);

		for (uint32_t d = 0; d < devices; d++)
			runs[r.run_count++] = (struct frag_report_run){
				.result = &results[d], .chart = &all[i].charts[d],
			};
	}
	frag_report_text(&r);
	for (uint32_t i = 0; i < r.run_count; i++)
		kept[i] = runs[i].result;
	must(frag_result_write(r.trace, kept, NULL, NULL, r.run_count, &sink, &err) == 0, "result", &err);
}

/* Reads to the end, the error or the limit, under all policies. */
static int simulate(struct frag_trace *trace, unsigned how, struct frag_error *err)
{
	static struct watched all[POLICIES];
	struct frag_error own = { .code = 0 };
	struct frag_batch batch;
	int rc;

	for (uint32_t i = 0; i < POLICIES; i++)
		begin(&all[i], (how & ODD_KEYS ? odd : plain)[i], how, trace);
	do {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; i < POLICIES && !rc; i++)
			must(frag_sim_feed(all[i].sim, &batch, &own) == 0, plain[i], &own);
	} while (!rc && batch.count && frag_trace_info(trace)->events < EVENTS_MAX);
	report(all, trace);
	for (uint32_t i = 0; i < POLICIES; i++)
		end(&all[i]);
	return rc;
}

static int read_on(struct frag_trace *trace, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do
		rc = frag_trace_next(trace, &batch, err);
	while (!rc && batch.count);
	return rc;
}

/* One reading of `path`, which may be "-". */
static struct outcome outcome_of(const char *path, unsigned how, bool with_policies)
{
	const struct frag_trace_options options = {
		.lenient = how & LENIENT, .log = { .warn = swallow },
	};
	struct outcome o = { .err = { .code = 0 } };
	struct frag_trace *trace;

	o.rc = frag_trace_open(&trace, path, &options, &o.err);
	if (o.rc)
		return o;
	if (with_policies && frag_trace_info(trace)->device_count <= DEVICES_MAX)
		o.rc = simulate(trace, how, &o.err);
	o.rc = o.rc ? o.rc : read_on(trace, &o.err);
	o.info = *frag_trace_info(trace);
	frag_trace_close(trace);
	return o;
}

static void must_be_reported(const struct outcome *o)
{
	must(o->rc == 0 || o->rc == -FRAG_ETRACE, "neither good nor bad input", &o->err);
	must(o->rc == 0 || (o->err.code == o->rc && *o->err.message
			    && !strpbrk(o->err.message, "\r\n\t\033")), "no message", &o->err);
}

static struct outcome of_file(const uint8_t *data, size_t size, unsigned how)
{
	char path[40];

	must(ftruncate(bytes_fd, 0) == 0 && pwrite(bytes_fd, data, size, 0) == (ssize_t)size,
	     "cannot write the trace", NULL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", bytes_fd);
	return outcome_of(path, how, true);
}

/* In pieces: each read of a packet socket gives one of them. */
static struct outcome of_stream(const uint8_t *data, size_t size, unsigned how)
{
	static const size_t lengths[] = { STREAM_MAX, 1, 5, 37 };
	size_t piece = lengths[how >> 5 & 3];
	struct outcome o;
	int ends[2];

	if (piece < size / PIECES_MAX + 1)
		piece = size / PIECES_MAX + 1;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socket", NULL);
	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		must(send(ends[1], data + at, n, MSG_DONTWAIT) == (ssize_t)n, "send", NULL);
	}
	close(ends[1]);
	must(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO, "dup2", NULL);
	close(ends[0]);
	o = outcome_of("-", how, false);
	close(STDIN_FILENO);
	return o;
}

/*
 * A stream may refuse what stands behind the events, and does not know the
 * devices that stand there; else it says what a file says. libzstd looks less
 * closely at a frame that comes in pieces than at one that it has whole.
 */
static void must_agree(const struct outcome *file, const struct outcome *stream)
{
	if (stream->rc && (strstr(stream->err.message, "read twice")
			   || strstr(stream->err.message, " does not exist: the trace has 1 ")))
		return;
	if (file->rc && strstr(file->err.message, "damaged zstd"))
		return;
	must(file->rc == stream->rc, "a file and a stream differ",
	     file->rc ? &file->err : &stream->err);
	if (file->rc)
		return;
	must(file->info.content == stream->info.content
	     && file->info.events == stream->info.events
	     && file->info.allocs == stream->info.allocs
	     && file->info.frees == stream->info.frees
	     && file->info.skipped == stream->info.skipped
	     && file->info.device_count == stream->info.device_count,
	     "a file and a stream differ in what they count", NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned how = size ? data[0] : 0;
	struct outcome file, stream;

	set_up();
	data += size != 0;
	size -= size != 0;
	file = of_file(data, size, how);
	must_be_reported(&file);
	if (size > STREAM_MAX)
		return 0;
	stream = of_stream(data, size, how);
	must_be_reported(&stream);
	must_agree(&file, &stream);
	return 0;
}
