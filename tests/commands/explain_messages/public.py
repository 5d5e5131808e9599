"""public.py - out-of-memory messages that people have published, with what each says.

Each is quoted as it stands at its address, no more than the message itself. The figures beside it
are read off by hand, as they are printed; what they come to is arithmetic (arithmetic.py).
"""
from dataclasses import dataclass, field

GITHUB = 'https://github.com/'


@dataclass
class Message:
    source: str
    wording: str
    text: str
    said: dict = field(default_factory=dict)    # asked, total, free, allocated and so on
    verdict: str = ''                           # by hand; '' where arithmetic alone says it


def torch(source: str, wording: str, text: str, verdict: str, asked: str, total: str | None,
          free: str | None, allocated: str, last: str) -> Message:
    """last: what the wording prints last: cached, reserved in all, or unallocated bytes."""
    name = {'pytorch-cached': 'cached', 'pytorch-reserved': 'reserved',
            'pytorch-sentences': 'unallocated'}[wording]
    return Message(GITHUB + source, wording, text, {'asked': asked, 'total': total, 'free': free,
                                                    'allocated': allocated, name: last}, verdict)


CACHED, RESERVED, SENTENCES = 'pytorch-cached', 'pytorch-reserved', 'pytorch-sentences'

MESSAGES = [
    torch('pytorch/pytorch/issues/16417', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total '
          'capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)',
          'refused', '12.50 MiB', '10.92 GiB', '9.28 GiB', '8.57 MiB', '4.68 MiB'),
    torch('RenYurui/StructureFlow/issues/35', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 8.13 GiB (GPU 0; 10.76 GiB total '
          'capacity; 643.57 MiB already allocated; 8.20 GiB free; 32.43 MiB cached)',
          'refused', '8.13 GiB', '10.76 GiB', '8.20 GiB', '643.57 MiB', '32.43 MiB'),
    torch('ryujaehun/pytorch-gpu-benchmark/issues/1', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 32.00 MiB (GPU 0; 7.79 GiB total '
          'capacity; 6.64 GiB already allocated; 21.00 MiB free; 150.86 MiB cached)',
          'nearly_full', '32.00 MiB', '7.79 GiB', '21.00 MiB', '6.64 GiB', '150.86 MiB'),
    torch('shllln/GenerativeGraph/issues/5', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 1024.00 KiB (GPU 0; 11.17 GiB total '
          'capacity; 10.90 GiB already allocated; 576.00 KiB free; 30.96 MiB cached)',
          'nearly_full', '1024.00 KiB', '11.17 GiB', '576.00 KiB', '10.90 GiB', '30.96 MiB'),
    torch('neurosim/DNN_NeuroSim_V1.3/issues/28', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 1.12 MiB (GPU 0; 22.37 GiB total '
          'capacity; 15.87 GiB already allocated; 3.56 MiB free; 787.74 MiB cached)',
          '', '1.12 MiB', '22.37 GiB', '3.56 MiB', '15.87 GiB', '787.74 MiB'),
    torch('pytorch/pytorch/issues/31353', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 1.86 GiB (GPU 0; 31.72 GiB total '
          'capacity; 24.58 GiB already allocated; 1.28 GiB free; 5.08 GiB cached)',
          'fragmentation', '1.86 GiB', '31.72 GiB', '1.28 GiB', '24.58 GiB', '5.08 GiB'),
    torch('daitao/SAN/issues/39', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 9.80 GiB (GPU 0; 14.76 GiB total '
          'capacity; 9.94 GiB already allocated; 3.89 GiB free; 160.79 MiB cached).',
          'capacity', '9.80 GiB', '14.76 GiB', '3.89 GiB', '9.94 GiB', '160.79 MiB'),
    torch('pytorch/pytorch/pull/13751', CACHED,
          'RuntimeError: CUDA out of memory. Tried to allocate 16.00 GiB (GPU 0; 11.93 GiB total '
          'capacity; 4.00 GiB already allocated; 7.33 GiB free; 179.00 KiB cached)',
          'request_too_large', '16.00 GiB', '11.93 GiB', '7.33 GiB', '4.00 GiB', '179.00 KiB'),
    torch('rshaojimmy/MADDoG/issues/11', RESERVED,
          'RuntimeError: CUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total '
          'capacity; 8.77 GiB already allocated; 19.75 MiB free; 13.71 GiB reserved in total by '
          'PyTorch)',
          'fragmentation', '2.87 GiB', '14.76 GiB', '19.75 MiB', '8.77 GiB', '13.71 GiB'),
    torch('pytorch/pytorch/issues/35901', RESERVED,
          'CUDA out of memory. Tried to allocate 10.84 GiB (GPU 0; 23.65 GiB total capacity; 1.06 '
          'GiB already allocated; 10.26 GiB free; 12.53 GiB reserved in total by PyTorch)',
          'fragmentation', '10.84 GiB', '23.65 GiB', '10.26 GiB', '1.06 GiB', '12.53 GiB'),
    torch('2KangHo/vdsr_pytorch/issues/2', RESERVED,
          'RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.90 GiB total '
          'capacity; 13.13 GiB already allocated; 415.88 MiB free; 14.80 GiB reserved in total by '
          'PyTorch)',
          'fragmentation', '512.00 MiB', '15.90 GiB', '415.88 MiB', '13.13 GiB', '14.80 GiB'),
    torch('phamquiluan/ResidualMaskingNetwork/issues/15', RESERVED,
          'RuntimeError: CUDA out of memory. Tried to allocate 36.00 MiB (GPU 0; 10.76 GiB total '
          'capacity; 996.23 MiB already allocated; 8.81 MiB free; 1010.00 MiB reserved in total by '
          'PyTorch)',
          'outside', '36.00 MiB', '10.76 GiB', '8.81 MiB', '996.23 MiB', '1010.00 MiB'),
    torch('MVIG-SJTU/AlphAction/issues/58', RESERVED,
          'RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 3.79 GiB total '
          'capacity; 654.97 MiB already allocated; 6.00 MiB free; 666.00 MiB reserved in total by '
          'PyTorch)',
          'outside', '2.00 MiB', '3.79 GiB', '6.00 MiB', '654.97 MiB', '666.00 MiB'),
    torch('easydiffusion/easydiffusion/issues/104', RESERVED,
          '`RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 4.00 GiB total '
          'capacity; 3.35 GiB already allocated; 0 bytes free; 3.41 GiB reserved in total by '
          'PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to '
          'avoid fragmentation.  See documentation for Memory Management and '
          'PYTORCH_CUDA_ALLOC_CONF`',
          'outside', '64.00 MiB', '4.00 GiB', '0 bytes', '3.35 GiB', '3.41 GiB'),
    torch('singhsourabh/Resume-NER/issues/4', RESERVED,
          'RuntimeError: CUDA out of memory. Tried to allocate 92.00 MiB (GPU 0; 1.96 GiB total '
          'capacity; 1.46 GiB already allocated; 16.38 MiB free; 1.51 GiB reserved in total by '
          'PyTorch',
          '', '92.00 MiB', '1.96 GiB', '16.38 MiB', '1.46 GiB', '1.51 GiB'),
    torch('YingqianWang/iPASSR/issues/9', RESERVED,
          'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.73 GiB (GPU 0; '
          '8.00 GiB total capacity; 17.20 GiB already allocated; 0 bytes free; 19.15 GiB reserved '
          'in total by PyTorch) If reserved memory is >> allocated memory try setting '
          'max_split_size_mb to avoid fragmentation.',
          'request_too_large', '10.73 GiB', '8.00 GiB', '0 bytes', '17.20 GiB', '19.15 GiB'),
    torch('pytorch/pytorch/issues/59778', RESERVED,
          '`CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 '
          'MiB already allocated; 3.03 GiB free; 1.24 GiB reserved in total by PyTorch) `',
          'refused', '2.26 GiB', '6.00 GiB', '3.03 GiB', '781.59 MiB', '1.24 GiB'),
    torch('pytorch/pytorch/pull/48172', RESERVED,
          'RuntimeError: CUDA out of memory. Tried to allocate 5.59 GiB (GPU 0; 11.17 GiB total '
          'capacity; 0 bytes already allocated; 10.91 GiB free; 5.59 GiB allowed; 0 bytes reserved '
          'in total by PyTorch)',
          'refused', '5.59 GiB', '11.17 GiB', '10.91 GiB', '0 bytes', '0 bytes'),
    torch('intel/intel-extension-for-pytorch/issues/629', RESERVED,
          'RuntimeError: XPU out of memory. Tried to allocate 1.71 GiB (GPU 0; 15.56 GiB total '
          'capacity; 176.00 MiB already allocated; 176.00 MiB reserved in total by PyTorch)',
          'unknown', '1.71 GiB', '15.56 GiB', None, '176.00 MiB', '176.00 MiB'),
    torch('pytorch/pytorch/issues/111363', SENTENCES,
          'CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacty of 79.15 GiB '
          'of which 38.09 GiB is free. Including non-PyTorch memory, this process has 41.06 GiB '
          'memory in use. Of the allocated memory 39.10 GiB is allocated by PyTorch, and 427.46 '
          'MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large '
          'try setting max_split_size_mb to avoid fragmentation.',
          'refused', '64.00 MiB', '79.15 GiB', '38.09 GiB', '39.10 GiB', '427.46 MiB'),
    torch('light-and-ray/sd-webui-replacer/issues/74', SENTENCES,
          'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 27.12 GiB. GPU 0 has '
          'a total capacty of 11.99 GiB of which 0 bytes is free. Of the allocated memory 16.16 '
          'GiB is allocated by PyTorch, and 144.59 MiB is reserved by PyTorch but unallocated.',
          'request_too_large', '27.12 GiB', '11.99 GiB', '0 bytes', '16.16 GiB', '144.59 MiB'),
    torch('carolchenyx/MGFN./issues/35', SENTENCES,
          'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has '
          'a total capacty of 6.00 GiB of which 0 bytes is free. Of the allocated memory 2.93 GiB '
          'is allocated by PyTorch, and 2.30 GiB is reserved by PyTorch but unallocated.',
          'fragmentation', '1.70 GiB', '6.00 GiB', '0 bytes', '2.93 GiB', '2.30 GiB'),
    torch('Synthintel0/MyGirlGPT/issues/11', SENTENCES,
          'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has '
          'a total capacty of 4.00 GiB of which 41.56 MiB is free. Including non-PyTorch memory, '
          'this process has 3.44 GiB memory in use. Of the allocated memory 2.58 GiB is allocated '
          'by PyTorch, and 1.90 MiB is reserved by PyTorch but unallocated.',
          'refused', '32.00 MiB', '4.00 GiB', '41.56 MiB', '2.58 GiB', '1.90 MiB'),
    torch('pytorch/pytorch/issues/16417', SENTENCES,
          'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has '
          'a total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, '
          'this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is '
          'allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.',
          'nearly_full', '22.00 MiB', '23.65 GiB', '11.06 MiB', '22.90 GiB', '194.87 MiB'),
    torch('murong-xu/CADS/issues/4', SENTENCES,
          'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a '
          'total capacity of 31.47 GiB of which 12.73 GiB is free. Including non-PyTorch memory, '
          'this process has 18.73 GiB memory in use. Of the allocated memory 9.08 GiB is allocated '
          'by PyTorch, and 9.35 GiB is reserved by PyTorch but unallocated.',
          'capacity', '22.78 GiB', '31.47 GiB', '12.73 GiB', '9.08 GiB', '9.35 GiB'),
    torch('pytorch/FBGEMM/pull/5605', SENTENCES,
          'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 122.07 GiB. GPU 0 has a '
          'total capacity of 255.98 GiB of which 50.64 GiB is free. Of the allocated memory 123.74 '
          'GiB is allocated by PyTorch, and 8.94 MiB is reserved by PyTorch but unallocated.',
          'outside', '122.07 GiB', '255.98 GiB', '50.64 GiB', '123.74 GiB', '8.94 MiB'),
    torch('Comfy-Org/ComfyUI/issues/9529', SENTENCES,
          'HIP out of memory. Tried to allocate 432.00 MiB. GPU 0 has a total capacity of 15.92 '
          'GiB of which 7.12 GiB is free. Of the allocated memory 8.08 GiB is allocated by '
          'PyTorch, and 321.96 MiB is reserved by PyTorch but unallocated. If reserved but '
          'unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True '
          'to avoid fragmentation.',
          'refused', '432.00 MiB', '15.92 GiB', '7.12 GiB', '8.08 GiB', '321.96 MiB'),
    torch('Tongyi-MAI/Z-Image/issues/103', SENTENCES,
          'torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.88 GiB. GPU 0 has a '
          'total capacity of 23.98 GiB of which 1.70 GiB is free. Of the allocated memory 21.65 '
          'GiB is allocated by PyTorch, and 279.78 MiB is reserved by PyTorch but unallocated.',
          'nearly_full', '1.88 GiB', '23.98 GiB', '1.70 GiB', '21.65 GiB', '279.78 MiB'),
    torch('kyuz0/amd-strix-halo-image-video-toolboxes/issues/3', SENTENCES,
          'torch.OutOfMemoryError: HIP out of memory. Tried to allocate 3.31 GiB. GPU 0 has a '
          'total capacity of 128.00 GiB of which 780.24 MiB is free. Of the allocated memory 57.70 '
          'GiB is allocated by PyTorch, and 75.82 MiB is reserved by PyTorch but unallocated.',
          'outside', '3.31 GiB', '128.00 GiB', '780.24 MiB', '57.70 GiB', '75.82 MiB'),
    torch('intel/torch-xpu-ops/issues/3011', SENTENCES,
          'torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a '
          'total capacity of 5.65 GiB of which 5.65 GiB is free. Of the allocated memory 195.50 '
          'KiB is allocated by PyTorch, and 1.81 MiB is reserved by PyTorch but unallocated. '
          'Please use `empty_cache` to release all unoccupied cached memory.',
          'refused', '4.66 GiB', '5.65 GiB', '5.65 GiB', '195.50 KiB', '1.81 MiB'),
    torch('intel/intel-extension-for-pytorch/issues/846', SENTENCES,
          'torch.OutOfMemoryError: XPU out of memory. Tried to allocate 8.00 GiB. GPU 0 has a '
          'total capacity of 15.11 GiB. Of the allocated memory 0 bytes is allocated by PyTorch, '
          'and 0 bytes is reserved by PyTorch but unallocated. Please use `empty_cache` to release '
          'all unoccupied cached memory.',
          'unknown', '8.00 GiB', '15.11 GiB', None, '0 bytes', '0 bytes'),
    Message(GITHUB + 'AIFSH/ComfyUI-ChatTTS/issues/9', 'pytorch-async',
            'torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out '
            'of memory)\nCurrently allocated     : 6.89 GiB\nRequested               : 320.00 MiB\n'
            'Device limit            : 23.69 GiB\nFree (according to CUDA): 2.94 MiB\n'
            'PyTorch limit (set by user-supplied memory fraction)\n'
            '                        : 17179869184.00 GiB',
            {'asked': '320.00 MiB', 'total': '23.69 GiB', 'free': '2.94 MiB',
             'allocated': '6.89 GiB'}, 'outside'),
    Message(GITHUB + 'EvilBT/ComfyUI_SLK_joy_caption_two/issues/28', 'pytorch-async',
            'Allocation on device 0 would exceed allowed memory. (out of memory)\n'
            'Currently allocated : 15.16 GiB\nRequested : 512.00 KiB\nDevice limit : 15.99 GiB\n'
            'Free (according to CUDA): 0 bytes\n'
            'PyTorch limit (set by user-supplied memory fraction)\n: 17179869184.00 GiB',
            {'asked': '512.00 KiB', 'total': '15.99 GiB', 'free': '0 bytes',
             'allocated': '15.16 GiB'}, 'capacity'),
    Message(GITHUB + 'Comfy-Org/ComfyUI/issues/7440', 'pytorch-mps',
            'MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max '
            'allowed: 27.20 GiB). Tried to allocate 292.50 MiB on private pool. Use '
            'PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations '
            '(may cause system failure).',
            {'asked': '292.50 MiB', 'total': '27.20 GiB', 'allocated': '9.57 GiB',
             'outside': '17.35 GiB'}, 'outside'),
    Message(GITHUB + 'Comfy-Org/ComfyUI/issues/8984', 'pytorch-mps',
            'MPS backend out of memory (MPS allocated: 15.72 GiB, other allocations: 2.41 MiB, max '
            'allowed: 18.13 GiB). Tried to allocate 5.81 GiB on private pool.',
            {'asked': '5.81 GiB', 'total': '18.13 GiB', 'allocated': '15.72 GiB',
             'outside': '2.41 MiB'}, 'capacity'),
    Message(GITHUB + 'Comfy-Org/ComfyUI/issues/2489', 'pytorch-mps',
            'RuntimeError: MPS backend out of memory (MPS allocated: 5.56 GB, other allocations: '
            '1.10 GB, max allowed: 6.80 GB). Tried to allocate 768.00 MB on private pool.',
            {'asked': '768.00 MB', 'total': '6.80 GB', 'allocated': '5.56 GB',
             'outside': '1.10 GB'}, 'outside'),
    Message(GITHUB + 'google-deepmind/alphafold/issues/1023', 'xla',
            'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying '
            'to allocate 7406166528 bytes.', {'asked': '7406166528 bytes'}, 'unknown'),
    Message(GITHUB + 'onpix/LLNeRF/issues/9', 'xla',
            'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating '
            '20029400304 bytes.', {'asked': '20029400304 bytes'}, 'unknown'),
    Message(GITHUB + 'ecmwf-lab/ai-models-graphcast/issues/18', 'xla',
            'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request '
            'for 2.99GiB (3206250496B) on device ordinal 0', {'asked': '3206250496 bytes'},
            'unknown'),
    Message(GITHUB + 'cupy/cupy/issues/2537', 'cupy',
            'Exception in main training loop: Out of memory allocating 25,600,000 bytes (allocated '
            'so far: 3,635,267,072 bytes).',
            {'asked': '25600000 bytes', 'reserved': '3635267072 bytes'}, 'unknown'),
    Message(GITHUB + 'cupy/cupy/issues/1912', 'cupy',
            'cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 1073741824 bytes (total '
            '12373894656 bytes)',
            {'asked': '1073741824 bytes', 'reserved': '12373894656 bytes'}, 'unknown'),
    Message(GITHUB + 'tensorflow/tensorflow/issues/11915', 'bfc',
            '2017-07-31 11:36:02.748547: W tensorflow/core/common_runtime/bfc_allocator.cc:273] '
            'Allocator (cuda_host_bfc) ran out of memory trying to allocate 3.72GiB.  Current '
            'allocation summary follows.\n'
            '2017-07-31 11:36:02.748450: I tensorflow/core/common_runtime/bfc_allocator.cc:700] '
            'Sum Total of in-use chunks: 64.00GiB\n'
            '2017-07-31 11:36:02.748462: I tensorflow/core/common_runtime/bfc_allocator.cc:702] '
            'Stats: \nLimit:                 68719476736\nInUse:                 68719476736\n'
            'MaxInUse:              68719476736\nNumAllocs:                      32\n'
            'MaxAllocSize:           6359738368\n',
            {'asked': '3.72 GiB', 'total': '68719476736 bytes', 'allocated': '68719476736 bytes'},
            'capacity'),
]
