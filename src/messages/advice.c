/* advice.c - the table of advice, and where each row is valid. */
#include "messages/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "messages/speakers.h"

#define V(which) (1U << FRAG_SHORT_##which)
#define FRAGMENTED (V(FRAGMENTATION) | V(TIGHT))
#define FULL (V(CAPACITY) | V(TIGHT))
#define W(which) (UINT64_C(1) << FRAG_WORDING_##which)
#define TORCH (W(CACHED) | W(RESERVED) | W(SENTENCES) | W(SUMMARY) | W(STATS))
#define VLLM (W(VLLM_START) | W(VLLM_CACHE) | W(VLLM_LENGTH) | W(VLLM_TOKENS))
#define XLA (W(BFC) | W(XLA) | W(TENSOR) | W(TF_ASYNC))
#define ON(which) (1U << FRAG_ON_##which)
#define GPUS (ON(CUDA) | ON(HIP) | ON(XPU) | ON(NPU))
#define S(which) (1U << FRAG_SYSTEM_##which)
#define F(which) (1U << FRAG_FRAMEWORK_##which)
#define SERVERS (F(SGLANG) | F(VLLM) | F(TENSORRT_LLM) | F(ONNXRUNTIME) | F(LLAMA))
#define P(which) (1U << FRAG_PHASE_##which)

/* What else must hold. */
enum condition {
	ALWAYS, EXPANDABLE_OFF, EXPANDABLE_ON, SLEEP, UNIFIED, NOT_UNIFIED, KV_BYTES, NO_KV_BYTES, LARGE_XPU,
	GROWTH_OFF, TOKENS_KNOWN,
};

/*
 * Empty sets are all. In texts %m is the module of the accelerator, %v its variable, %p the program
 * that lists its processes.
 */
