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
	/* they have a request at most: speakers.c has their meaning */
	FRAG_WORDING_OVERFLOW,  /* "Tried to allocate more than 1EB memory." */
	FRAG_WORDING_COMFYUI,   /* "torch.OutOfMemoryError: Allocation on device" */
	FRAG_WORDING_NVML,      /* "NVML_SUCCESS == r INTERNAL ASSERT FAILED" */
	FRAG_WORDING_NCCL,      /* "NCCL WARN Failed to CUDA calloc 6291456 bytes" */
	FRAG_WORDING_VMM,       /* "CUDA Error: out of memory at .../cumem_allocator.cpp" */
	FRAG_WORDING_CUBLAS,    /* "CUBLAS_STATUS_ALLOC_FAILED" */
	FRAG_WORDING_CUDNN,     /* "Unable to find a valid cuDNN algorithm to run convolution" */
	FRAG_WORDING_SHARED,    /* "out of resource: shared memory, Required: 163840" */
	FRAG_WORDING_PINNED,    /* "failed to allocate 1900.00 MiB of pinned memory" */
	FRAG_WORDING_CPU,       /* "DefaultCPUAllocator: can't allocate memory" */
	FRAG_WORDING_KILLED,    /* "Out of memory: Killed process" */
	FRAG_WORDING_SLOTS,     /* SGLang: "alloc_token_slots failed" */
	FRAG_WORDING_TF_POOL,   /* "failed to allocate 17.79G (19104890880 bytes) from device" */
	FRAG_WORDING_TPU,       /* "Attempting to allocate 300.11M. ... There are 1.05G free." */
	FRAG_WORDING_MLX,       /* "[metal::malloc] Attempting to allocate 10 bytes" */
	FRAG_WORDING_SHM,       /* "insufficient shared memory (shm)" */
	FRAG_WORDING_HOST,      /* "what(): std::bad_alloc", "Java heap space" */
	FRAG_WORDING_SIGKILL,   /* "Signal 9 (SIGKILL) received by PID 4121" */
	FRAG_WORDING_PAGING,    /* "[WinError 1455] The paging file is too small" */
	FRAG_WORDING_BUFFER,    /* "Invalid buffer size: 19.45 GiB" */
	FRAG_WORDING_HBM,       /* "Used 19.47G of 15.75G hbm. Exceeded hbm capacity by 3.72G." */
	FRAG_WORDING_DISPATCH,  /* "Some modules are dispatched on the CPU or the disk." */
	FRAG_WORDING_WARMUP,    /* "CUDA out of memory occurred when warming up sampler" */
	FRAG_WORDING_EXLLAMA,   /* "Insufficient VRAM in split for model and cache" */
	FRAG_WORDING_METAL,     /* "kIOGPUCommandBufferCallbackErrorOutOfMemory" */
	FRAG_WORDING_GRAPHICS,  /* "ErrorOutOfDeviceMemory", "CL_MEM_OBJECT_ALLOCATION_FAILURE" */
	FRAG_WORDING_DEVICE,    /* "memory isn't enough and alloc failed, ... alloc size: 2048B" */
	FRAG_WORDING_LEVEL_ZERO,        /* "UR_RESULT_ERROR_OUT_OF_RESOURCES" */
	FRAG_WORDING_VLLM_TOKENS,       /* "max seq len (32768) is larger than ... KV cache (13360)" */
	FRAG_WORDING_NEURON,    /* "Failed to allocate ... nrt_tensor_allocate" */
	FRAG_WORDING_HIP,       /* "HIP error: out of memory" */
	FRAG_WORDING_DRIVER,    /* "CUDA error: out of memory" */
	FRAG_WORDING_OTHER,     /* "out of memory" */
	FRAG_WORDINGS
};

/* As JSON has it, ended by NULL. */
extern const char *const frag_wording_names[];

/* A printed value: the true one differs by `error` at most, in either direction. */
struct frag_message_value {
	uint64_t bytes, error;
	bool there;
	bool negative;          /* less than nothing: -bytes */
	bool huge;              /* was printed, and no device has as much: not there */
};

/* The parts of what a program needs, as JSON and people have them. */
#define FRAG_MESSAGE_PARTS(PART)                                                                \
	PART(PARAMETERS, "parameters") PART(ACTIVATIONS, "activations") PART(GRAPHS, "graphs")  \
	PART(KV_CACHE, "kv_cache") PART(TEMPORARIES, "temporaries") PART(CONSTANTS, "constants") \
	PART(OUTPUTS, "outputs") PART(PROGRAM, "program")

