/*
 * fuzz_pickle.c - any bytes as a snapshot, through pytorch and bestfit, and verified.
 *
 * What is refused is refused as the file is opened: a snapshot that opens makes no
 * record that is bad. A first byte of 0x80 is a pickle, < a viewer's page, { or [
 * JSON; inputs of the other forms are left to their own fuzzers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verify/verifier.h"
#include "events/recording_info.h"
#include "fragsim/engine.h"

#define EVENTS_MAX 2000
#define DEVICES_MAX 8
#define FORMS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what, const struct frag_error *err)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_pickle: %s: %s\n", what, err->message);
	abort();
}

static struct frag_trace *open_trace(const char *path, unsigned how)
{
	const struct frag_trace_options options = {
		.stacks = (enum frag_stacks)(how % FORMS), .host = how % 2,
	};
	struct frag_error err = { .code = 0 };
	struct frag_trace *trace;
	int rc = frag_trace_open(&trace, path, &options, &err);

	must(rc == 0 || rc == -FRAG_ETRACE, "neither good nor bad input", &err);
	must(rc == 0 || *err.message, "no message", &err);
	return rc ? NULL : trace;
}

/* Every record of it is good, and every metric that a walk over the heap confirms. */
static void run(const char *path, const char *policy, unsigned how)
{
	const struct frag_sim_options options = {
		.on_oom_continue = true, .check = true, .on_oom = &frag_oom_explain,
	};
	struct frag_trace *trace = open_trace(path, how);
	struct frag_error err = { .code = 0 };
	struct frag_choice choice;
	struct frag_sim *sim;
	struct frag_batch batch;
	int rc;

	must(trace && frag_choice_parse(&choice, policy, &err) == 0, policy, &err);
	must(frag_sim_new(&sim, &choice, trace, &options, &err) == 0, policy, &err);
	do {
		must(frag_trace_next(trace, &batch, &err) == 0, "a bad record", &err);
		rc = frag_sim_feed(sim, &batch, &err);
		must(rc == 0, policy, &err);
	} while (batch.count);
	frag_sim_del(sim);
	frag_trace_close(trace);
}

static void verify(const char *path, bool by_age)
{
	struct frag_trace *trace = open_trace(path, 0);
	struct frag_error err = { .code = 0 };
	struct frag_verification verdict;
	struct frag_choice choice;
	int rc;

	must(trace && frag_choice_parse(&choice, "pytorch", &err) == 0, "verify", &err);
	rc = frag_verify(&verdict, trace, &choice, by_age, false, 0, &err);
	must(rc == 0 || rc == -FRAG_ETRACE, "verify", &err);
	frag_trace_close(trace);
}

static void use(const char *path, uint32_t records, uint32_t devices, unsigned how)
{
	if (records > EVENTS_MAX || devices > DEVICES_MAX)
		return;
	run(path, "pytorch", how);
	run(path, "pytorch:expandable_segments=true", how + 1);
	run(path, "bestfit", how + 2);
	verify(path, false);
	verify(path, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("snapshot", MFD_CLOEXEC);
	struct frag_error err = { .message = "" };
	const struct frag_snapshot *s;
	struct frag_trace *trace;
	uint32_t records = 0, devices = 0;
	char path[40];

	must(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "cannot write the input", &err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	trace = open_trace(path, 1);    /* with the host's memory, which the others may leave out */
	s = trace ? frag_trace_snapshot(trace) : NULL;
	if (s) {
		records = s->plan_count;
		devices = s->device_count;
	}
	if (trace)
		frag_trace_close(trace);
	if (devices)
		use(path, records, devices, (unsigned)size);
	close(fd);
	return 0;
}
