/* speakers.c - which program each wording is of, and what it means where no value decides. */
#include "messages/speakers.h"

#include <stddef.h>

#define UNKNOWN .decided = true, .shortage = FRAG_SHORT_UNKNOWN
#define HOST .on = FRAG_ON_CPU, .decided = true, .shortage = FRAG_SHORT_NOT_DEVICE_MEMORY
#define OUTSIDE .decided = true, .shortage = FRAG_SHORT_OUTSIDE

const struct frag_speaker frag_speakers[] = {
	[FRAG_WORDING_CACHED] = { "pytorch", .text = "PyTorch 0.4 to 1.3" },
	[FRAG_WORDING_RESERVED] = { "pytorch", .text = "PyTorch 1.4 to 2.0" },
	[FRAG_WORDING_SENTENCES] = { "pytorch", .text = "PyTorch 2.1 and later" },
	[FRAG_WORDING_ASYNC] = { "cudaMallocAsync", .text = "PyTorch with backend:cudaMallocAsync" },
	[FRAG_WORDING_MPS] = { "pytorch", .text = "PyTorch on MPS", FRAG_ON_MPS },
	[FRAG_WORDING_BFC] = { "tensorflow", .text = "TensorFlow's or JAX's BFC allocator",
			       FRAG_ON_UNKNOWN },
	[FRAG_WORDING_XLA] = { "jax", .text = "JAX or XLA", FRAG_ON_UNKNOWN },
	[FRAG_WORDING_RMM] = { "rmm", .text = "RMM" },
	[FRAG_WORDING_RMM_POOL] = { "rmm", .text = "RMM's pool" },
	[FRAG_WORDING_CUPY] = { "cupy", .text = "CuPy" },
	[FRAG_WORDING_VLLM_START] = { "vllm", .text = "vLLM at its start" },
	[FRAG_WORDING_VLLM_CACHE] = { "vllm", .text = "vLLM's KV cache" },
	[FRAG_WORDING_VLLM_LENGTH] = { "vllm", .text = "vLLM's KV cache" },
	[FRAG_WORDING_VLLM_TOKENS] = { "vllm", .text = "vLLM's KV cache", .decided = true,
				       .shortage = FRAG_SHORT_LIMIT },
	[FRAG_WORDING_SGLANG] = { "sglang", .text = "SGLang" },
	[FRAG_WORDING_LLAMA] = { "llama.cpp", .text = "llama.cpp or Ollama" },
	[FRAG_WORDING_OLLAMA] = { "llama.cpp", .text = "Ollama", HOST, .means =
		"memory of the host, where the layers are that the GPU has not" },
	[FRAG_WORDING_ONNX] = { "onnxruntime", .text = "ONNX Runtime's arena" },
	[FRAG_WORDING_PADDLE] = { "paddle", .text = "Paddle" },
	[FRAG_WORDING_TENSOR] = { "tensorflow", .text = "TensorFlow", FRAG_ON_UNKNOWN },
	[FRAG_WORDING_TF_ASYNC] = { "tensorflow", .text = "TensorFlow with cuda_malloc_async" },
	[FRAG_WORDING_CUDA_JL] = { "julia", .text = "CUDA.jl" },
	[FRAG_WORDING_TENSORRT] = { "tensorrt-llm", .text = "TensorRT or TensorRT-LLM" },
	[FRAG_WORDING_SUMMARY] = { "pytorch", .text = "torch.cuda.memory_summary()" },
	[FRAG_WORDING_STATS] = { "pytorch", .text = "torch.cuda.memory_stats()" },
	[FRAG_WORDING_OVERFLOW] = { "pytorch", .text = "PyTorch", .decided = true,
		.shortage = FRAG_SHORT_NOT_DEVICE_MEMORY, .means =
		"a request of more than 1 EB is a corrupt size, no lack of memory: a negative or"
		" uninitialized number, or the result of an earlier fault" },
	[FRAG_WORDING_COMFYUI] = { "cudaMallocAsync", .text = "PyTorch with cudaMallocAsync, as ComfyUI"
		" starts it", UNKNOWN, .means =
		"cudaMallocAsync refused a request, and the message has no numbers" },
	[FRAG_WORDING_NVML] = { "nvml", .text = "PyTorch's report of an OOM, which failed", UNKNOWN,
		.means = "PyTorch ran out of memory, and its report of that failed: NVML has no answer"
		" here (Jetson, MIG, a container) or the device number is wrong" },
	[FRAG_WORDING_NCCL] = { "nccl", .text = "NCCL", OUTSIDE, .means =
		"NCCL asks the driver itself, outside PyTorch's allocator, and the device was full" },
	[FRAG_WORDING_VMM] = { "vmm", .text = "CUDA's virtual memory calls", OUTSIDE, .means =
		"memory that sleeps could not be mapped again: another process or the cache of the"
		" trainer holds the device" },
	[FRAG_WORDING_CUBLAS] = { "library", .text = "cuBLAS or another library of CUDA", UNKNOWN,
		.means = "the library could not allocate its handle or workspace (of cuBLAS, cuSOLVER,"
		" cuDNN), outside PyTorch's allocator; often the device is full" },
	[FRAG_WORDING_CUDNN] = { "library", .text = "cuDNN", UNKNOWN, .means =
		"cuDNN found no algorithm: often its workspace, outside PyTorch's allocator, does not"
		" fit" },
	[FRAG_WORDING_SHARED] = { "shared-memory", .text = "Triton", .decided = true,
		.shortage = FRAG_SHORT_NOT_DEVICE_MEMORY, .means =
		"shared memory of one thread block, which is on the chip, and no device memory" },
	[FRAG_WORDING_PINNED] = { "host", .text = "a pinned buffer", HOST, .means =
		"pinned memory of the host, not of the GPU" },
	[FRAG_WORDING_CPU] = { "host", .text = "PyTorch's CPU allocator", HOST, .means =
		"memory of the host, not of the GPU" },
	[FRAG_WORDING_KILLED] = { "kernel", .text = "the kernel's OOM killer", HOST, .means =
		"the kernel killed a process because memory of the host or of its cgroup ran out" },
	[FRAG_WORDING_SLOTS] = { "sglang", .text = "SGLang", .decided = true,
		.shortage = FRAG_SHORT_NOT_DEVICE_MEMORY, .means =
		"token slots of the server's own account ran out, no device memory" },
	[FRAG_WORDING_TF_POOL] = { "tensorflow", .text = "TensorFlow's pool", OUTSIDE,
		.means = "TensorFlow asks for its whole pool at once, not for a tensor, and the device"
		" had less: another process holds it" },
	[FRAG_WORDING_TPU] = { "jax", .text = "JAX on a TPU", FRAG_ON_TPU },
	[FRAG_WORDING_MLX] = { "mlx", .text = "MLX", FRAG_ON_MPS, .decided = true,
		.shortage = FRAG_SHORT_LIMIT, .means =
		"one buffer of Metal cannot be so large, whatever is free" },
	[FRAG_WORDING_SHM] = { "host", .text = "shared memory of processes", HOST, .means =
		"shared memory of the host's processes (/dev/shm), not of the GPU" },
	[FRAG_WORDING_HOST] = { "host", .text = "an allocator of the host", HOST, .means =
		"memory of the host, not of the GPU" },
	[FRAG_WORDING_SIGKILL] = { "kernel", .text = "SIGKILL", HOST, .means =
		"SIGKILL ended a process: usually the kernel's or the cluster's OOM killer, because memory of"
		" the host or of its cgroup ran out, not that of the GPU" },
	[FRAG_WORDING_PAGING] = { "host", .text = "Windows", HOST, .means =
		"the commit limit of Windows: RAM and page file together are full; not the GPU" },
	[FRAG_WORDING_BUFFER] = { "driver", .text = "a driver's limit of one buffer", FRAG_ON_UNKNOWN,
		.decided = true, .shortage = FRAG_SHORT_LIMIT, .means =
		"one buffer cannot be so large, whatever is free" },
	[FRAG_WORDING_HBM] = { "jax", .text = "XLA's compiler", FRAG_ON_TPU, .decided = true,
		.shortage = FRAG_SHORT_CAPACITY, .means = "the compiled program needs more HBM than the chip has" },
	[FRAG_WORDING_DISPATCH] = { "other", .text = "Accelerate's device_map", FRAG_ON_UNKNOWN, .decided = true,
		.shortage = FRAG_SHORT_CAPACITY, .means =
		"the weights exceed the memory of the GPU that device_map may use, so that modules were placed on"
		" the host or the disk" },
	[FRAG_WORDING_WARMUP] = { "vllm", .text = "vLLM's warm-up", UNKNOWN, .means =
		"the KV cache leaves too little for the sampler of that many sequences; the message has no sizes" },
	[FRAG_WORDING_EXLLAMA] = { "other", .text = "ExLlama", .decided = true,
		.shortage = FRAG_SHORT_CAPACITY, .means =
		"the weights and the cache exceed what the GPUs have free, less what the split keeps back" },
	[FRAG_WORDING_METAL] = { "driver", .text = "Metal", FRAG_ON_MPS, UNKNOWN, .means =
		"Metal lacks memory for a command buffer: a Mac shares its memory with the system" },
	[FRAG_WORDING_GRAPHICS] = { "driver", .text = "a graphics driver (Vulkan, OpenCL, Direct3D)", FRAG_ON_UNKNOWN,
		UNKNOWN, .means = "the driver could not allocate device memory" },
	[FRAG_WORDING_DEVICE] = { "other", .text = "a device's runtime", FRAG_ON_UNKNOWN, UNKNOWN, .means =
		"the runtime could not allocate device memory" },
	[FRAG_WORDING_LEVEL_ZERO] = { "driver", .text = "Level Zero, the driver of Intel GPUs (XPU)", FRAG_ON_XPU, UNKNOWN, .means =
		"the driver of the XPU lacks resources, often device memory; it prints no numbers" },
	[FRAG_WORDING_NEURON] = { "other", .text = "AWS Neuron", FRAG_ON_NEURON, UNKNOWN, .means =
		"the runtime of Neuron could not allocate device memory" },
	[FRAG_WORDING_HIP] = { "driver", .text = "the HIP runtime", FRAG_ON_HIP, UNKNOWN, .means =
		"a call of the runtime outside PyTorch's allocator failed for lack of memory; it prints no"
		" numbers" },
	[FRAG_WORDING_DRIVER] = { "driver", .text = "the CUDA driver or runtime", UNKNOWN, .means =
		"a call of CUDA outside PyTorch's allocator failed for lack of memory; it prints no numbers" },
	[FRAG_WORDING_OTHER] = { "other", .text = "an unknown program", FRAG_ON_UNKNOWN, UNKNOWN,
		.means = "memory ran out, and the line has no numbers" },
};

