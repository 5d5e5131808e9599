"""servers.py - logs of servers and frameworks, as people have published them, and what each says.

Each text is quoted from the thread beside it, lines left out. The values are read off by hand as they
are printed; a verdict by hand says why. None: the log does not contain the value.
"""
from dataclasses import dataclass, field


@dataclass
class Log:
    source: str                     # owner/repository#number of the public thread, or its document
    wording: str
    text: str
    said: dict                      # of JSON: asked, total, free, ... as printed
    verdict: str
    parts: dict = field(default_factory=dict)
    missing: tuple = ()             # by hand: what an unknown verdict lacks
    record: str = ''                # what the answer recommends: a part of its text
    count: int = 1                  # messages in the text, all alike


EVERY = ('asked', 'total', 'free', 'allocated', 'reserved')

LOGS = [
    # 45.01 of 47.38 GiB are desired, 31.44 are free, and vLLM has nothing yet
    Log('vllm-project/vllm#20305', 'vllm-start',
        '[multiproc_executor.py:492] ValueError: Free memory on device (31.44/47.38 GiB) on startup '
        'is less than desired GPU memory utilization (0.95, 45.01 GiB). Decrease GPU memory '
        'utilization or reduce GPU memory used by other processes.\n',
        {'asked': '45.01 GiB', 'total': '47.38 GiB', 'free': '31.44 GiB', 'allocated': '0 bytes'},
        'limit', record='--gpu-memory-utilization 0.66'),
    Log('vllm-project/vllm-omni#276', 'vllm-start',
        'ValueError: Free memory on device (0.49/79.32 GiB) on startup is less than desired GPU '
        'memory utilization (0.6, 47.59 GiB). Decrease GPU memory utilization or reduce GPU memory '
        'used by other processes.',
        {'asked': '47.59 GiB', 'total': '79.32 GiB', 'free': '0.49 GiB', 'allocated': '0 bytes'},
        'limit', record='nvidia-smi'),
    Log('pytorch/pytorch#175666', 'vllm-start',
        '[2026-02-24T20:21:58Z] (EngineCore_DP0 pid=6940) ValueError: Free memory on device cuda:1 '
        '(19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). '
        'Decrease GPU memory utilization or reduce GPU memory used by other processes.',
        {'asked': '19.84 GiB', 'total': '22.05 GiB', 'free': '19.77 GiB', 'allocated': '0 bytes'},
        'limit', record='--gpu-memory-utilization 0.89'),
    # 5.20 + 0.03 + 1.42 GiB of 8.00, of which it may have 5.60: the limit
    Log('vllm-project/vllm#13882', 'vllm-cache',
        'INFO 02-26 09:54:02 model_runner.py:1115] Loading model weights took 5.2032 GB\n'
        'INFO 02-26 09:54:05 worker.py:267] Memory profiling takes 3.25 seconds\n'
        'INFO 02-26 09:54:05 worker.py:267] the current vLLM instance can use total_gpu_memory '
        '(8.00GiB) x gpu_memory_utilization (0.70) = 5.60GiB\n'
        'INFO 02-26 09:54:05 worker.py:267] model weights take 5.20GiB; non_torch_memory takes '
        '0.03GiB; PyTorch activation peak memory takes 1.42GiB; the rest of the memory reserved for '
        'KV Cache is -1.05GiB.\n'
        'INFO 02-26 09:54:05 executor_base.py:111] # cuda blocks: 0, # CPU blocks: 4681\n'
        '[rank0]: ValueError: No available memory for the cache blocks. Try increasing '
        '`gpu_memory_utilization` when initializing the engine.\n',
        {'total': '8.00 GiB', 'limit': '5.60 GiB', 'outside': '0.03 GiB', 'kv_free': '-1.05 GiB'},
        'limit', {'parameters': '5.20 GiB', 'activations': '1.42 GiB'},
        record='--gpu-memory-utilization'),
    # 0.07 + 0.04 + 7.09 is 7.20 of 8.00
    Log('vllm-project/vllm#12095', 'vllm-cache',
        'INFO 01-15 11:06:48 worker.py:240] the current vLLM instance can use total_gpu_memory '
        '(8.00GiB) x gpu_memory_utilization (0.90) = 7.20GiB\n'
        'INFO 01-15 11:06:48 worker.py:240] model weights take 0.07GiB; non_torch_memory takes '
        '0.04GiB; PyTorch activation peak memory takes 7.09GiB; the rest of the memory reserved for '
        'KV Cache is -0.00GiB.\n'
        'ValueError: No available memory for the cache blocks. Try increasing '
        '`gpu_memory_utilization` when initializing the engine.',
        {'total': '8.00 GiB', 'limit': '7.20 GiB', 'outside': '0.04 GiB', 'kv_free': '0.00 GiB'},
        'limit', {'parameters': '0.07 GiB', 'activations': '7.09 GiB'},
        record='fragsim record --torch'),
    # the lines of the log that the option prints; its message as above: 10.22 GiB of 18.82 are needed
    Log('vllm-project/vllm#17122', 'vllm-cache',
        'INFO 04-24 16:33:00 [gpu_model_runner.py:1316] Model loading took 14.9889 GiB and 3.652170 '
        'seconds\nValueError: No available memory for the cache blocks. Try increasing '
        '`gpu_memory_utilization` when initializing the engine.',
        {}, 'limit', {'parameters': '14.9889 GiB'},
        record='VLLM_LOGGING_LEVEL=DEBUG'),
    # how much the device has is not said
    Log('vllm-project/tpu-inference#223', 'vllm-length',
        "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 "
        'GiB KV cache is needed, which is larger than the available KV cache memory (0.71 GiB). '
        'Based on the available memory, the estimated maximum model length is 5632. Try increasing '
        '`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.',
        {'asked': '16.00 GiB', 'kv_free': '0.71 GiB', 'max_model_len': '5632 bytes'}, 'limit',
        missing=(), record='--max-model-len 5632'),
    Log('kaito-project/kaito#2132', 'vllm-length',
        "ValueError: To serve at least one request with the model's max seq len (1048576),\n22.5 GiB "
        'KV cache is needed, which is larger than the available KV cache memory (17.39 GiB).\nBased '
        'on the available memory, the estimated maximum model length is 810208.\n',
        {'asked': '22.5 GiB', 'kv_free': '17.39 GiB', 'max_model_len': '810208 bytes'}, 'limit',
        missing=(), record='--max-model-len 810208'),
    # a terminal cut its words
    Log('SergiioB/intel-arc-pro-b70-inference-cookbook#4', 'vllm-length',
        "(EngineCore pid=316) ValueError: To serve at least one request with the model's max seq len "
        '(100000), (4.26 GiB KV cach\ne is needed, which is larger than the available KV cache '
        'memory (4.25 GiB). Based on the avai',
        {'asked': '4.26 GiB', 'kv_free': '4.25 GiB'}, 'limit', missing=()),
    # 18.82 of 22.46 GB: more than the part that it may have, less than there was
    Log('sgl-project/sglang#4895', 'sglang',
        '[2025-03-29 18:18:34 TP0] Load weight end. type=Gemma3ForConditionalGeneration, '
        'dtype=torch.bfloat16, avail mem=3.64 GB, mem usage=18.82 GB.\n'
        'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n',
        {'total': '22.46 GB', 'free': '3.64 GB'}, 'limit', {'parameters': '18.82 GB'},
        record='raise --mem-fraction-static'),
    Log('ggml-org/llama.cpp#11476', 'llama.cpp',
        'deep-seek-1  | ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device '
        '1: cudaMalloc failed: out of memory\n'
        'deep-seek-1  | ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 10345253120\n'
        'deep-seek-1  | llama_kv_cache_update_impl: failed to allocate compute buffers\n'
        'deep-seek-1  | ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device '
        '1: cudaMalloc failed: out of memory\n'
        'deep-seek-1  | ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 10345253120\n',
        {'asked': '10345253120 bytes'}, 'unknown',
        missing=('total', 'free', 'allocated'), record='llama-server', count=2),
    # 379.23 MiB of KV cache on device 0, as far as the log goes
    Log('ikawrakow/ik_llama.cpp#749', 'llama.cpp',
        'llama_kv_cache_init:      CUDA0 KV buffer size =   379.23 MiB\n'
        'llama_kv_cache_init:      CUDA1 KV buffer size =    82.44 MiB\n'
        'llama_new_context_with_model:  CUDA_Host  output buffer size =     0.99 MiB\n'
        'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 279356.51 MiB on device 0: '
        'cudaMalloc failed: out of memory\n'
        'ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 292926534144\n',
        {'asked': '292926534144 bytes', 'allocated': '379.23 MiB'}, 'unknown',
        {'kv_cache': '379.23 MiB'}, ('total', 'free'), record='llama-server'),
    Log('ggml-org/llama.cpp#26297', 'llama.cpp',
        '1.06.520.077 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 51748.72 MiB on device '
        '1: cudaMalloc failed: out of memory\n'
        '1.06.520.084 E ggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size '
        '54262464512\n', {'asked': '54262464512 bytes'}, 'unknown',
        missing=('total', 'free', 'allocated')),
    # Ollama: 23.3 GiB are free for it; the request that failed is larger
    Log('ollama/ollama#8447, ggml-org/llama.cpp#20431', 'llama.cpp',
        'ollama  | time=2025-01-16T04:29:50.909Z level=INFO source=memory.go:356 msg="offload to '
        'cuda" layers.requested=-1 layers.model=62 layers.offload=5 layers.split="" '
        'memory.available="[23.3 GiB]" memory.gpu_overhead="0 B" memory.required.full="415.7 GiB"\n'
        'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 144817.04 MiB on device 0: '
        'cudaMalloc failed: out of memory\n'
        'alloc_tensor_range: failed to allocate CUDA0 buffer of size 151851674624\n',
        {'asked': '151851674624 bytes', 'total': '23.3 GiB'}, 'request_too_large'),
    Log('ollama/ollama#10920', 'ollama',
        'Error: model requires more system memory (164.8 GiB) than is available (13.4 GiB)\n',
        {'asked': '164.8 GiB', 'free': '13.4 GiB'}, 'not_device_memory'),
    Log('ollama/ollama#9791, ollama/ollama#13556', 'ollama',
        'time=2025-03-16T23:04:14.978Z level=INFO source=server.go:105 msg="system memory" '
        'total="15.5 GiB" free="14.0 GiB" free_swap="2.1 GiB"\n'
        'ollama._types.ResponseError: model requires more system memory (39.4 GiB) than is available '
        '(30.0 GiB) (status code: 500)',
        {'asked': '39.4 GiB', 'free': '30.0 GiB', 'total': '15.5 GiB'}, 'not_device_memory'),
    Log('microsoft/onnxruntime#9939', 'onnxruntime',
        "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running "
        "FusedMatMul node. Name:'MatMul_92_FusedMatMulAndScale' Status Message: "
        '/onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:331 void* '
        'onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for '
        'requested buffer of size 8388608000', {'asked': '8388608000 bytes'}, 'unknown',
        missing=('total', 'free', 'allocated', 'reserved'), record='fragsim record -o'),
    Log('microsoft/onnxruntime#23121', 'onnxruntime',
        '/Users/runner/work/1/s/onnxruntime/core/framework/bfc_arena.cc:376 void '
        '*onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream *, bool, '
        'onnxruntime::WaitNotificationFn) Available memory of 0 is smaller than requested bytes of '
        '2048\n', {'asked': '2048 bytes', 'free': '0 bytes'}, 'unknown',
        missing=('total', 'allocated', 'reserved')),
    # a size that no device has is none
    Log('microsoft/onnxruntime#22702', 'onnxruntime',
        'onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream *, bool, '
        'onnxruntime::WaitNotificationFn) Failed to allocate memory for requested buffer of size '
        '4585490524328388608', {}, 'not_device_memory'),    # a corrupt size
    Log('PaddlePaddle/Paddle#42228', 'paddle',
        'RuntimeError: ResourceExhaustedError:\n\nOut of memory error on GPU 0. Cannot allocate '
        '98.000244MB memory on GPU 0, 6.000000GB memory has been allocated and available memory is '
        'only 0.000000B.\n\nPlease check whether there is any other process using GPU 0.\n',
        {'asked': '98.000244 MB', 'total': '6.000000 GB', 'free': '0 bytes'}, 'capacity',
        record='fragsim record'),
    Log('PaddlePaddle/PaddleOCR#645', 'paddle',
        'ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 3.125000GB memory '
        'on GPU 0, available memory is only 117.750000MB.\n',
        {'asked': '3.125000 GB', 'free': '117.750000 MB'}, 'unknown',
        missing=('total', 'allocated', 'reserved')),
    Log('PaddlePaddle/Paddle#19779', 'paddle',
        'Out of memory error on GPU 0. Cannot allocate 145.468994MB GPU memory, available memory is '
        '72.312500MB.\n', {'asked': '145.468994 MB', 'free': '72.312500 MB'}, 'unknown',
        missing=('total', 'allocated', 'reserved')),
    # 128 · 128 · 109 · 109 floats
    Log('keras-team/keras#9643', 'tensorflow',
        'ResourceExhaustedError: OOM when allocating tensor with shape[128,128,109,109] and type '
        'float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n',
        {'asked': f'{128 * 128 * 109 * 109 * 4} bytes'}, 'unknown',
        missing=('total', 'free', 'allocated', 'reserved'), record='TF_GPU_ALLOCATOR'),
    # without its type the shape has no size
    Log('santi-pdp/segan#42', 'other', 'ResourceExhaustedError (see above for traceback): OOM when '
        'allocating tensor with shape[100,4096,32]', {}, 'unknown', missing=EVERY),
    # 46137344 bytes; 25231032320 - 1441792 - 6036292612 are not TensorFlow's
    Log('google-ai-edge/litert-torch#186', 'tensorflow-async',
        '2024-09-02 11:20:03.308702: E external/local_xla/xla/stream_executor/gpu/'
        'gpu_cudamallocasync_allocator.cc:360] gpu_async_0 cuMemAllocAsync failed to allocate '
        '46137344 bytes: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n Reported by '
        'CUDA: Free memory/Total memory: 1441792/25231032320\n'
        '2024-09-02 11:20:03.308749: E external/local_xla/xla/stream_executor/gpu/'
        'gpu_cudamallocasync_allocator.cc:365] Stats: Limit:                      4430626816\n'
        'InUse:                      6036292612\nMaxInUse:                   6036292612\n',
        {'asked': '46137344 bytes', 'free': '1441792 bytes', 'total': '25231032320 bytes',
         'limit': '4430626816 bytes', 'allocated': '6036292612 bytes'}, 'outside'),
    Log('patrickbryant1/AFProfile#8', 'xla',
        'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to '
        'allocate 4770354232 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n'
        '             parameter allocation:  372.76MiB\n'
        '              constant allocation:    48.5KiB\n'
        '        maybe_live_out allocation:    9.64GiB\n'
        '     preallocated temp allocation:    4.44GiB\n'
        '                 total allocation:   14.44GiB\n'
        '              total fragmentation:  680.30MiB (4.60%)\n',
        {'asked': '4770354232 bytes'}, 'unknown',
        {'parameters': '372.76 MiB', 'constants': '48.5 KiB', 'outputs': '9.64 GiB',
         'temporaries': '4.44 GiB', 'program': '14.44 GiB'},
        ('total', 'free', 'allocated', 'reserved'), record='JAX_PJRT_CLIENT_CREATE_OPTIONS'),
    # newer dumps have units; 81.00 of 89.77 GiB are in use, and 8.77 reserved: 27.00 are not there
    Log('EnzymeAD/Reactant.jl#2632, google-research/t5x#870', 'bfc',
        'W external/org_tensorflow/tensorflow/tsl/framework/bfc_allocator.cc:479] Allocator '
        '(GPU_1_bfc) ran out of memory trying to allocate 27.93GiB (rounded to 29995136256)requested '
        'by op\n'
        'I0000 00:00:1773083052.386475   70889 bfc_allocator.cc:1119] Total size in pool: 89.77GiB '
        'memory_limit_: 89.77GiB available size: 153B curr_region_allocation_bytes_: 179.55GiB\n'
        'I0000 00:00:1773083052.386479   70889 bfc_allocator.cc:1128] Stats: \n'
        'Limit:                        89.77GiB\nInUse:                        81.00GiB\n'
        'MaxInUse:                     81.00GiB\nNumAllocs:                           3\n'
        'MaxAllocSize:                 27.00GiB\nReserved:                           0B\n',
        {'asked': '29995136256 bytes', 'total': '89.77 GiB', 'free': '153 B',
         'allocated': '81.00 GiB', 'reserved': '89.77 GiB'}, 'capacity'),
    # 5.375 and 3.000 of 7.582 GiB; the lines are those of the issue, the values of a public report
    Log('JuliaGPU/CUDA.jl#2197', 'cuda.jl',
        'Out of GPU memory trying to allocate 3.000 GiB\n'
        'Effective GPU memory usage: 99.50% (7.544 GiB/7.582 GiB)\n'
        'Memory pool usage: 5.375 GiB (7.000 GiB reserved)\n',
        {'asked': '3.000 GiB', 'total': '7.582 GiB', 'allocated': '5.375 GiB',
         'reserved': '7.000 GiB'}, 'capacity', record='JULIA_CUDA_MEMORY_POOL=none'),
    Log('JuliaGPU/CUDA.jl#579', 'cuda.jl',
        'Out of GPU memory trying to allocate 8.016 MiB\n'
        'Effective GPU memory usage: 91.54% (14.446 GiB/15.782 GiB)\n'
        'CUDA allocator usage: 13.984 GiB (capped at 14.000 GiB)\n'
        'binned usage: 15.141 KiB (15.141 KiB allocated, 0 bytes cached)\n'
        'Discrepancy of 13.984 GiB between memory pool and allocator!\n',
        {'asked': '8.016 MiB', 'total': '15.782 GiB', 'allocated': '15.141 KiB',
         'reserved': '13.984 GiB', 'limit': '14.000 GiB'}, 'refused'),
    Log('JuliaGPU/CUDA.jl#866', 'cuda.jl',
        'Out of GPU memory trying to allocate 15.263 GiB\n'
        'Effective GPU memory usage: 11.12% (1.311 GiB/11.784 GiB)\n'
        'CUDA allocator usage: 980.317 MiB\n'
        'Memory pool usage: 980.317 MiB (980.317 MiB allocated, 0 bytes cached)\n',
        {'asked': '15.263 GiB', 'total': '11.784 GiB', 'allocated': '980.317 MiB',
         'reserved': '980.317 MiB'}, 'request_too_large'),
    Log('cupy/cupy#7678', 'cupy',
        '# An error is raised : cupy.cuda.memory.OutOfMemoryError: Out of memory allocating '
        '805,306,368 bytes (allocated so far: 536,870,912 bytes, limit set to: 1,073,741,824 bytes).',
        {'asked': '805306368 bytes', 'reserved': '536870912 bytes', 'total': '1073741824 bytes',
         'free': '536870912 bytes'}, 'limit', record='set_limit()'),     # 512 + 768 MiB of 1024
    Log('enazoe/yolo-tensorrt#169', 'tensorrt',
        'WARNING: Requested amount of GPU memory (4294967296 bytes) could not be allocated. There may '
        'not be enough free memory for allocation to succeed.\n',
        {'asked': '4294967296 bytes'}, 'unknown',
        missing=('total', 'free', 'allocated', 'reserved')),
    Log('NVIDIA-AI-IOT/torch2trt#661', 'tensorrt',
        '[TensorRT] ERROR: Requested amount of memory (150994944 bytes) could not be allocated. There '
        'may not be enough free memory for allocation to succeed.\n',
        {'asked': '150994944 bytes'}, 'unknown', missing=('total', 'free', 'allocated', 'reserved')),
    Log('NVIDIA/TensorRT-LLM#3636, NVIDIA/TensorRT-LLM#2857', 'tensorrt',
        '[TensorRT-LLM][INFO] Loaded engine size: 15388 MiB\n'
        '[TensorRT-LLM][INFO] [MemUsageChange] Allocated 37812.51 MiB for execution context memory.\n'
        '[ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), '
        'mCudaStream->get()): out of memory (/app/tensorrt_llm/cpp/tensorrt_llm/runtime/'
        'tllmBuffers.h:125)\n', {}, 'unknown',
        {'parameters': '15388 MiB', 'temporaries': '37812.51 MiB'},
        ('asked', 'total', 'free', 'allocated', 'reserved')),
    # its pool is full: 512 MiB of 512
    Log('NVIDIA/cudf-spark-jni#3760', 'rmm-pool',
        '18:43:01  [ERROR] Could not allocate native memory: std::bad_alloc: out_of_memory: RMM '
        'failure at:/home/jenkins/include/rmm/mr/device/pool_memory_resource.hpp:261: Maximum pool '
        'size exceeded (failed to allocate 128.000000 MiB): Not enough room to grow, current/max/try '
        'size = 512.000000 MiB, 512.000000 MiB, 128.000000 MiB\n',
        {'asked': '128.000000 MiB', 'reserved': '512.000000 MiB', 'total': '512.000000 MiB'},
        'unknown', missing=('allocated', 'reserved'), record='-p rmm follows its rules'),
    # its logger says it first, exactly; the text is RMM's own document of that issue
    Log('rapidsai/rmm#1969', 'rmm-pool',
        '[error ] [A][Stream 0x1][Upstream 11136000000B][FAILURE maximum pool size exceeded: Not '
        'enough room to grow, current/max/try size = 78.000000 GiB, 78.000000 GiB, 10.371208 GiB]\n'
        'Exception caught: std::bad_alloc: out_of_memory: RMM failure at:.../'
        'pool_memory_resource_impl.cpp:73: Maximum pool size exceeded (failed to allocate 10.371208 '
        'GiB): Not enough room to grow, current/max/try size = 78.000000 GiB, 78.000000 GiB, '
        '10.371208 GiB\n',
        {'asked': '11136000000 bytes', 'reserved': '78.000000 GiB', 'total': '78.000000 GiB'},
        'unknown', missing=('allocated', 'reserved'), record='-p rmm follows its rules'),
    Log('NVIDIA/cudf#17789', 'rmm-pool',
        '[2025-01-23 14:33:04.213] [RMM] [error] [A][Stream 0x1][Upstream 67108864B][FAILURE maximum '
        'pool size exceeded]\n', {'asked': '67108864 bytes'}, 'unknown',
        missing=('total', 'free', 'allocated', 'reserved')),
    # the same failure twice, first with its size, then with the file
    Log('NVIDIA/cudf#17789, NVIDIA/cudf-spark#8827', 'rmm-pool',
        '[2025-01-23 14:33:04.213] [RMM] [error] [A][Stream 0x1][Upstream 67108864B][FAILURE maximum '
        'pool size exceeded]\n'
        '[2023-07-27T12:25:43.469Z] MemoryError: std::bad_alloc: out_of_memory: RMM failure at:'
        '/databricks/conda/envs/cudf-udf/include/rmm/mr/device/pool_memory_resource.hpp:196: Maximum '
        'pool size exceeded\n', {'asked': '67108864 bytes'}, 'unknown',
        missing=('total', 'free', 'allocated', 'reserved'), record='-p rmm follows its rules'),
    Log('NVIDIA/cudf-spark#1365', 'rmm-pool',
        'java.lang.OutOfMemoryError: Could not allocate native memory: std::bad_alloc: RMM failure '
        'at:/usr/local/rapids/include/rmm/mr/device/detail/arena.hpp:382: Maximum pool size '
        'exceeded\n', {}, 'unknown', missing=('asked', 'total', 'free', 'allocated', 'reserved'),
        record='arena_memory_resource: no policy follows its rules'),
    # 12420 - 1062 MB are reserved but unallocated
    Log('pytorch/pytorch#35901', 'pytorch-summary',
        '|===========================================================================|\n'
        '|                  PyTorch CUDA memory summary, device ID 0                 |\n'
        '|---------------------------------------------------------------------------|\n'
        '|            CUDA OOMs: 1            |        cudaMalloc retries: 1         |\n'
        '|===========================================================================|\n'
        '|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n'
        '|---------------------------------------------------------------------------|\n'
        '| Allocated memory      |    1062 MB |    4877 MB |   89299 MB |   88237 MB |\n'
        '|       from large pool |    1048 MB |    4865 MB |   89263 MB |   88215 MB |\n'
        '|       from small pool |      14 MB |      14 MB |      35 MB |      21 MB |\n'
        '|---------------------------------------------------------------------------|\n'
        '| GPU reserved memory   |   12420 MB |   12420 MB |   16924 MB |    4504 MB |\n',
        {'allocated': '1062 MB', 'reserved': '12420 MB'}, 'unknown',
        missing=('asked', 'total', 'free'), record='fragsim record --torch'),
    # a summary without an OOM is no message
    Log('pytorch/pytorch#38884', '',
        '|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |\n'
        '| Allocated memory      |    1024 B  |  133632 B  |  273920 B  |  272896 B  |\n', {}, '',
        count=0),
    Log('NVIDIA/MinkowskiEngine#359', 'pytorch-stats',
        "OrderedDict([('inactive_split_bytes.small_pool.freed', 278227968), "
        "('inactive_split_bytes.small_pool.peak', 7574016), ('num_alloc_retries', 31), "
        "('num_ooms', 1), ('reserved_bytes.all.allocated', 165914083328), "
        "('reserved_bytes.all.current', 50331648), ('reserved_bytes.all.freed', 165863751680)])",
        {'reserved': '50331648 bytes'}, 'unknown',
        missing=('asked', 'total', 'free', 'allocated', 'reserved')),
]
