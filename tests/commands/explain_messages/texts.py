"""texts.py - texts of every program, and what the answer must and must not have.

The sentences are those that the programs print; the numbers and the lines around them are ours. A
case: its name, the text, the verdict by hand, what the answer contains, and what it must not.
"""
from dataclasses import dataclass


@dataclass
class Text:
    name: str
    text: str
    verdict: str
    has: tuple = ()
    lacks: tuple = ()


def torch(asked: str, total: str, free: str, allocated: str, unallocated: str, device: str = 'CUDA',
          more: str = '') -> str:
    return (f'torch.OutOfMemoryError: {device} out of memory. Tried to allocate {asked}. GPU 0 has a '
            f'total capacity of {total} of which {free} is free. {more}Of the allocated memory '
            f'{allocated} is allocated by PyTorch, and {unallocated} is reserved by PyTorch but '
            'unallocated.')


SET = '  set       PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
# 1 GiB of 40: 0.5 + 8 GiB would do
PIECES = torch('1.00 GiB', '40.00 GiB', '512.00 MiB', '31.00 GiB', '8.00 GiB')
# 4 GiB of 40: 1 + 0.5 GiB will not do, and 0.5 GiB are outside
FULL = torch('4.00 GiB', '40.00 GiB', '1.00 GiB', '38.00 GiB', '512.00 MiB')