/* As JSON has them. */
const char *const frag_wording_names[] = {
	[FRAG_WORDING_CACHED] = "pytorch-cached",
	[FRAG_WORDING_RESERVED] = "pytorch-reserved",
	[FRAG_WORDING_SENTENCES] = "pytorch-sentences",
	[FRAG_WORDING_ASYNC] = "pytorch-async",
	[FRAG_WORDING_MPS] = "pytorch-mps",
	[FRAG_WORDING_BFC] = "bfc",
	[FRAG_WORDING_XLA] = "xla",
	[FRAG_WORDING_RMM] = "rmm",
	[FRAG_WORDING_RMM_POOL] = "rmm-pool",
	[FRAG_WORDING_CUPY] = "cupy",
	[FRAG_WORDING_VLLM_START] = "vllm-start",
	[FRAG_WORDING_VLLM_CACHE] = "vllm-cache",
	[FRAG_WORDING_VLLM_LENGTH] = "vllm-length",
	[FRAG_WORDING_VLLM_TOKENS] = "vllm-tokens",
	[FRAG_WORDING_SGLANG] = "sglang",
	[FRAG_WORDING_LLAMA] = "llama.cpp",
	[FRAG_WORDING_OLLAMA] = "ollama",
	[FRAG_WORDING_ONNX] = "onnxruntime",
	[FRAG_WORDING_PADDLE] = "paddle",
	[FRAG_WORDING_TENSOR] = "tensorflow",
	[FRAG_WORDING_TF_ASYNC] = "tensorflow-async",
	[FRAG_WORDING_CUDA_JL] = "cuda.jl",
	[FRAG_WORDING_TENSORRT] = "tensorrt",
	[FRAG_WORDING_SUMMARY] = "pytorch-summary",
	[FRAG_WORDING_STATS] = "pytorch-stats",
	[FRAG_WORDING_OVERFLOW] = "pytorch-overflow",
	[FRAG_WORDING_COMFYUI] = "comfyui",
	[FRAG_WORDING_NVML] = "nvml",
	[FRAG_WORDING_NCCL] = "nccl",
	[FRAG_WORDING_VMM] = "vmm",
	[FRAG_WORDING_CUBLAS] = "cublas",
	[FRAG_WORDING_CUDNN] = "cudnn",
	[FRAG_WORDING_SHARED] = "shared-memory",
	[FRAG_WORDING_PINNED] = "pinned",
	[FRAG_WORDING_CPU] = "cpu",
	[FRAG_WORDING_KILLED] = "oom-killer",
	[FRAG_WORDING_SLOTS] = "sglang-slots",
	[FRAG_WORDING_TF_POOL] = "tensorflow-pool",
	[FRAG_WORDING_TPU] = "tpu",
	[FRAG_WORDING_MLX] = "mlx",
	[FRAG_WORDING_SHM] = "shm",
	[FRAG_WORDING_HOST] = "host",
	[FRAG_WORDING_SIGKILL] = "sigkill",
	[FRAG_WORDING_PAGING] = "paging-file",
	[FRAG_WORDING_BUFFER] = "buffer-limit",
	[FRAG_WORDING_HBM] = "hbm",
	[FRAG_WORDING_DISPATCH] = "device-map",
	[FRAG_WORDING_WARMUP] = "vllm-warmup",
	[FRAG_WORDING_EXLLAMA] = "exllama",
	[FRAG_WORDING_METAL] = "metal",
	[FRAG_WORDING_GRAPHICS] = "graphics",
	[FRAG_WORDING_DEVICE] = "device",
	[FRAG_WORDING_LEVEL_ZERO] = "level-zero",
	[FRAG_WORDING_NEURON] = "neuron",
	[FRAG_WORDING_HIP] = "hip",
	[FRAG_WORDING_DRIVER] = "driver",
	[FRAG_WORDING_OTHER] = "other",
	NULL,
};

const char *const frag_speaker_names[] = {
	"pytorch", "pytorch-pool", "cudaMallocAsync", "driver", "vmm", "nccl", "library", "nvml", "host",
	"kernel", "shared-memory", "vllm", "sglang", "jax", "tensorflow", "tensorrt-llm", "onnxruntime",
	"llama.cpp", "deepspeed", "megatron", "paddle", "rmm", "cupy", "julia", "mlx", "smi", "other",
	NULL,
};

#define ONE(which, name) [FRAG_ON_##which] = (name),
const char *const frag_accelerator_names[] = { FRAG_ACCELERATORS(ONE) NULL };
#undef ONE

enum frag_on frag_message_on(const struct frag_message *m)
{
	return m->named ? (enum frag_on)m->accelerator : frag_speakers[m->wording].on;
}