static const struct row {
	uint32_t verdicts;
	uint64_t wordings;
	const char *text, *set;
	uint32_t on, not_systems, systems, frameworks, not_frameworks, phases;
	enum condition when;
} rows[] = {
	/* no verdict from the values */
	{ V(CONTRADICTION), 0, .text = "an APU's driver reports its carve-out as the total, and not the memory that it"
	  " shares with the system (BIOS setting, ttm.pages_limit)", .on = ON(HIP) },
	{ V(CONTRADICTION), 0, .text = "the Mac has less memory than this needs: a smaller model, or fewer applications",
	  .on = ON(MPS) },
	{ V(CONTRADICTION), 0, .text = "the values are not of one moment, or the driver's are wrong: only a recording"
	  " decides", .on = ON(CUDA) | ON(XPU) | ON(NPU) },

	/* limits */
	{ V(LIMIT), TORCH, .text = "this process limits itself (set_per_process_memory_fraction, perhaps left by an"
	  " earlier test): remove it", .set = "%m.set_per_process_memory_fraction(1.0)", .on = ON(CUDA) | ON(HIP) },
	{ V(LIMIT), TORCH, .text = "this process limits itself: raise its fraction of the device", .on = ON(XPU) | ON(NPU) },
	{ V(LIMIT), W(VLLM_START), .text = "less of the device is free than vLLM may use: lower gpu_memory_utilization" },
	{ V(LIMIT), W(VLLM_START), .text = "device and host share their memory here: page cache and the system count as"
	  " used; sync; echo 3 > /proc/sys/vm/drop_caches (as root) frees the cache", .when = UNIFIED },
	{ V(LIMIT) | V(OUTSIDE), W(VLLM_START), .text = "end other processes of the device: %p", .when = NOT_UNIFIED },
	{ V(LIMIT), W(VLLM_LENGTH) | W(VLLM_TOKENS), .text = "shorter sequences: --max-model-len", .when = TOKENS_KNOWN },
	{ V(LIMIT), W(VLLM_LENGTH) | W(VLLM_CACHE), .text = "raise --kv-cache-memory-bytes, which sets this limit:"
	  " gpu_memory_utilization is ignored where it is set", .when = KV_BYTES },
	{ V(LIMIT), W(VLLM_LENGTH) | W(VLLM_CACHE) | W(VLLM_TOKENS), .text = "raise --gpu-memory-utilization, or fewer"
	  " bytes: --max-model-len, --max-num-seqs, --enforce-eager, quantization, --tensor-parallel-size",
	  .when = NO_KV_BYTES },
	{ V(LIMIT), W(SGLANG), .text = "raise --mem-fraction-static, or need less: quantization, more GPUs (--tp-size)" },
	{ V(LIMIT), W(CUPY), .text = "raise or remove the limit of its pool: CUPY_GPU_MEMORY_LIMIT, or set_limit() of"
	  " cupy.get_default_memory_pool(); or free_all_blocks() of it, where what is cached is not used" },
	{ V(LIMIT), W(MLX), .text = "split the array: Metal limits a single buffer" },

	/* the device refused more than was free */
	{ V(REFUSED), 0, .text = "Windows: its commit limit (RAM and page file together) refuses, often because RAM is"
	  " full: enlarge the page file, or free RAM", .on = ON(CUDA) | ON(XPU),
	  .not_systems = S(LINUX) | S(WSL) | S(MAC) | S(JETSON) },
	{ V(REFUSED), 0, .text = "the driver limits a single allocation to 4 GiB, or less than the device has: split it,"
	  " or UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1", .on = ON(XPU), .when = LARGE_XPU },
	{ V(REFUSED), 0, .text = "on an APU the system's memory (GTT, carve-out) decides, not the device's value",
	  .on = ON(HIP) },
	{ V(REFUSED), 0, .text = "another process or stream may have released memory since, or the container or MIG"
	  " slice limits it: catch the error and try again; if that succeeds, it is no lack of memory",
	  .on = GPUS },

	/* fragmentation */
	{ FRAGMENTED, TORCH, .text = "sleep mode: its pools do not use that setting of the allocator: call"
	  " %m.empty_cache() before the request", .when = SLEEP },
	{ FRAGMENTED, W(SENTENCES) | W(SUMMARY) | W(STATS), .text = "let segments grow in place; set this before the program"
	  " starts", .set = "%v=expandable_segments:True", .on = ON(CUDA) | ON(HIP),
	  .not_systems = S(WINDOWS) | S(WSL) | S(JETSON), .when = EXPANDABLE_OFF },
	{ FRAGMENTED, TORCH, .text = "expandable_segments is on already: see that it reached this process before its first"
	  " allocation; other streams and private pools keep their own memory, which a snapshot shows",
	  .when = EXPANDABLE_ON },
	{ FRAGMENTED, W(RESERVED), .text = "keep large blocks whole (PyTorch 1.10 to 2.0 have one setting); set this before"
	  " the program starts", .set = "%v=max_split_size_mb:512", .on = ON(CUDA) | ON(HIP) | ON(NPU),
	  .when = EXPANDABLE_OFF },
	{ FRAGMENTED, TORCH, .text = "release the cache right before the large request: %m.empty_cache()", .on = GPUS },
	{ FRAGMENTED, W(SENTENCES), .text = "with PyTorch 2.9 or later: PYTORCH_ALLOC_CONF=expandable_segments:True",
	  .on = ON(XPU), .not_systems = S(WINDOWS) | S(WSL) | S(JETSON), .when = EXPANDABLE_OFF },
	{ FRAGMENTED, W(BFC) | W(TENSOR), .text = "TensorFlow: let the driver place blocks; set this before it starts",
	  .set = "TF_GPU_ALLOCATOR=cuda_malloc_async", .not_frameworks = F(JAX) },
	{ FRAGMENTED | V(CAPACITY), W(BFC) | W(XLA), .text = "JAX: let it have more of the device than the usual three"
	  " quarters: XLA_CLIENT_MEM_FRACTION=.95 (of older releases XLA_PYTHON_CLIENT_MEM_FRACTION)", .on = ON(CUDA) | ON(HIP) | ON(UNKNOWN),
	  .not_frameworks = F(TENSORFLOW) },
	{ FRAGMENTED, W(RMM) | W(RMM_POOL), .text = "give the pool its largest size from the start: segments that were"
	  " reserved separately never merge" },
	{ FRAGMENTED, W(TPU), .text = "the free memory is in pieces: smaller arrays, or delete some before the request" },

	/* too much at once */
	{ V(OVER_DEVICE), 0, .text = "an APU's driver reports its carve-out as the total, and not the memory that it shares"
	  " with the system (BIOS setting, ttm.pages_limit)", .on = ON(HIP), .when = UNIFIED },
	{ V(OVER_DEVICE), 0, .text = "split the operation that failed (attention in pieces, a chunked loss): one request"
	  " exceeds the device, and no setting helps" },
	{ V(CAPACITY), TORCH, .text = "while loading, the weights alone exceed the device: offload"
	  " (enable_model_cpu_offload, device_map=\"auto\") or quantize; the batch changes nothing", .on = GPUS,
	  .not_frameworks = SERVERS, .phases = P(LOAD) },
	{ FULL | V(OUTSIDE), TORCH, .text = "lower --gpu-memory-utilization, so that more is left outside the KV cache;"
	  " or --max-num-seqs, --max-model-len, --enforce-eager (no CUDA graphs)", .on = GPUS, .frameworks = F(VLLM) },
	{ V(CAPACITY) | V(OUTSIDE), VLLM, .text = "shorter sequences (--max-model-len), fewer at once (--max-num-seqs), no CUDA"
	  " graphs (--enforce-eager), quantization, or more GPUs (--tensor-parallel-size)" },
	{ FULL | V(OUTSIDE), TORCH, .text = "lower --mem-fraction-static, --chunked-prefill-size or --max-running-requests",
	  .on = GPUS, .frameworks = F(SGLANG) },
	{ FULL | V(UNKNOWN), W(DRIVER), .text = "lower --mem-fraction-static, so that graphs, NCCL and the driver have memory",
	  .frameworks = F(SGLANG) },
	{ FULL | V(UNKNOWN), W(DRIVER) | W(LEVEL_ZERO) | W(HIP), .text = "lower --gpu-memory-utilization, so that graphs and the"
	  " driver have memory, or take a smaller model", .frameworks = F(VLLM) },
	{ V(UNKNOWN), W(OTHER) | W(DRIVER) | W(HIP), .text = "fewer layers on that GPU (-ngl, num_gpu), a smaller context (-c, num_ctx),"
	  " or smaller batches (-ub)", .frameworks = F(LLAMA) },
	{ V(UNKNOWN), W(DRIVER) | W(HIP), .text = "see what holds the device, this process or others: %p; leave memory outside"
	  " PyTorch's allocator: a smaller batch, or %m.set_per_process_memory_fraction() below 1", .not_systems = S(MAC) | S(JETSON),
	  .on = GPUS, .not_frameworks = SERVERS, .when = NOT_UNIFIED },
	{ V(UNKNOWN), W(DRIVER) | W(HIP), .text = "of a server lower its part of the device (--mem-fraction-static,"
	  " --gpu-memory-utilization)", .on = GPUS, .frameworks = F(UNKNOWN), .phases = P(UNKNOWN) },
	{ V(UNKNOWN), W(OTHER), .text = "less at once: a smaller model, batch or context", .not_frameworks = SERVERS },
	{ V(CAPACITY), W(SGLANG), .text = "quantization, smaller batches (--max-running-requests, --chunked-prefill-size), or more"
	  " GPUs (--tp-size)" },
	{ V(CAPACITY) | V(UNKNOWN), W(LLAMA), .text = "fewer layers on that GPU (-ngl, num_gpu, the split), a smaller context (-c,"
	  " num_ctx), smaller batches (-ub), a quantized KV cache (--cache-type-k q8_0); of Ollama"
	  " OLLAMA_GPU_OVERHEAD keeps memory free" },
	{ V(CAPACITY) | V(UNKNOWN) | V(OVER_DEVICE), W(OLLAMA), .text = "a smaller model, or a smaller context (num_ctx)" },
	{ V(CAPACITY), W(ASYNC), .text = "--novram of ComfyUI moves weights to the host (--lowvram only without dynamic VRAM)", .on = ON(CUDA) },
	{ V(CAPACITY) | V(OUTSIDE), W(MPS), .text = "a smaller model or batch, or close other applications: a Mac shares its memory" },
	{ V(CAPACITY) | V(OUTSIDE), W(MPS), .text = "without its limit PyTorch takes more, at the system's risk",
	  .set = "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0" },
	{ FULL, TORCH, .text = "smaller batch, shorter sequences, activation checkpointing or lower precision", .on = GPUS,
	  .not_frameworks = SERVERS | F(COMFYUI) | F(DIFFUSERS) | F(INVOKEAI) | F(JAX) | F(TENSORFLOW),
	  .phases = P(FORWARD) | P(BACKWARD) | P(OPTIMIZER) | P(UNKNOWN) | P(CAPTURE) },
	{ FULL, TORCH, .text = "a smaller image or model, or offload to the host (--lowvram of ComfyUI, enable_model_cpu_offload of"
	  " diffusers)", .on = GPUS, .frameworks = F(COMFYUI) | F(DIFFUSERS) | F(INVOKEAI), .phases = ~P(LOAD) },
	{ V(CAPACITY), XLA | W(TPU) | W(CUPY) | W(PADDLE) | W(CUDA_JL), .text = "smaller batch, shorter sequences, lower precision,"
	  " or more devices" },
	{ V(CAPACITY), W(RMM) | W(RMM_POOL), .text = "partition the data into smaller pieces, spill to the host, or take a larger"
	  " device" },
	{ V(UNKNOWN), W(TENSORRT), .text = "a smaller max_batch_size, max_num_tokens or max_seq_len, a lower"
	  " free_gpu_memory_fraction of the KV cache, quantization, or more GPUs" },
	{ V(CAPACITY), W(TENSORRT), .text = "the engine fills the device before the KV cache: a smaller max_batch_size or"
	  " max_seq_len when it is built, quantization, or more GPUs" },

	{ V(CAPACITY) | V(UNKNOWN), W(PADDLE), .text = "other processes of the device count as allocated, too: list them, and end"
	  " those that are not required: %p", .not_systems = S(MAC) | S(JETSON), .on = GPUS, .when = NOT_UNIFIED },

	/* memory outside the allocator */
	{ V(OUTSIDE), TORCH | W(ASYNC) | W(TF_POOL) | W(PADDLE) | W(CUPY) | W(RMM) | W(CUDA_JL) | W(LLAMA), .text = "list the other"
	  " processes of the device, and end those that are not required: %p", .not_systems = S(MAC) | S(JETSON),
	  .on = GPUS, .when = NOT_UNIFIED },
	{ V(OUTSIDE), W(TF_POOL), .text = "or let the pool grow as required", .set = "TF_FORCE_GPU_ALLOW_GROWTH=true", .when = GROWTH_OFF },
	{ V(OUTSIDE), W(NCCL), .text = "leave it memory: torch.cuda.empty_cache() before the first collective, or"
	  " torch.cuda.set_per_process_memory_fraction() below 1" },
	{ V(OUTSIDE), W(VMM), .text = "torch.cuda.empty_cache() in the trainer before wake-up or resume, in this order; or lower the"
	  " server's --gpu-memory-utilization (vLLM) or --mem-fraction-static (SGLang)" },

	/* what each program without numbers has as its first step */
	{ V(UNKNOWN), W(COMFYUI), .text = "start with --disable-cuda-malloc for a message with numbers; --novram moves weights to"
	  " the host (--lowvram only without dynamic VRAM)" },
	{ V(UNKNOWN), W(NVML), .text = "Jetson: device and host share their memory, and the system's is full: free -h, tegrastats",
	  .systems = S(JETSON) },
	{ V(UNKNOWN), W(NVML), .text = "see that the device number exists, and that the container has NVML",
	  .not_systems = S(JETSON) },
	{ V(UNKNOWN), W(CUBLAS), .text = "leave it memory: a smaller batch, or torch.cuda.set_per_process_memory_fraction() below 1;"
	  " CUBLAS_WORKSPACE_CONFIG=:4096:8 limits its workspace", .not_frameworks = SERVERS },
	{ V(UNKNOWN), W(CUBLAS), .text = "leave it memory: lower the server's part of the device", .frameworks = SERVERS },
	{ V(UNKNOWN), W(CUDNN), .text = "leave it memory: a smaller batch, or torch.backends.cudnn.benchmark = False" },
	{ V(UNKNOWN), W(ONNX), .text = "other models share the device; the arena doubles its regions unless arena_extend_strategy is"
	  " kSameAsRequested, and gpu_mem_limit bounds it" },
	{ V(NOT_DEVICE_MEMORY), W(SHARED), .text = "smaller blocks (BLOCK sizes), or fewer num_stages, of that kernel" },
	{ V(NOT_DEVICE_MEMORY), W(PINNED), .text = "less pinned memory (pin_memory, offload buffers), or a higher limit (ulimit -l);"
	  " llama.cpp goes on with memory that is not pinned" },
	{ V(NOT_DEVICE_MEMORY), W(CPU), .text = "more RAM or swap, or fewer loader workers and smaller arrays on the host" },
	{ V(NOT_DEVICE_MEMORY), W(KILLED), .text = "fewer loader workers, less pinned memory, or a higher limit of the container" },
	{ V(NOT_DEVICE_MEMORY), W(SHM), .text = "enlarge /dev/shm (docker: --shm-size=8g, or --ipc=host; Kubernetes: an"
	  " emptyDir of medium Memory), or fewer loader workers" },
	{ V(NOT_DEVICE_MEMORY), W(HOST) | W(SIGKILL) | W(OLLAMA), .text = "more RAM or swap, a higher limit of the container or job, or"
	  " less on the host: fewer loader workers, smaller arrays, less offload" },
	{ V(NOT_DEVICE_MEMORY), W(SIGKILL), .text = "see whether it was so: dmesg | grep -i -E 'oom|killed'; of a container"
	  " its state (OOMKilled)" },
	{ V(NOT_DEVICE_MEMORY), W(PAGING), .text = "enlarge the page file, or fewer processes (num_workers=0), as each"
	  " loads its libraries" },
	{ V(LIMIT), W(BUFFER), .text = "split the array or the batch, so that no single buffer is so large" },
	{ V(CAPACITY), W(HBM), .text = "smaller batch, shorter sequences, rematerialization (jax.checkpoint), lower precision, or"
	  " sharding over more chips" },
	{ V(CAPACITY), W(EXLLAMA), .text = "a shorter context (max_seq_len, cache_size), a quantized cache (cache_mode), a smaller"
	  " quantization of the weights, or another gpu_split" },
	{ V(CAPACITY), W(DISPATCH), .text = "a smaller or quantized model, max_memory in from_pretrained, or, for int8,"
	  " llm_int8_enable_fp32_cpu_offload=True" },
	{ V(UNKNOWN), W(WARMUP), .text = "lower --max-num-seqs or --gpu-memory-utilization" },
	{ V(UNKNOWN), W(VLLM_CACHE), .text = "raise --gpu-memory-utilization, or fewer bytes: --max-model-len, --max-num-seqs,"
	  " --enforce-eager, quantization, --tensor-parallel-size", .when = NO_KV_BYTES },
	{ V(UNKNOWN), W(METAL), .text = "a smaller model, context or batch, or close other applications" },
	{ V(UNKNOWN), W(GRAPHICS) | W(DEVICE) | W(NEURON), .text = "less at once on that device: a smaller model, batch or"
	  " context, or fewer layers" },
	{ V(NOT_DEVICE_MEMORY), W(SLOTS), .text = "fewer requests at once, or a higher --max-running-requests or --max-total-tokens" },
	{ V(NOT_DEVICE_MEMORY), W(OVERFLOW), .text = "look for a negative size, or an earlier error of another rank: advice on memory"
	  " does not apply" },
};

