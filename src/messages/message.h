/*
 * message.h - an out-of-memory message: its values, and the verdict derived from them.
 *
 * Pure functions of the values. finder.h finds messages among other text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/oom_verdict.h"
#include "fragsim/device.h"

/* Which program speaks, named by the first version of PyTorch that said it so. */
enum frag_wording {
	FRAG_WORDING_CACHED,	/* "...; 4.68 MiB cached)" */
	FRAG_WORDING_RESERVED,	/* "...; 3.46 GiB reserved in total by PyTorch)" */
	FRAG_WORDING_SENTENCES, /* "GPU 0 has a total capacity of ..." */
	FRAG_WORDING_ASYNC,	/* "Allocation on device 0 would exceed allowed memory." */
	FRAG_WORDING_MPS,	/* "MPS backend out of memory (MPS allocated: ..." */
	FRAG_WORDING_BFC, /* "Allocator (GPU_0_bfc) ran out of memory trying to allocate ..." */
	FRAG_WORDING_XLA, /* "Out of memory while trying to allocate 17179869184 bytes." */
	FRAG_WORDING_RMM, /* "CUDA error (failed to allocate 576000000 bytes) at: ..." */
	FRAG_WORDING_RMM_POOL, /* "Maximum pool size exceeded (failed to allocate 10 GiB): ..." */
	FRAG_WORDING_CUPY,     /* "Out of memory allocating 1,024 bytes (allocated so far: ..." */
	/* read by the rows of forms.c */
	FRAG_WORDING_VLLM_START,	/* "Free memory on device (0.49/79.32 GiB) on startup is less..." */
	FRAG_WORDING_VLLM_CACHE,	/* "No available memory for the cache blocks." */
	FRAG_WORDING_VLLM_LENGTH,	/* "To serve at least one request with the model's max seq len" */
	FRAG_WORDING_SGLANG,	/* "Not enough memory. Please try to increase --mem-fraction-static." */
	FRAG_WORDING_LLAMA,     /* "allocating 144.00 MiB on device 4: cudaMalloc failed: ..." */
	FRAG_WORDING_OLLAMA,    /* "model requires more system memory (5.3 GiB) than ..." */
	FRAG_WORDING_ONNX,      /* "Failed to allocate memory for requested buffer of size 2048" */
	FRAG_WORDING_PADDLE,    /* "Cannot allocate 98.000244MB memory on GPU 0, ..." */
	FRAG_WORDING_TENSOR,    /* "OOM when allocating tensor with shape[100,4096] and type ..." */
	FRAG_WORDING_TF_ASYNC,  /* "cuMemAllocAsync failed to allocate 46137344 bytes" */
	FRAG_WORDING_CUDA_JL,   /* "Out of GPU memory trying to allocate 3.000 GiB" */
	FRAG_WORDING_TENSORRT,  /* "Requested amount of GPU memory (... bytes) could not be ..." */
	FRAG_WORDING_SUMMARY,   /* torch.cuda.memory_summary() */
	FRAG_WORDING_STATS,     /* torch.cuda.memory_stats() */
	FRAG_WORDINGS
};

/* As JSON has it; and for people, whose message it is. */
struct frag_wording_name {
	const char *name, *text;
};
extern const struct frag_wording_name frag_wordings[];

/* A printed value: the true one differs by `error` at most, in either direction. */
struct frag_message_value {
	uint64_t bytes, error;
	bool there;
	bool negative;          /* less than nothing: -bytes */
};

enum frag_said {
	FRAG_SAID_ASKED, FRAG_SAID_TOTAL, FRAG_SAID_FREE, FRAG_SAID_ALLOCATED,
	FRAG_SAID_RESERVED, FRAG_SAID_UNALLOCATED, FRAG_SAID_CACHED, FRAG_SAID_OUTSIDE,
	/* for people alone */
	FRAG_SAID_ALLOWED, FRAG_SAID_PROCESS, FRAG_SAID_OTHERS, FRAG_SAID_POOLS,
	FRAG_SAID_USED,         /* of the device, by everyone */
	FRAG_SAID_TOKENS,       /* the longest request that fits; no bytes */
	FRAG_SAID_KV_FREE,      /* left for the KV cache, perhaps less than nothing */
	FRAG_SAID_NONRELEASABLE,
	/* the parts of what a program needs: FRAG_MESSAGE_PARTS of them */
	FRAG_SAID_PARAMETERS, FRAG_SAID_ACTIVATIONS, FRAG_SAID_GRAPHS, FRAG_SAID_KV_CACHE,
	FRAG_SAID_TEMPORARIES, FRAG_SAID_CONSTANTS, FRAG_SAID_OUTPUTS, FRAG_SAID_PROGRAM,
	FRAG_SAID_ALL
};

