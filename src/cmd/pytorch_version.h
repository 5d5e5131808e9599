/* pytorch_version.h - the release of PyTorch that a snapshot was recorded with. */
#ifndef CMD_PYTORCH_VERSION_H
#define CMD_PYTORCH_VERSION_H

#include "cmd/default_policy.h"

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

#endif