static const char *module_of(enum frag_on on)
{
	return on == FRAG_ON_XPU ? "torch.xpu" : on == FRAG_ON_NPU ? "torch.npu" : "torch.cuda";
}

/* The variable of the message itself, or of its accelerator. */
static const char *variable_of(enum frag_on on, const struct frag_message *m)
{
	if (on == FRAG_ON_HIP)
		return m->cuda_variable ? "PYTORCH_CUDA_ALLOC_CONF" : "PYTORCH_HIP_ALLOC_CONF";
	return on == FRAG_ON_NPU ? "PYTORCH_NPU_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
}

static const char *processes_of(enum frag_on on)
{
	return on == FRAG_ON_HIP ? "rocm-smi --showpids" : on == FRAG_ON_XPU ? "xpu-smi ps"
	       : on == FRAG_ON_NPU ? "npu-smi info"
	       : "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv";
}

static void fill(char *to, size_t room, const char *text, enum frag_on on, const struct frag_message *m)
{
	size_t used = 0;

	for (; text && *text && used + 1 < room; text++) {
		const char what = *text == '%' ? *++text : '\0';
		const char *word = what == 'm' ? module_of(on) : what == 'v' ? variable_of(on, m)
				   : what == 'p' ? processes_of(on) : (char[]){ *text, '\0' };
		const int n = snprintf(to + used, room - used, "%s", word);

		used += n > 0 ? (size_t)n : 0;
	}
	to[used < room ? used : room - 1] = '\0';
}