#define FRAG_MESSAGE_PARTS (FRAG_SAID_ALL - FRAG_SAID_PARAMETERS)

/* As JSON and people have it: "parameters", "kv_cache"; part: below FRAG_MESSAGE_PARTS. */
const char *frag_part_name(int part);

#define FRAG_NO_GPU UINT32_MAX

/* In the order in which they are tried: the first that holds. */
enum frag_oom_verdict {
	FRAG_SHORT_OVER_DEVICE, FRAG_SHORT_REFUSED, FRAG_SHORT_OUTSIDE, FRAG_SHORT_CAPACITY,
	FRAG_SHORT_TIGHT, FRAG_SHORT_FRAGMENTATION,
	FRAG_SHORT_UNKNOWN,     /* the verdict depends on missing values */
	FRAG_SHORTAGES = FRAG_SHORT_UNKNOWN
};

/* The word for it: a refused request is transient, and nearly full qualifies fragmentation. */
extern const enum frag_oom_cause frag_shortage_causes[];

/* Free chunks that a dump lists. */
struct frag_free_chunks {
	uint64_t count, bytes, largest;
};

struct frag_message {
	enum frag_wording wording;
	uint64_t line;                  /* of the text, from 1 on */
	uint32_t gpu;                   /* or FRAG_NO_GPU */
	enum frag_accelerator accelerator;      /* of a message of PyTorch */
	struct frag_message_value said[FRAG_SAID_ALL];
	struct frag_free_chunks chunks;
	const char *pool;               /* RMM's memory resource, static; NULL: none is named */
	/* set by frag_message_judge() */
	struct frag_message_value total, free, allocated, unallocated, reserved, outside;
	struct frag_message_value need; /* of a budget: what must fit it */
	uint64_t precision;             /* the largest error of a printed value */
	enum frag_oom_verdict verdict;
	uint32_t possible;              /* a bit for each that the errors allow, the verdict too */
	bool over_limit;                /* of the program's own, as far as the digits go */
};

/* Notes one value of a message; of two of a kind the first counts. */
void frag_message_note(struct frag_message *m, enum frag_said which,
		       struct frag_message_value size);

/* Sets the derived values, and the verdict; without a request it is that of a budget, or unknown. */
void frag_message_judge(struct frag_message *m);

/*
 * Does a server divide a part of the device among what the message names? Then it has failed for
 * that limit, which the message states, or for the device.
 */
static inline bool frag_message_is_budget(const struct frag_message *m)
{
	return m->wording == FRAG_WORDING_VLLM_CACHE || m->wording == FRAG_WORDING_VLLM_LENGTH
	       || m->wording == FRAG_WORDING_SGLANG;
}

/* The word for one of its possible verdicts. */
enum frag_oom_cause frag_message_cause_of(const struct frag_message *m,
					  enum frag_oom_verdict verdict);

#define FRAG_MISSING_MAX 5

/* The names of the values that an unknown verdict lacks, ended by NULL. */
void frag_message_missing(const struct frag_message *m, const char *names[FRAG_MISSING_MAX + 1]);

/* The word for its verdict, after frag_message_judge(). */
enum frag_oom_cause frag_message_cause(const struct frag_message *m);

/* A point, and ranges, of what decides. Bytes, each below 2^53. */
enum {
	FRAG_AT_ASKED, FRAG_AT_TOTAL, FRAG_AT_FREE, FRAG_AT_ALLOCATED, FRAG_AT_UNALLOCATED,
	FRAG_AT_ALL
};

struct frag_shortage_ranges {
	int64_t low[FRAG_AT_ALL], high[FRAG_AT_ALL];
	int64_t least_reserved, most_reserved;  /* of allocated + unallocated */
};

enum frag_oom_verdict frag_shortage_of(const int64_t at[FRAG_AT_ALL]);
/* A bit for each that some point within the ranges has. */
uint32_t frag_shortages_of(const struct frag_shortage_ranges *r);
