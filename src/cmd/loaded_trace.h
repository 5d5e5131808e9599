/* loaded_trace.h - a trace in memory, with the policies and devices that simulate it. */
#ifndef CMD_LOADED_TRACE_H
#define CMD_LOADED_TRACE_H

#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "policy/configure_events.h"

#define FRAG_SETTINGS_MAX 4096

struct frag_release {
	uint32_t minor;         /* 2.minor: the rules to simulate; 0: unknown */
	uint32_t least, most;   /* the releases that the file allows, where minor is not 0 */
	char why[160];
};

#define FRAG_RELEASE_ROOM 32

/* "2.8"; "2.9 to 2.14" where the file allows several releases; "" where it is unknown. */
const char *frag_release_text(const struct frag_release *release, char buf[FRAG_RELEASE_ROOM]);

/*
 * Finds the release: the file names it; else the names of its settings allow a range, which the
 * order of equal blocks in its log can narrow. minor is the newest of the range. -FRAG_ENOMEM
 */
int frag_find_release(struct frag_release *out, const struct frag_trace *trace,
		      struct frag_error *err);

/* pytorch as of 2.minor; 0: the newest. */
int frag_choose_version(struct frag_choice *choice, uint32_t minor, struct frag_error *err);

/* The same under the settings of the recording. */
int frag_choose_release(struct frag_choice *choice, const struct frag_trace *trace, uint32_t minor,
			char text[FRAG_SETTINGS_MAX], const struct frag_log *log,
			struct frag_error *err);

/* Settings are spelt out as keys, so that the policy's text says all of it. -FRAG_EUSAGE */
int frag_choice_expand_settings(struct frag_choice *choice, struct frag_error *err);

/* pytorch with the recorded settings, if the trace has them, and with `more` (may be NULL). */
int frag_choose_pytorch(struct frag_choice *choice, const struct frag_trace *trace,
			const char *more, const struct frag_log *log, struct frag_error *err);

struct frag_loaded_trace {
	struct frag_trace *trace;
	struct frag_configured configured;
	struct frag_tape *tape;
	struct frag_devices devices;    /* as in the options; capacities on request */
	struct frag_choice *choices;    /* those of the options, or the usual ones of this trace */
	uint32_t choice_count;
	struct frag_release release;    /* that the options' choices follow; minor 0: none */
};

/*
 * Which policies to take where the options have none: up to FRAG_USUAL_MAX are filled in, as
 * this trace has them.
 */
#define FRAG_USUAL_MAX 4
typedef int frag_usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		       const struct frag_trace *trace, const struct frag_log *log,
		       struct frag_error *err);

/*
 * Each is a `usual`: PyTorch's allocator as it was recorded for what PyTorch recorded, bestfit for
 * others; pytorch twice, as it was recorded and with expandable segments; the same and bestfit.
 */
frag_usual frag_usual_policy, frag_usual_settings, frag_usual_three;

/* What to load of a trace, and the state of progress and warnings. */
struct frag_taped_reading {
	struct frag_progress progress;
	const struct frag_log *log;     /* of the warnings; NULL: standard error */
	bool quiet, records, meta, host;
	bool capacity;          /* the devices' capacities count: a note names their source */
	enum frag_stacks stacks;
};
/* As an answer without tags needs it, or a page with them. */
struct frag_taped_reading frag_taped_reading(const struct frag_run_options *o);

/* Fills all except the tape. The trace borrows the reading until it is closed. */
int frag_taped_open(struct frag_loaded_trace *t, const char *path, const struct frag_run_options *o,
		    frag_usual *usual, struct frag_taped_reading *reading, struct frag_error *err);
/* Shows how far it is, and warns; ctx is the reading. */
void frag_taped_show(void *ctx, const struct frag_trace_info *info);
void frag_taped_warn(void *ctx, const char *message);

/* The same with the tape: reads the trace to its end. */
int frag_taped_load(struct frag_loaded_trace *t, const char *path, const struct frag_run_options *o,
		    frag_usual *usual, struct frag_taped_reading *reading, struct frag_error *err);
/*
 * Several, with progress on standard error. A `configure` must be fit for all of the policies.
 * What is there after a failure must be closed too.
 */
int frag_taped_read(struct frag_loaded_trace *traces, const char *const *paths, uint32_t count,
		    const struct frag_run_options *o, frag_usual *usual,
		    struct frag_taped_reading *reading, struct frag_error *err);
void frag_taped_close(struct frag_loaded_trace *traces, uint32_t count); /* zeroed ones are valid */

#endif