static bool holds(enum condition when, const struct frag_message *m, const struct frag_surroundings *s)
{
	const char *expandable = frag_setting_in(s, "expandable_segments");
	const bool on = m->enabled || (expandable && strcmp(expandable, "True") == 0);
	const bool sleeps = frag_setting_in(s, "enable_sleep_mode") != NULL;
	const bool kv = frag_setting_in(s, "kv_cache_memory_bytes") != NULL;

	switch (when) {
	case ALWAYS:
		return true;
	case EXPANDABLE_OFF:
		return !on && !sleeps;
	case EXPANDABLE_ON:
		return on && !sleeps;
	case SLEEP:
		return sleeps;
	case UNIFIED:
		return s->unified;
	case NOT_UNIFIED:
		return !s->unified;
	case KV_BYTES:
		return kv;
	case NO_KV_BYTES:
		return !kv;
	case LARGE_XPU:
		return m->said[FRAG_SAID_ASKED].bytes > (UINT64_C(4) << 30);
	case GROWTH_OFF:
		return !frag_setting_in(s, "TF_FORCE_GPU_ALLOW_GROWTH");
	case TOKENS_KNOWN:
		return m->said[FRAG_SAID_TOKENS].there;
	}
	return false;
}

static bool is_valid(const struct row *r, const struct frag_message_group *g)
{
	const struct frag_message *m = &g->first;
	const struct frag_surroundings *s = g->around;
	const uint32_t framework = 1U << s->framework, system = 1U << s->system;

	return r->verdicts >> m->shortage & 1
	       && (!r->wordings || r->wordings >> (m->huge ? FRAG_WORDING_OVERFLOW : m->wording) & 1)
	       && (!r->on || r->on >> frag_message_on(m) & 1)
	       && !(r->not_systems & system) && (!r->systems || r->systems & system)
	       && (!r->frameworks || r->frameworks & framework) && !(r->not_frameworks & framework)
	       && (!r->phases || r->phases >> m->phase & 1) && holds(r->when, m, s);
}

