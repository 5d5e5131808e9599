/*
 * documents.h - writes and reads fragsim's own files: results, baselines, profiles, runs of a sweep. The
 * man pages of section 5 describe each file.
 */
#pragma once

#include <stdio.h>

#include "base/atomic_file.h"
#include "base/json.h"
#include "compare/runs.h"
#include "device/driver_cost_model.h"
#include "device/gpu.h"
#include "documents/fields.h"
#include "explain/diagnose_run.h"
#include "fragsim/device.h"
#include "fragsim/metrics.h"
#include "fragsim/trace.h"
#include "scope/claim.h"

/*
 * The result object: fragsim-result(5). answers, and the claims about the devices that the program
 * needs: one a run each; NULL: there are none.
 */
int frag_result_write(const struct frag_trace_info *trace, const struct frag_result *const *runs,
		      const struct frag_diagnosis *answers, const struct frag_claim *claims, uint32_t count,
		      struct frag_outfile *out, struct frag_error *err);

/* A RUN of it, without the claim: an object of these fields. */
struct frag_run_view {
	const struct frag_result *run;
	const struct frag_diagnosis *answer;    /* or NULL */
};
extern const struct frag_field frag_run_fields[];

extern const struct frag_document_type frag_result_document, frag_baseline_document;
extern const struct frag_document_type frag_run_line_document, frag_profile_document;

/* What the runs of a replay on that GPU have learned of it: fragsim-profile(5). */
int frag_profile_write(const struct frag_gpu_figures *gpu, const struct frag_result *const *runs,
		       uint32_t count, struct frag_outfile *out, struct frag_error *err);

/* The baseline of what has been simulated now: fragsim-diff(1). -FRAG_ENOMEM */
int frag_baseline_write(const struct frag_run_set *set, FILE *f, struct frag_error *err);

/*
 * A run of a sweep as a line: in the files of its shards, and in the merged one. It is one trace
 * of a baseline, with one run a device. Before the trace are the number of the run and the id of
 * the manifest, behind it is a hash of all that precedes it.
 */
#define FRAG_RUN_LINE_BEGIN "{\"run\": "

struct frag_run_line {
	uint64_t manifest;
	uint64_t check;         /* the hash */
	uint32_t run;
};

/*
 * *text: the line, with its end; owned by the caller. total: of the manifest, UINT64_MAX: the
 * capacity of the trace. -FRAG_ENOMEM
 */
int frag_run_line_write(const struct frag_runs *runs, uint32_t run, uint64_t manifest,
			const char *policy, uint64_t total, char **text, size_t *length,
			struct frag_error *err);

/* False where the line, which is without its end, is damaged. */
bool frag_run_line_parse(struct frag_run_line *line, const char *text, size_t length);

#define FRAG_OOM_MESSAGE_ROOM 512

/*
 * Formats the message of one OOM of the run in buf; returns buf: PyTorch's own sentence, with the
 * name of the policy. now: as version 2.2 and later say it, which is what is in people's logs, and
 * no member of the result; parts without a value are omitted. The run must be simulated in this
 * process: a run that was read from a file lacks the sizes.
 */
const char *frag_oom_message(const struct frag_result *run, const struct frag_oom *oom, bool now,
			     char buf[FRAG_OOM_MESSAGE_ROOM]);

extern const struct frag_document_type frag_trace_document;

/* What a replay has learned of a device, out of a file: see fragsim-profile(5). */
struct frag_profile {
	struct frag_device_figures figures;     /* its name is the caller's to free */
	struct frag_driver_model model;
};

/*
 * "-" is standard input. -FRAG_ETRACE, naming the file and the place or the
 * member; unknown members are ignored.
 */
int frag_profile_read(struct frag_profile *profile, const char *path, struct frag_error *err);

/*
 * Runs out of a file: a result (fragsim-result(5)), or a baseline. "-" is standard input.
 * -FRAG_ETRACE, naming the file and the place or the member, where it is neither; unknown members
 * are ignored.
 */
int frag_read_runs(struct frag_run_set *set, const char *path, struct frag_error *err);

/*
 * Is it such a file? A result and a baseline name their format at the beginning, a run of a sweep
 * its manifest. False where it cannot be read; true of standard input and of a pipe, whose content
 * is known by reading it only.
 */
bool frag_may_have_runs(const char *path);