TEXTS = [
    Text('pieces', PIECES, 'fragmentation', (SET, 'empty_cache()')),
    Text('the setting is on', 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n' + PIECES,
         'fragmentation', ('is on already',), (SET,)),
    Text('by a launcher', "os.environ['X'] = '1'\nPYTORCH_ALLOC_CONF=expandable_segments:True python a.py\n"
         + PIECES, 'fragmentation', ('is on already',), (SET,)),
    Text('advice is no setting', PIECES + ' If reserved but unallocated memory is large try setting '
         'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.', 'fragmentation',
         (SET,), ('is on already',)),
    Text('the newest sentence', PIECES + ' expandable_segments is enabled. If instead the process is '
         'running out of virtual address space (VSZ), expandable segments may be over-reserving VA',
         'fragmentation', ('is on already',), (SET,)),
    Text('sleep mode', "llm = LLM('m', enable_sleep_mode=True)\n" + PIECES, 'fragmentation',
         ('sleep mode',), ('expandable_segments:True',)),
    Text('Windows', '  File "D:\\app\\venv\\Lib\\site-packages\\torch\\nn\\x.py", line 3\n' + PIECES,
         'fragmentation', ('windows',), ('expandable_segments:True',)),
    Text('HIP', PIECES.replace('CUDA', 'HIP'), 'fragmentation', ('PYTORCH_HIP_ALLOC_CONF=',),
         ('nvidia', 'CUDA')),
    Text('XPU', PIECES.replace('CUDA', 'XPU'), 'fragmentation', ('torch.xpu.empty_cache()',),
         ('nvidia', 'CUDA')),
    Text('training', '    loss.backward()\n' + FULL, 'capacity', ('activation checkpointing', 'phase backward')),
    Text('loading', '    pipe.to("cuda")\n' + FULL, 'capacity', ('quantize', 'phase load'),
         ('activation checkpointing', 'smaller batch')),
    Text('a traceback behind the message', FULL + '\n  File "/a/b.py", line 3\n    model.to(device)\n',
         'capacity', ('phase load',), ('smaller batch',)),
    Text('a server', '(EngineCore_DP0 pid=3) ERROR 01-02 [core.py:7] ' + FULL, 'capacity',
         ('--gpu-memory-utilization',), ('activation checkpointing',)),
    Text('it went on', FULL + '\nstep 2\nTraining finished\n', 'capacity', ('survived',)),
    Text('processes', torch('4.00 GiB', '40.00 GiB', '1.00 GiB', '18.00 GiB', '512.00 MiB',
                            more='Process 31337 has 20.25 GiB memory in use. '), 'outside',
         ('process 31337 has 20.25 GiB', 'nvidia-smi')),
    Text('more than half outside', torch('1.00 GiB', '40.00 GiB', '512.00 MiB', '9.00 GiB', '8.00 GiB'),
         'outside'),
    Text('refused', torch('1.00 GiB', '40.00 GiB', '9.00 GiB', '30.00 GiB', '64.00 MiB'), 'refused',
         ('this is not fragmentation: 64.00 MiB are unallocated',), (SET,)),
    # a segment for 2 MiB has 20
    Text('a segment is not free', torch('2.00 MiB', '40.00 GiB', '18.00 MiB', '39.00 GiB', '512.00 MiB'),
         'fragmentation'),
    Text('a contradiction', torch('1.00 GiB', '40.00 GiB', '90.00 GiB', '9.00 GiB', '8.00 GiB', 'HIP'),
         'contradiction', ('90.00 GiB',), (SET, 'nvidia')),
    Text('a fraction', torch('2.00 MiB', '40.00 GiB', '30.00 GiB', '7.98 GiB', '20.00 MiB',
                             more='8.00 GiB allowed; '), 'limit',
         ('set_per_process_memory_fraction(1.0)', 'may use 8.00 GiB')),
    Text('an unread limit', torch('2.00 MiB', '40.00 GiB', '30.00 GiB', '7.98 GiB', '20.00 MiB',
                                  more='8.00 GuB allowed; '), 'unknown', ('unread    8.00 GuB allowed',)),
    Text('an unread word', PIECES.replace('is free', 'is eree'), 'unknown', ('unread    GPU 0 has a total capacity of',)),
    Text('a wrong letter', PIECES.replace('allocated by', 'allocuted by'), 'fragmentation', (SET,)),
    Text('a wrong letter in the head', PIECES.replace('Tried to', 'Triad to'), 'fragmentation', (SET,)),
    Text('in any order', 'CUDA out of memory. Tried to allocate 1.00 GiB. Of the allocated memory 31.00 GiB is '
         'allocated by PyTorch; GPU 2 has a total capacity of 40.00 GiB, 512.00 MiB is free, and 8.00 GiB '
         'is reserved by PyTorch but unallocated.', 'fragmentation', ('GPU 2',)),
    Text('a Mac', 'MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 4.00 GB, max '
         'allowed: 12.00 GB). Tried to allocate 256 bytes on shared pool.', 'contradiction',
         ('smaller model',), ('nvidia',)),
    Text('a corrupt size', 'CUDA out of memory. Tried to allocate more than 1EB memory.', 'not_device_memory',
         ('corrupt',), ('smaller batch',)),
    Text('NCCL', 'n1:2:3 [0] misc/alloc.h:9 NCCL WARN Failed to CUDA calloc 4194304 bytes', 'outside',
         ('4.00 MiB', 'empty_cache()')),
    Text('wake-up', '  llm.wake_up()\nRuntimeError: CUDA Error: out of memory at /x/cumem_allocator.cpp:6',
         'outside', ('empty_cache()', 'phase wake')),
    Text('cuBLAS', 'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(h)`',
         'unknown', ('cuBLAS',)),
    Text('Triton', 'triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, '
         'Hardware limit: 65536.', 'not_device_memory', ('131072', '65536', 'num_stages'), ('nvidia',)),
    Text('the host', "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate "
         '1073741824 bytes.', 'not_device_memory', ('1.00 GiB', 'host'), ('nvidia',)),
    Text('the kernel', '[9.1] Out of memory: Killed process 77 (python) total-vm:9kB', 'not_device_memory',
         ('kernel',), ('nvidia',)),
    Text('pinned', 'ggml_cuda_host_malloc: failed to allocate 950,50 MiB of pinned memory: x',
         'not_device_memory', ('950.50 MiB', 'pinned')),
    Text('TensorFlow', 'E x/cuda_driver.cc:8] failed to allocate 2.00G (2147483648 bytes) from device: '
         'CUDA_ERROR_OUT_OF_MEMORY: out of memory', 'outside', ('TF_FORCE_GPU_ALLOW_GROWTH=true',)),
    Text('a TPU', 'RESOURCE_EXHAUSTED: Attempting to allocate 200.00M. That was not possible. There are '
         '900.00M free.; (0x0x0_HBM0)\nLargest contiguous region of free memory: 150.00M', 'fragmentation',
         ('150.00 MiB',), ('nvidia',)),
    Text('ComfyUI', 'torch.OutOfMemoryError: Allocation on device \nGot an OOM, unloading all loaded models.',
         'unknown', ('--disable-cuda-malloc',)),
    Text('a Jetson', 'NvMapMemHandleAlloc: error 0\nRuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at '
         '"x.cpp":1', 'unknown', ('Jetson',), ('nvidia-smi',)),
    Text('a KV cache', "ValueError: To serve at least one request with the model's max seq len (4096), (6.00 GiB KV "
         'cache is needed, which is larger than the available KV cache memory (4.00 GiB). Based on the '
         'available memory, the estimated maximum model length is 2720.', 'limit',
         ('--max-model-len 2720', '2.00 GiB short')),
    Text('a KV cache in bytes', 'INFO reserved 4.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes '
         "config\nValueError: To serve at least one request with the model's max seq len (4096), (6.00 GiB KV "
         'cache is needed, which is larger than the available KV cache memory (4.00 GiB).', 'limit',
         ('--kv-cache-memory-bytes',), ('raise --gpu-memory-utilization',)),
    Text('the driver', 'RuntimeError: CUDA error: out of memory', 'unknown', ("outside PyTorch's allocator",)),
]
