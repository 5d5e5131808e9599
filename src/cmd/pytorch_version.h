/* pytorch_version.h - the release of PyTorch that a snapshot was recorded with. */
#ifndef CMD_PYTORCH_VERSION_H
#define CMD_PYTORCH_VERSION_H

#include "cmd/default_policy.h"
#include "verify/verifier.h"

struct frag_release {
	uint32_t minor;         /* 2.minor; 0: nobody knows */
	char why[160];
};

/*
 * What the file says of itself; else what the names of its settings tell; and where these leave
 * open which of two equal blocks comes first, what its log shows. The newest of those that are
 * left. -FRAG_ENOMEM
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
