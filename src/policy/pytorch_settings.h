/*
 * pytorch_settings.h - the settings of PyTorch's allocator: as keys of the
 * policy, and as the string that PYTORCH_CUDA_ALLOC_CONF holds.
 */
#ifndef POLICY_PYTORCH_SETTINGS_H
#define POLICY_PYTORCH_SETTINGS_H

#include "fragsim/policy.h"

#define MIB (UINT64_C(1) << 20)

/* Places in the array of parameters. */
enum {
	EXPANDABLE_SEGMENTS,
	RESERVE,                /* a double's bits: 0 none, to 2^20 a fraction, else bytes */
	GC_THRESHOLD,           /* a double's bits; 0: off */
	LARGE_SEGMENT_MB,
	MAX_NON_SPLIT_MB,
	MAX_SPLIT_MB,           /* 0: no limit */
	FRACTION,               /* a double's bits */
	ROUNDUP,                /* 16 times 4 bits: log2 of the divisions, the lowest first */
	THROW,
};

extern const struct frag_param_spec frag_pytorch_params[];

double frag_pytorch_real(uint64_t bits);

/* Do the values go together, as PyTorch checks them? -FRAG_EUSAGE */
int frag_pytorch_check(const uint64_t *param, struct frag_error *err);

/*
 * A settings string, KEY:VALUE,KEY:VALUE. Some keys that it does not name fall
 * back to their defaults, as in PyTorch: those of splitting, rounding and garbage
 * collection. -FRAG_EUSAGE, and then nothing has changed.
 */
int frag_pytorch_settings(uint64_t *param, const char *text, size_t length,
			  struct frag_error *err);

/* A request's size in whole units of 512 bytes, or as ROUNDUP says. */
uint64_t frag_pytorch_round(uint64_t bytes, uint64_t roundup);

#endif
