/* release.h - the release of PyTorch, and the settings, that a trace was recorded under. */
#pragma once

#include "fragsim/engine.h"

#define FRAG_SETTINGS_MAX 4096

struct frag_release {
	uint32_t minor;         /* 2.minor: the rules to simulate; 0: unknown */
	uint32_t least, most;   /* the releases that the file allows, where minor is not 0 */
	bool older;             /* it was an older one than all that there are rules of */
	bool newer;             /* it may be a newer one: the file has such a version, or names that no known release writes */
	char why[160];
};

#define FRAG_RELEASE_ROOM 32

/* "2.0 or older"; "2.8"; "2.9 to 2.14" or "2.13 or newer" where the file allows several releases; "" where it is unknown. */
const char *frag_release_text(const struct frag_release *release, char buf[FRAG_RELEASE_ROOM]);

/*
 * Finds the release: the file names it; else the names of its settings allow a range, which the
 * order of equal blocks in its log can narrow. minor is the newest of the range. -FRAG_ENOMEM
 */
int frag_find_release(struct frag_release *out, const struct frag_trace *trace,
		      struct frag_error *err);

/* The same by the file alone, without its log. */
void frag_allowed_releases(struct frag_release *out, const struct frag_trace *trace);

/*
 * pytorch as of 2.minor, 0: the newest, under the settings of the recording, which are stored in
 * text, "" for none.
 */
int frag_choose_release(struct frag_choice *choice, const struct frag_trace *trace, uint32_t minor,
			char text[FRAG_SETTINGS_MAX], const struct frag_log *log,
			struct frag_error *err);

/*
 * Gives the head of a trace that is written a `meta`, unless it has one: the recorder, the settings
 * that PyTorch's allocator had, and with `end` the failed request that the recording ended with,
 * where it did. Of several, the first one's recorder, and the settings where all have the same.
 * *mark: its text, the caller's to free; NULL where one of them is no recording under PyTorch.
 * -FRAG_ENOMEM
 */
int frag_mark_head(struct frag_trace_info *head, char **mark,
		   const struct frag_trace *const *traces, uint32_t count, bool end,
		   const struct frag_log *log, struct frag_error *err);
