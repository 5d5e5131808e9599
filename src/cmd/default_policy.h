/* default_policy.h - the policy that a trace is simulated under where none was given. */
#ifndef CMD_DEFAULT_POLICY_H
#define CMD_DEFAULT_POLICY_H

#include "cmd/run_options.h"
#include "policy/configure_events.h"

#define FRAG_SETTINGS_MAX 4096

struct frag_release;

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

/*
 * The settings that a trace was recorded under, given to a choice of pytorch: a snapshot's
 * string, or, after a note, its separate values if the string cannot be parsed; or the settings
 * of the header. Stores the settings in text, "" for none.
 */
int frag_recorded_settings(struct frag_choice *choice, const struct frag_trace *trace,
			   char text[FRAG_SETTINGS_MAX], const struct frag_log *log,
			   struct frag_error *err);

/* Settings are spelt out as keys, so that the policy's text says all of it. -FRAG_EUSAGE */
int frag_choice_expand_settings(struct frag_choice *choice, struct frag_error *err);

/*
 * Gives the choices that come from --alloc-conf alone, and those of a grid, the rules of the
 * release that recorded the trace, where it is known. A choice of a grid that the release refuses
 * keeps the newest rules. *release: minor 0 where it is unknown or nothing follows it.
 * -FRAG_EUSAGE: the release refuses --alloc-conf.
 */
int frag_follow_release(struct frag_choice *choices, const struct frag_run_options *run,
			const struct frag_trace *trace, struct frag_release *release,
			struct frag_error *err);

/* pytorch with the recorded settings, if the trace has them, and with `more` (may be NULL). */
int frag_choose_pytorch(struct frag_choice *choice, const struct frag_trace *trace,
			const char *more, const struct frag_log *log, struct frag_error *err);

/* pytorch, as it was recorded, for what PyTorch recorded; bestfit for every other trace. */
int frag_choose_policy(struct frag_choice *choice, const struct frag_trace *trace,
		       const struct frag_log *log, struct frag_error *err);

#endif
