/* record_torch.h - fragsim record --torch: the environment in which Python records itself. */
#ifndef CMD_RECORD_TORCH_H
#define CMD_RECORD_TORCH_H

#include <stdint.h>

#include "fragsim/error.h"

struct frag_record_torch {
	const char *output;     /* NULL: trace.pickle */
	uint64_t steps; /* of an optimizer, after which the recording ends; 0: it does not */
	uint64_t max_entries;   /* kept of each device; 0: the recorder's default */
};

/* -FRAG_EUSAGE, -FRAG_EOUTPUT where no file can be made there, -FRAG_ENOMEM */
int frag_record_torch(const struct frag_record_torch *r, struct frag_error *err);

#endif