/* What a server can be set to, by its own values. */
static void server_set(const struct frag_message *m, struct frag_advice *a)
{
	const uint64_t tokens = m->said[FRAG_SAID_TOKENS].bytes;

	if (m->said[FRAG_SAID_TOKENS].there && !*a->set && strstr(a->text, "--max-model-len"))
		frag_snprintf(a->set, sizeof(a->set), "--max-model-len %" PRIu64, tokens);
	else if (m->wording == FRAG_WORDING_VLLM_START && m->free.bytes > m->free.error
		 && strstr(a->text, "lower gpu_memory_utilization"))
		frag_snprintf(a->set, sizeof(a->set), "--gpu-memory-utilization 0.%02" PRIu64,
			      100 * (m->free.bytes - m->free.error) / (m->total.bytes + m->total.error + 1));
}

bool frag_advice_at(const struct frag_message_group *group, uint32_t i, struct frag_advice *advice)
{
	const enum frag_on on = frag_message_on(&group->first);

	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		if (!is_valid(&rows[k], group) || i--)
			continue;
		fill(advice->text, sizeof(advice->text), rows[k].text, on, &group->first);
		fill(advice->set, sizeof(advice->set), rows[k].set, on, &group->first);
		server_set(&group->first, advice);
		return true;
	}
	return false;
}