enum frag_said {
	FRAG_SAID_ASKED, FRAG_SAID_TOTAL, FRAG_SAID_FREE, FRAG_SAID_ALLOCATED,
	FRAG_SAID_RESERVED, FRAG_SAID_UNALLOCATED, FRAG_SAID_CACHED, FRAG_SAID_OUTSIDE,
	/* for people alone */
	FRAG_SAID_ALLOWED, FRAG_SAID_PROCESS, FRAG_SAID_OTHERS, FRAG_SAID_POOLS,
	FRAG_SAID_USED,         /* of the device, by everyone */
	FRAG_SAID_TOKENS,       /* the longest request that fits; no bytes */
	FRAG_SAID_KV_FREE,      /* left for the KV cache, perhaps less than nothing */
	FRAG_SAID_NONRELEASABLE,
	FRAG_SAID_CONTIGUOUS,   /* the largest contiguous free bytes */
	FRAG_SAID_WANTED,       /* tokens of the longest sequence that is to fit */
#define PART(which, name) FRAG_SAID_##which,
	FRAG_MESSAGE_PARTS(PART)
#undef PART
	FRAG_SAID_ALL
};

#define FRAG_NO_GPU UINT32_MAX
#define FRAG_PROCESSES_MAX 4
#define FRAG_UNREAD_MAX 3
#define FRAG_UNREAD_ROOM 100

/* In the order in which they are tried: the first that holds. */
enum frag_shortage {
	FRAG_SHORT_OVER_DEVICE, FRAG_SHORT_REFUSED, FRAG_SHORT_OUTSIDE, FRAG_SHORT_CAPACITY,
	FRAG_SHORT_TIGHT, FRAG_SHORT_FRAGMENTATION,
	FRAG_SHORT_UNKNOWN,     /* the verdict depends on missing values */
	FRAG_SHORTAGES = FRAG_SHORT_UNKNOWN,
	/* without a search among the values that the rounding allows */
	FRAG_SHORT_CONTRADICTION, FRAG_SHORT_LIMIT, FRAG_SHORT_NOT_DEVICE_MEMORY,
	FRAG_SHORT_VERDICTS
};

/* The word for it: nearly full qualifies fragmentation. */
extern const enum frag_oom_verdict frag_shortage_verdicts[];

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
	uint32_t rank;                  /* that the line names; or FRAG_NO_GPU */
	uint32_t unread;                /* a bit for each value whose words have no number */
	uint8_t unread_count;           /* of the sentences that these words are in, as far as there is space */
	char unread_text[FRAG_UNREAD_MAX][FRAG_UNREAD_ROOM];
	bool huge;                      /* the request is more than any device has: a corrupt size */
	bool enabled;                   /* by its text expandable_segments is enabled */
	bool named;                     /* it names its accelerator */
	bool cuda_variable;             /* it advises PYTORCH_CUDA_ALLOC_CONF */
	uint8_t phase;                  /* enum frag_phase */
	uint8_t process_count;          /* of the processes that it names, as far as there is space */
	struct {
		uint64_t id, bytes;
	} processes[FRAG_PROCESSES_MAX];
	/* set by frag_message_judge() */
	struct frag_message_value total, free, allocated, unallocated, reserved, outside;
	struct frag_message_value need; /* of a budget: what must fit it */
	uint64_t precision;             /* the largest error of a printed value */
	enum frag_shortage shortage;
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

#define FRAG_MISSING_MAX 5

/* The names of the values that a verdict requires, and of those that an unknown one lacks; NULL ends
 * both. */
extern const char *const frag_missing_names[];
void frag_message_missing(const struct frag_message *m, const char *names[FRAG_MISSING_MAX + 1]);

/* The word for its verdict, after frag_message_judge(). */
enum frag_oom_verdict frag_message_verdict(const struct frag_message *m);

/* A point, and ranges, of what decides. Bytes, each below 2^53. */
enum {
	FRAG_AT_ASKED, FRAG_AT_TOTAL, FRAG_AT_FREE, FRAG_AT_ALLOCATED, FRAG_AT_UNALLOCATED,
	FRAG_AT_ALL
};

struct frag_shortage_ranges {
	int64_t low[FRAG_AT_ALL], high[FRAG_AT_ALL];
	int64_t least_reserved, most_reserved;  /* of allocated + unallocated */
	bool segments;                  /* PyTorch's: see frag_segment_of() */
};

/* What the allocator asks the device for: PyTorch for segments, others for the request. */
int64_t frag_segment_of(int64_t asked, bool segments);
enum frag_shortage frag_shortage_of(const int64_t at[FRAG_AT_ALL], bool segments);
/* A bit for each that some point within the ranges has. */
uint32_t frag_shortages_of(const struct frag_shortage_ranges *r);
